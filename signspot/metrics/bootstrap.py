"""Percentile bootstrap intervals of a number, drawing whole groups (words, videos) with replacement."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.metrics.ranking import FloatArray, Group

DRAWS = 2000
CONFIDENCE = 0.95  # the share of draws inside the interval
_BLOCK = 1 << 20  # group indices drawn at once


@dataclass(frozen=True, slots=True)
class Interval:
    """A number and the interval it is likely to lie in; all nan where there is no group."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def bootstrap_mean(
    values: Mapping[Group, Sequence[float]], *, weighting: Literal["group", "instance"] = "group"
) -> Interval:
    """The interval of a mean over grouped values, such as a metric's values by word.

    The groups are ordered by name first, so the result does not depend on the order in which they came in.

    Args:
        values: by group; a group without a value is left out.
        weighting: "group": the mean over groups of each group's mean; "instance": the mean over all values.
    """
    groups = [values[group] for group in sorted(values, key=str) if len(values[group])]
    sums = np.array([math.fsum(group) for group in groups])
    sizes = np.array([len(group) for group in groups], np.float64)
    if weighting == "group":
        sums, sizes = sums / sizes, np.ones_like(sizes)
    return bootstrap_ratio(sums, sizes)


def bootstrap_ratio(numerators: FloatArray, denominators: FloatArray) -> Interval:
    """The interval of a sum over a sum, such as false alarms over hours, drawn over groups.

    Args:
        numerators: (G,) each group's share of the numerator.
        denominators: (G,) each group's share of the denominator, none negative. Draws in which it sums to 0 are left
            out; if it is 0 as a whole, value and interval are nan.
    """
    top, bottom = np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)
    if top.ndim != 1 or top.shape != bottom.shape or not (np.isfinite(top).all() and np.isfinite(bottom).all()):
        raise OptionsError(f"a bootstrap needs finite numbers, two a group; got shapes {top.shape} and {bottom.shape}")
    if (bottom < 0).any():
        raise OptionsError(f"denominators must be 0 or more; got {bottom.min()}")
    if not bottom.any():
        return Interval(math.nan, math.nan, math.nan)
    drawn = _draw(top, bottom)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail]) if len(drawn) else (math.nan, math.nan)
    return Interval(math.fsum(top) / math.fsum(bottom), float(low), float(high))


def _draw(top: NDArray[np.float64], bottom: NDArray[np.float64]) -> NDArray[np.float64]:
    """(≤ draws,) the ratio in every draw of G groups with replacement."""
    random = np.random.default_rng(0)
    at_once = max(1, _BLOCK // len(top))
    ratios = []
    for first in range(0, DRAWS, at_once):
        rows = min(at_once, DRAWS - first)
        chosen = random.integers(len(top), size=(rows, len(top)))
        over, under = top[chosen].sum(axis=1), bottom[chosen].sum(axis=1)
        ratios.append(over[under > 0] / under[under > 0])
    return np.concatenate(ratios)
