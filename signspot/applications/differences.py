"""Differences between two performances of a sign, by parameter: numbers, and the moment where each shows most.

Strokes are compared: what the hands do between being raised and being lowered. Shape, orientation and place are
compared on the whole; movement by the form, direction and depth of the path, and by how palm and fingers move;
timing by duration and by how often a movement is made; hands by which of them is raised.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from signspot.applications.strokes import Floats, SeenSign, Stroke, about_mean, at_moments

Parameter = Literal["handshape", "place", "orientation", "movement", "hand", "timing"]
PARAMETERS: tuple[Parameter, ...] = ("handshape", "place", "orientation", "movement", "hand", "timing")
_LOW = 1.3  # shoulder widths below the shoulders: a hand without a stroke counts as being there
_SMALLEST = 0.1  # shoulder widths: a smaller path counts as being of this size
_STILL = 0.002  # of squared steps: what moves less hardly has a direction


@dataclass(frozen=True, slots=True)
class Measure:
    """One number in which two performances may differ, and where in both signs it is largest."""

    value: float
    hand: int = 1  # 0 left, 1 right
    moment: tuple[int, int] = (0, 0)  # frames of the one and of the other sign


def compare(one: SeenSign, other: SeenSign) -> dict[str, Measure]:
    """All measures of two signs; 0 is no difference. Those of hands that make a stroke in both are the larger ones."""
    measures: dict[str, Measure] = {}
    middle = one.length // 2, other.length // 2
    for number, (mine, theirs) in enumerate(zip(one.strokes, other.strokes, strict=True)):
        if mine is not None and theirs is not None:
            middle = int(mine.moments[len(mine.moments) // 2]), int(theirs.moments[len(theirs.moments) // 2])
            for name, measure in _compare_strokes(mine, theirs, number).items():
                if name not in measures or measure.value > measures[name].value:
                    measures[name] = measure
    used = [abs(float(a.used.mean() - b.used.mean())) for a, b in zip(one.hands, other.hands, strict=True)]
    highest = [[_LOW if stroke is None else stroke.highest for stroke in sign.strokes] for sign in (one, other)]
    higher = [abs(a - b) for a, b in zip(*highest, strict=True)]
    for name, values in (("hand", used), ("height", higher)):
        measures[name] = Measure(max(values), int(np.argmax(values)), middle)
    return measures


def _compare_strokes(mine: Stroke, theirs: Stroke, number: int) -> dict[str, Measure]:
    """Measures of one hand's strokes."""
    courses = mine.course - theirs.course
    astray = np.linalg.norm(courses, axis=1)
    scaled = [each.course / max(each.extent, _SMALLEST) for each in (mine, theirs)]
    apart = np.linalg.norm(at_moments(mine.place) - at_moments(theirs.place), axis=1)
    shapes = at_moments(mine.shape), at_moments(theirs.shape)
    bent, bending = shapes[0] - shapes[1], about_mean(shapes[0]) - about_mean(shapes[1])
    turned = np.linalg.norm((at_moments(mine.palm) - at_moments(theirs.palm)).reshape(len(bent), -1), axis=1)
    turning = at_moments(mine.turning) - at_moments(theirs.turning)
    depths = about_mean(at_moments(mine.depth)) - about_mean(at_moments(theirs.depth))
    shift = mine.place.mean(axis=0) - theirs.place.mean(axis=0)
    first, last = (float(np.linalg.norm(mine.place[end] - theirs.place[end])) for end in (0, -1))
    net = (mine.place[-1] - mine.place[0]) - (theirs.place[-1] - theirs.place[0])
    values: dict[str, tuple[float, Floats]] = {
        "handshape": (_root_mean(np.median(mine.shape, axis=0) - np.median(theirs.shape, axis=0)), _sizes(bent)),
        "orientation": (float(np.linalg.norm(mine.palm.mean(axis=0) - theirs.palm.mean(axis=0))), turned),
        "place": (float(np.linalg.norm(shift)), apart),
        "ends": (max(first, last), apart),
        "path": (_root_mean(_sizes(scaled[0] - scaled[1])), astray),
        "course": (_root_mean(astray) / max(mine.extent, theirs.extent, _SMALLEST), astray),
        "direction": (_other_way(mine.course, theirs.course), astray),
        "net": (float(np.linalg.norm(net)), astray),
        "size": (float(np.linalg.norm(mine.extents - theirs.extents)), astray),
        "depth": (_root_mean(depths), np.abs(depths)),
        "round": (abs(mine.round - theirs.round), astray),
        "turning": (_root_mean(_sizes(turning)), _sizes(turning)),
        "twist": (float(np.linalg.norm(mine.turning.std(axis=0) - theirs.turning.std(axis=0))), _sizes(turning)),
        "fingers": (_root_mean(bending), _sizes(bending)),
        "bendings": (_ratio(mine.bendings, theirs.bendings, 1.0), _sizes(bending)),
        "cycles": (_ratio(mine.cycles, theirs.cycles, 0.3), astray),
        "ways": (_ratio(mine.ways, theirs.ways, 1.0), astray),
        "duration": (_ratio(len(mine.frames), len(theirs.frames), 3.0), astray),
    }
    found = {}
    for name, (value, by_moment) in values.items():
        at = int(by_moment.argmax())
        found[name] = Measure(value, number, (int(mine.moments[at]), int(theirs.moments[at])))
    return found


def _sizes(rows: Floats) -> Floats:
    """(M,) lengths of (M, D) rows."""
    return np.asarray(np.linalg.norm(rows, axis=1))


def _root_mean(values: Floats) -> float:
    return float(np.sqrt((values**2).mean()))


def _ratio(one: float, other: float, least: float) -> float:
    """The logarithm of how many times more the one is than the other; of both, `least` more counts."""
    return abs(math.log((one + least) / (other + least)))


def _other_way(one: Floats, other: Floats) -> float:
    """0 for (M, 2) courses that go the same way at every moment, 1 for unrelated or still ones, 2 for opposite ones."""
    mine, theirs = np.diff(one, axis=0), np.diff(other, axis=0)
    norms = float(np.linalg.norm(mine) * np.linalg.norm(theirs))
    return 1 - float((mine * theirs).sum()) / (norms + _STILL)
