"""Curves and their peaks: the score of a word at every time step, and the peaks above a threshold.

A curve is the score of a word by all its exemplars and their mirror images. Every peak gets the span of its sign, and
of peaks that overlap only the best is kept. Curves of many words are processed at once: a loop over words would take
longer than comparing their exemplars.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.spotting.matching import FloatArray, Indices, Matcher, Scores, Spans, fitted, strength
from signspot.spotting.spot_options import OVERLAP

SpansOf = Callable[[Indices, Indices], tuple[FloatArray, FloatArray]]  # of (P,) curves and (P,) time steps of them

_PROMINENCE: float = fitted("peaks")["prominence"]  # in units of strength: by how much a curve falls between two signs
_TYPICAL = 0.5  # seconds: for suppression a span counts as at least so long, however narrow its peak
_INSTANT = 1e-9  # seconds: no span is shorter when shares of it are taken
_CELLS = 2_000_000  # scores that are examined at once: 16 MB of indices
_FEW = 4096  # maxima between which suppression decides at once
_OFTEN = 8  # one time step of so many: if more reach the threshold, they do often
_COMPARED_CELLS = 24_000_000  # time steps × exemplars compared at once: 96 MB; products of fewer rows are slower
_FEWEST = 16  # exemplars at once, however long the track


@dataclass(frozen=True, slots=True)
class Peaks:
    """Local maxima of several curves, by curve and then by time."""

    curves: Indices  # (P,) which curve each is of
    steps: Indices  # (P,) time steps of the peaks in their curves
    starts: FloatArray  # (P,) seconds: where the signs begin
    ends: FloatArray  # (P,) seconds: where they end
    scores: FloatArray  # (P,)

    @classmethod
    def joined(cls, parts: Sequence["Peaks"]) -> "Peaks":
        """Parts, one after the other."""
        if not parts:
            return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0), np.empty(0))
        return cls(
            np.concatenate([part.curves for part in parts]),
            np.concatenate([part.steps for part in parts]),
            np.concatenate([part.starts for part in parts]),
            np.concatenate([part.ends for part in parts]),
            np.concatenate([part.scores for part in parts]),
        )

    def select(self, which: NDArray[Any]) -> "Peaks":
        """Some of the peaks, by index or by a mask."""
        return Peaks(self.curves[which], self.steps[which], self.starts[which], self.ends[which], self.scores[which])


@dataclass(frozen=True)
class CurveBlock:
    """The scores of some words at every time step."""

    words: tuple[str, ...]  # W of them
    scores: Scores  # (W, T)
    word_rows: tuple[Indices, ...]  # of each word: the rows of the gallery that show it
    compared: Scores  # (V, T) what the matcher gave for these rows, those of the first word first
    matcher: Matcher

    @cached_property
    def _table(self) -> Indices:
        """(W, M) which rows of `compared` are of each word; where it has fewer than M, its first one again."""
        firsts = accumulate((len(rows) for rows in self.word_rows[:-1]), initial=0)
        most = max(len(rows) for rows in self.word_rows)
        table = np.empty((len(self.words), most), np.int64)
        for word, (first, rows) in enumerate(zip(firsts, self.word_rows, strict=True)):
            table[word] = first
            table[word, : len(rows)] += np.arange(len(rows))
        return table

    @cached_property
    def _joined(self) -> Indices:
        """(V,) rows of the gallery."""
        return np.concatenate(self.word_rows)

    def best_rows(self, words: Indices, steps: Indices) -> Indices:
        """(P,) which row of the gallery fits best of each of (P,) words, by number, at (P,) time steps."""
        candidates = self._table[words]
        scores = self.matcher.as_scores(self.compared[candidates, steps[:, None]])  # of a copy
        rows: Indices = self._joined[candidates[np.arange(len(candidates)), scores.argmax(axis=1)]]
        return rows

    def scores_of_rows(self, word: str) -> Scores:
        """(R, T) the scores of the rows of the gallery that show a word."""
        index = self.words.index(word)
        first = sum(len(rows) for rows in self.word_rows[:index])
        return self.matcher.as_scores(self.compared[first : first + len(self.word_rows[index])].copy())

    def spans(self, words: Indices, steps: Indices) -> Spans:
        """The spans of (P,) words, by number, at any (P,) time steps, whatever their scores."""
        return self.matcher.spans(self.scores, words, self.best_rows(words, steps), steps)

    def peaks(self, thresholds: Sequence[float], overlap: float) -> Peaks:
        """The peaks of every word.

        Args:
            thresholds: of each word: the least score of a peak.
            overlap: largest part of the shorter of two spans that they may share.
        """
        return peaks_of_curves(self.scores, np.array(thresholds), self.spans, overlap)

    def at(self, words: Indices, steps: Indices) -> Peaks:
        """As peaks, (P,) words, by number, at any (P,) time steps."""
        return Peaks(words, steps, *self.spans(words, steps), self.scores[words, steps])


def curve_blocks(
    matcher: Matcher, gallery: Gallery, *, lasting: bool = True, apart: bool = False
) -> Iterator[CurveBlock]:
    """The scores of all words, fused from those of their exemplars, some words at a time, in the order of the gallery.

    Args:
        matcher: of the gallery's rows.
        gallery: the words.
        lasting: whether a block outlives the next one; if not, its memory is used again.
        apart: compare the exemplars of each word by themselves, so that not even the last digit of a score depends on
            which other words are looked for: products of other sizes are rounded otherwise.
    """
    buffers: tuple[Scores, Scores] | None = None
    most, length = max(_FEWEST, _COMPARED_CELLS // max(1, len(matcher.times))), len(matcher.times)
    for words in _groups(gallery.words, most):
        word_rows = tuple(gallery.words[word] for word in words)
        count = sum(len(rows) for rows in word_rows)
        if buffers is None or lasting or len(buffers[0]) < count or len(buffers[1]) < len(words):
            buffers = np.empty((count, length), np.float32), np.empty((len(words), length), np.float32)
        compared, scores = buffers[0][:count], buffers[1][: len(words)]
        if not apart:
            compared = matcher.compared(np.concatenate(word_rows).tolist(), compared)
        first = 0
        for word, rows, curve in zip(words, word_rows, scores, strict=True):
            part = compared[first : first + len(rows)]
            if apart:
                matcher.compared(rows.tolist(), part)
            matcher.fuse(part, gallery, word, curve)
            first += len(rows)
        yield CurveBlock(tuple(words), scores, word_rows, compared, matcher)


def _groups(rows_of: Mapping[str, Indices], most: int) -> Iterator[list[str]]:
    """Words in groups that together have about `most` rows."""
    group: list[str] = []
    count = 0
    for word, rows in rows_of.items():
        group.append(word)
        count += len(rows)
        if count >= most:
            yield group
            group, count = [], 0
    if group:
        yield group


def peaks_of_curves(scores: FloatArray, thresholds: FloatArray, spans: SpansOf, overlap: float = OVERLAP) -> Peaks:
    """Find the local maxima of several curves that reach a threshold, each with its span, in order of time.

    Args:
        scores: (W, T) the curves.
        thresholds: (W,) least score of a peak of each curve.
        spans: gives (P,) starts and (P,) ends in seconds of the signs at (P,) time steps of (P,) curves.
        overlap: of two peaks whose spans share more than this fraction of the shorter one, the higher stays.
    """
    least = thresholds.astype(scores.dtype)  # as a number of Python would be taken
    count = max(1, _CELLS // max(1, scores.shape[1]))
    parts = []
    for at in range(0, len(scores), count):
        part = scores[at : at + count]
        curves, steps = prominent(part, *_maxima_above(part, least[at : at + count]))
        for some in _whole_curves(curves):
            parts.append(_without_rivals(scores, curves[some] + at, steps[some], spans, overlap))
    return Peaks.joined(parts) if len(parts) != 1 else parts[0]


def prominent(scores: FloatArray, curves: Indices, steps: Indices) -> tuple[Indices, Indices]:
    """The maxima at (P,) time steps of (P,) curves that rise enough above the way to a higher one of their curve.

    A rise on the flank of a sign, and the trembling of a slow one, is not a sign of its own. Whether a maximum counts
    follows from higher ones alone, so a lower threshold never takes one away.

    Args:
        scores: (W, T) the curves.
        curves: (P,) which curve each maximum is of, rising.
        steps: (P,) its time step, rising within a curve.
    """
    if len(curves) < 2:
        return curves, steps
    flat, positions = np.ravel(scores), curves * scores.shape[1] + steps
    heights = strength(flat[positions])
    valleys = strength(np.minimum.reduceat(flat, positions)[:-1])  # between each maximum and the next
    valleys[curves[1:] != curves[:-1]] = -np.inf
    numbers = np.arange(len(curves))
    while True:
        here, after = heights[numbers[:-1]], heights[numbers[1:]]
        shallow = np.minimum(here, after) - valleys < _PROMINENCE
        lost = np.zeros(len(numbers), bool)
        lost[:-1] |= shallow & (here < after)
        lost[1:] |= shallow & (here >= after)
        if not lost.any():
            return curves[numbers], steps[numbers]
        still = np.flatnonzero(~lost)
        if len(still) < 2:
            return curves[numbers[still]], steps[numbers[still]]
        valleys, numbers = np.minimum.reduceat(valleys[: still[-1]], still[:-1]), numbers[still]


def _whole_curves(curves: Indices) -> Iterator[slice]:
    """Slices of (P,) maxima, by curve: about `_FEW` maxima each, and all of the last curve."""
    start = 0
    while start < len(curves):
        last = curves[min(start + _FEW, len(curves)) - 1]
        end = int(np.searchsorted(curves, last, side="right"))
        yield slice(start, end)
        start = end


def _without_rivals(scores: FloatArray, curves: Indices, steps: Indices, spans: SpansOf, overlap: float) -> Peaks:
    """The maxima at (P,) time steps of (P,) curves without those that overlap a higher one."""
    starts, ends = spans(curves, steps)
    peaks = Peaks(curves, steps, starts, ends, scores[curves, steps])
    best_first = _ordered(-peaks.scores, curves)  # of equal ones the earlier first
    wide = widened(starts[best_first], ends[best_first])
    chosen = np.array(suppress(*wide, overlap, curves[best_first]), np.int64)
    return peaks.select(np.sort(best_first[chosen]))


def widened(starts: FloatArray, ends: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(P,) spans as they count for suppression: at least as long as a typical sign, however narrow their peaks."""
    middle = (starts + ends) / 2
    return np.minimum(starts, middle - _TYPICAL / 2), np.maximum(ends, middle + _TYPICAL / 2)


def suppress(starts: FloatArray, ends: FloatArray, overlap: float, curves: Indices | None = None) -> list[int]:
    """Non-maximum suppression of spans.

    Args:
        starts: (P,) seconds, of the best span first.
        ends: (P,) seconds.
        overlap: largest fraction of the shorter of two kept spans that they may share.
        curves: (P,) which curve each is of: those of different ones are not rivals; None: all of one.

    Returns:
        Indices of the spans that are kept, best first.
    """
    of = np.zeros(len(starts), np.int64) if curves is None else curves
    order = _ordered(starts, of)  # spans by time; an index is also a rank: 0 is the best
    one, other = _rivals(starts[order].astype(np.float64), ends[order].astype(np.float64), overlap, of[order])
    better, worse = np.minimum(order[one], order[other]), np.maximum(order[one], order[other])
    is_kept, open_ = np.ones(len(starts), bool), np.ones(len(starts), bool)  # open: not decided yet
    while len(worse):
        beaten = np.zeros(len(starts), bool)
        beaten[worse] = True
        sure = open_ & ~beaten  # nothing better that is still open rivals these: they stay
        is_kept[worse[sure[better]]] = False
        open_ &= ~sure & is_kept
        still = open_[better] & open_[worse]
        better, worse = better[still], worse[still]
    indices: list[int] = np.flatnonzero(is_kept).tolist()
    return indices


def _ordered(values: FloatArray, curves: Indices) -> Indices:
    """(P,) order by curve, which rises, and then by value; equal ones as they are."""
    if not len(curves) or curves[0] == curves[-1]:
        return np.argsort(values, kind="stable")
    return np.lexsort((values, curves))


def _rivals(starts: FloatArray, ends: FloatArray, overlap: float, curves: Indices) -> tuple[Indices, Indices]:
    """(R,) earlier and (R,) later ones of all pairs of (P,) spans, by curve and start, that share too much."""
    earlier, later = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    one, step = np.arange(len(starts)), 0
    while len(one):
        step += 1
        one = one[: np.searchsorted(one, len(starts) - step)]
        other = one + step
        meets = (starts[other] < ends[one]) & (curves[one] == curves[other])  # if not, neither do later ones
        one, other = one[meets], other[meets]
        shared = np.minimum(ends[one], ends[other]) - starts[other]
        shorter = np.minimum(ends[one] - starts[one], ends[other] - starts[other])
        rival = shared / np.maximum(shorter, _INSTANT) > overlap
        earlier.append(one[rival])
        later.append(other[rival])
    return np.concatenate(earlier), np.concatenate(later)


def _maxima_above(scores: FloatArray, thresholds: FloatArray) -> tuple[Indices, Indices]:
    """(P,) curves and (P,) time steps of the local maxima that reach the threshold; of a plateau, its middle.

    The ends of a curve may be maxima. Where few time steps reach the threshold, the others are skipped.

    Args:
        scores: (W, T) curves.
        thresholds: (W,) of each.
    """
    length, flat = scores.shape[1], np.ravel(scores)
    high = _where_high(scores, thresholds)
    if not len(high):
        return high, high
    values = flat[high]
    breaks = (high[1:] != high[:-1] + 1) | (values[1:] != values[:-1])  # between runs of equal values
    borders = np.searchsorted(high, np.arange(1, len(scores)) * length)  # a run ends with its curve
    breaks[borders[(borders > 0) & (borders < len(high))] - 1] = True
    last = np.append(np.flatnonzero(breaks), len(high) - 1)
    first = np.append(0, last[:-1] + 1)
    values, first, last = values[first], high[first], high[last]
    before = np.where(first % length > 0, flat[first - 1], -np.inf)
    after = np.where(last % length < length - 1, flat[(last + 1) % len(flat)], -np.inf)
    is_peak = (values > before) & (values > after)
    curves, begins = np.divmod(first[is_peak], length)
    return curves, (begins + last[is_peak] - curves * length) // 2


def _where_high(scores: FloatArray, thresholds: FloatArray) -> Indices:
    """(N,) indices, into all curves one after the other, at which (W, T) curves reach (W,) thresholds.

    Eight time steps are skipped at once where none of them does. Where many do, those with a higher neighbour are left
    out.
    """
    count, length = scores.shape
    high = np.zeros((count, -(-length // 8) * 8), bool)
    inside = high[:, :length]
    np.greater_equal(scores, thresholds[:, None], out=inside)
    if _OFTEN * np.count_nonzero(inside) > inside.size:  # then it is quicker to look at all neighbours first
        inside[:, 1:] &= scores[:, 1:] >= scores[:, :-1]
        inside[:, :-1] &= scores[:, :-1] >= scores[:, 1:]
    eights = np.flatnonzero(high.view(np.uint64))
    indices = (8 * eights[:, None] + np.arange(8))[high.reshape(-1, 8)[eights]]
    spare = high.shape[1] - length
    return indices - indices // high.shape[1] * spare if spare else indices
