"""Detections against a threshold: precision, recall, false alarms per hour and average precision, all at once."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.metrics.ranking import FloatArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Found and missed signs, and false alarms, with one threshold."""

    threshold: float  # spottings with this score or more count
    found: int  # true signs found
    false_alarms: int
    truths: int  # true signs there are
    hours: float  # of footage
    overlap: float  # the sum of IoU over those found

    @property
    def precision(self) -> float:
        """Found over spotted; nan where nothing is spotted."""
        return _over(self.found, self.found + self.false_alarms)

    @property
    def recall(self) -> float:
        """Found over true; nan where nothing is true."""
        return _over(self.found, self.truths)

    @property
    def false_alarms_per_hour(self) -> float:
        """False alarms over hours of footage, all words together; nan without footage."""
        return _over(self.false_alarms, self.hours)

    @property
    def mean_iou(self) -> float:
        """Mean overlap of the found spans with the true ones; nan where nothing is found."""
        return _over(self.overlap, self.found)


@dataclass(frozen=True, slots=True, eq=False)
class DetectionCurve:
    """Counts at every score that occurs, highest first. Equal scores enter together, so their order cannot matter."""

    thresholds: Array  # (P,) decreasing
    found: NDArray[np.int64]  # (P,) true signs found with this threshold
    false_alarms: NDArray[np.int64]  # (P,)
    overlap: Array = field(repr=False)  # (P,) sum of IoU over those found
    truths: int
    hours: float

    @property
    def precision(self) -> Array:
        """(P,) found over spotted."""
        return _over_array(self.found, self.found + self.false_alarms)

    @property
    def recall(self) -> Array:
        """(P,) found over true; nan where nothing is true."""
        return _over_array(self.found, np.full(len(self.found), self.truths))

    @property
    def false_alarms_per_hour(self) -> Array:
        """(P,) false alarms over hours of footage; nan without footage."""
        return _over_array(self.false_alarms, np.full(len(self.found), self.hours))

    @property
    def average_precision(self) -> float:
        """The area under precision against recall, all-point interpolation; nan where nothing is true.

        Precision is first raised to the best that any lower threshold gives, then summed over the steps of recall.
        """
        if self.truths == 0:
            return math.nan
        envelope = np.maximum.accumulate(self.precision[::-1])[::-1]
        return float((np.diff(self.found, prepend=0) * envelope).sum()) / self.truths

    def at(self, threshold: float) -> OperatingPoint:
        """The operating point of this threshold: spottings with this score or more."""
        if math.isnan(threshold):
            raise OptionsError("the threshold is NaN; give a number")
        index = int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1
        if index < 0:
            return OperatingPoint(threshold, 0, 0, self.truths, self.hours, 0.0)
        counts = int(self.found[index]), int(self.false_alarms[index])
        return OperatingPoint(threshold, *counts, self.truths, self.hours, float(self.overlap[index]))

    def threshold_for(self, false_alarms_per_hour: float) -> float:
        """The lowest score that occurs at which false alarms per hour do not exceed the number wanted.

        Where even the highest score exceeds it, the next number above that score: nothing seen so far would pass. Where
        no score exceeds it, the lowest score: below it nothing is known.

        Raises:
            OptionsError: the number is negative, or there is no footage or no spotting to measure on.
        """
        if not false_alarms_per_hour >= 0:
            raise OptionsError(f"false alarms per hour must be 0 or more; got {false_alarms_per_hour}")
        if self.hours <= 0:
            raise OptionsError("false alarms per hour need footage of known length; got 0 hours")
        self._need_spottings()
        allowed = int(np.searchsorted(self.false_alarms_per_hour, false_alarms_per_hour, side="right"))
        if allowed == 0:
            return float(np.nextafter(self.thresholds[0], np.inf))
        return float(self.thresholds[allowed - 1])

    def _need_spottings(self) -> None:
        if len(self.thresholds) == 0:
            raise OptionsError("there is no spotting to choose a threshold from. Spot with a lower threshold first.")


def make_curve(
    scores: FloatArray, overlaps: FloatArray, matched: NDArray[np.bool_], *, truths: int, hours: float
) -> DetectionCurve:
    """Count at all thresholds at once, by sorting.

    Args:
        scores: (S,) of every spotting.
        overlaps: (S,) IoU with the true sign it found; any number where it found none.
        matched: (S,) whether it found one.
        truths: how many true signs there are.
        hours: of footage.
    """
    order = np.lexsort((overlaps, matched, -scores))  # the later keys make sums the same in whatever order they came
    ordered = scores[order]
    last_of_ties = np.flatnonzero(np.diff(ordered, append=-np.inf) != 0)
    hits = matched[order]
    return DetectionCurve(
        ordered[last_of_ties].astype(np.float64),
        hits.cumsum(dtype=np.int64)[last_of_ties],
        (~hits).cumsum(dtype=np.int64)[last_of_ties],
        np.where(hits, overlaps[order], 0.0).cumsum(dtype=np.float64)[last_of_ties],
        truths,
        hours,
    )


def _over(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else math.nan


def _over_array(numerators: NDArray[np.int64], denominators: FloatArray | NDArray[np.int64]) -> Array:
    ratios: Array = np.full(len(numerators), np.nan)
    np.divide(numerators, denominators, out=ratios, where=denominators != 0)
    return ratios
