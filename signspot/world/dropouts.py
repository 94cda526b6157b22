"""Which hands and faces an estimator misses, doubles or exchanges, frame by frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from signspot.landmarks.landmarks import Landmarks

if TYPE_CHECKING:
    from signspot.world.estimator import NoiseOptions

Mask = NDArray[np.bool_]
Single = NDArray[np.float32]
_SHORT, _LONG = 2.1, 13.5  # mean lengths of short and long misses, in frames at 25 fps
_EDGE = 0.02  # how far inside the image a hand's middle must be


@dataclass(frozen=True, slots=True)
class Dropouts:
    """What goes wrong in each frame, all (T,)."""

    left: Mask  # the left hand is missed
    right: Mask
    face: Mask
    left_is_right: Mask  # the left hand shows the right one
    right_is_left: Mask


def draw_runs(odds: NDArray[np.floating], mean_length: float, rng: np.random.Generator) -> Mask:
    """Runs (T,) that begin with the given odds a frame and last about `mean_length` frames."""
    count = len(odds)
    begins = np.flatnonzero(rng.random(count) < odds)
    lasts = rng.geometric(1 / max(mean_length, 1.0), len(begins))
    edges = np.zeros(count + 1, int)
    np.add.at(edges, begins, 1)
    np.add.at(edges, np.minimum(begins + lasts, count), -1)
    return np.asarray(np.cumsum(edges)[:-1] > 0)


def _speed(points: Single, unit: Single, fps: float) -> Single:
    """Speed (T,) of a track (T, 2) in shoulder widths a second."""
    if len(points) < 2:
        return np.zeros(len(points), np.float32)
    step = np.gradient(points / unit[:2], axis=0)
    return np.asarray(np.hypot(step[:, 0], step[:, 1]) * fps, dtype=np.float32)


def _unseen(hand: Single, rng: np.random.Generator) -> Mask:
    """Frames (T,) in which most of a hand is outside the image."""
    xy = hand[..., :2]
    outside = ((xy < _EDGE) | (xy > 1 - _EDGE)).any(axis=-1).mean(axis=1)
    return np.asarray(outside + 0.08 * rng.standard_normal(len(hand)) > 0.55)


def draw_dropouts(landmarks: Landmarks, unit: Single, rng: np.random.Generator, noise: NoiseOptions) -> Dropouts:
    """Draw all misses: more of them where hands are fast, edge-on, overlapping or leaving the image."""
    pace, s = 25.0 / landmarks.fps, noise.strength
    left, right = landmarks.left_hand, landmarks.right_hand
    middle = {name: hand[:, [0, 5, 17], :2].mean(axis=1) for name, hand in (("left", left), ("right", right))}
    apart = (middle["left"] - middle["right"]) / unit[:2]
    near = np.hypot(apart[:, 0], apart[:, 1]) < 0.35
    missed, unseen = {}, {}
    for name, hand in (("left", left), ("right", right)):
        fast = np.maximum(_speed(middle[name], unit, landmarks.fps) - 1, 0)
        odds = noise.drop_rate * (1 + 1.5 * _edge_on(hand, unit)) + noise.drop_rate_motion * fast
        odds = odds + np.where(near, noise.drop_overlap, 0.0)
        short = draw_runs(odds * (1 - noise.drop_long) * pace * s, _SHORT / pace, rng)
        long = draw_runs(odds * noise.drop_long * pace * s, _LONG / pace, rng)
        missed[name], unseen[name] = short | long, _unseen(hand, rng)
    mixed = near & ~unseen["left"] & ~unseen["right"]
    doubled = draw_runs(np.where(near, noise.duplicate_rate * 5, 0.0) * pace * s, 4 / pace, rng) & mixed
    swapped = draw_runs(np.where(near, noise.swap_rate * 5, 0.0) * pace * s, 3 / pace, rng) & mixed
    first = rng.random() < 0.5
    return Dropouts(
        left=(missed["left"] & ~doubled) | unseen["left"],
        right=(missed["right"] & ~doubled) | unseen["right"],
        face=draw_runs(np.full(len(landmarks), noise.face_drop_rate * pace * s), 5 / pace, rng),
        left_is_right=(doubled if first else np.zeros_like(doubled)) | swapped,
        right_is_left=(np.zeros_like(doubled) if first else doubled) | swapped,
    )


def _edge_on(hand: Single, unit: Single) -> Single:
    """How little of the palm is seen (T,): 0 flat before the camera to 1 edge-on."""
    across, along = (((hand[:, a] - hand[:, b]) / unit)[:, :2] for a, b in ((5, 17), (9, 0)))
    area = np.abs(across[:, 0] * along[:, 1] - across[:, 1] * along[:, 0])
    return np.asarray(np.clip(1 - area / 0.045, 0, 1))
