"""Alignment of exemplars with a track, frame code by frame code: how well a sign fits, and where it begins and ends.

Every frame of an exemplar is matched with one frame of the track, in order; from one exemplar frame to the next the
track goes on by 0 to 3 frames. So a path has as many matches as the exemplar has frames, whatever its length, and its
cost is their mean distance. The dynamic programme runs over the frames of the exemplar only: all exemplars and all
frames of the track are computed at once. Distances are matrix products by BLAS; nothing here needs PyTorch, which takes
longer to load than many a search takes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.spotting.similarity import in_32_bits

FloatArray = NDArray[np.floating[Any]]

Distances = NDArray[np.float32]

_ROWS, _FRAMES = 256, 4096  # frames of exemplars and of the track that are compared at once: 4 MB of distances
_CELLS = 1_000_000  # distances of isolated signs at once: 4 MB
_PATHS = 2048  # paths that are followed back at once
_FAR = 1e4  # a cost that no path pays


@dataclass(frozen=True, slots=True)
class StepCosts:
    """Costs of going on by 0, 1, 2 … frames from one exemplar frame to the next."""

    costs: tuple[float, ...] = (0.15, 0.0, 0.0, 0.08)

    def times(self, scale: float) -> "StepCosts":
        """The same in another unit."""
        return StepCosts(tuple(scale * cost for cost in self.costs))

    def reach(self, frames: int) -> int:
        """The longest path of an exemplar of so many frames, in frames before its last one."""
        return (frames - 1) * (len(self.costs) - 1)


STEPS = StepCosts()  # in the unit of an encoder's typical cost


def path_costs(codes: FloatArray, exemplars: FloatArray, steps: StepCosts = STEPS) -> NDArray[np.float32]:
    """Align every exemplar with every place of a track.

    Args:
        codes: (T, C) frame codes of a track.
        exemplars: (V, L, C) frame codes of exemplars.
        steps: what steps cost.

    Returns:
        (V, T) mean cost per exemplar frame of the cheapest path that ends at each frame of the track.
    """
    count, frames, size = exemplars.shape
    found = np.empty((count, len(codes)), np.float32)
    overlap, each = steps.reach(frames), max(1, _ROWS // frames)
    groups = [slice(first, first + each) for first in range(0, count, each)]
    shown = [_as_rows(exemplars[group].transpose(1, 0, 2).reshape(-1, size)) for group in groups]  # (L V, C + 2)
    for start in range(0, len(codes), _FRAMES):
        first = max(0, start - overlap)
        part = _as_columns(codes[first : start + _FRAMES])
        for group, rows in zip(groups, shown, strict=True):
            cost = _distances(rows, part).reshape(frames, -1, part.shape[1])
            found[group, start : start + _FRAMES] = _totals(cost, steps)[:, start - first :]
    return found


def path_starts(
    codes: FloatArray, exemplars: FloatArray, ends: NDArray[np.int64], steps: StepCosts = STEPS
) -> NDArray[np.int64]:
    """Starts of the cheapest paths that end at given frames.

    Args:
        codes: (T, C) frame codes of a track.
        exemplars: (P, L, C) the exemplar of each path.
        ends: (P,) the last frame of each path.
        steps: what steps cost.

    Returns:
        (P,) the first frame of each path.
    """
    parts = range(0, len(ends), _PATHS)
    found = [_starts(codes, exemplars[at : at + _PATHS], ends[at : at + _PATHS], steps) for at in parts]
    return np.concatenate([np.empty(0, np.int64), *found])


def _starts(codes: FloatArray, exemplars: FloatArray, ends: NDArray[np.int64], steps: StepCosts) -> NDArray[np.int64]:
    reach = steps.reach(exemplars.shape[1])
    places = ends[:, None] + np.arange(-reach, 1)  # (P, R) frames that a path may use
    cost = _distances(_as_rows(exemplars), _as_columns(codes[places.clip(0)]))  # (P, L, R)
    cost = np.where((places < 0)[:, None], np.float32(_FAR), cost)
    total, begins = cost[:, 0], places
    for index in range(1, cost.shape[1]):
        best, came = total + np.float32(steps.costs[0]), begins.copy()
        for step, price in enumerate(steps.costs[1:], 1):
            other = total[:, :-step] + np.float32(price)
            better = other < best[:, step:]
            np.copyto(came[:, step:], begins[:, :-step], where=better)
            np.copyto(best[:, step:], other, where=better)
        total, begins = best + cost[:, index], came
    return begins[:, -1].clip(0)


def warping_costs(signs: FloatArray, exemplars: FloatArray) -> NDArray[np.float32]:
    """Dynamic time warping of isolated signs with exemplars, from end to end, every frame of both matched.

    Args:
        signs: (A, L, C) frame codes.
        exemplars: (V, M, C) frame codes.

    Returns:
        (A, V) cost of the cheapest path, in which a diagonal step counts twice, per frame.
    """
    count, length, size = exemplars.shape
    shown = _as_columns(exemplars.transpose(1, 0, 2).reshape(-1, size))  # (C + 2, M V)
    each = max(1, _CELLS // max(1, count * length * signs.shape[1]))
    found = [np.empty((0, count), np.float32)]
    for start in range(0, len(signs), each):
        part = signs[start : start + each]
        apart = _distances(_as_rows(part.transpose(1, 0, 2).reshape(-1, size)), shown)  # (L A, M V)
        cost = apart.reshape(signs.shape[1], len(part), length, count)
        found.append(_warped(cost.transpose(0, 2, 1, 3)))
    return np.concatenate(found)


def _warped(cost: Distances) -> Distances:
    """(L, M, ...) costs of matches to (...) cost per frame of the cheapest path from the first to the last."""
    above: list[Distances] = []
    for i in range(cost.shape[0]):
        row: list[Distances] = []
        for j in range(cost.shape[1]):
            here = cost[i, j]
            if i and j:
                slanted = above[j - 1] + here
                np.minimum(slanted, above[j], out=slanted)
                np.minimum(slanted, row[j - 1], out=slanted)
                slanted += here
                row.append(slanted)
            else:
                row.append(here + (above[j] if i else row[j - 1] if j else here))
        above = row
    mean: Distances = above[-1] / np.float32(cost.shape[0] + cost.shape[1])
    return mean


def _as_rows(codes: FloatArray) -> Distances:
    """(..., N, C) codes to (..., N, C + 2), whose products with `_as_columns` are squared distances."""
    known = in_32_bits(codes)
    made = np.empty((*known.shape[:-1], known.shape[-1] + 2), np.float32)
    np.multiply(known, np.float32(-2), out=made[..., :-2])
    made[..., -2] = 1
    made[..., -1] = _squares(known)
    return made


def _as_columns(codes: FloatArray) -> Distances:
    """(..., N, C) codes to (..., C + 2, N), as `_as_rows`."""
    known = in_32_bits(codes)
    made = np.empty((*known.shape[:-1], known.shape[-1] + 2), np.float32)
    made[..., :-2] = known
    made[..., -2] = _squares(known)
    made[..., -1] = 1
    return made.swapaxes(-1, -2)  # BLAS takes it as it lies


def _squares(codes: Distances) -> Distances:
    squares: Distances = np.einsum("...i,...i->...", codes, codes)
    return squares


def _distances(rows: Distances, columns: Distances) -> Distances:
    """(..., N, C + 2) and (..., C + 2, T) to (..., N, T): Euclidean distances of all pairs of frames."""
    apart = np.matmul(rows, columns)
    np.maximum(apart, 0, out=apart)
    distances: Distances = np.sqrt(apart, out=apart)
    return distances


def _totals(cost: Distances, steps: StepCosts) -> Distances:
    """(L, V, T) costs of matches to (V, T) mean cost of the cheapest path that ends at each frame."""
    total, priced = cost[0], np.empty_like(cost[0])
    best, spare = np.empty_like(total), np.empty_like(total)
    for here in cost[1:]:
        np.add(total, np.float32(steps.costs[0]), out=best)
        for step, price in enumerate(steps.costs[1:], 1):
            if step < best.shape[1]:
                came = np.add(total, np.float32(price), out=priced) if price else total
                np.minimum(best[:, step:], came[:, :-step], out=best[:, step:])
        best += here
        total, best = best, spare if total is cost[0] else total
    mean: Distances = total / np.float32(len(cost))
    return mean
