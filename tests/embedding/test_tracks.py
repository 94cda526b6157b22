"""Tracks on disk."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from signspot.embedding.tracks import read_arrays, read_track, write_track
from signspot.errors import FormatError, TrackError
from signspot.types import Grid, Track


@pytest.fixture
def track() -> Track:
    embeddings = np.random.default_rng(0).normal(size=(30, 8)).astype(np.float16)
    return Track(embeddings, Grid(25.0, 16, 2, 73, 1.5), "0123", "näws.mp4", "digest")


@pytest.mark.parametrize("precision", ["float16", "float32"])
def test_write_read_equal(track: Track, tmp_path: Path, precision: str) -> None:
    write_track(track, tmp_path / "t.safetensors", precision=precision)
    again = read_track(tmp_path / "t.safetensors")
    assert (again.embeddings == track.embeddings).all()
    assert again.embeddings.dtype == precision
    assert (again.grid, again.encoder, again.video, again.source) == (
        track.grid,
        "0123",
        "näws.mp4",
        "digest",
    )


def test_a_window_costs_two_bytes_a_value(track: Track, tmp_path: Path) -> None:
    path = write_track(track, tmp_path / "t.safetensors")
    assert path.stat().st_size < 30 * 8 * 2 + 500


def test_missing_foreign_and_damaged_files_are_told_apart(track: Track, tmp_path: Path) -> None:
    with pytest.raises(TrackError):
        read_track(tmp_path / "none.safetensors")
    (tmp_path / "text.safetensors").write_text("hello")
    with pytest.raises(FormatError):
        read_track(tmp_path / "text.safetensors")
    save_file({"embeddings": np.zeros(3)}, tmp_path / "foreign.safetensors")
    with pytest.raises(FormatError):
        read_track(tmp_path / "foreign.safetensors")
    content = write_track(track, tmp_path / "t.safetensors").read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(content[: len(content) // 2])
    with pytest.raises(FormatError):
        read_track(tmp_path / "cut.safetensors")


def test_a_track_has_one_code_per_frame(track: Track) -> None:
    with pytest.raises(TrackError, match="73"):
        replace(track, codes=np.zeros((30, 5), np.float16))
    spoilt = np.zeros((73, 5), np.float16)
    spoilt[7] = np.nan
    with pytest.raises(TrackError, match="1 of 73"):
        replace(track, codes=spoilt)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"origin": "soon"}, "origin must be a finite number"),
        ({"origin": float("nan")}, "origin"),
        ({"frames": 10**9}, "one embedding per window"),
    ],
)
def test_a_grid_that_makes_no_sense_is_reported(
    track: Track, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = write_track(track, tmp_path / "t.safetensors")
    arrays, header = read_arrays(path, "signspot track 2")
    header["grid"] = json.dumps(json.loads(header["grid"]) | change)
    save_file(arrays, path, metadata=header)
    with pytest.raises(FormatError, match=message):
        read_track(path)


def test_one_changed_bit_of_the_data_is_reported(track: Track, tmp_path: Path) -> None:
    path = write_track(track, tmp_path / "t.safetensors")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(FormatError):
        read_track(path)
