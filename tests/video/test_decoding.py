"""Seeking decodes little, and memory does not grow with the length of a video; sizes that fit."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.video.clock import Clock
from signspot.video.decoding import fitted, timed_frames
from signspot.video.probing import probe


def test_a_seek_reads_from_the_keyframe_before(tmp_path, make_video):
    for name in ("v.mp4", "v.mkv", "v.ts"):
        source = probe(make_video(tmp_path / name, frames=400))
        first = next(timed_frames(source, 12.0))
        assert 12.0 - first.time < (12 / 25 if name != "v.ts" else 5), name
        assert first.time <= 12.0
        assert first.picture.key_frame


def test_times_do_not_depend_on_where_reading_starts(tmp_path, make_video):
    source = probe(make_video(tmp_path / "v.ts", frames=300, container={"output_ts_offset": "3.3"}))
    times = [f.time for f in timed_frames(source)]
    for start in (0.5, 4.0, 7.77, 11.9):
        part = [f.time for f in timed_frames(source, start)]
        assert part == times[-len(part) :]
        assert part[0] <= start


def test_clock_and_origin_agree_for_every_kind(any_video):
    source = probe(any_video)
    first = next(timed_frames(source))
    assert Clock(source.timing, source.info.path).timed(first.picture).time == first.time
    assert abs(first.time) < 1e-6


def test_memory_does_not_grow_with_length(tmp_path, make_video):
    program = (
        "import resource, sys; from signspot.video.reader import open_video\n"
        "with open_video(sys.argv[1]) as v: n = sum(1 for _ in v.resampled(25))\n"
        "print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )

    def peak(frames):
        path = make_video(tmp_path / f"{frames}.mp4", frames=frames, size=(640, 352), options={"preset": "ultrafast"})
        done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
        count, kilobytes = map(int, done.stdout.split())
        assert count == frames
        return kilobytes

    short, long = peak(40), peak(340)
    assert long - short < 40_000  # the pictures of the longer one take 200 MB more


@given(st.integers(1, 9000), st.integers(1, 9000), st.integers(1, 9000))
def test_fitted_keeps_the_aspect_within_a_pixel(width, height, side):
    new_width, new_height = fitted(width, height, side)
    assert max(new_width, new_height) == min(side, max(width, height))
    scale = max(new_width, new_height) / max(width, height)
    assert abs(new_width - width * scale) <= 1
    assert abs(new_height - height * scale) <= 1


def test_no_limit_is_no_change():
    assert fitted(7680, 4320, None) == (7680, 4320)


def test_a_limit_is_at_least_one_pixel():
    with pytest.raises(OptionsError, match="got -3"):
        fitted(64, 64, -3)
