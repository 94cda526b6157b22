"""Another frame rate, chunk by chunk."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.landmarks.landmarks import FACE_POINTS, Landmarks, concatenate
from signspot.landmarks.resampling import resample_stream


def moving(frames: int, fps: float, start: float = 0.0) -> Landmarks:
    random = np.random.default_rng(frames)

    def points(*shape: int) -> np.ndarray:
        return random.normal(size=(frames, *shape)).astype(np.float32)

    hand = points(21, 3)
    hand[random.random(frames) < 0.2] = np.nan
    times = start + np.arange(frames) / fps
    return Landmarks(points(33, 4), points(21, 3), hand, points(60, 3), times, (640, 480), FACE_POINTS)


@settings(max_examples=40, deadline=None)
@given(frames=st.integers(1, 60), old=st.sampled_from([15, 20, 25, 29.97, 50, 60]), data=st.data())
def test_any_chunks_give_what_the_whole_gives(frames: int, old: float, data: st.DataObject) -> None:
    whole = moving(frames, old, 1.5)
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, frames), max_size=4))), frames]
    parts = [whole[a:b] for a, b in pairwise(cuts)]
    expected = whole.resampled(25.0)
    found = concatenate(list(resample_stream(parts, 25.0)))
    assert len(found) == len(expected)
    assert found.equals(expected, tolerance=1e-4)


def test_nothing_gives_nothing_and_no_rate_is_refused() -> None:
    assert list(resample_stream([], 25.0)) == []
    with pytest.raises(OptionsError, match="above 0"):
        list(resample_stream([moving(3, 25)], 0))
