"""From a curve of scores to decisions: all peaks above a threshold, near ones suppressed."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]

_SHORTEST = 0.12  # seconds: no sign is reported shorter than three frames at 25 fps


@dataclass(frozen=True, slots=True)
class Peak:
    """A place where a curve is highest."""

    index: int  # into the curve
    time: float  # seconds
    start: float  # seconds: where the curve climbs through half its height
    end: float  # seconds: where it falls through it again
    score: float


def find_peaks(
    times: FloatArray,
    scores: FloatArray,
    *,
    threshold: float,
    gap: float,
    longest: float,
    top: int | None = None,
) -> list[Peak]:
    """Find the local maxima of a curve that reach a threshold, best first kept, in order of time.

    Args:
        times: (T,) seconds, increasing; the steps need not be equal.
        scores: (T,) the curve.
        threshold: a peak's score is at least this.
        gap: seconds between two peaks, at least; of nearer ones the higher stays (non-maximum suppression).
        longest: seconds that a span may last at most.
        top: keep at most so many peaks, the highest.
    """
    candidates = _maxima_above(scores, threshold)
    if not len(candidates):
        return []
    best_first = candidates[np.argsort(-scores[candidates], kind="stable")]
    kept = _suppressed(times[best_first], gap, top)
    floor = float(np.median(scores))
    return [_with_span(times, scores, index, floor, longest) for index in sorted(best_first[kept].tolist())]


def _maxima_above(scores: FloatArray, threshold: float) -> NDArray[np.int64]:
    """(P,) local maxima that reach the threshold; where few windows do, the rest of the curve is hardly looked at."""
    high = np.flatnonzero(scores >= threshold)
    if not len(high):
        return np.empty(0, np.int64)
    places = np.unique(np.concatenate([high - 1, high, high + 1]).clip(0, len(scores) - 1))
    maxima = places[_local_maxima(scores[places])]
    return np.asarray(maxima[scores[maxima] >= threshold], np.int64)


def _suppressed(times: FloatArray, gap: float, top: int | None) -> list[int]:
    """Places in `times`, best first, that are kept: each at least `gap` from all that were kept before it."""
    kept: list[int] = []
    taken: list[float] = []  # in order
    for place, time in enumerate(times.tolist()):
        if top is not None and len(kept) == top:
            break
        at = bisect_left(taken, time)
        if all(abs(time - other) >= gap for other in taken[max(0, at - 1) : at + 1]):
            kept.append(place)
            taken.insert(at, time)
    return kept


def _local_maxima(scores: FloatArray) -> NDArray[np.int64]:
    """(P,) indices of local maxima; of a plateau, its middle. The ends of the curve may be maxima."""
    if len(scores) == 0:
        return np.empty(0, np.int64)
    changes = np.flatnonzero(np.diff(scores) != 0)
    starts = np.concatenate(([0], changes + 1))  # of runs of equal values
    ends = np.concatenate((changes, [len(scores) - 1]))
    values = np.concatenate(([-np.inf], scores[starts], [-np.inf]))
    is_peak = (values[1:-1] > values[:-2]) & (values[1:-1] > values[2:])
    return ((starts + ends) // 2)[is_peak].astype(np.int64)


def _with_span(times: FloatArray, scores: FloatArray, index: int, floor: float, longest: float) -> Peak:
    """Measure how far around `index` the curve stays above half its height over `floor`."""
    score = float(scores[index])
    half = (score + min(floor, score)) / 2
    middle, reach = float(times[index]), longest / 2
    low, high = (int(place) for place in np.searchsorted(times, (middle - reach, middle + reach)))
    low = max(0, low - 1)  # one beyond, on either side: what is farther is cut off below
    before = np.flatnonzero(scores[low:index] < half)
    after = np.flatnonzero(scores[index : high + 1] < half)
    first = low + before[-1] + 1 if len(before) else low
    last = index + after[0] - 1 if len(after) else min(high, len(scores) - 1)
    start = min(max(float(times[first]), middle - reach), middle - _SHORTEST / 2)
    end = max(min(float(times[last]), middle + reach), middle + _SHORTEST / 2)
    return Peak(index, middle, max(0.0, start), end, score)
