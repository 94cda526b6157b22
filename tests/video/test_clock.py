"""Times out of timestamps: missing, repeated, jumping back, offset."""

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import av
import pytest

from signspot.video.clock import Clock, Timing, container_origin

TIMING = Timing(time_base=Fraction(1, 1000), origin=Fraction(2), interval=0.04)


def times(stamps, timing=TIMING, duration=40):
    clock = Clock(timing, Path("v.mp4"))
    frames = []
    for stamp in stamps:
        frame = av.VideoFrame(16, 16)
        frame.pts, frame.duration = stamp, duration
        frames.append(clock.timed(frame).time)
    return frames


def test_timestamps_count_from_the_origin():
    assert times([2000, 2040, 2100]) == pytest.approx([0, 0.04, 0.1])


def test_a_missing_first_timestamp_is_the_start():
    assert times([None, 2040, 2080]) == pytest.approx([0, 0.04, 0.08])


def test_a_missing_timestamp_follows_the_frame_before():
    assert times([2000, None, None, 2500]) == pytest.approx([0, 0.04, 0.08, 0.5])


def test_a_frame_that_does_not_say_how_long_lasts_an_average_interval():
    assert times([2000, None], duration=0) == pytest.approx([0, 0.04])


def test_time_never_goes_back():
    assert times([2000, 2080, 2040, 2120]) == pytest.approx([0, 0.08, 0.08, 0.12])


def test_a_recording_that_starts_anew_goes_on():
    assert times([9000, 9040, 0, 40, 80]) == pytest.approx([7, 7.04, 7.08, 7.12, 7.16])


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
