"""From sources to tracks: the grid, exactness of the dense pass, chunking, bad sources."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from signspot.embedding.tracks import read_track, write_track
from signspot.embedding.windows import SourceEmbedder, embed, made_ahead
from signspot.errors import EmptyVideoError, NoHandsError, NoPersonError, OptionsError
from signspot.landmarks.features import CHANNELS, JOINTS, features
from signspot.landmarks.pose_file import write_landmarks
from signspot.models.encoder import Encoder
from signspot.models.encoder_network import SignEncoder, Trunk, make_encoder
from signspot.models.mlp import UnitNorm
from signspot.types import Grid


def windows_one_by_one(encoder: Encoder, frames: np.ndarray, stride: int) -> np.ndarray:
    """The slow, obvious way: cut every window out and embed it by itself."""
    if len(frames) < 16:
        frames = np.concatenate([frames, np.repeat(frames[-1:], 16 - len(frames), axis=0)])
    starts = Grid(25.0, 16, stride, len(frames)).starts
    with torch.inference_mode():
        return np.stack([encoder.module(torch.from_numpy(frames[s : s + 16])[None])[0].numpy() for s in starts])


@settings(max_examples=20, deadline=None)
@given(frames=st.integers(1, 90), stride=st.integers(1, 9), data=st.data())
def test_dense_windows_equal_single_windows_for_any_chunks(
    encoder: Encoder, frames: int, stride: int, data: st.DataObject
) -> None:
    landmarks = np.random.default_rng(frames).normal(size=(frames, JOINTS, CHANNELS)).astype(np.float32)
    cuts = sorted(data.draw(st.lists(st.integers(0, frames), max_size=4)))
    dense = SourceEmbedder(encoder, stride)
    for part in np.split(landmarks, cuts):
        dense.push(part)
    embedded = dense.finish()
    rows = embedded.rows
    assert embedded.frames == frames
    assert embedded.codes is None
    assert rows.dtype == np.float16
    assert np.abs(rows - windows_one_by_one(encoder, landmarks, stride)).max() < 2e-3  # float16


def test_a_long_video_passes_in_blocks(encoder: Encoder) -> None:
    landmarks = np.random.default_rng(0).normal(size=(1300, JOINTS, CHANNELS)).astype(np.float32)
    dense = SourceEmbedder(encoder, 1)
    dense.push(landmarks)
    rows = dense.finish().rows
    assert rows.shape == (1285, 256)
    assert np.abs(rows[600] - windows_one_by_one(encoder, landmarks[600:616], 1)[0]).max() < 2e-3


def test_landmarks_and_their_file_give_the_same_track(encoder: Encoder, signing: Any, tmp_path: Path) -> None:
    write_landmarks(signing.footage, tmp_path / "s.pose")
    one, two = embed(encoder, signing.footage, 2), embed(encoder, tmp_path / "s.pose", 2)
    assert one.grid == two.grid
    assert one.grid.stride == 2
    assert np.abs(one.embeddings - two.embeddings).max() < 4e-3
    assert (two.video, two.encoder, len(two.source)) == ("s.pose", encoder.hash, 32)
    expected = windows_one_by_one(encoder, features(signing.footage), 2)
    assert np.abs(one.embeddings - expected).max() < 2e-3


def test_appending_silence_changes_no_window_but_the_last_ones(encoder: Encoder, signing: Any) -> None:
    part = signing.footage[:60]
    short, long = embed(encoder, part), embed(encoder, signing.footage[:100])
    untouched = 60 - 25 - 16  # features look 25 frames ahead
    assert np.abs(short.embeddings[:untouched] - long.embeddings[:untouched]).max() < 2e-3


def test_time_starts_where_the_landmarks_start(encoder: Encoder, signing: Any) -> None:
    later = replace(signing.footage, times=signing.footage.times + 7)
    assert embed(encoder, later).grid.times[0] == pytest.approx(7 + 8 / 25)


def test_progress_ends_at_the_whole(encoder: Encoder, signing: Any) -> None:
    calls: list[tuple[int, int | None]] = []
    embed(encoder, signing.footage, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (len(signing.footage), len(signing.footage))


def test_bad_sources_are_told_apart(encoder: Encoder, rgb_encoder: Encoder, signing: Any, tmp_path: Path) -> None:
    footage = signing.footage
    with pytest.raises(OptionsError):
        embed(encoder, footage, 0)
    with pytest.raises(OptionsError):
        embed(rgb_encoder, footage)
    with pytest.raises(EmptyVideoError):
        embed(encoder, footage[:0])
    nobody = replace(footage, body=np.full_like(footage.body, np.nan))
    with pytest.raises(NoPersonError):
        embed(encoder, nobody)
    blank = np.full_like(footage.left_hand, np.nan)
    with pytest.raises(NoHandsError):
        embed(encoder, replace(footage, left_hand=blank, right_hand=blank))


def test_pixels_are_embedded_window_by_window(rgb_encoder: Encoder, colour_video: Path) -> None:
    track = embed(rgb_encoder, colour_video, 5)
    assert len(track) == track.grid.count == 18
    assert np.linalg.norm(track.embeddings.astype(np.float32), axis=1) == pytest.approx(np.ones(18), abs=1e-2)
    every = embed(rgb_encoder, colour_video, 1)
    assert np.abs(track.embeddings[3] - every.embeddings[15]).max() < 2e-3


def test_chunks_are_made_while_those_before_are_worked_on() -> None:
    """The second is made before the first is done with; errors arrive in their place, and no thread stays."""
    second_made, threads = threading.Event(), threading.active_count()

    def chunks(error: type[Exception] | None) -> Iterator[np.ndarray]:
        yield np.zeros(1, np.float32)
        second_made.set()
        yield np.ones(1, np.float32)
        if error is not None:
            raise error

    ahead = made_ahead(chunks(None))
    assert next(ahead)[0] == 0
    assert second_made.wait(60)
    assert [chunk[0] for chunk in ahead] == [1]
    failing = made_ahead(chunks(KeyError))
    assert [next(failing)[0], next(failing)[0]] == [0, 1]
    with pytest.raises(KeyError):
        next(failing)
    left = made_ahead(np.zeros(1, np.float32) for _ in range(9))  # more than are wanted
    next(left)
    left.close()  # type: ignore[attr-defined]  # it is a generator
    assert threading.active_count() == threads


def test_a_video_without_a_person_is_refused(encoder: Encoder, colour_video: Path) -> None:
    with pytest.raises(NoPersonError, match=r"video\.mp4"):
        embed(encoder, colour_video)


def test_a_stale_chunk_size_of_zero_frames_is_harmless(encoder: Encoder) -> None:
    dense = SourceEmbedder(encoder, 1)
    dense.push(np.empty((0, JOINTS, CHANNELS), np.float32))
    with pytest.raises(EmptyVideoError):
        dense.finish()


class Coded(Trunk):
    """A landmark trunk of the tests' own: the mean of a clip, and codes that see a frame and its neighbours."""

    kind = "landmarks"
    codes, code_reach = 8, 2
    frames, dimension = 16, 12

    def input_shape(self) -> dict[str, int]:
        """As the landmark features are."""
        return {"joints": JOINTS, "channels": CHANNELS}

    def forward(self, clips: Tensor) -> Tensor:
        """(B, F, J, C) → (B, 12)."""
        return clips.mean(dim=1).flatten(1)[:, :12]

    def frame_codes(self, frames: Tensor) -> Tensor:
        """(N + 4, J, C) → (N, 8)."""
        return (frames[4:] - frames[:-4] + frames[2:-2]).flatten(1)[:, :8]


@settings(max_examples=20, deadline=None)
@given(frames=st.integers(1, 40), data=st.data())
def test_frame_codes_do_not_depend_on_the_chunks(frames: int, data: st.DataObject) -> None:
    eye = make_encoder("coded", SignEncoder(Coded(), UnitNorm(12), "coded", {}))
    assert eye.contract.codes == 8
    landmarks = np.random.default_rng(frames).normal(size=(frames, JOINTS, CHANNELS)).astype(np.float32)
    embedder = SourceEmbedder(eye, 1)
    for part in np.split(landmarks, sorted(data.draw(st.lists(st.integers(0, frames), max_size=4)))):
        embedder.push(part)
    codes = embedder.finish().codes
    assert codes is not None
    padded = np.concatenate([landmarks[[0, 0]], landmarks, landmarks[[-1, -1]]]).reshape(frames + 4, -1)
    expected = (padded[4:] - padded[:-4] + padded[2:-2])[:, :8]
    assert codes.dtype == np.float16
    assert np.abs(codes - expected).max() < 1e-2


def test_a_track_holds_the_codes_of_an_encoder_that_gives_them(encoder: Encoder, signing: Any, tmp_path: Path) -> None:
    eye = make_encoder("coded", SignEncoder(Coded(), UnitNorm(12), "coded", {}))
    track = embed(eye, signing.footage, 3)
    assert track.codes is not None
    assert track.codes.shape == (track.grid.frames, 8)
    write_track(track, tmp_path / "t.safetensors")
    assert (read_track(tmp_path / "t.safetensors").codes == track.codes).all()
    assert embed(encoder, signing.footage, 3).codes is None
