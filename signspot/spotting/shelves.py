"""Where embeddings wait while a source is embedded: in memory, or on disk where a track may be longer than memory."""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]

_HEADER = 4096  # bytes kept free for the header, whose numbers are known only at the end
_TYPE = np.dtype("<f2")


class Shelf(Protocol):
    """Takes embeddings in pieces and gives them back as one."""

    def add(self, piece: FloatArray) -> None:
        """Take (n, D) further embeddings, float16."""

    def joined(self) -> FloatArray:
        """(T, D) all embeddings, in the order in which they came."""


class MemoryShelf:
    """Keeps embeddings in memory."""

    def __init__(self) -> None:
        self._pieces: list[FloatArray] = []

    def add(self, piece: FloatArray) -> None:
        """Take (n, D) further embeddings."""
        self._pieces.append(piece)

    def joined(self) -> FloatArray:
        """(T, D) all embeddings."""
        return np.concatenate(self._pieces)


class DiskShelf:
    """Keeps embeddings in a safetensors file, written from front to back; `finish` makes it whole."""

    def __init__(self, path: Path):
        self._path = path
        self._file = path.open("wb")
        self._file.write(b" " * (8 + _HEADER))
        self._shape = (0, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, piece: FloatArray) -> None:
        """Take (n, D) further embeddings."""
        self._file.write(np.ascontiguousarray(piece, _TYPE).tobytes())
        self._shape = (self._shape[0] + len(piece), piece.shape[1])

    def joined(self) -> FloatArray:
        """(T, D) all embeddings, on disk until they are read."""
        self._file.flush()
        return np.memmap(self._path, _TYPE, "r", offset=8 + _HEADER, shape=self._shape)

    def finish(self, name: str, header: Mapping[str, str]) -> None:
        """Write the header: the array's name and shape, and texts."""
        size = self._shape[0] * self._shape[1] * _TYPE.itemsize
        tensor = {"dtype": "F16", "shape": list(self._shape), "data_offsets": [0, size]}
        text = json.dumps({"__metadata__": dict(header), name: tensor}, ensure_ascii=False).encode()
        assert len(text) <= _HEADER, "the header of a track holds names and numbers only"
        self._file.seek(0)
        self._file.write(struct.pack("<Q", _HEADER) + text.ljust(_HEADER))
        self._file.close()
