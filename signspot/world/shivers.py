"""Noise over time: fast shivers and slow drifts, for many points at once, without a loop over frames."""

import numpy as np
from numpy.typing import NDArray

Single = NDArray[np.float32]


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
    """Slow noise (T, *shape) of unit size that goes over to another value about `rate` times a frame."""
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
    """How strongly points shiver at the given speeds."""
    return np.asarray(still + per_speed * speed)
