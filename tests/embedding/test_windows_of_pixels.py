"""RGB windows over frames that arrive one by one."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from signspot.embedding.windows import SourceEmbedder
from signspot.errors import EmptyVideoError
from signspot.models.encoder import Encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.registry import build
from signspot.types import Grid


def clip_by_clip(encoder: Encoder, frames: np.ndarray, stride: int) -> np.ndarray:
    """The slow, obvious way."""
    window = encoder.contract.frames
    if len(frames) < window:
        frames = np.concatenate([frames, np.repeat(frames[-1:], window - len(frames), axis=0)])
    starts = Grid(25.0, window, stride, len(frames)).starts
    with torch.inference_mode():
        clips = torch.stack([torch.from_numpy(frames[s : s + window]).transpose(0, 1) for s in starts])
        return encoder.module(clips).numpy()


@example(count=92, stride=5)  # the last window begins before the next one of the grid would
@given(count=st.integers(1, 120), stride=st.integers(1, 20))
def test_windows_lie_as_the_grid_says(rgb_encoder: Encoder, count: int, stride: int) -> None:
    frames = np.random.default_rng(count).uniform(-0.5, 0.5, (count, 3, 4, 4)).astype(np.float32)
    windows = SourceEmbedder(rgb_encoder, stride)
    for frame in frames:
        windows.push(frame[None])
    embedded = windows.finish()
    assert embedded.frames == count
    assert np.abs(embedded.rows - clip_by_clip(rgb_encoder, frames, stride)).max() < 2e-3


def test_no_frame_is_no_video(rgb_encoder: Encoder) -> None:
    with pytest.raises(EmptyVideoError):
        SourceEmbedder(rgb_encoder, 1).finish()


@pytest.mark.parametrize(
    "options", [{"image_size": 32, "width": 0.05, "frames": 8}, pytest.param({}, marks=pytest.mark.long)]
)
def test_an_i3d_gives_the_same_as_clip_by_clip(options: dict[str, Any]) -> None:
    """Unit embeddings in 16 bits are rounded by half of 2**-11; float32 sums of a network add less than that."""
    torch.manual_seed(0)
    encoder = make_encoder("i3d", build("i3d", **options))
    side = encoder.contract.image_size or 224
    frames = np.random.default_rng(0).uniform(-0.5, 0.5, (20, 3, side, side)).astype(np.float32)
    windows = SourceEmbedder(encoder, 1)
    for frame in frames:
        windows.push(frame[None])
    assert np.abs(windows.finish().rows - clip_by_clip(encoder, frames, 1)).max() < 2e-3
