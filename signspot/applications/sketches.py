"""Sketches: a few numbers per window of an archive that bound its similarity to any query from above.

The coordinates of a window along a few axes, those in which windows differ most, and the length of what is left. The
product of a window and a query is that of their coordinates, plus at most the product of the lengths of what is left.
So one product with the sketch is an upper bound, whatever the axes; good axes make it a narrow one.

Neighbours in time lie nearly on a line. So of a group of neighbours the coordinates of a few, its knots, are kept
apart, with how far the others are from the straight lines between knots, at most. On a line no product is above those
of its ends: the best product with a knot, and that distance, bound the whole group.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.applications.mapped_arrays import Half, open_mapped
from signspot.embedding.tracks import read_arrays, write_arrays
from signspot.errors import FormatError, OutputError, SignspotError
from signspot.io.files import text_digest

logger = logging.getLogger(__name__)

GROUP = 16  # windows of which only the best is a candidate: no two signs of a word are nearer than that
KNOTS = (0, 5, 10, 15)  # windows of a group between which lines are drawn
COLUMNS = 48  # numbers per knot: coordinates, the length of what is left, and how far other windows are from the lines
_COORDINATES = COLUMNS - 2
_FEWEST = 2000  # windows from which axes are taken; an archive with fewer needs no sketch
_SAMPLE = 20_000  # at most
_BLOCK = 1250 * GROUP  # windows that are sketched at once
ROUNDING = 1e-5  # of products in 32 bits
_TINY = 1e-12
_ABOVE = 1 + 2**-10  # times a number, rounded to 16 bits, is never below it
_AXES, _SKETCH = "signspot axes 2", "signspot sketch 2"
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Axes:
    """The axes of sketches: the same for all archives of an encoder, once they were chosen."""

    columns: Floats  # (D, COLUMNS - 2) orthonormal

    @cached_property
    def name(self) -> str:
        """Their content as a short text."""
        return text_digest(self.columns.tobytes().hex())

    def project(self, queries: Floats) -> Floats:
        """(Q, D) queries, unit norm, to (Q, COLUMNS).

        The best product with the knots of a group, and `ROUNDING`, bounds the similarity of its windows. Without the
        last number, the product with a row of a sketch, and its slack, bounds that of one window.
        """
        inside = queries @ self.columns
        left = np.linalg.norm(queries - inside @ self.columns.T, axis=1)
        seen = np.linalg.norm(inside, axis=1)
        return np.concatenate([inside, left[:, None], seen[:, None]], axis=1).astype(np.float32)


@dataclass(frozen=True)
class Sketch:
    """The sketch of one matrix of windows."""

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
def make_sketch(rows: Half, axes: Axes) -> Sketch:
    """The sketch of (T, D) windows.

    Raises:
        FormatError: a window holds a number that is not finite.
    """
    found, slack = np.empty((len(rows), COLUMNS - 1), np.float16), 0.0
    knots = np.empty((-(-len(rows) // GROUP), len(KNOTS), COLUMNS), np.float16)
    columns, made, joined = torch.from_numpy(axes.columns), torch.from_numpy(found), torch.from_numpy(knots)
    for start in range(0, len(rows), _BLOCK):
        part = torch.from_numpy(np.asarray(rows[start : start + _BLOCK])).float()
        inside = part @ columns
        left = torch.linalg.vector_norm(part.addmm_(inside, columns.T, alpha=-1), dim=1)
        if not bool(torch.isfinite(left).all()):
            raise FormatError("a window holds numbers that are not finite")
        kept, above = inside.half(), (_ABOVE * left + ROUNDING).half()
        own = made[start : start + _BLOCK]
        own[:, :-1], own[:, -1] = kept, above
        slack = max(slack, float(torch.linalg.vector_norm(inside - kept, dim=1).max()))
        places = (torch.arange(-(-len(part) // GROUP) * GROUP)).clamp(max=len(part) - 1).view(-1, GROUP)
        joined[start // GROUP : start // GROUP + len(places)] = _knots(inside[places], above[places])
    return Sketch(axes, knots.reshape(-1, COLUMNS), found, slack + ROUNDING)


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
    made = torch.empty(len(inside), len(KNOTS), inside.shape[2] + 2, dtype=torch.float16)
    made[..., :-2] = ends
    for knot in range(len(KNOTS)):
        own = (before == knot) | (after == knot)
        made[:, knot, -2] = left[:, own].amax(dim=1)
        made[:, knot, -1] = (_ABOVE * off[:, own].amax(dim=1) + ROUNDING).half()
    return made


Stamp = tuple[int, int, int]
OpenSketches = dict[Path, tuple[Stamp, Sketch]]  # by file, with its stamp when it was opened


def _stamp(path: Path) -> Stamp | None:
    """The file's number, size and time of change: another one, and it must be opened again; None: there is none."""
    try:
        seen = path.stat()
    except OSError:
        return None
    return seen.st_ino, seen.st_size, seen.st_mtime_ns


class SketchCache:
    """Keeps axes and sketches in the cache folder, by the content of what was sketched."""

    def __init__(self, cache: Path | None, encoder: str, opened: OpenSketches | None = None):
        """Keep sketches of the windows that an encoder, named by hash, made; without a cache, there are none.

        Args:
            cache: the cache folder.
            encoder: its hash.
            opened: sketches that are open already, and where those go that are opened.
        """
        self._folder = None if cache is None else cache / "sketches"
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
            logger.info("chose the axes of sketches again: %s", error)
        axes = choose_axes(matrices)
        if axes is not None:
            self._write(path, _AXES, {"axes": axes.columns}, {})
        return axes

    def sketch(self, rows: Half, source: str, digest: str, axes: Axes) -> Sketch:
        """The sketch of windows: from disk, or made and kept.

        Args:
            rows: (T, D) windows.
            source: the digest of the video that they were made of; whoever forgets the video, forgets the sketch.
            digest: of the windows themselves.
            axes: of all sketches of the encoder.
        """
        assert self._folder is not None, "without a cache there are no axes"
        path = self._folder / f"{source or 'unknown'}-{digest}-{axes.name}.safetensors"
        stamp, (before, known) = _stamp(path), self._opened.get(path, (None, None))
        if known is not None and stamp == before:
            return known
        try:
            if stamp is not None:
                texts, arrays = open_mapped(path, _SKETCH, ("knots", "rows"))
                groups = -(-len(rows) // GROUP)
                shapes = [arrays[name].shape for name in ("knots", "rows")]
                if shapes == [(groups * len(KNOTS), COLUMNS), (len(rows), COLUMNS - 1)]:
                    found = Sketch(axes, arrays["knots"], arrays["rows"], float(texts["slack"]))
                    self._opened[path] = stamp, found
                    return found
        except (FormatError, KeyError, ValueError) as error:
            logger.info("made a sketch again: %s", error)
        made = make_sketch(rows, axes)
        self._write(path, _SKETCH, {"knots": made.knots, "rows": made.rows}, {"slack": repr(made.slack)})
        return made

    def _write(self, path: Path, kind: str, arrays: dict[str, NDArray[np.floating]], texts: dict[str, str]) -> None:
        try:
            write_arrays(path, kind, arrays, texts)
        except OutputError as error:
            logger.warning("the cache cannot be used: %s", error)
