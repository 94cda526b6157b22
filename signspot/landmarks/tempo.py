"""The signer's own time: how far a sign has come by each frame, so that a hold counts for little.

A dictionary signer raises a hand, waits, signs, waits; in continuous signing nobody waits. Measured in this time, slow
and fast performances of one sign lie on each other.
"""

import numpy as np
from numpy.typing import NDArray

from signspot.landmarks.features import LEFT_HAND, RIGHT_HAND, WRISTS

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
    """Where in its frames a sign has come to `shares` of it: positions in [0, T - 1], of the shape of `shares`."""
    return np.asarray(np.interp(shares, time, np.arange(len(time))))


def _smooth(places: NDArray[np.float32]) -> NDArray[np.float32]:
    """(T, ...) the mean over three frames."""
    padded = np.concatenate([places[:1], places, places[-1:]])
    return np.asarray((padded[:-2] + padded[1:-1] + padded[2:]) / 3, dtype=np.float32)
