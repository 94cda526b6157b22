"""Sketches: a few numbers per window of an archive that bound its similarity to any query from above.

The coordinates of a window along a few axes, those in which windows differ most, and the length of what is left. The
product of a window and a query is that of their coordinates, plus at most the product of the lengths of what is left.
So one product with the sketch is an upper bound, whatever the axes; good axes make it a narrow one.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.applications.mapped_arrays import Half, open_mapped
from signspot.embedding.tracks import read_arrays, write_arrays
from signspot.errors import FormatError, OutputError, SignspotError
from signspot.files import text_digest

logger = logging.getLogger(__name__)

COLUMNS = 48  # numbers per window: 47 coordinates, and the length of what is left
_FEWEST = 2000  # windows from which axes are taken; an archive with fewer needs no sketch
_SAMPLE = 20_000  # at most
_BLOCK = 20_000  # windows that are sketched at once
_ROUNDING = 1e-5  # of products in 32 bits
_ABOVE = 1 + 2**-10  # times a number, rounded to 16 bits, is never below it
_AXES, _SKETCH = "signspot axes 1", "signspot sketch 1"
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Axes:
    """The axes of sketches: the same for all archives of an encoder, once they were chosen."""

    columns: Floats  # (D, COLUMNS - 1) orthonormal

    @property
    def name(self) -> str:
        """Their content as a short text."""
        return text_digest(self.columns.tobytes().hex())


@dataclass(frozen=True)
class Sketch:
    """The sketch of one matrix of windows."""

    axes: Axes
    rows: Half = field(repr=False)  # (T, COLUMNS), in memory or on disk
    slack: float  # to be added to products with it, for what rounding took away

    def project(self, queries: Floats) -> Floats:
        """(Q, D) queries, unit norm, to (Q, COLUMNS): the product with a row, and slack, bounds the similarity."""
        inside = queries @ self.axes.columns
        left = np.linalg.norm(queries - inside @ self.axes.columns.T, axis=1)
        return np.concatenate([inside, left[:, None]], axis=1).astype(np.float32)


def choose_axes(matrices: Sequence[Half]) -> Axes | None:
    """The axes in which some of the (T, D) windows differ most; None: windows are too few, or have few numbers."""
    windows = sum(map(len, matrices))
    if windows < _FEWEST or matrices[0].shape[1] < 2 * COLUMNS:
        return None
    step = max(1, windows // _SAMPLE)
    some = np.concatenate([np.asarray(matrix[::step], np.float64) for matrix in matrices])
    _, vectors = np.linalg.eigh(some.T @ some)
    return Axes(np.ascontiguousarray(vectors[:, :-COLUMNS:-1], np.float32))


@torch.inference_mode()
def make_sketch(rows: Half, axes: Axes) -> Sketch:
    """The sketch of (T, D) windows.

    Raises:
        FormatError: a window holds a number that is not finite.
    """
    found, slack = np.empty((len(rows), COLUMNS), np.float16), 0.0
    columns, made = torch.from_numpy(axes.columns), torch.from_numpy(found)
    for start in range(0, len(rows), _BLOCK):
        part = torch.from_numpy(np.asarray(rows[start : start + _BLOCK])).float()
        inside = part @ columns
        left = torch.linalg.vector_norm(part.addmm_(inside, columns.T, alpha=-1), dim=1)
        if not bool(torch.isfinite(left).all()):
            raise FormatError("a window holds numbers that are not finite")
        kept = inside.half()
        own = made[start : start + _BLOCK]
        own[:, :-1] = kept
        own[:, -1] = (_ABOVE * left + _ROUNDING).half()
        slack = max(slack, float(torch.linalg.vector_norm(inside - kept, dim=1).max()))
    return Sketch(axes, found, slack + _ROUNDING)


class SketchShelf:
    """Keeps axes and sketches in the cache folder, by the content of what was sketched."""

    def __init__(self, cache: Path | None, encoder: str):
        """Keep sketches of the windows that an encoder, named by hash, made; without a cache, there are none."""
        self._folder = None if cache is None else cache / "sketches"
        self._encoder = encoder

    def axes(self, matrices: Sequence[Half]) -> Axes | None:
        """The axes of the encoder: as they were chosen once, else by these windows; None: there are none."""
        if self._folder is None:
            return None
        path = self._folder / f"axes-{self._encoder}.safetensors"
        try:
            if path.is_file():
                columns = read_arrays(path, _AXES)[0]["axes"]
                if columns.shape == (matrices[0].shape[1], COLUMNS - 1):
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
        try:
            if path.is_file():
                texts, arrays = open_mapped(path, _SKETCH, ("rows",))
                if arrays["rows"].shape == (len(rows), COLUMNS):
                    return Sketch(axes, arrays["rows"], float(texts["slack"]))
        except (FormatError, KeyError, ValueError) as error:
            logger.info("made a sketch again: %s", error)
        made = make_sketch(rows, axes)
        self._write(path, _SKETCH, {"rows": made.rows}, {"slack": repr(made.slack)})
        return made

    def _write(self, path: Path, kind: str, arrays: dict[str, NDArray[np.floating]], texts: dict[str, str]) -> None:
        try:
            write_arrays(path, kind, arrays, texts)
        except OutputError as error:
            logger.warning("the cache cannot be used: %s", error)
