"""Safetensors files of any type: read, or refused with an error of ours, by every reader."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from signspot.annotation.tasks import read_gallery
from signspot.dictionary.json_file import read_embeddings
from signspot.embedding.tracks import read_track
from signspot.errors import DictionaryError, FormatError, SignspotError
from signspot.io.safetensors import read_tensors, read_texts
from signspot.models.checkpoints import load_encoder

READERS: list[tuple[Callable[[Path], Any], type[SignspotError]]] = [
    (read_tensors, FormatError),
    (read_track, FormatError),
    (read_gallery, FormatError),
    (read_embeddings, DictionaryError),
    (load_encoder, SignspotError),
]


def write_zeros(path: Path, dtype: str, size: int) -> Path:
    """A file of one matrix of two by two zeros, in `size` bytes."""
    entry = {"dtype": dtype, "shape": [2, 2], "data_offsets": [0, size]}
    header = json.dumps({"__metadata__": {"kind": "signspot track 2"}, "embeddings": entry}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(size))
    return path


@pytest.mark.parametrize(("reader", "error"), READERS, ids=lambda value: getattr(value, "__name__", ""))
@pytest.mark.parametrize(("dtype", "size"), [("F8_E4M3", 4), ("F8_E5M2", 4), ("F4", 2), ("BF16", 8), ("X", 4)])
def test_types_that_numpy_lacks_are_refused(
    reader: Callable[[Path], Any], error: type[SignspotError], dtype: str, size: int, tmp_path: Path
) -> None:
    with pytest.raises(error):
        reader(write_zeros(tmp_path / "x.safetensors", dtype, size))


def test_known_types_are_read(tmp_path: Path) -> None:
    arrays, texts = read_tensors(write_zeros(tmp_path / "x.safetensors", "F16", 8))
    assert (arrays["embeddings"].shape, texts) == ((2, 2), {"kind": "signspot track 2"})
    assert read_texts(tmp_path / "x.safetensors") == texts
