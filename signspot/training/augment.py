"""Augmentation of landmark features: effects of camera, body and estimator, drawn per performance or per frame."""

from dataclasses import asdict, dataclass, fields

import numpy as np
from numpy.typing import NDArray

from signspot.landmarks.features import FACE, LEFT_HAND, RIGHT_HAND, WRISTS
from signspot.training.configuration import check_numbers

Clips = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Augmentation:
    """Strengths of the changes to performances; 0 everywhere changes nothing."""

    tilt: float = 0.08  # radians in the picture
    turn: float = 0.25  # radians about the vertical
    aspect: float = 0.06  # log of width against height
    scale: float = 0.08  # log of the size
    shift: float = 0.06  # shoulder widths
    hand_size: float = 0.08  # log of the hands' size
    depth: float = 0.3  # log of how much depth there is
    no_depth: float = 0.1  # share of performances whose depth is lost
    jitter: float = 0.012  # shoulder widths, of every point and frame
    finger_jitter: float = 0.012  # the same again, of the hands
    dropped: float = 0.35  # share of performances in which a hand is lost for a while; its shape is carried over
    lost: float = 0.2  # share of performances in which a hand is never seen, only its wrist
    faceless: float = 0.1  # share of performances without a face

    def __post_init__(self) -> None:
        check_numbers(self, *(each.name for each in fields(self)), least=0)

    def times(self, factor: float) -> "Augmentation":
        """The same, so many times as strong."""
        return Augmentation(**{name: factor * value for name, value in asdict(self).items()})


def augment(clips: Clips, random: np.random.Generator, how: Augmentation) -> Clips:
    """Change (N, F, J, C) clips; each of the N in its own way."""
    count = len(clips)
    changed = clips.copy()
    points, seen = changed[..., :3], changed[..., 3:]
    _resize_hands(points, np.exp(random.normal(0, how.hand_size, (count, 1, 1, 1))).astype(np.float32))
    depth = np.exp(random.normal(0, how.depth, count)) * (random.random(count) >= how.no_depth)
    points[..., 2] *= depth[:, None, None].astype(np.float32)
    points[:] = np.einsum("nfjc,ndc->nfjd", points, _bases(count, random, how))
    points[..., :2] += random.normal(0, how.shift, (count, 1, 1, 2)).astype(np.float32)
    points += random.normal(0, how.jitter, points.shape).astype(np.float32)
    for wrist, hand in zip(WRISTS, (LEFT_HAND, RIGHT_HAND), strict=True):
        points[:, :, hand] += random.normal(0, how.finger_jitter, points[:, :, hand].shape).astype(np.float32)
        _drop(changed, wrist, hand, random, how.dropped / 2)
        seen[random.random(count) < how.lost / 2, :, hand] = 0
    seen[random.random(count) < how.faceless, :, FACE] = 0
    points *= seen
    return changed


def _bases(count: int, random: np.random.Generator, how: Augmentation) -> NDArray[np.float32]:
    """(N, 3, 3) what a point is multiplied with: turned, tilted, stretched."""
    tilt, turn = random.normal(0, how.tilt, count), random.normal(0, how.turn, count)
    size, aspect = np.exp(random.normal(0, how.scale, count)), np.exp(random.normal(0, how.aspect, count))
    zero, one = np.zeros(count), np.ones(count)
    about_y = np.stack([np.cos(turn), zero, np.sin(turn), zero, one, zero, -np.sin(turn), zero, np.cos(turn)], axis=1)
    in_plane = np.stack([np.cos(tilt), -np.sin(tilt), zero, np.sin(tilt), np.cos(tilt), zero, zero, zero, one], axis=1)
    stretch = np.stack([size * aspect, size, size], axis=1)[:, :, None]
    bases: NDArray[np.float32] = (stretch * (in_plane.reshape(-1, 3, 3) @ about_y.reshape(-1, 3, 3))).astype(np.float32)
    return bases


def _resize_hands(points: Clips, factor: NDArray[np.float32]) -> None:
    """Grow or shrink hands about their wrists, in place."""
    for hand in (LEFT_HAND, RIGHT_HAND):
        wrist = points[:, :, hand.start : hand.start + 1].copy()
        points[:, :, hand] = wrist + (points[:, :, hand] - wrist) * factor


def _drop(clips: Clips, wrist: int, hand: slice, random: np.random.Generator, share: float) -> None:
    """Lose a hand for a run of frames in some clips, in place; its shape is carried over as by `features`."""
    frames = clips.shape[1]
    for index in np.flatnonzero(random.random(len(clips)) < share):
        clip = clips[index]
        length = int(random.integers(1, max(2, frames // 2)))
        start = int(random.integers(0, frames - length + 1))
        run, before, after = slice(start, start + length), start - 1, start + length
        ends = [before if before >= 0 else after, after if after < frames else before]
        place = clip[:, wrist, :3] * np.array([1, 1, 0], np.float32)  # a hand's depth is its own
        here, there = clip[ends][:, hand, :3] - place[ends][:, None]
        along = (np.arange(1, length + 1, dtype=np.float32) / (length + 1))[:, None, None]
        clip[run, hand, :3] = here + along * (there - here) + place[run][:, None]
        is_known = clip[ends, hand.start, 3].min() * clip[ends, wrist, 3].min()
        clip[run, hand, 3] = is_known * clip[run, wrist, 3][:, None]
