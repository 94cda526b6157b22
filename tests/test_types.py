"""Segments, grids and the other types."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import OptionsError, TrackError
from signspot.types import Grid, Segment, Track

counts = st.integers(1, 400)


@given(frames=counts, window=st.integers(1, 32), stride=st.integers(1, 20))
def test_windows_lie_as_the_released_tool_lays_them(frames: int, window: int, stride: int) -> None:
    grid = Grid(25.0, window, stride, frames)
    starts = grid.starts
    if frames <= window:
        assert starts.tolist() == [0]
    else:
        assert len(starts) == math.ceil((frames - window) / stride) + 1
        assert starts[-1] == frames - window
        assert (np.diff(starts[:-1]) == stride).all()
        assert 0 < starts[-1] - starts[-2] <= stride
    assert grid.count == len(starts) == len(grid.times)


def test_a_window_is_timed_at_its_start_plus_eight_frames() -> None:
    grid = Grid(25.0, 16, 1, 100, origin=2.0)
    assert grid.times[10] == pytest.approx(2.0 + (10 + 8) / 25)
    assert grid.segment(10) == Segment(2.4, 2.0 + 26 / 25)
    assert grid.nearest(2.0 + 18 / 25) == 10


def test_the_only_window_of_a_short_video_ends_with_the_video() -> None:
    assert Grid(25.0, 16, 1, 5).segment(0) == Segment(0.0, 0.2)


@pytest.mark.parametrize("values", [(0, 16, 1, 9), (25, 0, 1, 9), (25, 16, 0, 9), (25, 16, 1, 0), (math.nan, 16, 1, 9)])
def test_an_impossible_grid_is_refused(values: tuple[float, int, int, int]) -> None:
    with pytest.raises(OptionsError):
        Grid(*values)


def test_segments_compare_by_overlap() -> None:
    one, two = Segment(1.0, 3.0), Segment(2.0, 4.0)
    assert one.overlap(two) == 1.0
    assert one.iou(two) == pytest.approx(1 / 3)
    assert one.iou(one) == 1.0
    assert one.iou(Segment(5.0, 6.0)) == 0.0
    assert one.middle == 2.0
    assert 1.0 in one
    assert 3.0 not in one
    assert one.padded(2.0) == Segment(0.0, 5.0)


@pytest.mark.parametrize(("start", "end"), [(2.0, 1.0), (math.nan, 1.0), (0.0, math.nan), (-math.inf, 1.0)])
def test_a_segment_ends_after_it_starts(start: float, end: float) -> None:
    with pytest.raises(OptionsError):
        Segment(start, end)


def test_a_track_has_one_finite_embedding_a_window() -> None:
    grid = Grid(25.0, 16, 1, 20)
    Track(np.zeros((5, 4), np.float16), grid, "abc")
    with pytest.raises(TrackError):
        Track(np.zeros((4, 4), np.float16), grid, "abc")
    poisoned = np.zeros((5, 4), np.float32)
    poisoned[2, 1] = np.nan
    with pytest.raises(TrackError) as refused:
        Track(poisoned, grid, "abc", "news.mp4")
    assert "'news.mp4'" in str(refused.value)
