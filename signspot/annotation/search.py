"""The search around subtitles: `Spotter.search` within the padded time of each, for its words and for impostors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import SupportsFloat, TypedDict

import numpy as np
from numpy.typing import NDArray

from signspot.annotation.plan import SubtitleMention, VideoUnit
from signspot.annotation.records import AnnotateOptions, Candidate, SubtitleQuery
from signspot.embedding.exemplars import Gallery
from signspot.spotting.search import Found
from signspot.spotting.spotter import Spotter
from signspot.types import Segment, Spotting, Track

_NEAR = 4  # frames before and after a peak within which exemplars and impostors may have theirs

Best = Mapping[str, float]  # word → its highest score in a stretch


class WordSearcher:
    """Looks for words in the track of one video."""

    def __init__(
        self, spotter: Spotter, track: Track, gallery: Gallery, panel: Sequence[str], options: AnnotateOptions
    ):
        assert options.keep is not None, "settled before the run"
        self._spotter, self._track, self._gallery, self._options = spotter, track, gallery, options
        self._panel = tuple(panel)
        self._spotting = options.spotting()
        grid = track.grid
        self._reach = (_NEAR + 0.5) / grid.fps
        self.video = Segment(grid.origin, grid.origin + grid.frames / grid.fps)

    def search(self, unit: VideoUnit) -> Iterator[tuple[SubtitleQuery, list[Candidate]]]:
        """All queries of a unit, in order of subtitle and word, each with its candidates, the best first."""
        for asked in by_subtitle(unit):
            window = window_of(asked[0][1], self._options.padding, self.video)
            gallery = self._gallery.of_words([word for word, _ in asked])
            shown = {word: len(set(gallery.rows[rows].tolist())) for word, rows in gallery.words.items()}
            queries = [Query(unit.video, word, mention, window, shown[word]) for word, mention in asked]
            if window.start >= window.end:
                yield from ((query.unanswered(), []) for query in queries)
                continue
            chance = self._chance(window)
            found = self._spotter.search(self._track, gallery, self._spotting, within=window)
            for query in queries:
                impostors = impostors_of(query, unit, self._panel, self._options.impostors)
                yield self._answer(query, found, chance, impostors)

    @cached_property
    def _panel_scores(self) -> "ScoresOverTime | None":
        """Those of the panel over the whole video: every subtitle, and every candidate, looks at a part of them."""
        if not self._panel:
            return None
        found = self._spotter.word_scores(self._track, self._gallery.of_words(self._panel), self._spotting)
        return ScoresOverTime(found.times, np.stack([found.scores[word] for word in self._panel]))

    def _chance(self, within: Segment) -> Best:
        """The highest score of each word of the panel in a stretch."""
        if self._panel_scores is None:
            return {}
        found = self._panel_scores.highest(within)
        return dict(zip(self._panel, found, strict=True)) if found else {}

    def _answer(
        self, query: "Query", found: Found, chance: Best, impostors: Sequence[str]
    ) -> tuple[SubtitleQuery, list[Candidate]]:
        """A query with its candidates, out of a search for all words of its subtitle."""
        if query.word not in found.best:
            return query.unanswered(), []
        own = [spotting for spotting in found.spottings if spotting.word == query.word]
        own.sort(key=lambda spotting: (-spotting.score, spotting.time))
        each = ScoresOverTime(found.times, found.exemplar_curves(query.word))
        candidates = [self._candidate(query, rank, spotting, each, impostors) for rank, spotting in enumerate(own, 1)]
        highest = max(each.highest(query.window))
        return query.answered(highest, [chance[word] for word in impostors if word in chance]), candidates

    def _candidate(
        self, query: "Query", rank: int, spotting: Spotting, exemplars: "ScoresOverTime", impostors: Sequence[str]
    ) -> Candidate:
        """A spotting and the evidence for it; `exemplars` has the scores of each exemplar."""
        near = Segment(spotting.time - self._reach, spotting.time + self._reach)
        each = sorted(exemplars.highest(near), reverse=True)
        chance = self._chance(near)
        return Candidate(
            video=query.video,
            subtitle=query.mention.subtitle,
            word=query.word,
            rank=rank,
            time=spotting.time,
            start=spotting.start,
            end=spotting.end,
            score=spotting.score,
            exemplar=spotting.exemplar,
            variant=spotting.variant,
            mirrored=spotting.mirrored,
            exemplars=query.exemplars,
            agreeing=sum(score >= spotting.score - self._options.agreement for score in each),
            exemplar_second=rounded(each[1]) if len(each) > 1 else None,
            exemplar_mean=rounded(np.mean(each)),
            **against([chance[word] for word in impostors if word in chance], spotting.score),
            false_alarms_per_hour=spotting.false_alarms_per_hour,
            licence=spotting.licence,
            consent=spotting.consent,
        )


@dataclass(frozen=True, slots=True)
class ScoresOverTime:
    """Scores of some words, or of the exemplars of one, at every moment, all in one array: many looks at it follow."""

    times: NDArray[np.float64]  # (T,) seconds
    scores: NDArray[np.float32]  # (P, T)

    def highest(self, within: Segment) -> list[float]:
        """The highest score of each in a segment, as it is stored; empty without a moment."""
        first, last = np.searchsorted(self.times, within.start), np.searchsorted(self.times, within.end, "right")
        return [] if first >= last else [rounded(each) for each in self.scores[:, first:last].max(axis=1).tolist()]


def by_subtitle(unit: VideoUnit) -> list[list[tuple[str, SubtitleMention]]]:
    """The words of a unit with their mentions, one list for each subtitle, in order of subtitle and word."""
    found: dict[int, list[tuple[str, SubtitleMention]]] = {}
    for word, mentions in sorted(unit.mentions.items()):
        for mention in mentions:
            found.setdefault(mention.subtitle, []).append((word, mention))
    return [found[subtitle] for subtitle in sorted(found)]


def window_of(mention: SubtitleMention, padding: float, video: Segment) -> Segment:
    """Search window of a word: the subtitle's time, padded, within the video; empty if all of it lies beyond."""
    padded = Segment(mention.start, mention.end).padded(padding)
    start, end = max(padded.start, video.start), min(padded.end, video.end)
    if start < end:
        return Segment(start, end)
    nearest = video.end if mention.start >= video.end else video.start
    return Segment(nearest, nearest)


@dataclass(frozen=True, slots=True)
class Query:
    """One query while it is asked."""

    video: str
    word: str
    mention: SubtitleMention
    window: Segment
    exemplars: int

    def unanswered(self) -> SubtitleQuery:
        """The query where no window of the video lies."""
        return self._query(None, against([], 0.0))

    def answered(self, highest: float, chance: Sequence[float]) -> SubtitleQuery:
        """The query with the word's highest score in the window, and those of the impostors."""
        return self._query(rounded(highest), against(chance, highest))

    def _query(self, best: float | None, chance: "Chance") -> SubtitleQuery:
        mention = self.mention
        return SubtitleQuery(
            video=self.video,
            subtitle=mention.subtitle,
            word=self.word,
            form=mention.form,
            first=mention.first,
            last=mention.last,
            mentions=mention.count,
            text=mention.text,
            subtitle_start=mention.start,
            subtitle_end=mention.end,
            start=round(self.window.start, 3),
            end=round(self.window.end, 3),
            exemplars=self.exemplars,
            best=best,
            **chance,
        )


def impostors_of(query: Query, unit: VideoUnit, panel: Sequence[str], most: int) -> tuple[str, ...]:
    """Impostors of a query: the first words of the panel that cannot be expected in its window."""
    barred = {query.word, *query.mention.nearby, *unit.synonyms.get(query.word, ())}
    return tuple(word for word in panel if word not in barred)[:most]


class Chance(TypedDict):
    """The columns of queries and candidates on impostors."""

    impostors: int
    impostor_best: float | None
    impostor_mean: float | None
    impostors_above: int


def against(chance: Sequence[float], score: float) -> Chance:
    """Comparison of the impostors' highest scores with a score."""
    return {
        "impostors": len(chance),
        "impostor_best": rounded(max(chance)) if chance else None,
        "impostor_mean": rounded(np.mean(chance)) if chance else None,
        "impostors_above": sum(one >= score for one in chance),
    }


def rounded(score: SupportsFloat) -> float:
    """A score as it is stored."""
    return round(float(score), 6)
