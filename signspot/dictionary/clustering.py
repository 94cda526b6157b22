"""Groups of what is near each other, whose number nobody knows before: faces of a signer, exemplars of a variant."""

import numpy as np
from numpy.typing import NDArray


def average_linkage(distances: NDArray[np.floating], most: float) -> NDArray[np.int64]:
    """Join the nearest groups again and again while their average distance is at most `most`.

    Args:
        distances: (N, N) of all pairs, symmetric.
        most: the largest average distance within which two groups are joined.

    Returns:
        (N,) the group of each, counted from 0 in the order of their first members.
    """
    if len(distances) < 2:
        return np.zeros(len(distances), np.int64)
    from scipy.cluster.hierarchy import fcluster, linkage  # takes long to load

    pairs = distances[np.triu_indices(len(distances), 1)]
    groups = fcluster(linkage(pairs, "average"), most, "distance")
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse], np.int64)
