"""The scan of an archive: every window compared with every query, exactly, at little more than the pace of memory.

Windows are taken in groups of neighbours, of which only the best is a candidate. A first pass gives an upper bound of
every group, from a sketch of its windows where there is one, else from the windows themselves; then the groups with the
highest bounds are compared exactly, until no bound is left that reaches the worst of those that are kept.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.applications.mapped_arrays import Half
from signspot.applications.sketches import Sketch

GROUP = 16  # windows of which only the best is a candidate: no two signs of a word are nearer than that
_JOB = 640 * GROUP  # rows that a thread takes at once: their similarities stay in the cache of a core
_PRODUCT = 1 << 18  # multiplications in one product: with more, the library would start threads of its own
_COPY = 1 << 15  # numbers that are converted at once, for the same reason
_QUERIES = 8  # in one product
_HELD = 64  # queries whose bounds are held at once
_EXACT = 1024  # groups that are compared exactly at once
_USELESS = 0.1  # share of groups that a sketch leaves over: with more, the windows themselves are read through
_ROUNDING = 1e-6  # by which two products of the same numbers may differ
Floats = NDArray[np.float32]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The best windows for each of Q queries: similarity, matrix and row, the best first."""

    similarity: list[Floats]  # Q of (n,)
    matrix: list[Places]
    row: list[Places]


def scan(
    matrices: Sequence[Half],
    queries: Floats,
    top: int,
    threads: int = 2,
    sketches: Sequence[Sketch | None] | None = None,
) -> Candidates:
    """Compare every row of many matrices with every query, exactly, and keep the best of each group of rows.

    Args:
        matrices: (T, D) unit-norm rows in 16 bits, in memory or on disk.
        queries: (Q, D) unit norm.
        top: how many groups of `GROUP` neighbouring rows are kept for each query.
        threads: that share the work.
        sketches: of the matrices; the result is the same without them.
    """
    asked = np.ascontiguousarray(queries, np.float32)
    given = list(sketches) if sketches is not None else [None] * len(matrices)
    found = Candidates([], [], [])
    with ThreadPoolExecutor(max(1, threads)) as pool:
        for first in range(0, len(asked), _HELD):
            for similarity, numbers, rows in _Scan(matrices, given, pool).best(asked[first : first + _HELD], top):
                found.similarity.append(similarity)
                found.matrix.append(numbers)
                found.row.append(rows)
    return found


class _Scan:
    """Some matrices, their sketches, and the threads that read them."""

    def __init__(self, matrices: Sequence[Half], sketches: Sequence[Sketch | None], pool: ThreadPoolExecutor):
        self.matrices, self.sketches, self.pool = matrices, sketches, pool
        counts = [-(-len(each) // GROUP) for each in matrices]
        self.offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])  # of the groups of each matrix

    def best(self, queries: Floats, top: int) -> list[tuple[Floats, Places, Places]]:
        """Of each of (Q, D) queries: the similarities, matrices and rows of its best groups."""
        bounds = self._bounds(queries, self.sketches)
        found = list(self.pool.map(lambda number: self._chosen(queries[number], bounds[number], top), _range(queries)))
        poor = [number for number, each in enumerate(found) if each is None]
        if poor:  # their sketches leave too much over
            bounds = self._bounds(queries[poor], [None] * len(self.matrices))
            for number, own in zip(poor, bounds, strict=True):
                found[number] = self._chosen(queries[number], own, top, most=1.0)
        return [each for each in found if each is not None]

    def _bounds(self, queries: Floats, sketches: Sequence[Sketch | None]) -> Floats:
        """(Q, D) queries to (Q, G) upper bounds of the similarity of all groups of rows."""
        bounds = np.empty((int(self.offsets[-1]), len(queries)), np.float32)
        jobs = []
        for number, (matrix, sketch) in enumerate(zip(self.matrices, sketches, strict=True)):
            rows, asked = (matrix, queries) if sketch is None else (sketch.rows, sketch.project(queries))
            columns = np.ascontiguousarray(asked.T)
            slack = _ROUNDING if sketch is None else sketch.slack
            for start in range(0, len(matrix), _JOB):
                part, first = rows[start : start + _JOB], int(self.offsets[number]) + start // GROUP
                jobs.append((part, columns, slack, bounds[first : first - (-len(part) // GROUP)]))
        list(self.pool.map(lambda job: _group_bounds(*job), jobs))
        return np.ascontiguousarray(bounds.T)

    def _chosen(
        self, query: Floats, bounds: Floats, top: int, most: float = _USELESS
    ) -> tuple[Floats, Places, Places] | None:
        """The best groups by their exact similarity; None: more than `most` of the bounds would have to be compared."""
        count = min(top, len(bounds))
        if not count:
            return np.empty(0, np.float32), np.empty(0, np.int64), np.empty(0, np.int64)
        groups = np.argpartition(-bounds, count - 1)[:count]
        values, rows = self._compared(groups, query)
        left = np.flatnonzero(bounds >= values.min())
        left = left[~np.isin(left, groups)]
        if len(left) > max(_EXACT, most * len(bounds)):
            return None
        left = left[np.argsort(-bounds[left], kind="stable")]
        for start in range(0, len(left), _EXACT):
            least = np.partition(values, len(values) - count)[len(values) - count]
            new = left[start : start + _EXACT]
            new = new[bounds[new] >= least]
            if not len(new):
                break
            more = self._compared(new, query)
            groups = np.concatenate([groups, new])
            values, rows = np.concatenate([values, more[0]]), np.concatenate([rows, more[1]])
        order = np.lexsort((groups, -values))[:count]
        numbers = np.searchsorted(self.offsets, groups[order], side="right") - 1
        return values[order], numbers.astype(np.int64), rows[order]

    @torch.inference_mode()
    def _compared(self, groups: Places, query: Floats) -> tuple[Floats, Places]:
        """(n,) groups to their (n,) best similarity with a (D,) query, and the (n,) row in their matrix that has it."""
        numbers = np.searchsorted(self.offsets, groups, side="right") - 1
        values, rows = np.empty(len(groups), np.float32), np.empty(len(groups), np.int64)
        for number in np.unique(numbers).tolist():
            own = np.flatnonzero(numbers == number)
            matrix = self.matrices[number]
            places = ((groups[own] - self.offsets[number]) * GROUP)[:, None] + np.arange(GROUP)
            block = torch.from_numpy(np.asarray(matrix[places.clip(max=len(matrix) - 1)])).float()
            similar = (block @ torch.from_numpy(query)).numpy()
            best = similar.argmax(axis=1)
            values[own] = similar[np.arange(len(own)), best]
            rows[own] = places[np.arange(len(own)), best].clip(max=len(matrix) - 1)
        return values, rows


def _range(queries: NDArray[Any]) -> range:
    return range(len(queries))


@torch.inference_mode()
def _group_bounds(rows: Half, queries: Floats, slack: float, bounds: Floats) -> None:
    """Write the best products of each group of (n, d) rows with (d, Q) queries into (n / GROUP, Q) bounds."""
    count, width = rows.shape
    halves = torch.from_numpy(np.asarray(rows))
    step = max(1, min(_PRODUCT // (width * _QUERIES), _COPY // width))
    buffer = torch.empty(step, width)
    whole = -(-count // GROUP) * GROUP
    for first in range(0, queries.shape[1], _QUERIES):
        columns = np.ascontiguousarray(queries[:, first : first + _QUERIES])
        similar = np.empty((whole, columns.shape[1]), np.float32)
        similar[count:] = -np.inf
        for start in range(0, count, step):
            part = buffer[: min(step, count - start)].copy_(halves[start : start + step])
            np.matmul(part.numpy(), columns, out=similar[start : start + len(part)])
        best = similar.reshape(-1, GROUP, columns.shape[1])
        while best.shape[1] > 1:
            half = best.shape[1] // 2
            best = np.maximum(best[:, :half], best[:, half:])
        np.add(best[:, 0], slack, out=bounds[:, first : first + _QUERIES])
