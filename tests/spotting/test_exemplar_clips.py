"""How an isolated sign is sampled."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from signspot.spotting.exemplar_clips import FEWEST, MOST, NARROWEST, clip_positions


@given(length=st.integers(1, 300), window=st.integers(2, 32), seed=st.integers(0, 9))
def test_clips_lie_in_the_sign_and_span_most_of_it(length: int, window: int, seed: int) -> None:
    positions = clip_positions(length, window, seed)
    assert FEWEST <= len(positions) <= MOST
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
