"""From curves of scores to decisions: all peaks above a threshold, each with its span, overlapping ones suppressed.

Curves of many words are looked through at once: what is done per word would take longer than comparing its exemplars.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.spotting.options import OVERLAP

FloatArray = NDArray[np.floating[Any]]
Places = NDArray[np.int64]
SpansOf = Callable[[Places, Places], tuple[FloatArray, FloatArray]]  # of (P,) curves and (P,) places in them

_SHORTEST = 0.12  # seconds: no sign is reported shorter than three frames at 25 fps
_TYPICAL = 0.5  # seconds: for suppression a span counts as at least so long, however narrow its peak
_FLOOR = 0.5  # the score of embeddings that have nothing in common: heights are measured from here
_INSTANT = 1e-9  # seconds: no span is shorter when shares of it are taken
_CELLS = 2_000_000  # scores that are looked through at once, or that are looked at for spans: some 16 MB of places
_FEW = 4096  # maxima that are told apart at once
_OFTEN = 8  # one moment of so many: if more reach the threshold, they do often


@dataclass(frozen=True, slots=True)
class Peak:
    """A local maximum of a curve."""

    index: int  # into the curve
    time: float  # seconds
    start: float  # seconds: where the sign begins
    end: float  # seconds: where it ends
    score: float


@dataclass(frozen=True, slots=True)
class Peaks:
    """Local maxima of several curves, by curve and then by time."""

    curves: Places  # (P,) which curve each is of
    places: Places  # (P,) into the curve
    starts: FloatArray  # (P,) seconds: where the signs begin
    ends: FloatArray  # (P,) seconds: where they end
    scores: FloatArray  # (P,)

    @classmethod
    def joined(cls, parts: Sequence["Peaks"]) -> "Peaks":
        """Parts, one after the other."""
        none = np.empty(0, np.int64)
        numbers = (np.concatenate([none, *each]) for each in ([p.curves for p in parts], [p.places for p in parts]))
        rest = ([p.starts for p in parts], [p.ends for p in parts], [p.scores for p in parts])
        return cls(*numbers, *(np.concatenate(each) if each else np.empty(0) for each in rest))

    def taken(self, which: NDArray[Any]) -> "Peaks":
        """Some of them, by places or by a mask."""
        return Peaks(self.curves[which], self.places[which], self.starts[which], self.ends[which], self.scores[which])


def find_peaks(
    times: FloatArray,
    scores: FloatArray,
    *,
    threshold: float,
    spans: Callable[[Places], tuple[FloatArray, FloatArray]],
    overlap: float = OVERLAP,
) -> list[Peak]:
    """Find the local maxima of a curve that reach a threshold, best first kept, in order of time.

    Args:
        times: (T,) seconds, increasing; the steps need not be equal.
        scores: (T,) the curve.
        threshold: least score of a peak.
        spans: gives (P,) starts and (P,) ends in seconds of the signs at (P,) places of the curve.
        overlap: of two peaks whose spans share more than this fraction of the shorter one, the higher stays.
    """
    found = peaks_of_curves(scores[None], np.array([threshold]), lambda _, places: spans(places), overlap)
    columns = (found.places, times[found.places], found.starts, found.ends, found.scores)
    return [Peak(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def peaks_of_curves(scores: FloatArray, thresholds: FloatArray, spans: SpansOf, overlap: float = OVERLAP) -> Peaks:
    """The peaks of several curves, each as `find_peaks` finds them.

    Args:
        scores: (W, T) the curves.
        thresholds: (W,) least score of a peak of each.
        spans: gives (P,) starts and (P,) ends in seconds of the signs at (P,) places of (P,) curves.
        overlap: as `find_peaks` takes it.
    """
    least = thresholds.astype(scores.dtype)  # as a number of Python would be taken
    each = max(1, _CELLS // max(1, scores.shape[1]))
    found = []
    for at in range(0, len(scores), each):
        curves, places = _maxima_above(scores[at : at + each], least[at : at + each])
        for part in _whole_curves(curves):
            found.append(_without_rivals(scores, curves[part] + at, places[part], spans, overlap))
    return Peaks.joined(found) if len(found) != 1 else found[0]


def _whole_curves(curves: Places) -> Iterator[slice]:
    """Parts of (P,) maxima, by curve: some `_FEW` of them, and all of the last curve."""
    start = 0
    while start < len(curves):
        last = curves[min(start + _FEW, len(curves)) - 1]
        end = int(np.searchsorted(curves, last, side="right"))
        yield slice(start, end)
        start = end


def _without_rivals(scores: FloatArray, curves: Places, places: Places, spans: SpansOf, overlap: float) -> Peaks:
    """Of the maxima at (P,) places of (P,) curves, those that stay."""
    starts, ends = spans(curves, places)
    found = Peaks(curves, places, starts, ends, scores[curves, places])
    best_first = _ordered(-found.scores, curves)  # of equal ones the earlier first
    wide = widened(starts[best_first], ends[best_first])
    kept = np.array(suppress(*wide, overlap, curves[best_first]), np.int64)
    return found.taken(np.sort(best_first[kept]))


def widened(starts: FloatArray, ends: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(P,) spans as they count for suppression: at least as long as a typical sign, however narrow their peaks."""
    middle = (starts + ends) / 2
    return np.minimum(starts, middle - _TYPICAL / 2), np.maximum(ends, middle + _TYPICAL / 2)


def suppress(starts: FloatArray, ends: FloatArray, overlap: float, curves: Places | None = None) -> list[int]:
    """Non-maximum suppression of spans.

    Args:
        starts: (P,) seconds, of the best span first.
        ends: (P,) seconds.
        overlap: largest fraction of the shorter of two kept spans that they may share.
        curves: (P,) which curve each is of: those of different ones are no rivals; None: all of one.

    Returns:
        Places of the spans that are kept, best first.
    """
    of = np.zeros(len(starts), np.int64) if curves is None else curves
    order = _ordered(starts, of)  # places by time; a place is also a rank: 0 is the best
    one, other = _rivals(starts[order].astype(np.float64), ends[order].astype(np.float64), overlap, of[order])
    better, worse = np.minimum(order[one], order[other]), np.maximum(order[one], order[other])
    kept, open_ = np.ones(len(starts), bool), np.ones(len(starts), bool)  # open: not decided yet
    while len(worse):
        beaten = np.zeros(len(starts), bool)
        beaten[worse] = True
        sure = open_ & ~beaten  # nothing better that is still open rivals these: they stay
        kept[worse[sure[better]]] = False
        open_ &= ~sure & kept
        still = open_[better] & open_[worse]
        better, worse = better[still], worse[still]
    places: list[int] = np.flatnonzero(kept).tolist()
    return places


def _ordered(values: FloatArray, curves: Places) -> Places:
    """(P,) places by curve, which rises, and then by value; equal ones as they are."""
    if not len(curves) or curves[0] == curves[-1]:
        return np.argsort(values, kind="stable")
    return np.lexsort((values, curves))


def _rivals(starts: FloatArray, ends: FloatArray, overlap: float, curves: Places) -> tuple[Places, Places]:
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


def _maxima_above(scores: FloatArray, thresholds: FloatArray) -> tuple[Places, Places]:
    """(P,) curves and (P,) places of the local maxima that reach the threshold; of a plateau, its middle.

    The ends of a curve may be maxima. Where few moments reach the threshold, the others are hardly looked at.

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


def _where_high(scores: FloatArray, thresholds: FloatArray) -> Places:
    """(N,) places, in all curves one after the other, at which (W, T) curves reach (W,) thresholds.

    Eight moments are skipped at once where none of them does. Where many do, those with a higher neighbour are left
    out.
    """
    count, length = scores.shape
    high = np.zeros((count, -(-length // 8) * 8), bool)
    shown = high[:, :length]
    np.greater_equal(scores, thresholds[:, None], out=shown)
    if _OFTEN * np.count_nonzero(shown) > shown.size:  # then it is quicker to look at all neighbours first
        shown[:, 1:] &= scores[:, 1:] >= scores[:, :-1]
        shown[:, :-1] &= scores[:, :-1] >= scores[:, 1:]
    eights = np.flatnonzero(high.view(np.uint64))
    places = (8 * eights[:, None] + np.arange(8))[high.reshape(-1, 8)[eights]]
    spare = high.shape[1] - length
    return places - places // high.shape[1] * spare if spare else places


def half_height_spans(
    times: FloatArray, scores: FloatArray, curves: Places, peaks: Places, longest: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Spans around peaks in which a curve stays above half its height over a fixed floor; nothing far away counts.

    Args:
        times: (T,) seconds.
        scores: (W, T) curves.
        curves: (P,) the curve of each maximum.
        peaks: (P,) its place there.
        longest: seconds that a span may last at most.

    Returns:
        (P,) starts and (P,) ends in seconds.
    """
    middle, reach = times[peaks].astype(np.float64), longest / 2
    height = scores[curves, peaks]
    half = (height + np.minimum(_FLOOR, height)) / 2
    first = np.maximum(0, np.searchsorted(times, middle - reach) - 1)  # one beyond, on either side: what is
    last = np.minimum(len(times) - 1, np.searchsorted(times, middle + reach))  # farther is cut off below
    before = _run_lengths(scores, curves, peaks, half, peaks - first, -1)
    after = _run_lengths(scores, curves, peaks, half, last - peaks, 1)
    start = np.maximum(times[peaks - before], middle - reach)
    end = np.minimum(times[peaks + after], middle + reach)
    start, end = np.minimum(start, middle - _SHORTEST / 2), np.maximum(end, middle + _SHORTEST / 2)
    return np.maximum(0.0, start), end


def _run_lengths(
    scores: FloatArray, curves: Places, peaks: Places, half: FloatArray, most: Places, step: int
) -> Places:
    """(P,) how many windows beside each peak, at most `most`, stay at or above `half`."""
    reach = step * np.arange(1, int(most.max(initial=0)) + 1)
    found = np.zeros(len(peaks), np.int64)
    for part in _parts(len(peaks), max(1, _CELLS // max(1, len(reach)))) if len(reach) else ():
        places = (peaks[part, None] + reach).clip(0, scores.shape[1] - 1)
        below = (scores[curves[part, None], places] < half[part, None]) | (np.abs(reach) > most[part, None])
        found[part] = np.where(below.any(axis=1), below.argmax(axis=1), len(reach))
    return found


def _parts(count: int, each: int) -> Iterator[slice]:
    return (slice(at, at + each) for at in range(0, count, each))
