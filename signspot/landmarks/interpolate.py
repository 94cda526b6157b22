"""Features between frames: for signs played at another rate."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
