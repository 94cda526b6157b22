"""Filters over time for points that a network gives frame by frame: the one-euro filter, and a plain low pass."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


class LowPass:
    """Follows values slowly: each step takes a share `alpha` of the new value."""

    def __init__(self) -> None:
        self.last: Floats | None = None

    def step(self, value: Floats, alpha: float | Floats) -> Floats:
        """The value so far, of any shape."""
        self.last = value if self.last is None else alpha * value + (1 - alpha) * self.last
        return self.last


class OneEuro:
    """Smooths what stands still and follows what moves (Casiez et al. 2012), each number on its own."""

    def __init__(self, min_cutoff: float, beta: float, derivative_cutoff: float = 1.0) -> None:
        self._min_cutoff, self._beta, self._derivative_cutoff = min_cutoff, beta, derivative_cutoff
        self._values, self._speeds = LowPass(), LowPass()
        self._raw: Floats | None = None

    def step(self, values: Floats, scale: float, seconds: float) -> Floats:
        """Smooth the next values.

        Args:
            values: of any shape.
            scale: what counts as one unit of length, so that near and far people are smoothed alike.
            seconds: since the last step.
        """
        speed = np.zeros_like(values) if self._raw is None else (values - self._raw) / np.float32(scale * seconds)
        self._raw = values
        smooth = self._speeds.step(speed, _share(self._derivative_cutoff, seconds))
        cutoff = np.float32(self._min_cutoff) + np.float32(self._beta) * np.abs(smooth)
        return self._values.step(values, _share(cutoff, seconds))


def _share(cutoff: float | Floats, seconds: float) -> Floats:
    """The share of a new value that passes a filter with a cut-off frequency in hertz."""
    return np.asarray(1 / (1 + 1 / (2 * np.pi * cutoff * seconds)), dtype=np.float32)
