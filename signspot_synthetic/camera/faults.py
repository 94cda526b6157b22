"""Faults of a landmark estimator: how large they are, jitter and drift over time, and what it misses or mixes up.

The constants are set so that the statistics of the faults agree with real MediaPipe Holistic landmarks of signing;
`python -m experiments.world_calibration` prints the comparison and docs/explanation/world.md keeps it.
"""

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.landmarks.landmarks import Landmarks

Mask = NDArray[np.bool_]
Single = NDArray[np.float32]

_SHORT, _LONG = 2.1, 13.5  # mean lengths of short and long misses, in frames at 25 fps
_EDGE = 0.02  # how far inside the image a hand's middle must be


@dataclass(frozen=True, slots=True)
class NoiseOptions:
    """The faults of a landmark estimator, in shoulder widths and frames at 25 fps; `strength` scales all of them."""

    strength: float = 1.0  # of all faults at once; 0 switches them off
    body_jitter: float = 0.0004  # of body points that are still
    body_jitter_motion: float = 0.0035  # more for every shoulder width per second
    hand_jitter: float = 0.0016  # of a still hand as a whole
    hand_jitter_motion: float = 0.0030
    tip_jitter: float = 0.0022  # of fingertips against the wrist; inner joints have less
    tip_jitter_motion: float = 0.0080
    tails: float = 1.1  # how much the size of hand jitter itself varies, in log units
    face_jitter: float = 0.0006
    offset: float = 0.036  # slow errors of body points
    hand_offset: float = 0.012  # slow errors of finger joints
    depth_gain: float = 4.8  # by which the body's depth is exaggerated
    depth_drift: float = 0.35  # slow errors of the body's depth
    depth_jitter: float = 0.022  # of the body's depth
    hand_depth_gain: float = 0.38  # by which the hands' depth is flattened
    drop_rate: float = 0.0035  # still hands that begin to be missed, a frame
    drop_rate_motion: float = 0.007  # more for every shoulder width per second above 1
    drop_long: float = 0.12  # share of misses that last long
    drop_overlap: float = 0.03  # more where hands overlap each other
    duplicate_rate: float = 0.004  # a hand near the other is taken for it, a frame
    swap_rate: float = 0.0015  # near hands that are exchanged, a frame
    face_drop_rate: float = 0.0015  # faces that begin to be missed, a frame
    lip_jitter: float = 1.0  # of each lip point on its own, against other points of the face
    mouth_cover: float = 0.0  # how far the lips behind a hand are guessed: 0 seen as they are, 1 as they mostly are

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not (math.isfinite(value) and value >= 0):
                raise OptionsError(f"noise option {item.name} must be 0 or more; got {value}")


GLOVED = NoiseOptions(drop_rate=0.006, drop_rate_motion=0.026, drop_long=0.27, drop_overlap=0.05)
"""For coloured gloves, which hide a hand from the estimator more often."""


def for_lips(strength: float, lips: float) -> NoiseOptions:
    """The faults where lips are to be as hard to read as `lips` says; with 0 they are as they always were."""
    return NoiseOptions(strength, lip_jitter=0.35 if lips else 1.0, mouth_cover=lips)


def draw_shivers(count: int, shape: tuple[int, ...], rng: np.random.Generator, memory: float) -> Single:
    """Fast noise (T, *shape) of unit size; each frame remembers a share of the one before."""
    raw = rng.standard_normal((count + 3, *shape), dtype=np.float32)
    weights = np.array([1.0, memory, memory**2, memory**3], np.float32)
    weights /= np.sqrt((weights**2).sum())
    out = raw[3:] * weights[0]
    for back in (1, 2, 3):
        out += raw[3 - back : len(raw) - back] * weights[back]
    return np.asarray(out, dtype=np.float32)


def slow_drift(count: int, shape: tuple[int, ...], rng: np.random.Generator, rate: float) -> Single:
    """Slow noise (T, *shape) of unit size that goes over to another value about `rate` times per frame."""
    step = max(2, round(1 / max(rate, 1e-3)))
    knots = count // step + 3
    values = rng.standard_normal((knots, *shape), dtype=np.float32)
    place = np.arange(count) / step + float(rng.random())
    first = place.astype(int)
    share = (place - first).astype(np.float32).reshape(-1, *([1] * len(shape)))
    share = share * share * (3 - 2 * share)
    mixed = values[first] * (1 - share) + values[first + 1] * share
    return np.asarray(mixed / np.sqrt(share**2 + (1 - share) ** 2))


def shiver_size(speed: Single, still: float, per_speed: float) -> Single:
    """Strength of the points' shivering at the given speeds."""
    return np.asarray(still + per_speed * speed)


@dataclass(frozen=True, slots=True)
class Dropouts:
    """Faults in each frame, all (T,)."""

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
    """Speed (T,) of a track (T, 2) in shoulder widths per second."""
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
    """Share of the palm that is not seen (T,): 0 flat before the camera to 1 edge-on."""
    across, along = (((hand[:, a] - hand[:, b]) / unit)[:, :2] for a, b in ((5, 17), (9, 0)))
    area = np.abs(across[:, 0] * along[:, 1] - across[:, 1] * along[:, 0])
    return np.asarray(np.clip(1 - area / 0.045, 0, 1))
