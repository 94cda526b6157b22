"""Pseudo-continuous signing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.contrastive.performances import joined, played


def ramp(frames: int, start: float = 0.0) -> np.ndarray:
    """One joint that moves one unit per frame."""
    made = np.zeros((frames, 1, 4), np.float32)
    made[:, 0, 0] = start + np.arange(frames)
    made[..., 3] = 1
    return made


@given(lengths=st.lists(st.integers(1, 12), min_size=1, max_size=5), gap=st.integers(0, 6))
def test_signs_stand_unchanged_where_the_segments_say(lengths: list[int], gap: int) -> None:
    signs = [ramp(n, 100.0 * i) for i, n in enumerate(lengths)]
    stream, segments = joined(signs, [gap] * (len(signs) - 1))
    assert len(stream) == sum(lengths) + gap * (len(signs) - 1)
    for sign, (first, last) in zip(signs, segments, strict=True):
        assert stream[first:last] == pytest.approx(sign, abs=1e-4)


def test_between_signs_movement_is_smooth_and_monotone() -> None:
    stream, segments = joined([ramp(3), ramp(3, 50.0)], [5])
    way = stream[segments[0][1] - 1 : segments[1][0] + 1, 0, 0]
    assert (np.diff(way) > 0).all()
    assert np.diff(way).argmax() in (2, 3)  # fastest half-way


def test_a_played_sign_keeps_its_order_and_most_of_itself() -> None:
    random = np.random.default_rng(0)
    for _ in range(20):
        fast = played(ramp(40), 12, random)[:, 0, 0]
        assert len(fast) == 12
        assert (np.diff(fast) > 0).all()
        assert fast[0] <= 0.13 * 39
        assert fast[-1] >= 0.87 * 39
