"""Groups points by their distance: average linkage, exact, in our own few lines."""

import numpy as np
from numpy.typing import NDArray


def average_linkage(points: NDArray[np.floating], most: float) -> NDArray[np.int64]:
    """Join the nearest groups again and again while their average distance is at most `most`.

    The nearest-neighbour chain: time grows with the square of the number of points, and so does memory (4 bytes
    a pair: 0.8 GB for 14,000 points).

    Args:
        points: (N, D) compared by Euclidean distance.
        most: the largest average distance within which two groups are joined.

    Returns:
        (N,) the group of every point, counted from 0 in the order of their first points.
    """
    distances = _distances(points)
    sizes = np.ones(len(points))
    groups = np.arange(len(points))
    open_ = np.ones(len(points), dtype=bool)
    chain: list[int] = []
    while open_.any():
        if not chain:
            chain.append(int(open_.argmax()))
        end = chain[-1]
        nearest = int(distances[end].argmin())
        if len(chain) > 1 and distances[end, chain[-2]] <= distances[end, nearest]:
            nearest = chain[-2]
        if not distances[end, nearest] <= most:  # the distance to others can only grow: this group is complete
            open_[end] = False
            chain.pop()
        elif len(chain) > 1 and nearest == chain[-2]:
            chain = chain[:-2]
            _join(distances, sizes, end, nearest)
            groups[groups == end] = nearest
            open_[end] = False
        else:
            chain.append(nearest)
    return _in_order(groups)


def _distances(points: NDArray[np.floating]) -> NDArray[np.float32]:
    exact = points.astype(np.float64)
    squares = (exact**2).sum(axis=1)
    distances = np.empty((len(points), len(points)), dtype=np.float32)
    for start in range(0, len(points), 1024):  # in blocks, so that no second table of that size is made
        block = slice(start, start + 1024)
        product = squares[block, None] + squares[start:] - 2 * exact[block] @ exact[start:].T
        square = product[:, : len(product)]
        product[:, : len(product)] = (square + square.T) / 2  # rounding may differ on the two sides
        distances[block, start:] = np.sqrt(np.maximum(product, 0))
        distances[start:, block] = distances[block, start:].T
    np.fill_diagonal(distances, np.inf)
    return distances


def _join(distances: NDArray[np.float32], sizes: NDArray[np.float64], gone: int, stays: int) -> None:
    """Put group `gone` into `stays`; their distance to others is the average over all members."""
    total = sizes[gone] + sizes[stays]
    joined = (sizes[gone] * distances[gone] + sizes[stays] * distances[stays]) / total
    sizes[stays] = total
    distances[stays], distances[:, stays] = joined, joined
    distances[gone], distances[:, gone] = np.inf, np.inf
    distances[stays, stays] = np.inf


def _in_order(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
