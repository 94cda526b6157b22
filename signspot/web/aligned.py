"""A hit and its exemplar in time with each other: which moment of the exemplar belongs to each frame of the hit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]


def exemplar_shares(codes: FloatArray, exemplar: FloatArray) -> NDArray[np.float64]:
    """Warp a hit onto its exemplar, from first frame to first frame and from last to last.

    Args:
        codes: (T, C) frame codes of the hit.
        exemplar: (L, C) frame codes of the exemplar.

    Returns:
        (T,) the share of the exemplar, 0 at its first frame and 1 at its last, that belongs to each frame; never less
        than at the frame before.
    """
    count, frames = len(codes), len(exemplar)
    if count < 2 or frames < 2:
        return np.linspace(0.0, 1.0, count)
    seen, shown = np.asarray(codes, np.float32), np.asarray(exemplar, np.float32)
    cost = np.linalg.norm(seen[:, None] - shown[None], axis=2)
    total = np.full((count + 1, frames + 1), np.inf)
    total[0, 0] = 0.0
    for row in range(count):
        for column in range(frames):
            before = min(total[row, column], total[row, column + 1], total[row + 1, column])
            total[row + 1, column + 1] = cost[row, column] + before
    matched: list[list[int]] = [[] for _ in range(count)]
    row, column = count - 1, frames - 1
    while row >= 0 and column >= 0:
        matched[row].append(column)
        steps = (total[row, column], total[row, column + 1], total[row + 1, column])
        best = int(np.argmin(steps))
        row, column = row - (best != 2), column - (best != 1)
    return np.array([np.mean(places) for places in matched]) / (frames - 1)
