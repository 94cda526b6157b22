"""Movement segments of a sign, and differences between two performances by parameter.

A segment is what a hand does between being raised and being lowered. Handshape, orientation and location are compared
as a whole; movement by the form, direction and depth of the path, and by how palm and fingers move; timing by duration
and by the number of repetitions; hands by which of them is raised.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.landmarks.features import LEFT_HAND, RIGHT_HAND, WRISTS
from signspot.models import landmark_geometry as geometry
from signspot.plots.skeletons import Frames

Floats = NDArray[np.float64]

TIME_STEPS = 24  # of a segment, evenly in time, at which two segments are compared
_RAISED = 1.45  # shoulder widths below the shoulders: a wrist above this is in use, one below hangs or lies in the lap
_HIGH = 1.0  # a hand that never comes above this rests, where the other one signs
_KNUCKLES = [0, 5, 9, 13, 17]  # of a hand: their mean is its location
_SHAPE = slice(geometry.HAND_SHAPE - 30, geometry.HAND_SHAPE)  # bends, gaps of fingertips, fingertips to the palm
_PALM = slice(geometry.HAND_SHAPE + 30 - 9, geometry.HAND_SHAPE + 30)
_TRANSPORT = 0.05  # shoulder widths per frame: a hand that goes up faster at first, or down at last, is on its way
_SHORTEST = 4  # frames of a segment, at least
_LEAST_USED = 0.25  # share of the sign in which a hand is raised; with less it has no segment
_BACK = 0.35  # of its whole range: what goes back by so much goes back
_TINY = 1e-6


@dataclass(frozen=True)
class DescribedHand:
    """One hand over a sign, the left one mirrored so that both read alike."""

    used: NDArray[np.bool_]  # (T,) raised and seen
    location: Floats  # (T, 2) shoulder widths; x as in the image
    depth: Floats  # (T,) of the wrist
    shape: Floats  # (T, 30) bends and gaps, whatever the orientation
    palm: Floats  # (T, 3, 3) axis along the hand, across it, and normal


@dataclass(frozen=True)
class MovementSegment:
    """The movement of one hand in a sign, smoothed; n frames."""

    frames: NDArray[np.int64]  # (n,) of the sign
    location: Floats  # (n, 2)
    depth: Floats  # (n,)
    shape: Floats  # (n, 30)
    palm: Floats  # (n, 3, 3)

    @property
    def highest(self) -> float:
        """The highest location; small is high."""
        return float(self.location[:, 1].min())

    @cached_property
    def time_steps(self) -> NDArray[np.int64]:
        """(M,) frames of the sign at even time steps."""
        return np.asarray(self.frames[np.linspace(0, len(self.frames) - 1, TIME_STEPS).round().astype(int)])

    @cached_property
    def course(self) -> Floats:
        """(M, 2) locations at even time steps, about their mean."""
        return about_mean(at_time_steps(self.location))

    @cached_property
    def extents(self) -> Floats:
        """(2,) widths and heights of the path."""
        return np.asarray(np.ptp(self.location, axis=0))

    @property
    def extent(self) -> float:
        """Size of the path: the diagonal of its extents."""
        return math.hypot(*self.extents.tolist())

    @cached_property
    def cycles(self) -> float:
        """The number of times that the path is gone along: its length over its extent."""
        return float(np.linalg.norm(np.diff(self.location, axis=0), axis=1).sum()) / (self.extent + 0.05)

    @cached_property
    def ways(self) -> int:
        """The number of ways to or fro along the main direction of the path."""
        return count_ways(main_course(self.location), 0.06)

    @cached_property
    def bendings(self) -> int:
        """The number of times that the fingers open or close."""
        return count_ways(main_course(self.shape), 0.5)

    @cached_property
    def round(self) -> float:
        """The root of the area that the path goes around; negative where it goes the other way."""
        x, y = (self.location - self.location.mean(axis=0)).T
        area = 0.5 * float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum())
        return math.copysign(math.sqrt(abs(area)), area)

    @cached_property
    def turning(self) -> Floats:
        """(n, 3) small turns of the palm against its mean, about its three axes: half of the skew part."""
        left, _, right = np.linalg.svd(self.palm.mean(axis=0))
        lengths = np.maximum(np.linalg.norm(self.palm, axis=-1, keepdims=True), _TINY)
        rotation = (self.palm / lengths) @ (left @ right).T
        pairs = ((1, 2), (2, 0), (0, 1))
        return np.stack([rotation[:, one, other] - rotation[:, other, one] for one, other in pairs], axis=1) / 2


@dataclass(frozen=True)
class DescribedSign:
    """A sign as it is compared: both hands, and the segment of each that makes one; left before right."""

    length: int  # frames
    hands: tuple[DescribedHand, DescribedHand]
    segments: tuple[MovementSegment | None, MovementSegment | None]


def describe_hands(sign: Frames) -> tuple[DescribedHand, DescribedHand]:
    """Both hands of a (T, J, C) sign."""
    described = geometry.hands(torch.from_numpy(np.ascontiguousarray(sign))).numpy().astype(np.float64)
    hands = []
    for number, (joints, wrist) in enumerate(zip((LEFT_HAND, RIGHT_HAND), WRISTS, strict=True)):
        hand = sign[:, joints]
        used = (sign[:, wrist, 1] < _RAISED) & (sign[:, wrist, 3] > 0) & (hand[:, 0, 3] > 0)
        palm = described[:, number, _PALM].reshape(-1, 3, 3)
        if number == 0:
            palm = palm * np.array([[[-1.0, 1, 1], [-1, 1, 1], [1, -1, -1]]])  # as it is seen, not mirrored
        location = hand[:, _KNUCKLES, :2].mean(axis=1).astype(np.float64)
        hands.append(
            DescribedHand(used, location, sign[:, wrist, 2].astype(np.float64), described[:, number, _SHAPE], palm)
        )
    return hands[0], hands[1]


def describe_sign(sign: Frames) -> DescribedSign:
    """Hands and segments of a (T, J, C) sign. A hand that rests while the other one signs makes no segment."""
    hands = describe_hands(sign)
    left, right = (find_segment(hand) for hand in hands)
    if left is not None and right is not None and (left.highest > _HIGH) != (right.highest > _HIGH):
        left, right = (left, None) if right.highest > _HIGH else (None, right)
    return DescribedSign(len(sign), hands, (left, right))


def find_segment(hand: DescribedHand) -> MovementSegment | None:
    """The segment of a hand, without the way up to it and the way down from it; None where it is hardly in use."""
    used = np.flatnonzero(hand.used)
    if len(used) < _SHORTEST or len(used) < _LEAST_USED * len(hand.used):
        return None
    falling = np.diff(_smooth(hand.location)[:, 1])
    first, last = int(used[0]), int(used[-1])
    while first < last - _SHORTEST + 1 and falling[first] < -_TRANSPORT:
        first += 1
    while last > first + _SHORTEST - 1 and falling[last - 1] > _TRANSPORT:
        last -= 1
    frames = used[(used >= first) & (used <= last)]
    if len(frames) < _SHORTEST:
        return None
    location, depth, shape, palm = (
        _smooth(part[frames]) for part in (hand.location, hand.depth, hand.shape, hand.palm)
    )
    return MovementSegment(frames, location, depth, shape, palm)


def at_time_steps(values: Floats) -> Floats:
    """(n, ...) values to (M, ...): evenly in time, the nearest two mixed."""
    positions = np.linspace(0, len(values) - 1, TIME_STEPS)
    below = np.minimum(positions.astype(int), len(values) - 2)
    share = (positions - below).reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray(values[below] * (1 - share) + values[below + 1] * share)


def about_mean(values: Floats) -> Floats:
    """(n, ...) values less their mean."""
    return np.asarray(values - values.mean(axis=0))


def main_course(values: Floats) -> Floats:
    """(n,) of (n, D) values: where they are along the direction in which they vary most."""
    centred = about_mean(values)
    return np.asarray(centred @ np.linalg.svd(centred, full_matrices=False)[2][0])


def count_ways(course: Floats, least: float) -> int:
    """The number of ways up or down in (n,) values; one that is shorter than `least`, or a share of all, is none."""
    least = max(least, _BACK * float(np.ptp(course)))
    ways, direction = 0, 0
    low = high = float(course[0])
    for value in course.tolist():
        low, high = min(low, value), max(high, value)
        turned = 1 if direction <= 0 and value - low >= least else -1 if direction >= 0 and high - value >= least else 0
        if turned:
            ways, direction, low, high = ways + 1, turned, value, value
    return ways


def _smooth(values: Floats) -> Floats:
    """(T, ...) values, each the mean of three."""
    padded = np.concatenate([values[:1], values, values[-1:]])
    return np.asarray((padded[:-2] + padded[1:-1] + padded[2:]) / 3)


Parameter = Literal["handshape", "location", "orientation", "movement", "hand", "timing"]
PARAMETERS: tuple[Parameter, ...] = ("handshape", "location", "orientation", "movement", "hand", "timing")
_LOW = 1.3  # shoulder widths below the shoulders: a hand without a segment counts as being there
_SMALLEST = 0.1  # shoulder widths: a smaller path counts as being of this size
_STILL = 0.002  # of squared steps: what moves less hardly has a direction


@dataclass(frozen=True, slots=True)
class Measure:
    """One number in which two performances may differ, and where in both signs it is largest."""

    value: float
    hand: int = 1  # 0 left, 1 right
    at: tuple[int, int] = (0, 0)  # frames of the one and of the other sign


def compare(one: DescribedSign, other: DescribedSign) -> dict[str, Measure]:
    """All measures of two signs; 0 means no difference. Of hands that make a segment in both, the larger ones."""
    measures: dict[str, Measure] = {}
    middle = one.length // 2, other.length // 2
    for number, (mine, theirs) in enumerate(zip(one.segments, other.segments, strict=True)):
        if mine is not None and theirs is not None:
            middle = (
                int(mine.time_steps[len(mine.time_steps) // 2]),
                int(theirs.time_steps[len(theirs.time_steps) // 2]),
            )
            for name, measure in _compare_segments(mine, theirs, number).items():
                if name not in measures or measure.value > measures[name].value:
                    measures[name] = measure
    used = [abs(float(a.used.mean() - b.used.mean())) for a, b in zip(one.hands, other.hands, strict=True)]
    highest = [[_LOW if segment is None else segment.highest for segment in sign.segments] for sign in (one, other)]
    higher = [abs(a - b) for a, b in zip(*highest, strict=True)]
    for name, values in (("hand", used), ("height", higher)):
        measures[name] = Measure(max(values), int(np.argmax(values)), middle)
    return measures


def _compare_segments(mine: MovementSegment, theirs: MovementSegment, number: int) -> dict[str, Measure]:
    """Measures of one hand's segments."""
    courses = mine.course - theirs.course
    astray = np.linalg.norm(courses, axis=1)
    scaled = [segment.course / max(segment.extent, _SMALLEST) for segment in (mine, theirs)]
    apart = np.linalg.norm(at_time_steps(mine.location) - at_time_steps(theirs.location), axis=1)
    shapes = at_time_steps(mine.shape), at_time_steps(theirs.shape)
    bent, bending = shapes[0] - shapes[1], about_mean(shapes[0]) - about_mean(shapes[1])
    turned = np.linalg.norm((at_time_steps(mine.palm) - at_time_steps(theirs.palm)).reshape(len(bent), -1), axis=1)
    turning = at_time_steps(mine.turning) - at_time_steps(theirs.turning)
    depths = about_mean(at_time_steps(mine.depth)) - about_mean(at_time_steps(theirs.depth))
    shift = mine.location.mean(axis=0) - theirs.location.mean(axis=0)
    first, last = (float(np.linalg.norm(mine.location[end] - theirs.location[end])) for end in (0, -1))
    net = (mine.location[-1] - mine.location[0]) - (theirs.location[-1] - theirs.location[0])
    values: dict[str, tuple[float, Floats]] = {
        "handshape": (_root_mean(np.median(mine.shape, axis=0) - np.median(theirs.shape, axis=0)), _sizes(bent)),
        "orientation": (float(np.linalg.norm(mine.palm.mean(axis=0) - theirs.palm.mean(axis=0))), turned),
        "location": (float(np.linalg.norm(shift)), apart),
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
    measures = {}
    for name, (value, by_step) in values.items():
        at = int(by_step.argmax())
        measures[name] = Measure(value, number, (int(mine.time_steps[at]), int(theirs.time_steps[at])))
    return measures


def _sizes(rows: Floats) -> Floats:
    """(M,) lengths of (M, D) rows."""
    return np.asarray(np.linalg.norm(rows, axis=1))


def _root_mean(values: Floats) -> float:
    return float(np.sqrt((values**2).mean()))


def _ratio(one: float, other: float, least: float) -> float:
    """The logarithm of how many times more the one is than the other; of both, `least` more counts."""
    return abs(math.log((one + least) / (other + least)))


def _other_way(one: Floats, other: Floats) -> float:
    """0 for (M, 2) courses that go the same way at every step, 1 for unrelated or still ones, 2 for opposite ones."""
    mine, theirs = np.diff(one, axis=0), np.diff(other, axis=0)
    norms = float(np.linalg.norm(mine) * np.linalg.norm(theirs))
    return 1 - float((mine * theirs).sum()) / (norms + _STILL)
