"""The scan of an archive: every window compared with every query, exactly, at about the pace of memory.

Windows are taken in groups of neighbours, of which only the best is a candidate. A first pass gives an upper bound of
every group, from the knots of its sketch where there is one, else from the windows themselves. Of the groups with the
highest bounds, sketches of their windows give closer bounds, and the best of them are compared exactly: they tell how
good the others must be. Closer bounds of those that may be so good leave a few, which are compared exactly, too.

A few queries go through all of this together, in few large steps that PyTorch shares out to its own threads. Threads of
Python were tried: with steps this short, they spend more time on handing each other Python's lock than they save.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.applications.mapped_arrays import Half
from signspot.applications.sketches import GROUP, KNOTS, ROUNDING, Sketch

_BLOCK = 1 << 20  # numbers that are converted and multiplied at once; each core has its share of them in its cache
_QUERIES = 8  # that are compared together
_SURE = 1024  # groups per query whose bounds are looked at closely, whatever the others have
_FIRST = 2  # times as many groups as are wanted are compared exactly before the others are looked at
_USELESS = 0.1  # share of groups that a sketch leaves over: with more, the windows themselves are read through
_LATER = 4096  # windows that are compared once more, in 64 bits, at once
Floats = NDArray[np.float32]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The best windows for each of Q queries: similarity, matrix and row, the best first."""

    similarity: list[Floats]  # Q of (n,)
    matrix: list[Places]
    row: list[Places]


@torch.inference_mode()
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
    found = Candidates([], [], [])
    with _threads(threads):
        scanned = _Scan(matrices, sketches if sketches is not None else [None] * len(matrices))
        for first in range(0, len(asked), _QUERIES):
            for similarity, numbers, rows in scanned.best(asked[first : first + _QUERIES], top):
                found.similarity.append(similarity)
                found.matrix.append(numbers)
                found.row.append(rows)
    return found


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Within the block, PyTorch shares out its steps to so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, count))
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Scan:
    """Some matrices and their sketches."""

    def __init__(self, matrices: Sequence[Half], sketches: Sequence[Sketch | None]):
        self.matrices = [torch.from_numpy(np.asarray(each)) for each in matrices]
        self.knots = [None if each is None else torch.from_numpy(np.asarray(each.knots)) for each in sketches]
        self.closely = [None if each is None else torch.from_numpy(np.asarray(each.rows)) for each in sketches]
        self.slack = np.array([np.inf if each is None else each.slack for each in sketches], np.float32)
        self.axes = next((each.axes for each in sketches if each is not None), None)
        self.lengths = np.array([len(each) for each in matrices], np.int64)
        self.offsets = np.concatenate([[0], np.cumsum(-(-self.lengths // GROUP))])  # of the groups of each matrix
        self._halves, self._floats = torch.empty(_BLOCK, dtype=torch.float16), torch.empty(_BLOCK)

    def best(self, queries: Floats, top: int) -> list[tuple[Floats, Places, Places]]:
        """Of each of (Q, D) queries: the similarities, matrices and rows of its best groups."""
        found = self._chosen(queries, top, is_sketched=self.axes is not None)
        poor = [number for number, each in enumerate(found) if each is None]
        if poor:  # their sketches leave too much over
            for number, own in zip(poor, self._chosen(queries[poor], top, is_sketched=False), strict=True):
                found[number] = own
        return [each for each in found if each is not None]

    def _chosen(self, queries: Floats, top: int, *, is_sketched: bool) -> list[tuple[Floats, Places, Places] | None]:
        """As `best`; None: a query of which sketches leave too much over."""
        count = min(top, int(self.offsets[-1]))
        if not count:
            return [(np.empty(0, np.float32), np.empty(0, np.int64), np.empty(0, np.int64)) for _ in queries]
        bounds = self._bounds(queries, is_sketched=is_sketched)
        total = bounds.shape[1]
        some = min(max(_FIRST * count, _SURE), total)
        groups = _union([np.argpartition(own, total - some)[total - some :] for own in bounds])
        closer = self._closer(groups, queries, bounds, is_sketched=is_sketched)
        first = min(_FIRST * count, len(groups))
        sure = _union([groups[np.argpartition(own, len(own) - first)[len(own) - first :]] for own in closer])
        values, rows = self._exact(sure, queries)
        enough = np.partition(values, len(sure) - count, axis=1)[:, len(sure) - count]  # that many groups reach it
        left = np.setdiff1d(np.flatnonzero((bounds >= enough[:, None]).any(axis=0)), groups, assume_unique=True)
        closer = np.concatenate([closer, self._closer(left, queries, bounds, is_sketched=is_sketched)], axis=1)
        groups = np.concatenate([groups, left])
        reached = closer >= enough[:, None]
        is_poor = is_sketched & (reached.sum(axis=1) > max(2 * _SURE, _USELESS * total))
        more = np.setdiff1d(groups[reached[~is_poor].any(axis=0)], sure, assume_unique=True)
        more_values, more_rows = self._exact(more, queries)
        groups, values = np.concatenate([sure, more]), np.concatenate([values, more_values], axis=1)
        rows = np.concatenate([rows, more_rows], axis=1)
        return [
            None if is_poor[number] else self._ordered(groups, values[number], rows[number], query, count)
            for number, query in enumerate(queries)
        ]

    def _bounds(self, queries: Floats, *, is_sketched: bool) -> Floats:
        """(Q, D) queries to (Q, G) upper bounds of the similarity of all groups of rows."""
        bounds = torch.empty(len(queries), int(self.offsets[-1]))
        plain = torch.from_numpy(np.ascontiguousarray(queries.T))
        sketched = None if self.axes is None else torch.from_numpy(np.ascontiguousarray(self.axes.project(queries).T))
        for number, (matrix, knots) in enumerate(zip(self.matrices, self.knots, strict=True)):
            own = bounds[:, int(self.offsets[number]) : int(self.offsets[number + 1])]
            if is_sketched and knots is not None and sketched is not None:
                self._write_bounds(knots, sketched, len(KNOTS), own)
            else:
                self._write_bounds(matrix, plain, GROUP, own)
        found: Floats = bounds.add_(ROUNDING).numpy()
        return found

    def _write_bounds(self, rows: Tensor, columns: Tensor, group: int, bounds: Tensor) -> None:
        """Write the best products of each group of (n, d) rows with (d, Q) columns into (Q, n / group) bounds."""
        full, width = len(rows) // group, rows.shape[1]
        step = max(1, _BLOCK // (group * width))
        for start in range(0, full, step):
            part = rows[start * group : min(start + step, full) * group]
            floats = self._floats[: part.numel()].view(-1, group, width)
            floats.copy_(part.view(-1, group, width))
            best = floats[:, 0] @ columns
            for place in range(1, group):
                torch.maximum(best, floats[:, place] @ columns, out=best)
            bounds[:, start : start + len(best)] = best.T
        if full * group < len(rows):
            bounds[:, full] = (rows[full * group :].float() @ columns).amax(dim=0)

    def _closer(self, groups: Places, queries: Floats, bounds: Floats, *, is_sketched: bool) -> Floats:
        """(Q, n) closer bounds of (n,) groups, in order, from the sketches of their windows; else those given."""
        given = bounds[:, groups]
        if not is_sketched or self.axes is None or not len(groups):
            return given
        columns = torch.from_numpy(np.ascontiguousarray(self.axes.project(queries)[:, :-1].T))
        numbers = np.searchsorted(self.offsets, groups, side="right") - 1
        parts = [each.amax(dim=1) for each in self._products(groups, self.closely, columns)]
        return np.asarray(np.minimum(given, torch.cat(parts).numpy().T + self.slack[numbers]), np.float32)

    def _exact(self, groups: Places, queries: Floats) -> tuple[Floats, Places]:
        """(Q, n) best similarities of (n,) groups, in order, with queries, and which of their rows have them."""
        columns = torch.from_numpy(np.ascontiguousarray(queries.T))
        parts = [each.max(dim=1) for each in self._products(groups, self.matrices, columns)]
        if not parts:
            return np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
        values, places = (torch.cat(each).numpy().T for each in zip(*parts, strict=True))
        return values, places

    def _products(self, groups: Places, sources: Sequence[Tensor | None], columns: Tensor) -> Iterator[Tensor]:
        """(m, GROUP, Q) products of rows of (n,) groups, in order, and (d, Q) columns, in parts; without a source 0."""
        width = len(columns)
        step = max(1, _BLOCK // (GROUP * width))
        numbers = np.searchsorted(self.offsets, groups, side="right") - 1
        places = torch.from_numpy(groups - self.offsets[numbers])
        for start in range(0, len(groups), step):
            size = min(step, len(groups) - start)
            block = self._halves[: size * GROUP * width].view(size, -1)
            ends = np.searchsorted(numbers[start : start + size], np.arange(len(sources) + 1))
            for number in np.flatnonzero(np.diff(ends)).tolist():
                first, last = int(ends[number]), int(ends[number + 1])
                _gather(sources[number], places[start + first : start + last], block[first:last])
            floats = self._floats[: block.numel()].view(-1, width)
            floats.copy_(block.view(-1, width))
            yield (floats @ columns).view(size, GROUP, -1)

    def _ordered(
        self, groups: Places, values: Floats, places: Places, query: Floats, count: int
    ) -> tuple[Floats, Places, Places]:
        """The best groups, the best first; of equal ones that with the lower number.

        Products of a row differ in their last digit with what is multiplied beside it. So those of the best are
        computed once more, each by itself: equal windows stay equal, and with sketches or without, order is the same.
        """
        least = np.partition(values, len(values) - count)[len(values) - count] - ROUNDING
        kept = np.flatnonzero(values >= least)
        groups, places = groups[kept], places[kept]
        numbers = np.searchsorted(self.offsets, groups, side="right") - 1
        first = (groups - self.offsets[numbers]) * GROUP
        rows = np.minimum(first + places, self.lengths[numbers] - 1)
        similar = np.empty(len(rows), np.float32)
        by_matrix = np.argsort(numbers, kind="stable")
        for start in range(0, len(rows), _LATER):
            own = by_matrix[start : start + _LATER]
            block = np.concatenate(
                [
                    self.matrices[number].numpy()[rows[own[numbers[own] == number]]]
                    for number in np.unique(numbers[own]).tolist()
                ]
            )
            similar[own] = np.einsum("ij,j->i", block.astype(np.float64), query.astype(np.float64))
        order = np.lexsort((groups, -similar))[:count]
        return similar[order], numbers[order].astype(np.int64), rows[order]


def _union(parts: Sequence[Places]) -> Places:
    """All different numbers, in order."""
    return np.unique(np.concatenate(parts))


def _gather(rows: Tensor | None, groups: Tensor, block: Tensor) -> None:
    """Write (n,) groups, in order, of (T, d) rows into an (n, GROUP d) block; the last of all repeats its last row."""
    if rows is None:
        block.zero_()
        return
    full = len(rows) // GROUP
    inside = len(groups) - int(groups[-1] >= full)
    if inside:
        whole = rows[: full * GROUP].view(full, -1)  # a group lies in one piece
        torch.index_select(whole, 0, groups[:inside], out=block[:inside])
    if inside < len(groups):
        last = (full * GROUP + torch.arange(GROUP)).clamp(max=len(rows) - 1)
        block[inside] = rows[last].view(-1)
