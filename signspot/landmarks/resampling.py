"""Another frame rate for landmarks that arrive in chunks, in bounded memory."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.landmarks.features import LEFT_HAND, RIGHT_HAND, WRISTS
from signspot.landmarks.landmarks import DEFAULT_FPS, Landmarks, concatenate, frames_within

_LEAST = 0.5  # share of what surrounds a place that must be seen for a point to count as seen there


def at_positions(features: NDArray[np.float32], positions: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Read features at fractional frames, linear between frames.

    A point that is seen on one side only stays where it is seen, and counts as seen on the nearer half.

    Args:
        features: (T, J, 4) x, y, z, seen.
        positions: (…,) frames; those outside [0, T - 1] are cut to it.

    Returns:
        (…, J, 4).
    """
    positions = np.clip(positions, 0, len(features) - 1)
    below = np.floor(positions).astype(np.intp)
    above = np.minimum(below + 1, len(features) - 1)
    share = (positions - below).astype(np.float32)[..., None, None]
    first, second = features[below], features[above]
    first_weight, second_weight = (1 - share) * first[..., 3:], share * second[..., 3:]
    weight = first_weight + second_weight
    seen = weight >= _LEAST
    made = np.zeros(first.shape, np.float32)
    blend = first[..., :3] * first_weight + second[..., :3] * second_weight
    np.divide(blend, weight, out=made[..., :3], where=seen)
    made[..., 3:] = seen
    return made


_ROUNDING = 1e-6  # seconds


def resample_stream(chunks: Iterable[Landmarks], fps: float) -> Iterator[Landmarks]:
    """Resample chunk by chunk; joined, the result is what `Landmarks.resampled` gives of the joined chunks."""
    if not (np.isfinite(fps) and fps > 0):
        raise OptionsError(f"frames per second must be above 0; got {fps}")
    known: Landmarks | None = None  # the last frames so far: what is still needed
    first, done = 0.0, 0
    for chunk in (chunk for chunk in chunks if len(chunk)):
        if known is None:
            first = float(chunk.times[0])
        block = chunk if known is None else concatenate([known, chunk])
        reached = int((block.times[-1] - first + _ROUNDING) * fps) + 1
        count = min(reached, _frames_until(block, first, fps))
        if count > done:
            yield block.at(first + np.arange(done, count) / fps)
            done = count
        needed = int(np.searchsorted(block.times, first + done / fps)) - 1
        known = block[max(0, min(needed, len(block) - 2)) :]
    total = _frames_until(known, first, fps) if known is not None else 0
    if known is not None and total > done:
        yield known.at(first + np.arange(done, total) / fps)


def _frames_until(block: Landmarks, first: float, fps: float) -> int:
    """The number of frames in all, if the last one of `block` is the last one of all."""
    last = float(block.times[-1])
    step = last - float(block.times[-2]) if len(block) > 1 else 1 / DEFAULT_FPS
    return frames_within(last - first + step, fps)


CLOCK = 0.15  # the share of plain time, so that time goes on in a hold
JITTER = 0.01  # shoulder widths a frame: where hands hardly move at all, their jitter is not taken for movement
FASTEST = 3.0  # times the mean speed: a leap of the estimator is not the whole sign

_TIPS = np.array([4, 8, 12, 16, 20])


def motion_time(features: NDArray[np.float32], clock: float = CLOCK) -> NDArray[np.float64]:
    """Measure by movement of wrists and fingers how far each frame is.

    Args:
        features: (T, J, C) as `landmarks.features` gives them, of one sign.
        clock: the share of plain time in [0, 1]; 1: plain time.

    Returns:
        (T,) increasing from 0 to 1.
    """
    if len(features) < 2 or clock >= 1:
        return np.linspace(0, 1, len(features))
    speed: NDArray[np.float64] = np.zeros(len(features) - 1)
    for wrist, hand in zip(WRISTS, (LEFT_HAND, RIGHT_HAND), strict=True):
        speed += np.linalg.norm(np.diff(_smooth(features[:, wrist, :2]), axis=0), axis=-1)
        tips = features[:, hand, :2][:, _TIPS] - features[:, hand.start, None, :2]
        seen = features[:, hand.start, 3] > 0
        steps = np.linalg.norm(np.diff(_smooth(tips), axis=0), axis=-1).mean(axis=-1)
        speed += steps * (seen[1:] & seen[:-1])
    pace = clock + (1 - clock) * np.minimum(speed / (speed.mean() + JITTER), FASTEST)
    gone = np.concatenate([[0.0], np.cumsum(pace + 1e-9)])
    return np.asarray(gone / gone[-1])


def frames_at(time: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positions in a sign's frames, in [0, T - 1], where it has come to `shares` of it; of the shape of `shares`."""
    return np.asarray(np.interp(shares, time, np.arange(len(time))))


def _smooth(places: NDArray[np.float32]) -> NDArray[np.float32]:
    """(T, ...) the mean over three frames."""
    padded = np.concatenate([places[:1], places, places[-1:]])
    return np.asarray((padded[:-2] + padded[1:-1] + padded[2:]) / 3, dtype=np.float32)
