"""Tracks and other arrays on disk, so that changing a word or a threshold never decodes a video again."""

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from signspot.errors import FormatError, TrackError
from signspot.files import write_beside
from signspot.timeline import Grid, Track

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


SUFFIX = ".safetensors"
_KIND = "signspot track 1"


def write_track(track: Track, path: str | PathLike[str], *, precision: str = "float16") -> Path:
    """Save a track: 2 bytes a value by default, 4 with precision='float32'."""
    header = {"encoder": track.encoder, "video": track.video, "source": track.source}
    header["grid"] = json.dumps(asdict(track.grid))
    write_arrays(path, _KIND, {"embeddings": track.embeddings.astype(precision)}, header)
    return Path(path)


def read_track(path: str | PathLike[str]) -> Track:
    """Open a saved track.

    Raises:
        TrackError: there is no such file.
        FormatError: the file is not a track.
    """
    name = Path(path)
    if not name.is_file():
        raise TrackError(f"no track at {name}. Make one with: signspot embed VIDEO --out {name.name}")
    arrays, header = read_arrays(name, _KIND)
    try:
        grid = Grid(**json.loads(header["grid"]))
        return Track(arrays["embeddings"], grid, header["encoder"], header["video"], header["source"])
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"the track {name} is damaged ({error}). Make it again with: signspot embed") from error


def track_entry(cache: Path, encoder: str, source: str, stride: int) -> Path:
    """Where a cache keeps the track of a source, named by content digest, that an encoder, named by hash, made."""
    return cache / "tracks" / encoder / f"{source}-{stride}{SUFFIX}"


def write_streamed(path: str | PathLike[str], embed: Callable[[Shelf], Track]) -> None:
    """Save a track as `write_track` does while `embed` makes it, so that memory never holds it as a whole."""
    with write_beside(path) as beside, DiskShelf(beside) as shelf:
        track = embed(shelf)
        video = track.video.encode("utf-8", "backslashreplace").decode()  # a name may be in another encoding
        header = {"kind": _KIND, "encoder": track.encoder, "video": video, "source": track.source}
        shelf.finish("embeddings", {**header, "grid": json.dumps(asdict(track.grid))})


class TrackFile:
    """A saved track, opened: its header is read, its embeddings stay on disk until a part is asked for."""

    def __init__(self, path: str | PathLike[str]):
        """Open a track.

        Raises:
            FormatError: the file is no track, or it is damaged.
        """
        self.path = Path(path)
        try:
            file: Any = safe_open(self.path, framework="numpy")
            header = file.metadata() or {}
            self._rows = file.get_slice("embeddings")
            self.grid, self.encoder = Grid(**json.loads(header["grid"])), header["encoder"]
            if header["kind"] != _KIND or self._rows.get_shape()[0] != self.grid.count:
                raise ValueError("another kind of file, or another length")
        except (SafetensorError, OSError, ValueError, TypeError, KeyError) as error:
            raise FormatError(f"the track {self.path} is damaged ({error}). Make it again.") from error

    def part(self, first: int, last: int) -> NDArray[np.float32]:
        """(last - first, D) embeddings of the windows from `first` to before `last`."""
        embeddings: NDArray[np.float32] = self._rows[first:last].astype(np.float32)
        if not np.isfinite(embeddings).all():
            raise TrackError(f"the track {self.path} holds NaN or infinite values. Delete it; it is made again.")
        return embeddings


def write_arrays(
    path: str | PathLike[str], kind: str, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, str]
) -> None:
    """Save named arrays with a header of texts."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with write_beside(path) as beside:
        try:
            save_file(contiguous, beside, metadata={"kind": kind, **header})
        except SafetensorError as error:  # it hides the OSError inside its own type
            raise OSError(str(error)) from error


def read_arrays(path: Path, kind: str) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Open what `write_arrays` saved.

    Raises:
        FormatError: the file is damaged, or not of this kind.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise FormatError(f"cannot read {path}: it is damaged or no safetensors file ({error})") from error
    if header.get("kind") != kind:
        raise FormatError(f"{path} is not a {kind.rsplit(' ', 1)[0]} but a {header.get('kind', 'foreign file')}")
    return arrays, header
