"""Alignment of exemplars with a track, frame code by frame code: how well a sign fits, and where it begins and ends.

Every frame of an exemplar is matched with one frame of the track, in order; from one exemplar frame to the next the
track goes on by 0 to 3 frames. So a path has as many matches as the exemplar has frames, whatever its length, and its
cost is their mean distance. The dynamic programme runs over the frames of the exemplar only: all exemplars and all
frames of the track are computed at once.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

FloatArray = NDArray[np.floating[Any]]

_CELLS = 3_000_000  # distances in memory at once: 12 MB
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
    count, frames, _ = exemplars.shape
    found = np.empty((count, len(codes)), np.float32)
    shown = torch.from_numpy(np.ascontiguousarray(exemplars, np.float32)).transpose(0, 1)  # (L, V, C)
    overlap = steps.reach(frames)
    block = max(overlap, _CELLS // max(1, count * frames))
    for start in range(0, len(codes), block):
        first = max(0, start - overlap)
        part = torch.from_numpy(np.ascontiguousarray(codes[first : start + block], np.float32))
        total = _totals(_distances(shown, part), steps)
        found[:, start : start + block] = total[:, start - first :].numpy()
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
    around = torch.from_numpy(np.asarray(codes[places.clip(0)], np.float32))
    cost = torch.cdist(torch.from_numpy(np.asarray(exemplars, np.float32)), around)  # (P, L, R)
    cost = cost.masked_fill(torch.from_numpy(places < 0)[:, None], _FAR)
    total = cost[:, 0]
    begins = torch.from_numpy(places).clone()
    for index in range(1, cost.shape[1]):
        best, came = total + steps.costs[0], begins
        for step, price in enumerate(steps.costs[1:], 1):
            other = torch.nn.functional.pad(total[:, :-step] + price, (step, 0), value=_FAR)
            moved = torch.cat([begins[:, :step], begins[:, :-step]], dim=1)
            came = torch.where(other < best, moved, came)
            best = torch.minimum(best, other)
        total, begins = cost[:, index] + best, came
    found: NDArray[np.int64] = begins[:, -1].numpy()
    return found.clip(0)


def warping_costs(signs: FloatArray, exemplars: FloatArray) -> NDArray[np.float32]:
    """Dynamic time warping of isolated signs with exemplars, from end to end, every frame of both matched.

    Args:
        signs: (A, L, C) frame codes.
        exemplars: (V, M, C) frame codes.

    Returns:
        (A, V) cost of the cheapest path, in which a diagonal step counts twice, per frame.
    """
    count, length, _ = exemplars.shape
    shown = torch.from_numpy(np.ascontiguousarray(exemplars, np.float32)).flatten(0, 1)
    each = max(1, _CELLS // max(1, shown.shape[0] * signs.shape[1]))
    found = [np.empty((0, count), np.float32)]
    for start in range(0, len(signs), each):
        part = torch.from_numpy(np.ascontiguousarray(signs[start : start + each], np.float32)).transpose(0, 1)
        apart = _distances(part, shown)  # (L, A, V M)
        cost = apart.view(*apart.shape[:2], count, length).movedim(3, 1).contiguous()  # (L, M, A, V)
        found.append(_warped(cost).numpy())
    return np.concatenate(found)


def _warped(cost: Tensor) -> Tensor:
    """(L, M, ...) costs of matches to (...) cost per frame of the cheapest path from the first to the last."""
    above: list[Tensor] = []
    for i in range(cost.shape[0]):
        row: list[Tensor] = []
        for j in range(cost.shape[1]):
            here = cost[i, j]
            if i and j:
                straight = torch.minimum(above[j], row[j - 1])
                row.append(torch.minimum(straight, above[j - 1] + here).add_(here))
            else:
                row.append(here + (above[j] if i else row[j - 1] if j else here))
        above = row
    return above[-1] / (cost.shape[0] + cost.shape[1])


def _distances(exemplars: Tensor, codes: Tensor) -> Tensor:
    """(L, V, C) and (T, C) to (L, V, T): Euclidean distances of all pairs of frames."""
    flat = exemplars.flatten(0, 1)
    squares = torch.addmm(codes.square().sum(dim=1), flat, codes.T, alpha=-2)
    squares += flat.square().sum(dim=1, keepdim=True)
    return squares.clamp_(min=0).sqrt_().view(*exemplars.shape[:2], len(codes))


def _totals(cost: Tensor, steps: StepCosts) -> Tensor:
    """(L, V, T) costs of matches to (V, T) mean cost of the cheapest path that ends at each frame."""
    total, priced = cost[0], torch.empty_like(cost[0])
    for here in cost[1:]:
        best = total + steps.costs[0]
        for step, price in enumerate(steps.costs[1:], 1):
            if step < best.shape[1]:
                came = torch.add(total, price, out=priced) if price else total
                torch.minimum(best[:, step:], came[:, :-step], out=best[:, step:])
        total = best.add_(here)
    return total / len(cost)
