"""Tracks and other arrays on disk, so that changing a word or a threshold never decodes a video again."""

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import save_file

from signspot.errors import FormatError, OptionsError, TrackError
from signspot.io.checks import LATEST, check_int, check_number, parse_json, quoted
from signspot.io.files import atomic_write
from signspot.io.safetensors import read_tensors, read_texts
from signspot.landmarks.cache import limit, trim
from signspot.types import Grid, Track

FloatArray = NDArray[np.floating[Any]]

SUFFIX = ".safetensors"

_KIND = "signspot track 2"
_DIGEST = "sha256"  # the header's name for the digest of the data
_BLOCK = 1 << 20  # bytes that are read at once


def write_track(track: Track, path: str | PathLike[str], *, precision: str = "float16") -> Path:
    """Save a track: 2 bytes per value by default, 4 with precision='float32'; frame codes always in 2."""
    arrays = {"embeddings": track.embeddings.astype(precision, copy=False)}
    if track.codes is not None:
        arrays["codes"] = track.codes.astype(np.float16, copy=False)
    write_arrays(path, _KIND, arrays, _header(track))
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
        grid = checked_grid(parse_json(header["grid"], "grid"))
        texts = header["encoder"], header["video"], header["source"]
        embeddings, codes = (_floats(arrays.get(part), part) for part in ("embeddings", "codes"))
        if embeddings is None:
            raise FormatError("it has no embeddings")
        return Track(embeddings, grid, *texts, codes=codes)
    except (KeyError, TypeError, OptionsError, FormatError, TrackError) as error:
        raise FormatError(f"the track {name} is damaged ({error}). Make it again with: signspot embed") from error


def checked_grid(values: Any) -> Grid:
    """The grid of a track, out of its header.

    Raises:
        FormatError: it is none.
        KeyError: it lacks a number.
    """
    if not isinstance(values, dict):
        raise FormatError(f"the grid must be an object; got {quoted(values)}.")
    whole = {name: check_int(values[name], name, 1) for name in ("window", "stride", "frames")}
    fps = check_number(values["fps"], "fps", 0.001, 1000.0)
    return Grid(fps=fps, **whole, origin=check_number(values.get("origin", 0.0), "origin", -LATEST, LATEST))


def _floats(array: NDArray[Any] | None, name: str) -> FloatArray | None:
    if array is not None and array.dtype.kind != "f":
        raise FormatError(f"its {name} are {array.dtype}, not floating-point numbers")
    return array


def track_entry(cache: Path, encoder: str, source: str, stride: int) -> Path:
    """Entry of a track in a cache, named by the source's content digest and the encoder's hash."""
    return cache / "tracks" / encoder / f"{source}-{stride}{SUFFIX}"


def keep_track(track: Track, entry: Path) -> None:
    """Write a cache's entry, and keep the cache within its limit: the longest unused tracks go.

    Raises:
        OutputError: it cannot be written.
    """
    write_track(track, entry)
    trim(entry.parents[1], limit(), SUFFIX)


def read_kept(entry: Path) -> Track:
    """Read a cache's entry, note that it was used, and keep the cache within its limit.

    Raises:
        FormatError: it is damaged.
    """
    track = read_track(entry)
    with suppress(OSError):
        os.utime(entry)
    trim(entry.parents[1], limit(), SUFFIX)
    return track


def track_source(path: str | PathLike[str]) -> str:
    """The video that a saved track was made of, as it was given then; only the header is read.

    Raises:
        FormatError: the file is not a track.
    """
    return track_header(path).get("video", "")


def track_header(path: str | PathLike[str]) -> dict[str, str]:
    """The texts in the header of a saved track, or of anything else that `write_arrays` saved.

    Raises:
        FormatError: the file is damaged, or of another kind.
    """
    return read_texts(path)


def _header(track: Track) -> dict[str, str]:
    video = track.video.encode("utf-8", "backslashreplace").decode()  # a name may be in another encoding
    header = {"encoder": track.encoder, "video": video, "source": track.source, "grid": json.dumps(asdict(track.grid))}
    codes = 0 if track.codes is None else track.codes.shape[1]
    return {**header, "codes": str(codes)}


def write_arrays(
    path: str | PathLike[str], kind: str, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, str]
) -> None:
    """Save named arrays with a header of texts."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header = {**header, _DIGEST: "0" * 64}  # until the data are there
    with atomic_write(path) as temporary:
        try:
            save_file(contiguous, temporary, metadata={"kind": kind, **header})
        except SafetensorError as error:  # it hides the OSError inside its own type
            raise OSError(str(error)) from error
        _complete_header(temporary)


def _complete_header(path: Path) -> None:
    """Write the digest of the data into the header, and its texts in order: equal files must not differ."""
    with path.open("r+b") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        header["__metadata__"][_DIGEST] = _data_digest(file, size)
        header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        assert len(text) <= size, "the same values take no more bytes"
        file.seek(8)
        file.write(text.ljust(size))


def _data_digest(file: BinaryIO, header: int) -> str:
    """The SHA-256 of all that follows a header of so many bytes."""
    digest = hashlib.sha256()
    file.seek(8 + header)
    while block := file.read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()


def _check_digest(path: Path, header: Mapping[str, str]) -> None:
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        if _data_digest(file, size) != header[_DIGEST]:
            raise FormatError(f"cannot read {path}: it is damaged (its checksum does not match)")


def read_arrays(path: Path, kind: str) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Open what `write_arrays` saved.

    Raises:
        FormatError: the file is damaged, or not of this kind.
    """
    arrays, header = read_tensors(path)
    if _DIGEST in header:
        _check_digest(path, header)
    if header.get("kind") != kind:
        raise FormatError(f"{path} is not a {kind.rsplit(' ', 1)[0]} but a {header.get('kind', 'foreign file')}")
    return arrays, header
