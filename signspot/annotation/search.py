"""The search itself: the words of each subtitle are compared with the windows around it, and with chance."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import SupportsFloat, TypedDict

import numpy as np
from numpy.typing import NDArray

from signspot.annotation.gallery import EmbeddedWord, WordGallery
from signspot.annotation.plan import Mention, Unit
from signspot.annotation.records import AnnotateOptions, Candidate, Query
from signspot.embedding.tracks import TrackFile
from signspot.spotting.peaks import find_peaks, half_height_spans
from signspot.spotting.similarity import cosine, to_score
from signspot.timeline import Segment

Scores = NDArray[np.float32]

_NEAR = 4  # frames before and after a peak within which exemplars and impostors may have theirs
_BLOCK = 4096  # windows that are in memory at once


@dataclass(frozen=True, slots=True)
class Stretch:
    """The windows around one subtitle, a little beyond where spottings may lie, so that no edge is taken for a peak."""

    track: TrackFile
    first: int  # window
    last: int  # the window after the last
    times: NDArray[np.float64]  # (n,) of these windows
    inside: slice  # of them: where spottings may lie

    def scores(self, rows: NDArray[np.float32]) -> Scores:
        """(R, D) embeddings → (n, R) scores, a block of windows at a time."""
        starts = range(self.first, self.last, _BLOCK)
        parts = (self.track.part(start, min(start + _BLOCK, self.last)) for start in starts)
        return np.concatenate([to_score(cosine(part, rows)).astype(np.float32) for part in parts])


class Searcher:
    """Looks for words in the track of one video."""

    def __init__(self, track: TrackFile, gallery: WordGallery, panel: Sequence[str], options: AnnotateOptions):
        self._track, self._gallery, self._options = track, gallery, options
        self._panel = [gallery.words[word] for word in panel]
        grid = track.grid
        self._times, self._fps = grid.times, grid.fps
        self.video = Segment(grid.origin, grid.origin + grid.frames / grid.fps)

    def search(self, unit: Unit) -> Iterator[tuple[Query, list[Candidate]]]:
        """All queries of a unit, in order of subtitle and word, each with its candidates, the best first."""
        by_subtitle: dict[int, list[tuple[str, Mention]]] = {}
        for word, mentions in unit.mentions.items():
            for mention in mentions:
                by_subtitle.setdefault(mention.subtitle, []).append((word, mention))
        for _, asked in sorted(by_subtitle.items()):
            window = self._window(asked[0][1])
            stretch = self._stretch(window) if window else None
            chance = self._chance(stretch) if stretch else None
            for word, mention in sorted(asked, key=lambda pair: pair[0]):
                barred = {word, *mention.nearby, *unit.synonyms.get(word, ())}
                look = _Look(unit.video, mention, self._gallery.words[word], window or self._beyond(mention))
                if stretch is None or chance is None:
                    yield look.unanswered(), []
                else:
                    yield self._answer(look, stretch, chance[:, self._allowed(barred)])

    def _window(self, mention: Mention) -> Segment | None:
        """Where a word is looked for; None if all of it is beyond the video's end."""
        padded = Segment(mention.start, mention.end).padded(self._options.padding)
        start, end = max(padded.start, self.video.start), min(padded.end, self.video.end)
        return Segment(start, end) if start < end else None

    def _beyond(self, mention: Mention) -> Segment:
        end = self.video.end if mention.start >= self.video.end else self.video.start
        return Segment(end, end)

    def _stretch(self, window: Segment) -> Stretch | None:
        reach = self._options.gap + 1 / self._fps
        first = int(np.searchsorted(self._times, window.start - reach))
        last = int(np.searchsorted(self._times, window.end + reach, side="right"))
        times = self._times[first:last]
        inside = slice(
            *(int(i) for i in (np.searchsorted(times, window.start), np.searchsorted(times, window.end, "right")))
        )
        return Stretch(self._track, first, last, times, inside) if inside.start < inside.stop else None

    def _chance(self, stretch: Stretch) -> Scores:
        """(n, P) the score of each word of the panel."""
        if not self._panel:
            return np.empty((len(stretch.times), 0), np.float32)
        counts = [each.embeddings.shape[0] * each.embeddings.shape[1] for each in self._panel]
        rows = np.concatenate([each.embeddings.reshape(-1, each.embeddings.shape[-1]) for each in self._panel])
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        best: Scores = np.maximum.reduceat(stretch.scores(rows), starts, axis=1)
        return best

    def _allowed(self, barred: Collection[str]) -> list[int]:
        """Which words of the panel are impostors: the first ones that cannot be expected here."""
        free = [number for number, each in enumerate(self._panel) if each.word not in barred]
        return free[: self._options.impostors]

    def _answer(self, look: "_Look", stretch: Stretch, chance: Scores) -> tuple[Query, list[Candidate]]:
        options, embedded = self._options, look.embedded
        scores = stretch.scores(embedded.embeddings.reshape(-1, embedded.embeddings.shape[-1]))
        best = scores.max(axis=1)
        assert options.keep is not None, "settled before the run"
        peaks = find_peaks(
            stretch.times,
            best,
            threshold=options.keep,
            spans=lambda places: half_height_spans(stretch.times, best, places, 1.0),
        )
        found = [peak for peak in peaks if stretch.inside.start <= peak.index < stretch.inside.stop]
        found = sorted(found, key=lambda peak: (-peak.score, peak.time))[: options.peaks]
        candidates = [
            self._candidate(look, rank, stretch, peak.index, scores, chance) for rank, peak in enumerate(found, 1)
        ]
        return look.answered(best[stretch.inside], chance[stretch.inside]), candidates

    def _candidate(
        self, look: "_Look", rank: int, stretch: Stretch, index: int, scores: Scores, chance: Scores
    ) -> Candidate:
        """A peak and the evidence for it."""
        embedded, options = look.embedded, self._options
        versions = embedded.embeddings.shape[1]
        row = int(scores[index].argmax())
        time, half = float(stretch.times[index]), options.clip / 2 / self._fps
        reach = (_NEAR + 0.5) / self._fps
        near = (stretch.times >= time - reach) & (stretch.times <= time + reach)
        each = scores[near].reshape(-1, len(embedded.ids), versions).max(axis=(0, 2))
        score = scores[index, row]
        ranked = np.sort(each)[::-1]
        return Candidate(
            video=look.video,
            subtitle=look.mention.subtitle,
            word=embedded.word,
            rank=rank,
            time=round(time, 3),
            start=round(max(self.video.start, time - half), 3),
            end=round(min(self.video.end, time + half), 3),
            score=_rounded(score),
            exemplar=embedded.ids[row // versions],
            variant=embedded.variants[row // versions],
            mirrored=bool(row % versions),
            exemplars=len(embedded.ids),
            agreeing=int((each >= score - np.float32(options.agreement)).sum()),
            exemplar_second=_rounded(ranked[1]) if len(ranked) > 1 else None,
            exemplar_mean=_rounded(each.mean(dtype=np.float64)),
            **_against(chance[near], float(score)),
        )


@dataclass(frozen=True, slots=True)
class _Look:
    """One query while it is asked."""

    video: str
    mention: Mention
    embedded: EmbeddedWord
    window: Segment

    def unanswered(self) -> Query:
        """The query where no window of the video lies."""
        return self._query(None, _against(np.empty((0, 0), np.float32), 0.0))

    def answered(self, best: Scores, chance: Scores) -> Query:
        """The query with (n,) the word's scores and (n, P) the impostors' where spottings may lie."""
        highest = float(best.max())
        return self._query(_rounded(highest), _against(chance, highest))

    def _query(self, best: float | None, chance: "_Chance") -> Query:
        mention = self.mention
        return Query(
            video=self.video,
            subtitle=mention.subtitle,
            word=self.embedded.word,
            form=mention.form,
            first=mention.first,
            last=mention.last,
            mentions=mention.count,
            text=mention.text,
            subtitle_start=mention.start,
            subtitle_end=mention.end,
            start=round(self.window.start, 3),
            end=round(self.window.end, 3),
            exemplars=len(self.embedded.ids),
            best=best,
            **chance,
        )


class _Chance(TypedDict):
    """What queries and candidates say of impostors."""

    impostors: int
    impostor_best: float | None
    impostor_mean: float | None
    impostors_above: int


def _against(chance: Scores, score: float) -> _Chance:
    """How (n, P) scores of impostors, each at its best, compare with a score."""
    each = chance.max(axis=0) if len(chance) else np.empty(0, np.float32)
    return {
        "impostors": len(each),
        "impostor_best": _rounded(each.max()) if len(each) else None,
        "impostor_mean": _rounded(each.mean(dtype=np.float64)) if len(each) else None,
        "impostors_above": int((each >= score).sum()),
    }


def _rounded(score: SupportsFloat) -> float:
    return round(float(score), 6)
