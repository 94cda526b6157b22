"""A sign found again where its word is said, on frame codes that are made by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.spotting.recurrence import recurrences, recurring_score
from signspot.types import Grid, Segment, Spotting, Track

FPS, FRAMES, CODES, LENGTH = 25.0, 5000, 12, 16
WINDOWS = [Segment(start, start + 8.0) for start in (10.0, 50.0, 90.0, 130.0)]
SCALE = 4.0  # about the cost of aligning two of these signs


def signing(seed: int, *signs: float, often: tuple[float, ...] = ()) -> Track:
    """Noise, with one sign at some times, a little different each time, and another at others."""
    random = np.random.default_rng(seed)
    codes = random.standard_normal((FRAMES, CODES))
    one, two = random.standard_normal((2, LENGTH, CODES)) * 1.5
    for shape, times in ((one, signs), (two, often)):
        for time in times:
            first = round(time * FPS)
            codes[first : first + LENGTH] = shape + 0.3 * random.standard_normal(shape.shape)
    grid = Grid(FPS, LENGTH, 1, FRAMES)
    return Track(np.ones((grid.count, 1), np.float32), grid, "hash", codes=codes.astype(np.float16))


def at(start: float) -> Spotting:
    end = start + LENGTH / FPS
    return Spotting("apple", "news", (start + end) / 2, start, end, 0.7)


def values(track: Track, *starts: float, windows: list[Segment] = WINDOWS) -> list[float]:
    return recurrences(track, [at(start) for start in starts], windows, SCALE, LENGTH).tolist()


def test_a_sign_that_recurs_stands_out_from_what_does_not() -> None:
    track = signing(0, 12.0, 55.0, 92.0, 131.0)
    right, wrong = values(track, 12.0, 15.0)
    assert right > 6
    assert abs(wrong) < 3


def test_a_sign_that_is_everywhere_recurs_no_more_than_by_chance() -> None:
    everywhere = tuple(float(time) for time in range(2, 190, 4))
    track = signing(1, 12.0, 55.0, often=everywhere)
    recurring, frequent = values(track, 12.0, 14.0)
    assert recurring > 1.5
    assert frequent < recurring / 2


@pytest.mark.parametrize(
    "windows",
    [WINDOWS[:1], [Segment(0.0, 90.0), Segment(90.0, 200.0)], [Segment(10.0, 18.0), Segment(11.0, 19.0)]],
    ids=["said once", "nothing elsewhere", "no window without the spotting"],
)
def test_where_nothing_can_be_compared_nothing_recurs(windows: list[Segment]) -> None:
    assert values(signing(2, 12.0, 55.0), 12.0, windows=windows) == [0.0]


def test_without_frame_codes_nothing_recurs() -> None:
    assert values(replace(signing(3, 12.0, 55.0), codes=None), 12.0) == [0.0]
    assert values(signing(3, 12.0, 55.0)) == []


def test_the_time_at_which_a_video_begins_does_not_count() -> None:
    track = signing(4, 12.0, 55.0, 92.0)
    later = replace(track, grid=replace(track.grid, origin=100.0))
    windows = [Segment(window.start + 100, window.end + 100) for window in WINDOWS]
    assert values(later, 112.0, windows=windows) == pytest.approx(values(track, 12.0), rel=1e-5)


@given(st.floats(0.01, 1.0), st.floats(-30.0, 30.0), st.floats(0.0, 5.0))
def test_a_score_rises_with_recurrence_and_stays_a_score(score: float, recurrence: float, more: float) -> None:
    assert 0 <= recurring_score(score, recurrence) <= recurring_score(score, recurrence + more) <= 1


def test_a_spotting_that_does_not_recur_keeps_its_score() -> None:
    assert recurring_score(0.75, 0.0) == pytest.approx(0.75)
    assert recurring_score(0.75, 6.0) == recurring_score(0.75, 60.0) > 0.84
