"""Resampling against a plain definition over all frames at once."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.types import Segment
from signspot.video.clock import SampleTimes, TimedFrame, resample, sample_times

gaps = st.lists(st.integers(1, 400), min_size=0, max_size=40)
rates = st.sampled_from([1.0, 7.3, 12.5, 24.0, 25.0, 29.97, 30.0, 50.0, 60.0, 240.0])


def stream(first, steps, last):
    """Frames at milliseconds, each numbered, each lasting until the next."""
    times = [first]
    for step in steps:
        times.append(times[-1] + step)
    ends = [*times[1:], times[-1] + last]
    return [TimedFrame(t / 1000, (e - t) / 1000, n) for n, (t, e) in enumerate(zip(times, ends, strict=True))]


def plain(frames, wanted):
    end = min(frames[-1].end, wanted.end)
    if frames[-1].end <= wanted.origin:
        return []
    shown = []
    for k in range(max(1, round((end - wanted.origin) * wanted.fps))):
        time = wanted.origin + k / wanted.fps
        before = [f.picture for f in frames if f.time <= time + wanted.tolerance]
        shown.append((time, before[-1] if before else 0))
    return shown


@given(st.integers(0, 500), gaps, st.integers(1, 300), rates)
def test_whole_videos(first, steps, last, fps):
    frames = stream(first, steps, last)
    assert [(f.time, f.picture) for f in resample(frames, SampleTimes(fps))] == plain(frames, SampleTimes(fps))


@given(gaps, rates, st.floats(0, 12), st.floats(0, 12) | st.just(math.inf))
def test_segments(steps, fps, start, length):
    frames = stream(0, steps, 40)
    wanted = sample_times(fps, Segment(start, start + length), 5e-4)
    assert [(f.time, f.picture) for f in resample(frames, wanted)] == plain(frames, wanted)


@given(gaps, rates, st.floats(0, 4), st.floats(0, 4))
def test_frames_after_a_segment_are_not_asked_for(steps, fps, start, length):
    asked = []
    frames = stream(0, [*steps, *[40] * 500], 40)
    list(resample((asked.append(f) or f for f in frames), sample_times(fps, Segment(start, start + length), 1e-6)))
    assert asked[-1].time <= start + length + 2 / fps + 0.5


def test_the_same_rate_gives_the_same_frames_in_spite_of_rounded_milliseconds():
    frames = [TimedFrame(round(k * 1000 / 30) / 1000, 0.033, k) for k in range(90)]
    assert [f.picture for f in resample(frames, SampleTimes(30, tolerance=501e-6))] == list(range(90))


def test_nothing_gives_nothing():
    assert list(resample([], SampleTimes(25))) == []


@pytest.mark.parametrize("fps", [0.0, -25.0, math.nan, math.inf])
def test_impossible_rates(fps):
    with pytest.raises(OptionsError):
        SampleTimes(fps)
