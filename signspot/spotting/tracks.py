"""Tracks and other arrays on disk, so that changing a word or a threshold never decodes a video again."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from signspot.errors import FormatError, TrackError
from signspot.files import write_beside
from signspot.timeline import Grid, Track

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
