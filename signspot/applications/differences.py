"""Differences between two performances of a sign, by parameter: numbers, and the moment where each shows most.

Two signs are aligned in time first. Shape, orientation and place are compared at matched moments, movement over the
whole path, hands by which of them is raised, timing by duration and by how often a movement is repeated.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.landmarks.features import LEFT_HAND, RIGHT_HAND, WRISTS
from signspot.models import landmark_geometry as geometry
from signspot.pictures.skeletons import Frames

Parameter = Literal["handshape", "place", "orientation", "movement", "hand", "timing"]
PARAMETERS: tuple[Parameter, ...] = ("handshape", "place", "orientation", "movement", "hand", "timing")
Floats = NDArray[np.float64]

_RAISED = 1.45  # shoulder widths below the shoulders: a wrist above this is in use, one below hangs or lies in the lap
_KNUCKLES = [0, 5, 9, 13, 17]  # of a hand: their mean is its place
_SHAPE = slice(geometry.HAND_SHAPE - 30, geometry.HAND_SHAPE)  # bends, gaps of fingertips, fingertips to the palm
_PALM = slice(geometry.HAND_SHAPE + 30 - 9, geometry.HAND_SHAPE + 30)
_STEPS = 24  # moments at which two signs are compared
_FEWEST = 3  # matched moments with a hand raised in both; with fewer it is not compared
_STILL = 0.04  # shoulder widths or radians: what moves less counts as still
_TINY = 1e-6


@dataclass(frozen=True, slots=True)
class Measure:
    """One number in which two performances may differ, and where in both signs it is largest."""

    value: float
    hand: int = 1  # 0 left, 1 right
    moment: tuple[int, int] = (0, 0)  # frames of the one and of the other sign


@dataclass(frozen=True)
class SeenHand:
    """One hand over a sign, the left one mirrored so that both read alike."""

    used: NDArray[np.bool_]  # (T,) raised and seen
    place: Floats  # (T, 2) shoulder widths; x as in the picture
    shape: Floats  # (T, 30) bends and gaps, whatever the orientation
    palm: Floats  # (T, 3, 3) axis along the hand, across it, and normal


def see_hands(sign: Frames) -> tuple[SeenHand, SeenHand]:
    """Both hands of a (T, J, C) sign."""
    described = geometry.hands(torch.from_numpy(np.ascontiguousarray(sign))).numpy().astype(np.float64)
    found = []
    for number, (joints, wrist) in enumerate(zip((LEFT_HAND, RIGHT_HAND), WRISTS, strict=True)):
        hand = sign[:, joints]
        used = (sign[:, wrist, 1] < _RAISED) & (sign[:, wrist, 3] > 0) & (hand[:, 0, 3] > 0)
        palm = described[:, number, _PALM].reshape(-1, 3, 3)
        if number == 0:
            palm = palm * np.array([[[-1.0, 1, 1], [-1, 1, 1], [1, -1, -1]]])  # as it is seen, not mirrored
        found.append(SeenHand(used, hand[:, _KNUCKLES, :2].mean(axis=1), described[:, number, _SHAPE], palm))
    return found[0], found[1]


def matched_moments(one: Frames, other: Frames) -> NDArray[np.int64]:
    """Align two signs in time by where their hands are and how they are shaped.

    Args:
        one: (T, J, C).
        other: (U, J, C).

    Returns:
        (P, 2) frames of both that go together, in order, from the first to the last of both.
    """
    seen = [see_hands(sign) for sign in (one, other)]
    ends = [np.linspace(0, len(sign) - 1, _STEPS).round().astype(int) for sign in (one, other)]
    rows = [
        np.concatenate([_row(hand, place) for hand in pair], axis=1) for pair, place in zip(seen, ends, strict=True)
    ]
    cost = np.linalg.norm(rows[0][:, None] - rows[1][None], axis=-1)
    total = np.full((_STEPS + 1, _STEPS + 1), np.inf)
    total[0, 0] = 0
    for i in range(_STEPS):
        for j in range(_STEPS):
            total[i + 1, j + 1] = cost[i, j] + min(total[i, j], total[i, j + 1], total[i + 1, j])
    path, i, j = [], _STEPS, _STEPS
    while i and j:
        path.append((ends[0][i - 1], ends[1][j - 1]))
        i, j = min(((i - 1, j - 1), (i - 1, j), (i, j - 1)), key=lambda step: total[step])
    return np.array(path[::-1], np.int64)


def _row(hand: SeenHand, places: NDArray[np.int64]) -> Floats:
    used = hand.used[places, None]
    parts = (hand.place[places], 0.25 * hand.palm[places].reshape(len(places), -1), 0.1 * hand.shape[places])
    return np.concatenate([used * part for part in parts], axis=1)


def compare(one: Frames, other: Frames) -> dict[str, Measure]:
    """All measures of two (T, J, C) signs; 0 is no difference. `differs` says which of them means what."""
    path = matched_moments(one, other)
    measures: dict[str, Measure] = {}
    both = list(zip(see_hands(one), see_hands(other), strict=True))
    for number, (mine, theirs) in enumerate(both):
        together = mine.used[path[:, 0]] & theirs.used[path[:, 1]]
        if together.sum() >= _FEWEST:
            for name, measure in _compare_hand(mine, theirs, path[together], number).items():
                if name not in measures or measure.value > measures[name].value:
                    measures[name] = measure
    raised = [np.array([mine.used.mean(), theirs.used.mean()]) for mine, theirs in both]
    apart = [abs(each[0] - each[1]) for each in raised]
    measures["hand"] = Measure(float(max(apart)), int(np.argmax(apart)), _middle(path))
    measures["duration"] = Measure(abs(math.log(len(one) / len(other))), 1, _middle(path))
    return measures


def _compare_hand(mine: SeenHand, theirs: SeenHand, path: NDArray[np.int64], number: int) -> dict[str, Measure]:
    a, b = path[:, 0], path[:, 1]
    bent = np.sqrt(((mine.shape[a] - theirs.shape[b]) ** 2).mean(axis=1))
    lengths = np.linalg.norm(mine.palm[a], axis=-1) * np.linalg.norm(theirs.palm[b], axis=-1)
    seen = lengths > _TINY  # fingers that hide each other leave a palm without axes
    cosines = np.where(seen, (mine.palm[a] * theirs.palm[b]).sum(axis=-1) / np.where(seen, lengths, 1.0), 1.0)
    turned = np.arccos(cosines.clip(-1, 1))[:, [0, 2]].mean(axis=1)
    apart = mine.place[a] - theirs.place[b]
    offset = apart.mean(axis=0)
    astray = np.linalg.norm(apart - offset, axis=1)
    spans = [(int(min(frames)), int(max(frames)) + 1) for frames in (a, b)]
    paths = [hand.place[first:last] for hand, (first, last) in zip((mine, theirs), spans, strict=True)]
    turns = [hand.palm[first:last] for hand, (first, last) in zip((mine, theirs), spans, strict=True)]
    shapes = [hand.shape[first:last] for hand, (first, last) in zip((mine, theirs), spans, strict=True)]
    far = np.linalg.norm(apart, axis=1)
    return {
        "handshape": Measure(float(bent.mean()), number, _at(path, bent)),
        "orientation": Measure(float(turned.mean()), number, _at(path, turned)),
        "place": Measure(float(np.linalg.norm(offset)), number, _at(path, far)),
        "path": Measure(float(np.sqrt((astray**2).mean())), number, _at(path, astray)),
        "size": Measure(abs(_log_ratio(*map(_extent, paths))), number, _at(path, astray)),
        "twist": Measure(abs(_log_ratio(*map(_turning, turns))), number, _at(path, turned)),
        "fingers": Measure(abs(_log_ratio(*map(_changing, shapes))), number, _at(path, bent)),
        "repetition": Measure(abs(_log_ratio(*map(_cycles, paths))), number, _at(path, astray)),
    }


def _at(path: NDArray[np.int64], values: Floats) -> tuple[int, int]:
    one, other = path[int(values.argmax())]
    return int(one), int(other)


def _middle(path: NDArray[np.int64]) -> tuple[int, int]:
    one, other = path[len(path) // 2]
    return int(one), int(other)


def _log_ratio(one: float, other: float) -> float:
    return math.log((one + _STILL) / (other + _STILL))


def _smooth(values: Floats) -> Floats:
    """(T, ...) values, each the mean of three."""
    padded = np.concatenate([values[:1], values, values[-1:]])
    return np.asarray((padded[:-2] + padded[1:-1] + padded[2:]) / 3)


def _extent(places: Floats) -> float:
    """The greatest distance between (T, 2) points of a path, in shoulder widths."""
    smooth = _smooth(places)
    return float(np.linalg.norm(smooth.max(axis=0) - smooth.min(axis=0)))


def _length(places: Floats) -> float:
    return float(np.linalg.norm(np.diff(_smooth(places), axis=0), axis=1).sum())


def _cycles(places: Floats) -> float:
    """The number of times that a path is gone along: its length over its extent."""
    return _length(places) / (_extent(places) + _STILL)


def _turning(palms: Floats) -> float:
    """The whole turning of a (T, 3, 3) palm, in radians."""
    smooth = _smooth(palms)
    steps = (smooth[1:] * smooth[:-1]).sum(axis=-1)
    norms = np.linalg.norm(smooth, axis=-1)
    cosines = (steps / (norms[1:] * norms[:-1] + 1e-6)).clip(-1, 1)
    return float(np.arccos(cosines).mean(axis=1).sum()) if len(steps) else 0.0


def _changing(shapes: Floats) -> float:
    """The whole change of a (T, 30) handshape."""
    return float(np.sqrt((np.diff(_smooth(shapes), axis=0) ** 2).mean(axis=1)).sum())
