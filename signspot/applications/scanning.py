"""The scan of an archive: every window compared with every query, exactly, at little more than the pace of memory.

Windows are taken in groups of neighbours, of which only the best is a candidate. A first pass gives an upper bound of
every group, from the knots of its sketch where there is one, else from the windows themselves. The groups with the
highest bounds are compared exactly. Of the others that may still be better, the sketches of their windows give closer
bounds; what is left then is compared exactly, until no bound reaches the worst of those that are kept.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.applications.mapped_arrays import Half
from signspot.applications.sketches import GROUP, KNOTS, ROUNDING, Sketch

_JOB = 640 * GROUP  # rows that a thread takes at once: their similarities stay in the cache of a core
_PRODUCT = 1 << 18  # multiplications in one product: with more, the library would start threads of its own
_COPY = 1 << 15  # numbers that are converted at once, for the same reason
_QUERIES = 8  # in one product
_HELD = 64  # queries whose bounds are held at once
_EXACT = 1024  # groups that are compared exactly at once
_CLOSER = 2048  # groups whose windows' sketches are looked at at once
_FIRST = 2  # times as many groups as are wanted are compared exactly before bounds are looked at closely
_USELESS = 0.1  # share of groups that a sketch leaves over: with more, the windows themselves are read through
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
        sketches: of the matrices, all along the same axes; the result is the same without them.
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
        self.matrices = [np.asarray(each) for each in matrices]
        self.sketches, self.pool = sketches, pool
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
        bounds = np.empty((len(queries), int(self.offsets[-1])), np.float32)
        axes = next((each.axes for each in sketches if each is not None), None)
        plain = np.ascontiguousarray(queries.T)
        sketched = None if axes is None else np.ascontiguousarray(axes.project(queries).T)
        jobs = []
        for number, (matrix, sketch) in enumerate(zip(self.matrices, sketches, strict=True)):
            rows, group = (matrix, GROUP) if sketch is None else (np.asarray(sketch.knots), len(KNOTS))
            for start in range(0, len(rows), _JOB):
                part, first = rows[start : start + _JOB], int(self.offsets[number]) + start // group
                own = bounds[:, first : first - (-len(part) // group)]
                jobs.append((part, plain if sketch is None else sketched, group, own))
        list(self.pool.map(lambda job: _group_bounds(*job), jobs))
        return bounds

    def _chosen(
        self, query: Floats, bounds: Floats, top: int, most: float = _USELESS
    ) -> tuple[Floats, Places, Places] | None:
        """The best groups by their exact similarity; None: more than `most` of the bounds would have to be compared."""
        count = min(top, len(bounds))
        if not count:
            return np.empty(0, np.float32), np.empty(0, np.int64), np.empty(0, np.int64)
        best = _Best(count)
        some = min(max(_FIRST * count, _EXACT), len(bounds))
        groups = np.sort(np.argpartition(bounds, len(bounds) - some)[len(bounds) - some :])
        closer = self._all_closer(groups, query, bounds) if most < 1 else bounds[groups]
        first = min(_FIRST * count, some)
        chosen = np.argpartition(closer, some - first)[some - first :]  # they tell how good the others must be
        self._compare(best, groups[np.sort(chosen)], query)
        rest, closer_rest = np.delete(groups, chosen), np.delete(closer, chosen)
        left = np.setdiff1d(np.flatnonzero(bounds >= best.least), groups, assume_unique=True)
        closer = self._all_closer(left, query, bounds) if most < 1 else bounds[left]
        left, closer = np.concatenate([rest, left]), np.concatenate([closer_rest, closer])
        left, closer = left[closer >= best.least], closer[closer >= best.least]
        if len(left) > max(_EXACT, most * len(bounds)):
            return None
        order = np.argsort(-closer, kind="stable")
        left, closer = left[order], closer[order]
        for start in range(0, len(left), _EXACT):
            new = np.sort(left[start : start + _EXACT][closer[start : start + _EXACT] >= best.least])
            if not len(new):
                break
            self._compare(best, new, query)
        numbers = np.searchsorted(self.offsets, best.groups, side="right") - 1
        return best.values, numbers.astype(np.int64), best.rows

    def _compare(self, best: "_Best", groups: Places, query: Floats) -> None:
        """Compare (n,) groups, in order, exactly, and keep the best."""
        best.add(groups, *self._compared(groups, query))

    def _all_closer(self, groups: Places, query: Floats, bounds: Floats) -> Floats:
        """As `_closer`, of any number of groups, from the (G,) bounds of all."""
        parts = (groups[at : at + _CLOSER] for at in range(0, len(groups), _CLOSER))
        return np.concatenate([np.empty(0, np.float32), *(self._closer(own, query, bounds[own]) for own in parts)])

    def _closer(self, groups: Places, query: Floats, bounds: Floats) -> Floats:
        """Closer (n,) bounds of groups, in order, from the sketches of their windows; where there is none, as given."""
        axes = next((each.axes for each in self.sketches if each is not None), None)
        if axes is None or not len(groups):
            return bounds
        asked = np.ascontiguousarray(axes.project(query[None])[:, :-1].T)
        rows, slack = np.zeros((len(groups), GROUP, len(asked)), np.float16), np.full(len(groups), np.inf, np.float32)
        for number, own in self._by_matrix(groups):
            sketch = self.sketches[number]
            if sketch is not None:
                _gather(sketch.rows, groups[own] - self.offsets[number], rows[own])
                slack[own] = sketch.slack
        similar = _products(rows.reshape(-1, len(asked)), asked).reshape(-1, GROUP)
        return np.asarray(np.minimum(bounds, similar.max(axis=1) + slack), np.float32)

    def _compared(self, groups: Places, query: Floats) -> tuple[Floats, Places]:
        """(n,) groups, in order, to their (n,) best similarity with a (D,) query, and the (n,) row that has it."""
        block, firsts = np.empty((len(groups), GROUP, len(query)), np.float16), np.empty((2, len(groups)), np.int64)
        for number, own in self._by_matrix(groups):
            places = groups[own] - self.offsets[number]
            _gather(self.matrices[number], places, block[own])
            firsts[:, own] = places * GROUP, np.full(len(places), len(self.matrices[number]) - 1)
        similar = _products(block.reshape(-1, len(query)), query[:, None]).reshape(-1, GROUP)
        best = similar.argmax(axis=1)
        return similar[np.arange(len(groups)), best], np.minimum(firsts[0] + best, firsts[1])

    def _by_matrix(self, groups: Places) -> Iterator[tuple[int, slice]]:
        """The matrices of (n,) groups, which are in order, and where the groups of each are."""
        ends = np.searchsorted(groups, self.offsets)
        for number in np.flatnonzero(np.diff(ends)).tolist():
            yield number, slice(int(ends[number]), int(ends[number + 1]))


class _Best:
    """The best groups so far, the best first; of equal ones that with the lower number."""

    def __init__(self, count: int):
        self._count = count
        self.groups, self.values, self.rows = np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.int64)

    @property
    def least(self) -> float:
        """The similarity that another group must reach to be one of them."""
        return float(self.values[-1]) if len(self.values) == self._count else -np.inf

    def add(self, groups: Places, values: Floats, rows: Places) -> None:
        """Keep the best of these and of those before; no group comes twice."""
        groups, values = np.concatenate([self.groups, groups]), np.concatenate([self.values, values])
        order = np.lexsort((groups, -values))[: self._count]
        self.groups, self.values, self.rows = groups[order], values[order], np.concatenate([self.rows, rows])[order]


def _gather(rows: Half, groups: Places, block: Half) -> None:
    """Write (n,) groups, in order, of (T, d) rows into an (n, GROUP, d) block; the last of all repeats its last row."""
    full = len(rows) // GROUP
    inside = int(np.searchsorted(groups, full))
    if inside:
        whole = np.asarray(rows[: full * GROUP]).reshape(full, -1)  # a group lies in one piece
        np.take(whole, groups[:inside], axis=0, out=block[:inside].reshape(inside, -1), mode="clip")
    if inside < len(groups):
        block[inside:] = rows[np.minimum(full * GROUP + np.arange(GROUP), len(rows) - 1)]


def _range(queries: NDArray[Any]) -> range:
    return range(len(queries))


@torch.inference_mode()
def _products(rows: Half, columns: Floats) -> Floats:
    """(n, d) rows in 16 bits times (d, Q) columns, in parts for which no library starts threads of its own."""
    count, width = rows.shape
    halves = torch.from_numpy(rows)
    step = max(1, min(_PRODUCT // (width * columns.shape[1]), _COPY // width))
    buffer = torch.empty(step, width)
    floats, found = buffer.numpy(), np.empty((count, columns.shape[1]), np.float32)
    for start in range(0, count, step):
        size = min(step, count - start)
        buffer[:size].copy_(halves[start : start + size])
        np.matmul(floats[:size], columns, out=found[start : start + size])
    return found


def _group_bounds(rows: Half, queries: Floats, group: int, bounds: Floats) -> None:
    """Write the best products of each group of (n, d) rows with (d, Q) queries into (Q, n / group) bounds."""
    for first in range(0, queries.shape[1], _QUERIES):
        similar = _products(rows, np.ascontiguousarray(queries[:, first : first + _QUERIES]))
        missing = -len(similar) % group
        if missing:
            similar = np.pad(similar, ((0, missing), (0, 0)), constant_values=-np.inf)
        best = similar.reshape(-1, group, similar.shape[1])
        while best.shape[1] > 1:
            half = best.shape[1] // 2
            best = np.maximum(best[:, :half], best[:, half:])
        np.add(best[:, 0].T, ROUNDING, out=bounds[first : first + _QUERIES])
