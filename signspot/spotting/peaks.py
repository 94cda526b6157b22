"""From a curve of scores to decisions: all peaks above a threshold, each with its span, overlapping ones suppressed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]

_SHORTEST = 0.12  # seconds: no sign is reported shorter than three frames at 25 fps
_TYPICAL = 0.5  # seconds: for suppression a span counts as at least so long, however narrow its peak
_FLOOR = 0.5  # the score of embeddings that have nothing in common: heights are measured from here
_INSTANT = 1e-9  # seconds: no span is shorter when shares of it are taken
OVERLAP = 0.3  # of the shorter span: peaks of one word that share more are one sign


@dataclass(frozen=True, slots=True)
class Peak:
    """A local maximum of a curve."""

    index: int  # into the curve
    time: float  # seconds
    start: float  # seconds: where the sign begins
    end: float  # seconds: where it ends
    score: float


def find_peaks(
    times: FloatArray,
    scores: FloatArray,
    *,
    threshold: float,
    spans: Callable[[NDArray[np.int64]], tuple[FloatArray, FloatArray]],
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
    places, starts, ends = peak_places(scores, threshold=threshold, spans=spans, overlap=overlap)
    return [
        Peak(int(index), float(times[index]), float(start), float(end), float(scores[index]))
        for index, start, end in zip(places, starts, ends, strict=True)
    ]


def peak_places(
    scores: FloatArray,
    *,
    threshold: float,
    spans: Callable[[NDArray[np.int64]], tuple[FloatArray, FloatArray]],
    overlap: float = OVERLAP,
) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
    """(P,) places, (P,) starts and (P,) ends of the peaks of a curve in order of time, as `find_peaks` finds them."""
    maxima = _maxima_above(scores, threshold)
    best_first = maxima[np.argsort(-scores[maxima], kind="stable")]
    starts, ends = spans(best_first)
    kept = np.array(suppress(*widened(starts, ends), overlap), np.int64)
    kept = kept[np.argsort(best_first[kept], kind="stable")]
    return best_first[kept], starts[kept], ends[kept]


def widened(starts: FloatArray, ends: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(P,) spans as they count for suppression: at least as long as a typical sign, however narrow their peaks."""
    middle = (starts + ends) / 2
    return np.minimum(starts, middle - _TYPICAL / 2), np.maximum(ends, middle + _TYPICAL / 2)


def suppress(starts: FloatArray, ends: FloatArray, overlap: float) -> list[int]:
    """Non-maximum suppression of spans.

    Args:
        starts: (P,) seconds, of the best span first.
        ends: (P,) seconds.
        overlap: largest fraction of the shorter of two kept spans that they may share.

    Returns:
        Places of the spans that are kept, best first.
    """
    order = np.argsort(starts, kind="stable")  # places by time; a place is also a rank: 0 is the best
    one, other = _rivals(starts[order].astype(np.float64), ends[order].astype(np.float64), overlap)
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


def _rivals(starts: FloatArray, ends: FloatArray, overlap: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(R,) earlier and (R,) later ones of all pairs of (P,) spans, by start, that share too much of the shorter."""
    pairs: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    last = np.searchsorted(starts, ends)  # behind the last span that begins before the end of each
    for step in range(1, int((last - np.arange(len(starts))).max(initial=0))):
        one = np.flatnonzero(last - np.arange(len(starts)) > step)
        other = one + step
        shared = np.minimum(ends[one], ends[other]) - starts[other]
        shorter = np.minimum(ends[one] - starts[one], ends[other] - starts[other])
        rival = shared / np.maximum(shorter, _INSTANT) > overlap
        pairs.append((one[rival], other[rival]))
    empty = np.empty(0, np.int64)
    return np.concatenate([empty, *(one for one, _ in pairs)]), np.concatenate([empty, *(other for _, other in pairs)])


def _maxima_above(scores: FloatArray, threshold: float) -> NDArray[np.int64]:
    """(P,) local maxima that reach the threshold; where few windows do, the rest of the curve is hardly looked at."""
    high = scores >= threshold
    if not high.any():
        return np.empty(0, np.int64)
    near = high.copy()
    near[1:] |= high[:-1]
    near[:-1] |= high[1:]
    places = np.flatnonzero(near)
    maxima = places[_local_maxima(scores[places])]
    return np.asarray(maxima[scores[maxima] >= threshold], np.int64)


def _local_maxima(scores: FloatArray) -> NDArray[np.int64]:
    """(P,) indices of local maxima; of a plateau, its middle. The ends of the curve may be maxima."""
    changes = np.flatnonzero(np.diff(scores) != 0)
    starts = np.concatenate(([0], changes + 1))  # of runs of equal values
    ends = np.concatenate((changes, [len(scores) - 1]))
    values = np.concatenate(([-np.inf], scores[starts], [-np.inf]))
    is_peak = (values[1:-1] > values[:-2]) & (values[1:-1] > values[2:])
    return ((starts + ends) // 2)[is_peak].astype(np.int64)


def half_height_spans(
    times: FloatArray, scores: FloatArray, peaks: NDArray[np.int64], longest: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Spans around peaks in which a curve stays above half its height over a fixed floor; nothing far away counts.

    Args:
        times: (T,) seconds.
        scores: (T,) the curve.
        peaks: (P,) places of maxima.
        longest: seconds that a span may last at most.

    Returns:
        (P,) starts and (P,) ends in seconds.
    """
    middle, reach = times[peaks].astype(np.float64), longest / 2
    half = (scores[peaks] + np.minimum(_FLOOR, scores[peaks])) / 2
    first = np.maximum(0, np.searchsorted(times, middle - reach) - 1)  # one beyond, on either side: what is
    last = np.minimum(len(times) - 1, np.searchsorted(times, middle + reach))  # farther is cut off below
    before = _run_length(scores, peaks, half, peaks - first, -1)
    after = _run_length(scores, peaks, half, last - peaks, 1)
    start = np.maximum(times[peaks - before], middle - reach)
    end = np.minimum(times[peaks + after], middle + reach)
    start, end = np.minimum(start, middle - _SHORTEST / 2), np.maximum(end, middle + _SHORTEST / 2)
    return np.maximum(0.0, start), end


def _run_length(
    scores: FloatArray, peaks: NDArray[np.int64], half: FloatArray, most: NDArray[np.int64], step: int
) -> NDArray[np.int64]:
    """(P,) how many windows beside each peak, at most `most`, stay at or above `half`."""
    reach = np.arange(1, int(most.max(initial=0)) + 1)
    places = (peaks[:, None] + step * reach).clip(0, len(scores) - 1)
    below = (scores[places] < half[:, None]) | (reach > most[:, None])
    first = np.where(below.any(axis=1), below.argmax(axis=1), len(reach)) if len(reach) else np.zeros_like(peaks)
    return np.asarray(first, np.int64)
