"""Tracks on disk."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from signspot.embedding.tracks import read_arrays, read_track, write_track
from signspot.errors import FormatError, OutputError, TrackError
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
    whole = write_track(track, tmp_path / "t.safetensors").read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError):
        read_track(tmp_path / "cut.safetensors")


def test_an_unwritable_place_is_said(track: Track, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        write_track(track, tmp_path / "file" / "t.safetensors")
    assert (tmp_path / "file").read_text() == ""


def coded(track: Track) -> Track:
    codes = np.random.default_rng(1).normal(size=(73, 5)).astype(np.float16)
    return replace(track, codes=codes)


def test_frame_codes_are_kept_beside_the_embeddings(track: Track, tmp_path: Path) -> None:
    made, path = coded(track), tmp_path / "t.safetensors"
    write_track(made, path)
    again = read_track(path)
    assert again.codes is not None
    assert again.codes.dtype == np.float16
    assert (again.codes == made.codes).all()
    assert [file.name for file in tmp_path.iterdir()] == ["t.safetensors"]


def test_a_track_has_one_code_per_frame(track: Track) -> None:
    with pytest.raises(TrackError, match="73"):
        replace(track, codes=np.zeros((30, 5), np.float16))
    spoilt = np.zeros((73, 5), np.float16)
    spoilt[7] = np.nan
    with pytest.raises(TrackError, match="1 of 73"):
        replace(track, codes=spoilt)


def test_a_track_is_as_readable_as_other_files(track: Track, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        path = write_track(track, tmp_path / "t.safetensors")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


def test_equal_tracks_are_equal_bytes(track: Track, tmp_path: Path) -> None:
    paths = [write_track(track, tmp_path / f"{number}.safetensors") for number in range(8)]
    assert len({path.read_bytes() for path in paths}) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"origin": "soon"}, "origin must be a finite number"),
        ({"origin": float("nan")}, "origin"),
        ({"frames": 10**9}, "one embedding per window"),
    ],
)
def test_a_grid_that_makes_no_sense_is_told(
    track: Track, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = write_track(track, tmp_path / "t.safetensors")
    arrays, header = read_arrays(path, "signspot track 2")
    header["grid"] = json.dumps(json.loads(header["grid"]) | change)
    save_file(arrays, path, metadata=header)
    with pytest.raises(FormatError, match=message):
        read_track(path)


def test_one_changed_bit_of_the_data_is_told(track: Track, tmp_path: Path) -> None:
    path = write_track(track, tmp_path / "t.safetensors")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(FormatError):
        read_track(path)
