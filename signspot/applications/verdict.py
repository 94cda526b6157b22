"""The verdict on a learner's sign: how much speaks for each way of being wrong, against its being right.

A multinomial regression over how far each measure is beyond what is usual, and over unlikeness by alignment. It was
fitted on signs of worlds with one parameter changed on purpose, and what it says is printed by

    python -m experiments.applications feedback --choose --words 40 --seed 51 --further 61 151 161 251 261
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from signspot.applications.differences import Parameter

CHANGES: tuple[str, ...] = ("handshape", "place", "orientation", "path", "local", "hands", "repetition")
TOLD: dict[str, Parameter] = {  # what a learner is told
    "handshape": "handshape",
    "place": "place",
    "orientation": "orientation",
    "path": "movement",
    "local": "movement",
    "hands": "hand",
    "repetition": "timing",
}
LEAST, MOST = -1.5, 6.0  # spreads beyond which a measure says no more
UNLIKE = "unlike"  # the logarithm of the unlikeness by alignment


@dataclass(frozen=True, slots=True)
class Usual:
    """The usual difference of one measure between two people who both sign a word right."""

    between: float  # its mean between exemplars
    more: float  # how much more than that a right sign has, by the median
    spread: float  # the unit in which more is told


# between, more, spread, then the weight for each of CHANGES
_TABLE: dict[str, tuple[float, ...]] = {
    "handshape": (0.304, -0.034, 0.064, 0.549, -0.225, 0.001, -0.084, 0.026, -0.178, 0.083),
    "place": (0.300, -0.058, 0.094, -0.213, 0.608, -0.110, -0.105, 0.044, -0.006, -0.087),
    "ends": (0.522, -0.122, 0.173, 0.001, 0.011, -0.099, -0.373, -0.325, -0.183, -0.216),
    "orientation": (0.633, -0.086, 0.215, -0.519, -0.156, 1.002, -0.074, -0.337, -0.424, -0.050),
    "path": (0.284, -0.012, 0.100, -0.091, -0.197, -0.121, 0.200, -0.169, -0.105, -0.143),
    "course": (0.263, -0.012, 0.068, 0.210, 0.127, 0.217, 0.563, 0.386, 0.265, 0.500),
    "direction": (0.596, -0.031, 0.238, 0.053, 0.188, -0.100, 0.332, -0.052, -0.075, 0.375),
    "net": (0.321, -0.100, 0.109, -0.220, -0.111, 0.083, 0.088, -0.091, -0.291, -0.106),
    "size": (0.341, -0.113, 0.129, 0.126, -0.122, -0.162, 0.234, -0.061, -0.122, -0.154),
    "depth": (0.137, -0.019, 0.040, -0.180, -0.015, -0.030, 0.321, -0.057, 0.092, 0.266),
    "round": (0.133, -0.036, 0.053, -0.026, -0.034, 0.024, 0.081, -0.005, 0.079, -0.070),
    "turning": (0.267, -0.037, 0.077, 0.203, 0.218, 0.308, 0.128, 0.368, 0.254, 0.438),
    "twist": (0.155, -0.040, 0.057, -0.271, -0.126, -0.272, -0.341, 0.192, -0.288, -0.455),
    "fingers": (0.282, -0.010, 0.069, -0.080, -0.170, -0.103, -0.506, -0.019, -0.132, -0.033),
    "bendings": (0.379, -0.037, 0.226, 0.044, -0.021, 0.012, -0.021, 0.113, -0.138, 0.176),
    "cycles": (0.216, -0.052, 0.087, -0.022, 0.067, 0.011, 0.202, -0.126, 0.041, 0.754),
    "ways": (0.255, -0.127, 0.200, -0.085, -0.058, -0.033, -0.046, -0.005, -0.142, 0.095),
    "duration": (0.326, -0.068, 0.141, 0.024, -0.056, 0.026, -0.199, -0.073, -0.057, 0.149),
    "hand": (0.178, -0.089, 0.100, -0.163, -0.159, -0.039, -0.070, -0.031, 0.152, 0.040),
    "height": (0.190, -0.056, 0.076, -0.152, 0.221, -0.103, 0.152, 0.136, 0.676, -0.176),
    "unlike": (0.000, -0.204, 0.126, 1.254, 0.597, 0.990, 0.270, 0.322, 1.227, 0.023),
}
_BIAS = (-3.544, -2.927, -5.696, -3.166, -2.292, -6.658, -4.289)
LIMIT = 0.330  # the doubt that one of ten right signs exceeds
NOTABLE = 0.434  # the chance of some change that one of ten right signs exceeds
USUAL: dict[str, Usual] = {name: Usual(*row[:3]) for name, row in _TABLE.items()}


def evidence(strengths: Mapping[str, float]) -> dict[str, float]:
    """Logarithms of the odds that one parameter was changed, against none; by change.

    Args:
        strengths: of each measure, and of `UNLIKE`: spreads above what is usual. What is missing is as usual.
    """
    total = np.array(_BIAS)
    for name, row in _TABLE.items():
        strength = strengths.get(name, 0.0)
        if not math.isnan(strength):
            total = total + np.array(row[3:]) * min(MOST, max(LEAST, strength))
    return dict(zip(CHANGES, total.tolist(), strict=True))


def chance(odds: float) -> float:
    """The chance that goes with a logarithm of odds."""
    return 1 / (1 + math.exp(-max(-50.0, odds)))


def weight(name: str, change: str) -> float:
    """The weight of a measure as evidence for a change."""
    return _TABLE[name][3 + CHANGES.index(change)]


def doubt(found: Mapping[str, float]) -> float:
    """The logarithm of the odds that anything was changed, by `evidence`, above what nine of ten right signs reach."""
    return float(np.logaddexp.reduce(list(found.values()))) - LIMIT
