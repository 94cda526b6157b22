"""An archive: a folder of tracks that is searched as one, for a word or for a clip, without loading it.

Embeddings stay on disk in 16 bits, memory-mapped. A coarse search finds the best windows for every query exactly; a
quantised index, kept in the cache, lets it skip most of them. The videos of the best windows are then searched as every
video is. A new video is one more file; no other is touched.
"""

import logging
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.embedding.exemplars import Gallery
from signspot.embedding.tracks import SUFFIX, checked_grid, read_arrays, write_arrays, write_track
from signspot.errors import (
    EncoderMismatchError,
    FormatError,
    LandmarksError,
    OptionsError,
    OutputError,
    SignspotError,
    TrackError,
    UnreadableFileError,
    VideoError,
)
from signspot.io.checks import check_int, check_list, check_text, parse_json
from signspot.io.files import content_digest, text_digest
from signspot.io.progress import Progress, silent
from signspot.spotting.decision import top_of_words
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.types import Grid, Segment, Spotting, Track

logger = logging.getLogger(__name__)

_LONGEST_HEADER = 1 << 20  # bytes of a header
Half = NDArray[np.float16]


def open_memory_map(path: Path, kind: str, names: Sequence[str]) -> tuple[Mapping[str, Any], dict[str, Half]]:
    """The texts of a file's header, and those of its 16-bit matrices that have these names; only the header is read.

    Raises:
        FormatError: the file is of another kind, or damaged.
    """
    try:
        with path.open("rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            if size > _LONGEST_HEADER:
                raise FormatError(f"its header has {size} bytes")
            header = parse_json(file.read(size).decode(), str(path))
        texts = header["__metadata__"]
        if not str(texts.get("kind", "")).startswith(kind):
            raise FormatError(f"it is no {kind.removeprefix('signspot ').rstrip(' 0123456789')}")
        return texts, {name: _memory_map(path, 8 + size, header[name]) for name in names if name in header}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise FormatError(f"{path} cannot be read: {error}") from error


def _memory_map(path: Path, begin: int, entry: Any) -> Half:
    if entry["dtype"] != "F16":
        raise FormatError(f"its numbers are {entry['dtype']}, not 16-bit")
    rows, columns = (check_int(number, "shape") for number in check_list(entry["shape"], "shape"))
    first, last = (check_int(number, "offset", most=2**62) for number in check_list(entry["data_offsets"], "offsets"))
    if columns < 1 or last - first != 2 * rows * columns or begin + last > path.stat().st_size:
        raise FormatError("its shape does not fit its size")
    if not rows:
        return np.empty((0, columns), np.float16)
    return np.memmap(path, np.float16, "c", begin + first, (rows, columns))  # "c": torch takes no read-only arrays


_BLOCK = 1 << 20  # numbers that are converted and multiplied at once; each core has its share of them in its cache
_SHARED = 8  # blocks that a thread takes at once
_QUERIES = 8  # that are compared together
_SURE = 1024  # groups per query whose bounds are looked at closely, whatever the others have
_FIRST = 2  # times as many groups as are wanted are compared exactly before the others are looked at
_USELESS = 0.1  # share of groups that a index leaves over: with more, the windows themselves are read through
_LATER = 4096  # windows that are compared once more, in 64 bits, at once
Floats = NDArray[np.float32]
Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The best windows for each of Q queries: similarity, matrix and row, the best first."""

    similarity: list[Floats]  # Q of (n,)
    matrix: list[Indices]
    row: list[Indices]

    def of_rows(self, queries: Indices, count: int) -> list[tuple[int, int]]:
        """The best windows of several queries together: matrix and row."""
        similar, matrices, rows = (
            np.concatenate([part[query] for query in queries.tolist()])
            for part in (self.similarity, self.matrix, self.row)
        )
        best = np.lexsort((rows, matrices, -similar))[:count]
        return list(zip(matrices[best].tolist(), rows[best].tolist(), strict=True))


@torch.inference_mode()
def nearest_windows(
    matrices: Sequence[Half],
    queries: Floats,
    top: int,
    threads: int = 2,
    indices: Sequence["QuantisedIndex | None"] | None = None,
) -> Candidates:
    """Compare every row of many matrices with every query, exactly, and keep the best of each group of rows.

    Args:
        matrices: (T, D) unit-norm rows in 16 bits, in memory or on disk.
        queries: (Q, D) unit norm.
        top: how many groups of `GROUP` neighbouring rows are kept for each query.
        threads: that share the work; none waits for another between two blocks.
        indices: of the matrices, all along the same axes; the result is the same without them.
    """
    vectors = np.ascontiguousarray(queries, np.float32)
    candidates = Candidates([], [], [])
    with _shared_work(threads) as share:
        search = _WindowSearch(matrices, indices if indices is not None else [None] * len(matrices), share)
        for first in range(0, len(vectors), _QUERIES):
            for similarity, numbers, rows in search.best(vectors[first : first + _QUERIES], top):
                candidates.similarity.append(similarity)
                candidates.matrix.append(numbers)
                candidates.row.append(rows)
    return candidates


Share = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # as `map`


@contextmanager
def _shared_work(threads: int) -> Iterator[Share]:
    """Within the block, a `map` whose calls are shared out to so many threads.

    PyTorch's own threads meet after every small product, and wait for each other by computing: on a busy machine, for
    longer than the products take.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # for threads that are started now, too
    try:
        if threads < 2:
            yield map
            return
        with ThreadPoolExecutor(threads) as pool:
            yield pool.map
    finally:
        torch.set_num_threads(before)


class _Buffers(threading.local):
    """Memory of one thread that is used again and again."""

    def __init__(self) -> None:
        self.halves, self.floats = torch.empty(_BLOCK, dtype=torch.float16), torch.empty(_BLOCK)


class _WindowSearch:
    """Some matrices and their indices."""

    def __init__(self, matrices: Sequence[Half], indices: Sequence["QuantisedIndex | None"], share: Share):
        self._share, self._buffers = share, _Buffers()
        self.matrices = [torch.from_numpy(np.asarray(matrix)) for matrix in matrices]
        self.knots = [None if index is None else torch.from_numpy(np.asarray(index.knots)) for index in indices]
        self.closely = [None if index is None else torch.from_numpy(np.asarray(index.rows)) for index in indices]
        self.slack = np.array([np.inf if index is None else index.slack for index in indices], np.float32)
        self.axes = next((index.axes for index in indices if index is not None), None)
        self.lengths = np.array([len(matrix) for matrix in matrices], np.int64)
        self.offsets = np.concatenate([[0], np.cumsum(-(-self.lengths // GROUP))])  # of the groups of each matrix

    def best(self, queries: Floats, top: int) -> list[tuple[Floats, Indices, Indices]]:
        """Of each of (Q, D) queries: the similarities, matrices and rows of its best groups."""
        chosen = self._chosen(queries, top, is_indexed=self.axes is not None)
        poor = [number for number, best in enumerate(chosen) if best is None]
        if poor:  # their indices leave too much over
            for number, without_index in zip(poor, self._chosen(queries[poor], top, is_indexed=False), strict=True):
                chosen[number] = without_index
        return [best for best in chosen if best is not None]

    def _chosen(self, queries: Floats, top: int, *, is_indexed: bool) -> list[tuple[Floats, Indices, Indices] | None]:
        """As `best`; None: a query of which indices leave too much over."""
        count = min(top, int(self.offsets[-1]))
        if not count:
            return [(np.empty(0, np.float32), np.empty(0, np.int64), np.empty(0, np.int64)) for _ in queries]
        bounds = self._bounds(queries, is_indexed=is_indexed)
        total = bounds.shape[1]
        some = min(max(_FIRST * count, _SURE), total)
        groups = _union([np.argpartition(bound, total - some)[total - some :] for bound in bounds])
        closer = self._closer(groups, queries, bounds, is_indexed=is_indexed)
        first = min(_FIRST * count, len(groups))
        sure = _union([groups[np.argpartition(bound, len(bound) - first)[len(bound) - first :]] for bound in closer])
        values, rows = self._exact(sure, queries)
        enough = np.partition(values, len(sure) - count, axis=1)[:, len(sure) - count]  # that many groups reach it
        left = np.setdiff1d(np.flatnonzero((bounds >= enough[:, None]).any(axis=0)), groups, assume_unique=True)
        closer = np.concatenate([closer, self._closer(left, queries, bounds, is_indexed=is_indexed)], axis=1)
        groups = np.concatenate([groups, left])
        reached = closer >= enough[:, None]
        is_poor = is_indexed & (reached.sum(axis=1) > max(2 * _SURE, _USELESS * total))
        more = np.setdiff1d(np.sort(groups[reached[~is_poor].any(axis=0)]), sure, assume_unique=True)
        more_values, more_rows = self._exact(more, queries)
        groups, values = np.concatenate([sure, more]), np.concatenate([values, more_values], axis=1)
        rows = np.concatenate([rows, more_rows], axis=1)
        return [
            None if is_poor[number] else self._ordered(groups, values[number], rows[number], query, count)
            for number, query in enumerate(queries)
        ]

    def _bounds(self, queries: Floats, *, is_indexed: bool) -> Floats:
        """(Q, D) queries to (Q, G) upper bounds of the similarity of all groups of rows."""
        bounds = torch.empty(len(queries), int(self.offsets[-1]))
        plain = torch.from_numpy(np.ascontiguousarray(queries.T))
        indexed = None if self.axes is None else torch.from_numpy(np.ascontiguousarray(self.axes.project(queries).T))
        parts: list[tuple[Tensor, Tensor, int, Tensor]] = []
        for number, (matrix, knots) in enumerate(zip(self.matrices, self.knots, strict=True)):
            bounds_of_matrix = bounds[:, int(self.offsets[number]) : int(self.offsets[number + 1])]
            if is_indexed and knots is not None and indexed is not None:
                rows, columns, group = knots, indexed, len(KNOTS)
            else:
                rows, columns, group = matrix, plain, GROUP
            step = _SHARED * max(1, _BLOCK // (group * rows.shape[1]))
            for start in range(0, bounds_of_matrix.shape[1], step):
                rows_of_part = rows[start * group : (start + step) * group]
                parts.append((rows_of_part, columns, group, bounds_of_matrix[:, start : start + step]))
        for _ in self._share(self._write_bounds, parts):
            pass
        upper: Floats = bounds.add_(ROUNDING).numpy()
        return upper

    @torch.inference_mode()
    def _write_bounds(self, part: tuple[Tensor, Tensor, int, Tensor]) -> None:
        """Write the best products of each group of (n, d) rows with (d, Q) columns into (Q, n / group) bounds."""
        rows, columns, group, bounds = part
        full, width = len(rows) // group, rows.shape[1]
        step = max(1, _BLOCK // (group * width))
        for start in range(0, full, step):
            block = rows[start * group : min(start + step, full) * group]
            floats = self._buffers.floats[: block.numel()].view(-1, group, width)
            floats.copy_(block.view(-1, group, width))
            best = floats[:, 0] @ columns
            for offset in range(1, group):
                torch.maximum(best, floats[:, offset] @ columns, out=best)
            bounds[:, start : start + len(best)] = best.T
        if full * group < len(rows):
            bounds[:, full] = (rows[full * group :].float() @ columns).amax(dim=0)

    def _closer(self, groups: Indices, queries: Floats, bounds: Floats, *, is_indexed: bool) -> Floats:
        """(Q, n) closer bounds of (n,) groups, in order, from the indices of their windows; else those given."""
        group_bounds = bounds[:, groups]
        if not is_indexed or self.axes is None or not len(groups):
            return group_bounds
        columns = torch.from_numpy(np.ascontiguousarray(self.axes.project(queries)[:, :-1].T))
        numbers = np.searchsorted(self.offsets, groups, side="right") - 1
        parts = list(self._best_products(groups, self.closely, columns, lambda products: products.amax(dim=1)))
        return np.asarray(np.minimum(group_bounds, torch.cat(parts).numpy().T + self.slack[numbers]), np.float32)

    def _exact(self, groups: Indices, queries: Floats) -> tuple[Floats, Indices]:
        """(Q, n) best similarities of (n,) groups, in order, with queries, and which of their rows have them."""
        columns = torch.from_numpy(np.ascontiguousarray(queries.T))
        parts = list(self._best_products(groups, self.matrices, columns, lambda products: products.max(dim=1)))
        if not parts:
            return np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
        values, rows = (torch.cat(part).numpy().T for part in zip(*parts, strict=True))
        return values, rows

    def _best_products(
        self,
        groups: Indices,
        sources: Sequence[Tensor | None],
        columns: Tensor,
        best: Callable[[Tensor], Any],
    ) -> Iterable[Any]:
        """The best of (m, GROUP, Q) products of rows of (n,) groups, in order, and (d, Q) columns, in parts.

        Without a source products are 0.
        """
        width = len(columns)
        step = max(1, _BLOCK // (GROUP * width))
        numbers = np.searchsorted(self.offsets, groups, side="right") - 1
        inside = torch.from_numpy(groups - self.offsets[numbers])

        @torch.inference_mode()
        def best_of_part(start: int) -> Any:
            size = min(step, len(groups) - start)
            block = self._buffers.halves[: size * GROUP * width].view(size, -1)
            ends = np.searchsorted(numbers[start : start + size], np.arange(len(sources) + 1))
            for number in np.flatnonzero(np.diff(ends)).tolist():
                first, last = int(ends[number]), int(ends[number + 1])
                _gather(sources[number], inside[start + first : start + last], block[first:last])
            floats = self._buffers.floats[: block.numel()].view(-1, width)
            floats.copy_(block.view(-1, width))
            return best((floats @ columns).view(size, GROUP, -1))

        return self._share(best_of_part, range(0, len(groups), step))

    def _ordered(
        self, groups: Indices, values: Floats, offsets: Indices, query: Floats, count: int
    ) -> tuple[Floats, Indices, Indices]:
        """The best groups, the best first; of equal ones that with the lower number.

        Products of a row differ in their last digit with what is multiplied beside it. So those of the best are
        computed once more, each by itself: equal windows stay equal, and with indices or without, order is the same.
        """
        least = np.partition(values, len(values) - count)[len(values) - count] - ROUNDING
        best = np.flatnonzero(values >= least)
        groups, offsets = groups[best], offsets[best]
        numbers = np.searchsorted(self.offsets, groups, side="right") - 1
        first = (groups - self.offsets[numbers]) * GROUP
        rows = np.minimum(first + offsets, self.lengths[numbers] - 1)
        similar = np.empty(len(rows), np.float32)
        by_matrix = np.argsort(numbers, kind="stable")
        for start in range(0, len(rows), _LATER):
            part = by_matrix[start : start + _LATER]
            block = np.concatenate(
                [
                    self.matrices[number].numpy()[rows[part[numbers[part] == number]]]
                    for number in np.unique(numbers[part]).tolist()
                ]
            )
            similar[part] = np.einsum("ij,j->i", block.astype(np.float64), query.astype(np.float64))
        order = np.lexsort((groups, -similar))[:count]
        return similar[order], numbers[order].astype(np.int64), rows[order]


def _union(parts: Sequence[Indices]) -> Indices:
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


GROUP = 16  # windows of which only the best is a candidate: no two signs of a word are nearer than that
KNOTS = (0, 5, 10, 15)  # windows of a group between which lines are drawn
COLUMNS = 48  # numbers per knot: coordinates, the length of what is left, and how far other windows are from the lines
_COORDINATES = COLUMNS - 2
_FEWEST = 2000  # windows from which axes are taken; an archive with fewer needs no index
_SAMPLE = 20_000  # at most
_INDEXED = 1250 * GROUP  # windows that are indexed at once
ROUNDING = 1e-5  # of products in 32 bits
_TINY = 1e-12
_ABOVE = 1 + 2**-10  # times a number, rounded to 16 bits, is never below it
_AXES, _INDEX = "signspot axes 2", "signspot index 2"


@dataclass(frozen=True)
class Axes:
    """The axes of indices: the same for all archives of an encoder, once they were chosen."""

    columns: Floats  # (D, COLUMNS - 2) orthonormal

    @cached_property
    def name(self) -> str:
        """Their content as a short text."""
        return text_digest(self.columns.tobytes().hex())

    def project(self, queries: Floats) -> Floats:
        """(Q, D) queries, unit norm, to (Q, COLUMNS).

        The best product with the knots of a group, and `ROUNDING`, bounds the similarity of its windows. Without the
        last number, the product with a row of a index, and its slack, bounds that of one window.
        """
        inside = queries @ self.columns
        left = np.linalg.norm(queries - inside @ self.columns.T, axis=1)
        length = np.linalg.norm(inside, axis=1)
        return np.concatenate([inside, left[:, None], length[:, None]], axis=1).astype(np.float32)


@dataclass(frozen=True)
class QuantisedIndex:
    """The index of one matrix of windows."""

    axes: Axes
    knots: Half = field(repr=False)  # (KNOTS of each group, COLUMNS), in memory or on disk
    rows: Half = field(repr=False)  # (T, COLUMNS - 1) of every window
    slack: float  # to be added to products with rows, for what rounding took away


def choose_axes(matrices: Sequence[Half]) -> Axes | None:
    """The axes in which some of the (T, D) windows differ most; None: windows are too few, or have few numbers."""
    windows = sum(map(len, matrices))
    if windows < _FEWEST or matrices[0].shape[1] < 2 * COLUMNS:
        return None
    step = max(1, windows // _SAMPLE)
    some = np.concatenate([np.asarray(matrix[::step], np.float64) for matrix in matrices])
    _, vectors = np.linalg.eigh(some.T @ some)
    return Axes(np.ascontiguousarray(vectors[:, : -_COORDINATES - 1 : -1], np.float32))


@torch.inference_mode()
def make_index(rows: Half, axes: Axes) -> QuantisedIndex:
    """The index of (T, D) windows.

    Raises:
        FormatError: a window holds a number that is not finite.
    """
    coordinates, slack = np.empty((len(rows), COLUMNS - 1), np.float16), 0.0
    knots = np.empty((-(-len(rows) // GROUP), len(KNOTS), COLUMNS), np.float16)
    columns, row_numbers, knot_numbers = map(torch.from_numpy, (axes.columns, coordinates, knots))
    for start in range(0, len(rows), _INDEXED):
        part = torch.from_numpy(np.asarray(rows[start : start + _INDEXED])).float()
        inside = part @ columns
        left = torch.linalg.vector_norm(part.addmm_(inside, columns.T, alpha=-1), dim=1)
        if not bool(torch.isfinite(left).all()):
            raise FormatError("a window holds numbers that are not finite")
        rounded, above = inside.half(), (_ABOVE * left + ROUNDING).half()
        block = row_numbers[start : start + _INDEXED]
        block[:, :-1], block[:, -1] = rounded, above
        slack = max(slack, float(torch.linalg.vector_norm(inside - rounded, dim=1).max()))
        windows = (torch.arange(-(-len(part) // GROUP) * GROUP)).clamp(max=len(part) - 1).view(-1, GROUP)
        knot_numbers[start // GROUP : start // GROUP + len(windows)] = _knots(inside[windows], above[windows])
    return QuantisedIndex(axes, knots.reshape(-1, COLUMNS), coordinates, slack + ROUNDING)


def _knots(inside: Tensor, left: Tensor) -> Tensor:
    """(G, GROUP, C) coordinates and (G, GROUP) lengths of what is left to (G, KNOTS, C + 2) 16-bit knots."""
    between = np.searchsorted(KNOTS, np.arange(GROUP))  # of each window the knot at or after it
    after = torch.from_numpy(between)
    before = torch.from_numpy(between - ~np.isin(np.arange(GROUP), KNOTS))
    ends = inside[:, list(KNOTS)].half()
    first = ends.float()[:, before]
    line = ends.float()[:, after] - first
    apart = inside - first
    along = ((apart * line).sum(dim=2) / (line * line).sum(dim=2).clamp(min=_TINY)).clamp(0, 1)
    off = torch.linalg.vector_norm(apart - along[..., None] * line, dim=2)
    knots = torch.empty(len(inside), len(KNOTS), inside.shape[2] + 2, dtype=torch.float16)
    knots[..., :-2] = ends
    for knot in range(len(KNOTS)):
        is_beside = (before == knot) | (after == knot)
        knots[:, knot, -2] = left[:, is_beside].amax(dim=1)
        knots[:, knot, -1] = (_ABOVE * off[:, is_beside].amax(dim=1) + ROUNDING).half()
    return knots


Stamp = tuple[int, int, int]
OpenIndices = dict[Path, tuple[Stamp, QuantisedIndex]]  # by file, with its stamp when it was opened


def _stamp(path: Path) -> Stamp | None:
    """The file's number, size and time of change: another one, and it must be opened again; None: there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


class IndexCache:
    """Keeps axes and indices in the cache folder, by the content of what was indexed."""

    def __init__(self, cache: Path | None, encoder: str, opened: OpenIndices | None = None):
        """Keep indices of the windows that an encoder, named by hash, made; without a cache, there are none.

        Args:
            cache: the cache folder.
            encoder: its hash.
            opened: indices that are open already, and where those go that are opened.
        """
        self._folder = None if cache is None else cache / "indices"
        self._encoder, self._opened = encoder, {} if opened is None else opened

    def axes(self, matrices: Sequence[Half]) -> Axes | None:
        """The axes of the encoder: as they were chosen once, else by these windows; None: there are none."""
        if self._folder is None:
            return None
        path = self._folder / f"axes-{self._encoder}.safetensors"
        try:
            if path.is_file():
                columns = read_arrays(path, _AXES)[0]["axes"]
                if columns.shape == (matrices[0].shape[1], _COORDINATES):
                    return Axes(columns)
        except (SignspotError, KeyError) as error:
            logger.info("the axes of indices are chosen again: %s", error)
        axes = choose_axes(matrices)
        if axes is not None:
            self._write(path, _AXES, {"axes": axes.columns}, {})
        return axes

    def index(self, rows: Half, source: str, digest: str, axes: Axes) -> QuantisedIndex:
        """The index of windows: from disk, or made and kept.

        Args:
            rows: (T, D) windows.
            source: the digest of the video that they were made of; whoever forgets the video, forgets the index.
            digest: of the windows themselves.
            axes: of all indices of the encoder.
        """
        assert self._folder is not None, "without a cache there are no axes"
        path = self._folder / f"{source or 'unknown'}-{digest}-{axes.name}.safetensors"
        stamp, (before, opened) = _stamp(path), self._opened.get(path, (None, None))
        if opened is not None and stamp == before:
            return opened
        try:
            if stamp is not None:
                texts, arrays = open_memory_map(path, _INDEX, ("knots", "rows"))
                groups = -(-len(rows) // GROUP)
                shapes = [arrays[name].shape for name in ("knots", "rows")]
                if shapes == [(groups * len(KNOTS), COLUMNS), (len(rows), COLUMNS - 1)]:
                    index_on_disk = QuantisedIndex(axes, arrays["knots"], arrays["rows"], float(texts["slack"]))
                    self._opened[path] = stamp, index_on_disk
                    return index_on_disk
        except (FormatError, KeyError, ValueError) as error:
            logger.info("a cached index is made again: %s", error)
        index = make_index(rows, axes)
        self._write(path, _INDEX, {"knots": index.knots, "rows": index.rows}, {"slack": repr(index.slack)})
        return index

    def _write(self, path: Path, kind: str, arrays: dict[str, NDArray[np.floating]], texts: dict[str, str]) -> None:
        try:
            write_arrays(path, kind, arrays, texts)
        except OutputError as error:
            logger.warning("the cache cannot be used: %s", error)


_AROUND = 1.5  # seconds around a candidate that are searched
SEARCHED = 100  # videos that are searched for a word
_WINDOWS = 160  # groups of them that the coarse search finds for each exemplar


@dataclass(frozen=True)
class ArchivedTrack:
    """One video of an archive; its numbers are read from disk when they are looked at."""

    path: Path
    video: str
    encoder: str
    grid: Grid
    embeddings: Half = field(repr=False)  # (T, D) on disk
    codes: Half | None = field(repr=False)  # (frames, C) on disk
    source: str = ""  # the digest of the video
    digest: str = ""  # of all numbers of the track; may be empty

    def whole(self) -> Track:
        """The track, as a search takes it."""
        return Track(self.embeddings, self.grid, self.encoder, self.video, self.source, self.codes)

    def around(self, window: int) -> Track:
        """The part of the track around a window; nothing else is read."""
        grid, last = self.grid, len(self.embeddings) - 1
        reach = round(_AROUND * grid.fps / grid.stride)
        first, behind = max(0, window - reach), min(last, window + reach) + 1
        start = first * grid.stride
        end = grid.frames if behind > last else (behind - 1) * grid.stride + grid.window
        part = replace(grid, frames=end - start, origin=grid.origin + start / grid.fps)
        codes = None if self.codes is None else self.codes[start:end]
        return Track(self.embeddings[first:behind], part, self.encoder, self.video, self.source, codes)


@dataclass(frozen=True)
class Archive:
    """Tracks of many videos by one encoder."""

    tracks: tuple[ArchivedTrack, ...]
    indices: OpenIndices = field(default_factory=dict, repr=False, compare=False)  # opened by searches before

    @property
    def windows(self) -> int:
        """The number of windows to compare."""
        return sum(len(track.embeddings) for track in self.tracks)

    @property
    def encoder(self) -> str:
        """The hash of the encoder that made all of them."""
        return self.tracks[0].encoder


def open_archive(*folders: str | Path) -> Archive:
    """Open all tracks below one or several folders, to be searched as one; only their headers are read.

    Raises:
        TrackError: there is no track.
        EncoderMismatchError: they are of several encoders.
        FormatError: a file is not a track, or damaged.
    """
    homes = tuple(Path(folder) for folder in folders)
    paths = {home: sorted(home.rglob(f"*{SUFFIX}")) for home in homes}
    empty = next((home for home in homes if not paths[home]), None)
    if empty is not None:
        raise TrackError(f"there is no track in {empty}. Add videos with: signspot search {empty} --add VIDEO")
    tracks = tuple(open_track(path) for home in homes for path in paths[home])
    other = next((track for track in tracks if track.encoder != tracks[0].encoder), None)
    if other is not None:
        raise EncoderMismatchError(
            f"{tracks[0].path.name} and {other.path.name} were made by two encoders ({tracks[0].encoder} and "
            f"{other.encoder}): their numbers cannot be compared. Move one of them into an archive of its own, or add "
            "its video again with the other's encoder"
        )
    return Archive(tracks)


def add_video(spotter: Spotter, folder: str | Path, video: str | Path, progress: Progress | None = None) -> Path:
    """Embed a video into an archive; a file of its own, named by the video and its whole path.

    Raises:
        EncoderMismatchError: another encoder made the tracks that are there.
        FormatError: the first of them is damaged.
    """
    present = min(Path(folder).rglob(f"*{SUFFIX}"), default=None)
    if present is not None:
        _check_encoder(spotter, folder, open_track(present).encoder)
    name = f"{Path(video).stem}-{text_digest(str(Path(video).resolve()))}{SUFFIX}"
    return write_track(spotter.track(str(video), progress=progress), Path(folder) / name)


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of the videos of a corpus, for one of several jobs."""

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """From a text such as 3/8.

        Raises:
            OptionsError: it is not such a text.
        """
        number, slash, count = text.partition("/")
        if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
            raise OptionsError(f"a shard is I/N, such as 3/8, with I from 1 to N; got '{text}'")
        return cls(int(number), int(count))

    def of(self, names: Iterable[str]) -> list[str]:
        """Its names; those of all shards are all names, each once."""
        return sorted(names)[self.number - 1 :: self.count]


@dataclass(slots=True)
class EmbeddingReport:
    """What became of the videos of a corpus."""

    embedded: int = 0
    there: int = 0  # from an earlier run
    seconds: float = 0.0  # of the footage that was embedded now
    failed: dict[str, str] = field(default_factory=dict)  # video → why it has no track


def embed_corpus(
    spotter: Spotter,
    media: Mapping[str, Path],
    folder: Path,
    stride: int = 1,
    progress: Progress = silent,
) -> EmbeddingReport:
    """Embed videos into an archive, each into a file of its own; those that are there already are left alone.

    Args:
        spotter: whose encoder embeds.
        media: name → video or landmarks; the name is that of the track in the folder.
        folder: of the archive.
        stride: frames between two windows.
        progress: receives the number of videos that are done.
    """
    report = EmbeddingReport()
    for done, (name, path) in enumerate(media.items()):
        progress(done, len(media))
        target = folder / f"{name}{SUFFIX}"
        try:
            if _is_track_of(target, path, spotter.encoder.hash, stride):
                report.there += 1
                continue
            track = spotter.embed(path, stride)
            write_track(track, target)
        except (VideoError, LandmarksError, FormatError, UnreadableFileError) as error:
            report.failed[name] = str(error)
            continue
        report.embedded += 1
        report.seconds += track.grid.frames / track.grid.fps
    progress(len(media), len(media))
    return report


def _is_track_of(target: Path, video: Path, encoder: str, stride: int) -> bool:
    """Whether a file is the track of this very video, encoder and stride."""
    try:
        track = open_track(target) if target.is_file() else None
    except FormatError:
        return False  # it is made again
    return (
        track is not None
        and (track.encoder, track.grid.stride) == (encoder, stride)
        and track.source == content_digest(video)
    )


def _check_encoder(spotter: Spotter, folder: str | Path, encoder: str) -> None:
    """Raise EncoderMismatchError where an archive was made by another encoder than the spotter's."""
    if encoder != spotter.encoder.hash:
        raise EncoderMismatchError(
            f"the archive {folder} was made by the encoder {encoder}, not by '{spotter.encoder.name}' "
            f"({spotter.encoder.hash}). Name that encoder with --encoder: signspot models lists their hashes"
        )


def open_track(path: Path) -> ArchivedTrack:
    """Open one track; only its header is read.

    Raises:
        FormatError: it is not a track, or damaged.
    """
    try:
        facts, arrays = open_memory_map(path, "signspot track", ("embeddings", "codes"))
        grid = checked_grid(parse_json(facts["grid"], "grid"))
        if len(arrays["embeddings"]) != grid.count:
            raise FormatError(f"{grid.count} windows, but {len(arrays['embeddings'])} embeddings")
        codes = arrays.get("codes")
        if codes is not None and len(codes) != grid.frames:
            raise FormatError(f"{grid.frames} frames, but {len(codes)} codes")
        video, encoder = (check_text(facts[name], name) for name in ("video", "encoder"))
        source, digest = (check_text(facts.get(name, ""), name) for name in ("source", "sha256"))
        return ArchivedTrack(path, video, encoder, grid, arrays["embeddings"], codes, source, digest)
    except (ValueError, KeyError, TypeError, AttributeError, FormatError) as error:
        raise FormatError(f"{path} cannot be searched: {error}. Make it again with: signspot embed") from error


def coarse_search(
    archive: Archive, queries: NDArray[np.float32], top: int, threads: int = 2, cache: Path | None = None
) -> Candidates:
    """Search the windows of all tracks, by their quantised indices where there is a cache folder to keep these in.

    Args:
        archive: as `open_archive` gives it.
        queries: (Q, D) unit norm.
        top: how many groups of neighbouring windows are kept for each query.
        threads: that share the work.
        cache: the folder of what can be made again; None: every window is read.
    """
    matrices = [track.embeddings for track in archive.tracks]
    index_cache = IndexCache(cache, archive.encoder, archive.indices)
    axes = index_cache.axes(matrices)
    if axes is None:
        return nearest_windows(matrices, queries, top, threads)
    indices = [_index(index_cache, track, axes) for track in archive.tracks]
    return nearest_windows(matrices, queries, top, threads, indices)


def _index(index_cache: IndexCache, track: ArchivedTrack, axes: Axes) -> QuantisedIndex | None:
    if not track.digest:
        return None
    try:
        return index_cache.index(track.embeddings, track.source, track.digest, axes)
    except FormatError as error:
        raise FormatError(f"{track.path} cannot be searched: {error}. Make it again with: signspot embed") from error


def search_archive(
    spotter: Spotter,
    archive: Archive,
    gallery: Gallery,
    options: SpotOptions | None = None,
    *,
    threads: int = 2,
    progress: Progress = silent,
) -> list[Spotting]:
    """Find words in an archive: in each video that is searched, what `Spotter.search` finds there.

    Up to `SEARCHED` videos are all searched; of more, those that are nearest to each word by the embedding of a window.

    Args:
        spotter: whose encoder made the archive and the gallery.
        archive: as `open_archive` gives it.
        gallery: exemplars of words, or of one clip; each row is a query of its own.
        options: how to decide; `top` spottings of each word in all videos together.
        threads: that share the comparison.
        progress: receives the number of videos that are searched.

    Returns:
        Spottings, the best first.

    Raises:
        EncoderMismatchError: another encoder made the archive.
    """
    chosen = options or SpotOptions()
    _check_encoder(spotter, archive.tracks[0].path.parent, archive.encoder)
    numbers = nearest_videos(spotter, archive, gallery, threads)
    spottings: list[Spotting] = []
    for done, number in enumerate(numbers):
        progress(done, len(numbers))
        spottings += spotter.search(archive.tracks[number].whole(), gallery, replace(chosen, top=None)).spottings
    progress(len(numbers), len(numbers))
    return top_of_words(spottings, chosen.top)


def nearest_videos(spotter: Spotter, archive: Archive, gallery: Gallery, threads: int = 2) -> list[int]:
    """The numbers of the videos of an archive that `search_archive` searches, in order."""
    if len(archive.tracks) <= SEARCHED:
        return list(range(len(archive.tracks)))
    windows = coarse_search(archive, gallery.embeddings, _WINDOWS, threads, spotter.cache)
    chosen: set[int] = set()
    for rows in gallery.words.values():
        best = windows.of_rows(rows, _WINDOWS * len(rows))
        chosen.update(list(dict.fromkeys(number for number, _ in best))[:SEARCHED])
    return sorted(chosen)


def nearest_locations(
    spotter: Spotter,
    archive: Archive,
    gallery: Gallery,
    candidates: int,
    threads: int = 2,
) -> dict[str, list[tuple[int, Spotting]]]:
    """Of every word the locations that are nearest by embedding, aligned: number of the track, and location.

    Args:
        spotter: whose encoder made the archive and the gallery.
        archive: as `open_archive` gives it.
        gallery: exemplars of words.
        candidates: windows of a word that are aligned with its exemplars.
        threads: that share the comparison.

    Returns:
        By word the locations, each once, the best first; their scores are without false alarms per hour.

    Raises:
        EncoderMismatchError: another encoder made the archive.
    """
    _check_encoder(spotter, archive.tracks[0].path.parent, archive.encoder)
    windows = coarse_search(archive, gallery.embeddings, candidates, threads, spotter.cache)
    located: dict[str, list[tuple[int, Spotting]]] = {}
    for word, rows in gallery.words.items():
        exemplars = gallery.of_words([word])
        aligned: dict[tuple[int, float], Spotting] = {}
        for number, window in windows.of_rows(rows, candidates):
            part = archive.tracks[number].around(window)
            whole = Segment(part.grid.origin, part.grid.origin + part.grid.frames / part.grid.fps)
            for best in spotter.best_locations(part, exemplars, [whole])[0].values():
                aligned[number, best.time] = best
        ranked = sorted(aligned.items(), key=lambda item: -item[1].score)
        located[word] = [(number, best) for (number, _), best in ranked]
    return located
