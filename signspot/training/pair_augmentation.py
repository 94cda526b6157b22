"""Changes of performances in training: other cameras, bodies and estimators, and new signs made of two real ones.

All performances of a batch stand one after the other in a single (N, 69, 4) tensor; `owner` says of which performance
a frame is.
"""

from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.io.checks import check_numbers
from signspot.landmarks.features import ELBOWS, FACE, LEFT_HAND, MIRRORED_JOINTS, RIGHT_HAND, WRISTS
from signspot.landmarks.landmarks import HAND_POINTS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MIRRORED = torch.from_numpy(MIRRORED_JOINTS)
_ARMS = tuple(zip(ELBOWS, WRISTS, (LEFT_HAND, RIGHT_HAND), strict=True))
_RECIPES = (0.5, 0.2, 0.15, 0.15)  # shares of new signs: other hand shapes, another arm, another end, another place
_MOVED = 0.4  # share of all other new signs that are at another place, too
_MOVED_BY = 0.3  # shoulder widths
_REVERSED = 0.3  # share of new signs that are played backwards


@dataclass(frozen=True, slots=True)
class Change:
    """Strengths of the changes to performances; 0 everywhere changes nothing."""

    trim: float = 2.5  # frames by which either end of a sign is off
    speed: float = 0.15  # log of the speed
    unknown_speed: float = 0.35  # log of the speed, in addition, of clips whose frame rate is not known
    warp: float = 0.25  # of time inside a sign
    cut_out: float = 0.0  # share of performances as if cut out of continuous signing: shorter, faster, nothing around
    tempo: float = 0.5  # log of how much faster those are, in the mean
    inside: float = 0.25  # share of a sign that they lack at either end, at most
    tilt: float = 0.08  # radians in the image plane
    turn: float = 0.25  # radians about the vertical
    nod: float = 0.15  # radians about the line of the shoulders
    aspect: float = 0.08  # log of width against height
    scale: float = 0.08  # log of the size
    reach: float = 0.08  # log of how far hands go from the shoulders
    shift: float = 0.08  # shoulder widths, of all points
    hand_shift: float = 0.05  # of each hand
    hand_size: float = 0.12  # log
    depth: float = 0.3  # log of how much depth there is
    no_depth: float = 0.1  # share of performances without depth
    jitter: float = 0.015  # shoulder widths, of every point and frame
    finger_jitter: float = 0.015  # in addition, of the hands
    finger_bias: float = 0.02  # of every point of a hand, in all frames alike
    lost_hand: float = 0.12  # share of performances in which one hand is never seen
    lost_elbow: float = 0.3  # share without elbows
    lost_face: float = 0.1  # share without a face

    def __post_init__(self) -> None:
        check_numbers(self, *(field.name for field in fields(self)), least=0)
        check_numbers(self, "cut_out", "no_depth", "lost_hand", "lost_elbow", "lost_face", least=0, most=1)


UNCHANGED = Change(**dict.fromkeys((field.name for field in fields(Change)), 0.0))


def mirror_some(x: Tensor, which: Flags) -> Tensor:
    """(N, 69, 4) features with some of the frames mirrored."""
    mirrored = x[:, MIRRORED] * torch.tensor([-1.0, 1.0, 1.0, 1.0])
    return torch.where(torch.from_numpy(which)[:, None, None], mirrored, x)


def change(x: Tensor, owner: Ints, many: int, how: Change, random: np.random.Generator) -> Tensor:
    """Change each performance in its own way, in all its frames alike.

    Args:
        x: (N, 69, 4) features.
        owner: (N,) which of the `many` performances a frame is of.
        many: performances.
        how: how strongly.
        random: what is drawn from.

    Returns:
        (N, 69, 4).
    """
    points, seen = x[..., :3].clone(), x[..., 3:].clone()

    def each(values: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(values.astype(np.float32))[torch.from_numpy(owner)]

    def some(share: float) -> Tensor:
        return each(random.random(many) < share) > 0

    reach = each(np.exp(random.normal(0, how.reach, (many, 2)) + random.normal(0, how.reach, (many, 1))))
    for _, wrist, hand in _ARMS:
        wrist_point = points[:, hand.start : hand.start + 1].clone()
        rays = points[:, hand] - wrist_point
        size = each(np.exp(random.normal(0, how.hand_size, many)))[:, None, None]
        bias = each(random.normal(0, how.finger_bias, (many, HAND_POINTS, 3)))
        step = torch.cat([wrist_point[..., :2] * (reach - 1)[:, None], torch.zeros_like(wrist_point[..., :1])], dim=-1)
        step[..., :2] += each(random.normal(0, how.hand_shift, (many, 1, 2)))
        points[:, hand] = wrist_point + rays * size + bias + step
        points[:, wrist : wrist + 1] += step
        seen[some(how.lost_hand / 2), hand] = 0
    depth = np.exp(random.normal(0, how.depth, many)) * (random.random(many) >= how.no_depth)
    points[..., 2] *= each(depth)[:, None]
    points = torch.bmm(points, each(_bases(many, how, random)))
    points[..., :2] += each(random.normal(0, how.shift, (many, 1, 2)))
    noise = torch.from_numpy(random.standard_normal(points.shape, dtype=np.float32))
    loud = torch.full((points.shape[1], 1), how.jitter)
    loud[LEFT_HAND.start : RIGHT_HAND.stop] = float(np.hypot(how.jitter, how.finger_jitter))
    points += noise * loud
    seen[some(how.lost_face), FACE] = 0
    no_elbows = some(how.lost_elbow)
    for elbow in ELBOWS:
        seen[no_elbows, elbow] = 0
    return torch.cat([points * seen, seen], dim=-1)


def _bases(many: int, how: Change, random: np.random.Generator) -> Floats:
    """(many, 3, 3) matrices that rows of points are multiplied with: turn, nod, tilt, stretch."""
    turn, nod, tilt = (random.normal(0, angle, many) for angle in (how.turn, how.nod, how.tilt))
    size, aspect = (np.exp(random.normal(0, spread, many)) for spread in (how.scale, how.aspect))
    return camera_bases(turn, nod, tilt, size, aspect)


def camera_bases(turn: Floats, nod: Floats, tilt: Floats, size: Floats, aspect: Floats) -> Floats:
    """(n, 3, 3) matrices that rows of points are multiplied with, of (n,) angles in radians and factors."""
    zero, one = np.zeros(len(turn)), np.ones(len(turn))

    def stacked(*rows: Floats) -> Floats:
        return np.stack(rows, axis=1).reshape(-1, 3, 3)

    about_y = stacked(np.cos(turn), zero, -np.sin(turn), zero, one, zero, np.sin(turn), zero, np.cos(turn))
    about_x = stacked(one, zero, zero, zero, np.cos(nod), np.sin(nod), zero, -np.sin(nod), np.cos(nod))
    about_z = stacked(np.cos(tilt), np.sin(tilt), zero, -np.sin(tilt), np.cos(tilt), zero, zero, zero, one)
    stretch = np.stack([size * aspect, size, size], axis=1)[:, None, :]
    bases: Floats = about_y @ about_x @ about_z * stretch
    return bases


@dataclass(frozen=True, slots=True)
class NewSigns:
    """Recipes of new signs from two real ones, for each of the K signs of a batch; those that stay have no flag."""

    shapes: Flags  # hands have the shapes of the other sign
    arm: Flags  # the left arm is that of the other sign
    ending: Flags  # the second half is that of the other sign
    backwards: Flags
    shift: Floats  # (K, 2) of both hands, in shoulder widths

    @classmethod
    def invent(cls, is_new: Flags, random: np.random.Generator) -> "NewSigns":
        """Draw a recipe for each sign that `is_new` of the (K,) signs."""
        count = len(is_new)
        recipe = random.choice(len(_RECIPES), count, p=_RECIPES)
        is_moved = (random.random(count) < _MOVED) | (recipe == 3)
        shift = np.where((is_new & is_moved)[:, None], random.normal(0, _MOVED_BY, (count, 1, 2))[:, 0], 0.0)
        backwards = is_new & (random.random(count) < _REVERSED)
        return cls(is_new & (recipe == 0), is_new & (recipe == 1), is_new & (recipe == 2), backwards, shift)

    @property
    def need_another(self) -> Flags:
        """(K,) signs that take something from another sign."""
        return self.shapes | self.arm | self.ending


def recombine(x: Tensor, other: Tensor, new: NewSigns, sign: Ints, position: Floats) -> Tensor:
    """Make new signs.

    Args:
        x: (N, 69, 4) performances.
        other: (N, 69, 4) performances of other signs at the same time; anything where none is needed.
        new: how.
        sign: (N,) which of the K signs a frame is of.
        position: (N,) where in its sign a frame is, from 0 to 1.

    Returns:
        (N, 69, 4).
    """
    shapes, arm = (torch.from_numpy(flag[sign])[:, None, None] for flag in (new.shapes, new.arm))
    ending = torch.from_numpy(new.ending[sign] & (position > 0.5))[:, None, None]
    joined = torch.where(ending, other, x)
    for _, wrist, hand in _ARMS:
        joined[:, hand] = torch.where(
            shapes & (other[:, hand][:, :1, 3:] > 0),
            _hand_at(other[:, hand], joined[:, hand], joined[:, wrist : wrist + 1]),
            joined[:, hand],
        )
    shift = torch.from_numpy(new.shift[sign].astype(np.float32))[:, None]
    for side, (elbow, wrist, hand) in enumerate(_ARMS):
        for joints, share in ((slice(elbow, elbow + 1), 0.5), (slice(wrist, wrist + 1), 1.0), (hand, 1.0)):
            if side == 0:
                joined[:, joints] = torch.where(arm, other[:, joints], joined[:, joints])
            joined[:, joints, :2] += share * shift * joined[:, joints, 3:]
    return joined


def _hand_at(new_hand: Tensor, hand: Tensor, wrist: Tensor) -> Tensor:
    """(N, 21, 4) hands of other signs, moved to where (N, 21, 4) own hands or (N, 1, 4) wrists are."""
    base = torch.where(hand[:, :1, 3:] > 0, hand[:, :1], wrist)
    xy = new_hand[..., :2] - new_hand[:, :1, :2] + base[..., :2]
    seen = new_hand[..., 3:] * base[..., 3:]
    return torch.cat([xy, new_hand[..., 2:3], torch.ones_like(seen)], dim=-1) * seen
