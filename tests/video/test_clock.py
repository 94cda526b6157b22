"""Times out of timestamps: missing, repeated, jumping back, offset; resampling against a plain definition."""

import math
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.types import Segment
from signspot.video.clock import Clock, SampleTimes, TimedFrame, Timing, container_origin, resample, sample_times

TIMING = Timing(time_base=Fraction(1, 1000), origin=Fraction(2), interval=0.04)


def times(stamps, timing=TIMING, duration=40):
    clock = Clock(timing, Path("v.mp4"))
    frames = []
    for stamp in stamps:
        frame = av.VideoFrame(16, 16)
        frame.pts, frame.duration = stamp, duration
        frames.append(clock.timed(frame).time)
    return frames


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        ([2000, 2040, 2100], [0, 0.04, 0.1]),  # they count from the origin
        ([None, 2040, 2080], [0, 0.04, 0.08]),  # a missing first one is the start
        ([2000, None, None, 2500], [0, 0.04, 0.08, 0.5]),  # a missing one follows the frame before
        ([2000, 2080, 2040, 2120], [0, 0.08, 0.08, 0.12]),  # time never goes back
        ([9000, 9040, 0, 40, 80], [7, 7.04, 7.08, 7.12, 7.16]),  # a recording that starts anew goes on
    ],
)
def test_times_of_timestamps(stamps, expected):
    assert times(stamps) == pytest.approx(expected)


def test_a_frame_without_a_duration_lasts_an_average_interval():
    assert times([2000, None], duration=0) == pytest.approx([0, 0.04])


def test_without_timestamps_frames_are_counted():
    counted = Timing(Fraction(1, 1000), Fraction(2), 0.05, counted=True)
    assert times([9, 7, None, 8], counted) == pytest.approx([0, 0.05, 0.1, 0.15])


def test_ticks_never_overshoot():
    assert TIMING.ticks(0.0405) == 2040
    assert TIMING.ticks(0.0399999) == 2039


@pytest.mark.parametrize(
    ("container", "stream", "origin"),
    [
        (None, None, 0),
        (None, 180_000, 2),
        (0, 45_000, 0),  # sound first
        (1_400_000, 126_000, Fraction(14, 10)),
        (333_333, 30_000, Fraction(1, 3)),  # rounded to microseconds
        (-21_333, 0, 0),  # run-in of the sound
        (-40_000, -3_600, Fraction(-4, 100)),
    ],
)
def test_origin(container, stream, origin):
    times = SimpleNamespace(start_time=container), SimpleNamespace(start_time=stream, time_base=Fraction(1, 90_000))
    assert container_origin(*times) == origin


def test_tolerance_is_half_a_tick_and_never_a_frame():
    assert Timing(Fraction(1, 1000), Fraction(0), 0.04).tolerance == pytest.approx(501e-6)
    assert Timing(Fraction(1, 25), Fraction(0), 0.04).tolerance == pytest.approx(501e-6)
    assert Timing(Fraction(1, 90_000), Fraction(0), 0.04).tolerance < 1e-5


gaps = st.lists(st.integers(1, 400), min_size=0, max_size=40)
rates = st.sampled_from([1.0, 7.3, 12.5, 24.0, 25.0, 29.97, 30.0, 50.0, 60.0, 240.0])


def stream(first, steps, last):
    """Frames at milliseconds, each numbered, each lasting until the next."""
    times = [first]
    for step in steps:
        times.append(times[-1] + step)
    ends = [*times[1:], times[-1] + last]
    return [TimedFrame(t / 1000, (e - t) / 1000, n) for n, (t, e) in enumerate(zip(times, ends, strict=True))]


def plain(frames, sampling):
    end = min(frames[-1].end, sampling.end)
    if frames[-1].end <= sampling.origin:
        return []
    samples = []
    for k in range(max(1, round((end - sampling.origin) * sampling.fps))):
        time = sampling.origin + k / sampling.fps
        before = [f.picture for f in frames if f.time <= time + sampling.tolerance]
        samples.append((time, before[-1] if before else 0))
    return samples


@given(st.integers(0, 500), gaps, st.integers(1, 300), rates)
def test_whole_videos(first, steps, last, fps):
    frames = stream(first, steps, last)
    assert [(f.time, f.picture) for f in resample(frames, SampleTimes(fps))] == plain(frames, SampleTimes(fps))


@given(gaps, rates, st.floats(0, 12), st.floats(0, 12) | st.just(math.inf))
def test_segments(steps, fps, start, length):
    frames = stream(0, steps, 40)
    sampling = sample_times(fps, Segment(start, start + length), 5e-4)
    assert [(f.time, f.picture) for f in resample(frames, sampling)] == plain(frames, sampling)


@given(gaps, rates, st.floats(0, 4), st.floats(0, 4))
def test_frames_after_a_segment_are_not_asked_for(steps, fps, start, length):
    read = []
    frames = stream(0, [*steps, *[40] * 500], 40)
    list(resample((read.append(f) or f for f in frames), sample_times(fps, Segment(start, start + length), 1e-6)))
    assert read[-1].time <= start + length + 2 / fps + 0.5


def test_the_same_rate_gives_the_same_frames_in_spite_of_rounded_milliseconds():
    frames = [TimedFrame(round(k * 1000 / 30) / 1000, 0.033, k) for k in range(90)]
    assert [f.picture for f in resample(frames, SampleTimes(30, tolerance=501e-6))] == list(range(90))


def test_nothing_gives_nothing():
    assert list(resample([], SampleTimes(25))) == []


@pytest.mark.parametrize("fps", [0.0, -25.0, math.nan, math.inf])
def test_impossible_rates(fps):
    with pytest.raises(OptionsError):
        SampleTimes(fps)
