"""Sampling of an isolated sign."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.embedding.inputs import (
    FEWEST_CLIPS,
    LEAD,
    MOST_CLIPS,
    NARROWEST,
    clip_positions,
    draw_clips,
    landmark_clips,
)
from signspot.landmarks.features import CHANNELS, JOINTS


@given(length=st.integers(1, 300), window=st.integers(2, 32), seed=st.integers(0, 9))
def test_clips_lie_in_the_sign_and_span_most_of_it(length: int, window: int, seed: int) -> None:
    positions = clip_positions(length, window, seed)
    assert FEWEST_CLIPS <= len(positions) <= MOST_CLIPS
    assert positions.shape[1] == window
    assert positions.min() >= 0
    assert positions.max() <= length - 1 + 1e-9
    assert (np.diff(positions, axis=1) >= 0).all()
    spans = positions[:, -1] - positions[:, 0]
    assert (spans >= NARROWEST * (length - 1) - 1e-9).all()


def test_longer_signs_give_more_clips_at_other_rates_and_shifts() -> None:
    short, long = clip_positions(20, 16), clip_positions(80, 16)
    assert len(long) > len(short)
    assert len(np.unique(np.round(long[:, 0], 6))) == len(long)
    assert len(np.unique(np.round(long[:, -1] - long[:, 0], 6))) == len(long)


def test_the_same_seed_draws_the_same_clips() -> None:
    assert (clip_positions(56, 16, 3) == clip_positions(56, 16, 3)).all()
    assert (clip_positions(56, 16, 3) != clip_positions(56, 16, 4)).any()


def sign(frames: int, hold: int = 0) -> np.ndarray:
    """A right arm that moves evenly, after a hold."""
    features = np.zeros((hold + frames, JOINTS, CHANNELS), np.float32)
    features[..., 3] = 1
    features[hold:, 6, 0] = np.linspace(0, 2, frames)
    return features


@given(length=st.integers(1, 90), window=st.integers(4, 32), seed=st.integers(0, 9))
def test_landmark_clips_show_the_whole_sign(length: int, window: int, seed: int) -> None:
    frames = sign(length)
    clips = landmark_clips(frames, window, seed)
    assert FEWEST_CLIPS <= len(clips) <= MOST_CLIPS
    assert clips.shape[1:] == (window, JOINTS, CHANNELS)
    assert (clips == landmark_clips(frames, window, seed)).all()
    path = clips[:, :, 6, 0]
    assert (np.diff(path, axis=1) >= -1e-6).all()
    if length >= window >= 8:
        assert (path[:, 0] <= 0.25).all()
        assert (path[:, -1] >= 1.75).all()


def test_a_sign_begins_after_the_lead_and_ends_before_it() -> None:
    path = draw_clips(sign(30), 16, 200, np.random.default_rng(0))[:, :, 6, 0].mean(axis=0)
    assert path[0] == pytest.approx(0, abs=0.01)  # its first frame, held
    assert path[-1] == pytest.approx(2, abs=0.01)
    assert path[LEAD] < 0.12
    assert path[-1 - LEAD] > 1.88
    assert path[7] == pytest.approx(1 - 1 / 11, abs=0.05)


def test_a_hold_hardly_changes_the_clips() -> None:
    with_hold, without = (landmark_clips(sign(30, hold), 16)[:, :, 6, 0].mean(axis=0) for hold in (20, 0))
    assert np.abs(with_hold - without).mean() < 0.2
    plain = [sign(30, hold)[clip_positions(30 + hold, 16).round().astype(int), 6, 0].mean(axis=0) for hold in (20, 0)]
    assert np.abs(plain[0] - plain[1]).mean() > 0.3
