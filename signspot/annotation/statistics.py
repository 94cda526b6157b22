"""Spottings of a run, their yield at each threshold (Fig. 9), and which of them mouthings confirm."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.annotation.records import SOURCE, Candidate, SubtitleQuery
from signspot.annotation.store import Store
from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.mouthing.spotter import agrees, mark_mouthed
from signspot.spotting.options import OVERLAP
from signspot.spotting.peaks import suppress, widened
from signspot.types import Label, LabelSource, Spotting, TimeMeaning, VideoRights

MARGIN = 0.2  # seconds outside of the sign at which a candidate still is right


IsRight = Callable[[Candidate], bool]


def is_in_truth(corpus: Corpus, candidate: Candidate) -> bool:
    """Whether the word is signed at its place, or another word whose sign is the very one of the exemplar."""
    return any(
        sign.start - MARGIN <= candidate.time <= sign.end + MARGIN
        and (sign.word == candidate.word or candidate.exemplar in sign.exemplars)
        for sign in corpus.signs(candidate.video)
    )


def spottings(store: Store, threshold: float, *, rank: int | None = 1, overlap: float = OVERLAP) -> Iterator[Candidate]:
    """The spottings of a store, by video, time and word.

    Args:
        store: where candidates are.
        threshold: least score.
        rank: at most so many peaks of each query, the best; 1 is the paper's choice, None: all that are stored.
        overlap: largest part of the shorter of two spans of a word that they may share; of others the higher stays.
    """
    evidence = store.evidence(threshold=threshold, rank=rank)
    for _, of_video in groupby(evidence, key=lambda pair: pair[1].video):
        by_word: dict[str, list[tuple[SubtitleQuery, Candidate]]] = {}
        for query, candidate in of_video:
            by_word.setdefault(candidate.word, []).append((query, candidate))
        merged = (candidate for pairs in by_word.values() for candidate in merge(pairs, overlap))
        yield from sorted(merged, key=lambda candidate: (candidate.time, candidate.word))


def merge(pairs: Iterable[tuple[SubtitleQuery, Candidate]], overlap: float) -> list[Candidate]:
    """Of the candidates of one word in one video those that stay: a peak once, suppressed as `spot` suppresses.

    Mouthings, of which the end is known alone, are a sign apart. Where several subtitles give the same peak, the query
    whose subtitle is shown nearest to it stays.
    """
    at: dict[float, tuple[SubtitleQuery, Candidate]] = {}
    for pair in pairs:
        other = at.get(pair[1].time)
        if other is None or _priority(*pair) < _priority(*other):
            at[pair[1].time] = pair
    best_first = sorted((candidate for _, candidate in at.values()), key=lambda one: (-one.score, one.time))
    if best_first[0].at is TimeMeaning.END:
        from signspot.mouthing.spotter import apart

        return [best_first[index] for index in apart([one.time for one in best_first])]
    starts, ends = (np.array([getattr(one, name) for one in best_first]) for name in ("start", "end"))
    return [best_first[index] for index in suppress(*widened(starts, ends), overlap)]


def _priority(query: SubtitleQuery, candidate: Candidate) -> tuple[float, float, int]:
    """By score, where windows see a peak differently; then by seconds to when the subtitle is shown; the earlier one.

    Scores of signs are the same in every window, those of mouthings follow from the lips around, too.
    """
    early, late = query.subtitle_start - candidate.time, candidate.time - query.subtitle_end
    height = -candidate.score if candidate.at is TimeMeaning.END else 0.0
    return height, max(0.0, early, late), query.subtitle


CONFIDENCE = 0.5  # of mouthings, from which they count, as in the paper
TOLERANCE = 1.0  # seconds between a spotting and a mouthing of the same sign, at most
_STEPS = 8  # thresholds, unless they are named


@dataclass(frozen=True, slots=True)
class Count:
    """Yield of one vocabulary at one threshold."""

    words: int
    signs: int  # localised; one that overlapping subtitles find counts once
    in_window: int  # of them: a mouthing of the word lies in the same search window, as the paper counts duplicates
    near: int  # of them: a mouthing of the word lies within the tolerance
    right: int | None  # of them, by the truth; None: it is not known

    @property
    def new(self) -> int:
        """Signs in whose search window no mouthing of the word lies."""
        return self.signs - self.in_window

    @property
    def precision(self) -> float | None:
        """Right signs over all; None where the truth is not known or there is none."""
        return None if self.right is None or self.signs == 0 else self.right / self.signs


@dataclass(frozen=True, slots=True)
class YieldRow:
    """One threshold: the words that have mouthings (the paper's 1K vocabulary), and all words of the dictionary."""

    threshold: float
    mouthed: Count
    full: Count


class Mouthings:
    """Times of mouthed words: labels of source M, of some confidence."""

    def __init__(self, labels: Iterable[Label], confidence: float = CONFIDENCE, tolerance: float = TOLERANCE):
        self.tolerance = tolerance
        self._times: dict[tuple[str, str], list[float]] = defaultdict(list)
        for label in labels:
            if label.source is LabelSource.MOUTHING and label.confidence >= confidence:
                self._times[label.video, label.word].append(label.time)
        for times in self._times.values():
            times.sort()

    @property
    def words(self) -> frozenset[str]:
        """The words that are mouthed anywhere."""
        return frozenset(word for _, word in self._times)

    def between(self, video: str, word: str, start: float, end: float) -> bool:
        """Whether a mouthing lies in a segment, both ends included."""
        times = self._times.get((video, word), ())
        index = bisect_left(times, start)
        return index < len(times) and times[index] <= end

    def near(self, video: str, word: str, time: float) -> bool:
        """Whether a mouthing lies within the tolerance of a time."""
        return self.between(video, word, time - self.tolerance, time + self.tolerance)


def count_yield(
    evidence: Iterable[tuple[SubtitleQuery, Candidate]],
    thresholds: Sequence[float],
    mouthings: Mouthings,
    is_right: IsRight | None = None,
) -> list[YieldRow]:
    """Count what a run yields at each threshold.

    Args:
        evidence: the best candidate of each query, as `store.evidence(rank=1)` gives them.
        thresholds: least scores.
        mouthings: which words make the smaller vocabulary, and which signs are not new.
        is_right: the truth; None: it is not known.
    """
    rows: dict[tuple[str, str, float], tuple[float, bool, bool, bool, bool]] = {}  # by location: windows may share one
    vocabulary = mouthings.words
    for query, candidate in evidence:
        location = (candidate.video, candidate.word, candidate.time)
        if location not in rows:
            rows[location] = (
                candidate.score,
                candidate.word in vocabulary,
                mouthings.between(candidate.video, candidate.word, query.start, query.end),
                mouthings.near(*location),
                is_right is not None and is_right(candidate),
            )
    words = np.array([word for _, word, _ in rows])
    columns = np.array(list(rows.values()), np.float64).reshape(-1, 5).T
    scores, (is_mouthed, in_window, near, right) = columns[0], columns[1:].astype(bool)

    def count(chosen: NDArray[np.bool_]) -> Count:
        in_windows, nearby, correct = (int(flags[chosen].sum()) for flags in (in_window, near, right))
        right_or_none = correct if is_right else None
        return Count(len(np.unique(words[chosen])), int(chosen.sum()), in_windows, nearby, right_or_none)

    return [YieldRow(t, count((scores >= t) & is_mouthed), count(scores >= t)) for t in thresholds]


def spread_thresholds(keep: float, steps: int = _STEPS) -> list[float]:
    """Thresholds from the lowest score that is kept to just below 1, closer together towards 1.

    Raises:
        OptionsError: `keep` is no score below 1.
    """
    if not 0 <= keep < 1:
        raise OptionsError(f"thresholds are spread from a score of at least 0 and below 1; got {keep}")
    return [round(1 - (1 - keep) * (0.02 / max(1 - keep, 0.02)) ** (step / (steps - 1)), 3) for step in range(steps)]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table of a report. The first column is a threshold; whole numbers are counts, others are shares."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[float | None, ...], ...]  # None, or not a number: nothing to divide by

    def cells(self) -> Iterator[list[str]]:
        """The rows as people read them."""
        for threshold, *values in self.rows:
            yield [f"{threshold:g}", *(f"{value:,}" if isinstance(value, int) else _share(value) for value in values)]

    def as_markdown(self) -> str:
        """The table with its title."""
        lines = [self.columns, ["---"] * len(self.columns), *self.cells()]
        return f"{self.title}:\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def as_dict(self) -> dict[str, Any]:
        """The table for JSON."""
        plain = ((None if value is None or value != value else value for value in row) for row in self.rows)
        return {"title": self.title, "rows": [dict(zip(self.columns, row, strict=True)) for row in plain]}


def tabulate_yield(rows: Sequence[YieldRow], promised: Sequence[float] | None = None) -> ReportTable:
    """The counts; what mouthings tell, where there are some; the precision where it is known, or promised by decoys."""
    by_column: dict[str, list[float | None]] = {
        "least score": [row.threshold for row in rows],
        "words": [row.full.words for row in rows],
        "signs": [row.full.signs for row in rows],
    }
    if any(row.mouthed.words for row in rows):
        by_column |= {
            "new signs": [row.full.new for row in rows],
            "near a mouthing": [row.full.near for row in rows],
            "mouthed words": [row.mouthed.words for row in rows],
            "their signs": [row.mouthed.signs for row in rows],
            "their new signs": [row.mouthed.new for row in rows],
        }
    if any(row.full.precision is not None for row in rows):
        by_column["precision"] = [row.full.precision for row in rows]
    if promised is not None:
        by_column["precision promised by decoys"] = list(promised)
    return ReportTable("Signs by least score", tuple(by_column), tuple(zip(*by_column.values(), strict=True)))


def _share(value: float | None) -> str:
    return "–" if value is None or value != value else f"{100 * value:.1f} %"


_QUANTILES = (0.0, 0.25, 0.5, 0.75)  # quantiles of the scores at which agreement is told


def mouthing_labels(store: Store, least: float) -> list[Label]:
    """The mouthings of a run, each once.

    Args:
        store: of a run with the source mouthing.
        least: probability.

    Raises:
        OptionsError: the run looked for signs, not for mouthings.
    """
    if store.settings().get(SOURCE) != LabelSource.MOUTHING:
        raise OptionsError(f"{store.name} is no run by mouthing. Make one with: signspot annotate --source mouthing")
    return [candidate.as_label() for candidate in spottings(store, least)]


def marked(
    candidates: Iterable[Candidate],
    labels: Sequence[Label],
    media: Mapping[str, str],
    rights: Mapping[str, VideoRights] | None = None,
) -> Iterator[Spotting]:
    """Candidates as spottings, each with the mouthing that agrees with it.

    Args:
        candidates: by hand, those of a video side by side.
        labels: mouthings of all videos.
        media: video of the store → its path.
        rights: video of the store → what may be done with it.
    """
    by_video = labels_by_video(labels)
    for video, of_video in groupby(candidates, key=lambda candidate: candidate.video):
        rights_of_video = (rights or {}).get(video)
        spotted = (candidate.as_spotting(media.get(video), rights_of_video) for candidate in of_video)
        yield from mark_mouthed(spotted, by_video.get(video, ()))


def is_mouthed(candidate: Candidate, by_video: Mapping[str, Sequence[Label]]) -> bool:
    """Whether some mouthing of its video agrees with a candidate."""
    spotting = candidate.as_spotting()
    return any(agrees(spotting, label) for label in by_video.get(candidate.video, ()))


def tabulate_agreement(store: Store, labels: Sequence[Label], is_right: IsRight | None) -> ReportTable:
    """Count the spottings that are mouthed, too, at some thresholds, and the share of either kind that is right."""
    candidates = list(spottings(store, 0.0))
    by_video = labels_by_video(labels)
    kinds = [is_mouthed(candidate, by_video) for candidate in candidates]
    ordered = sorted(candidate.score for candidate in candidates)
    rows: list[tuple[float | None, ...]] = []
    for step in _QUANTILES if ordered else ():
        threshold = ordered[int(step * (len(ordered) - 1))]
        row: list[float | None] = [round(threshold, 3)]
        for wanted in (True, False):
            part = [
                one for one, kind in zip(candidates, kinds, strict=True) if kind is wanted and one.score >= threshold
            ]
            row.append(len(part))
            if is_right:
                row.append(sum(map(is_right, part)) / len(part) if part else None)
        rows.append(tuple(row))
    columns: tuple[str, ...] = ("least score", "mouthed, too", "not mouthed")
    if is_right:
        columns = ("least score", "mouthed, too", "of them right", "not mouthed", "of those right")
    return ReportTable("Signs that are mouthed, too", columns, tuple(rows))


def labels_by_video(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """Video → its labels, in their order."""
    by_video: dict[str, list[Label]] = {}
    for label in labels:
        by_video.setdefault(label.video, []).append(label)
    return by_video
