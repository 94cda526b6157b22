"""The reader, over every kind of file: numbers of the pictures tell which frames came out."""

import hashlib
import logging
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import EmptyVideoError, OptionsError, VideoError
from signspot.types import Segment
from signspot.video.probing import probe
from signspot.video.reader import RgbConverter, fitted, open_video, timed_frames


def test_every_frame_comes_once_in_order_with_its_time(any_video, number):
    with open_video(any_video) as video:
        frames = list(video.frames())
    assert [number(frame.image) for frame in frames] == list(range(40))
    assert [frame.time for frame in frames] == pytest.approx([k / 25 for k in range(40)], abs=6e-4)
    assert all(f.image.dtype == np.uint8 and f.image.flags.c_contiguous for f in frames)


def test_info_says_what_is_there(any_video):
    with open_video(any_video) as video:
        info = video.info
        image = next(video.frames()).image
    assert (info.width, info.height) == (image.shape[1], image.shape[0])
    assert info.fps == pytest.approx(25, rel=0.02)
    # A program stream does not say it better; what is stated is never used to count frames.
    assert info.duration == pytest.approx(1.6, abs=0.5 if any_video.suffix == ".mpg" else 0.09)
    assert info.rotation == 0
    assert info.codec


@pytest.mark.parametrize(
    ("start", "end"), [(0.0, 0.2), (0.4, 0.8), (0.47, 0.49), (0.81, 1.23), (1.12, 9.0), (1.56, 1.6)]
)
def test_a_segment_holds_the_frames_of_a_full_reading(any_video, start, end):
    segment = Segment(start, end)
    with open_video(any_video) as video:
        expected = [f for f in video.frames() if f.time in segment]
        if not expected:
            with pytest.raises(EmptyVideoError):
                list(video.frames(segment))
            return
        frames = list(video.frames(segment))
    assert [f.time for f in frames] == [f.time for f in expected]
    for one, other in zip(frames, expected, strict=True):
        np.testing.assert_array_equal(one.image, other.image)


@pytest.mark.parametrize("fps", [25.0, 10.0, 30.0, 60.0, 12.5])
def test_resampling_shows_what_a_player_shows(any_video, number, fps):
    with open_video(any_video) as video:
        frames = list(video.resampled(fps))
    assert len(frames) == round(1.6 * fps)
    assert [f.time for f in frames] == pytest.approx([k / fps for k in range(len(frames))])
    assert [number(f.image) for f in frames] == [int(k / fps * 25 + 1e-6) for k in range(len(frames))]


def test_resampling_a_segment_equals_a_slice_of_the_whole(any_video, number):
    with open_video(any_video) as video:
        entire = list(video.resampled(25))
        part = list(video.resampled(25, Segment(0.8, 1.4)))
    assert [number(f.image) for f in part] == [number(f.image) for f in entire[20:35]]
    assert [f.time for f in part] == pytest.approx([f.time for f in entire[20:35]])


def test_the_file_is_not_touched(any_video):
    def state():
        return hashlib.sha256(any_video.read_bytes()).hexdigest(), any_video.stat().st_mtime_ns

    any_video.chmod(0o444)
    before = state()
    with open_video(any_video) as video:
        list(video.resampled(10))
        list(video.frames(Segment(1.0, 1.2)))
    assert state() == before
    assert [p.name for p in any_video.parent.iterdir()] == [any_video.name]


def test_variable_frame_rate_keeps_its_times(tmp_path, make_video, number):
    times = [Fraction(t, 1000) for t in (0, 40, 50, 60, 500, 540, 1400, 1402, 1450)]
    path = make_video(tmp_path / "vfr.mp4", times=times)
    with open_video(path) as video:
        assert [f.time for f in video.frames()] == pytest.approx([float(t) for t in times], abs=1e-4)
        numbers = [number(f.image) for f in video.resampled(10)]
    assert numbers[:15] == [0, 3, 3, 3, 3, 4, 5, 5, 5, 5, 5, 5, 5, 5, 6]


def test_a_recording_of_a_browser_has_no_duration_and_any_rate(tmp_path, make_video, number):
    times = [Fraction(t, 1000) for t in (0, 33, 71, 100, 133, 290, 333, 371, 400)]
    options = {"g": "100", "cpu-used": "8", "deadline": "realtime"}
    path = make_video(tmp_path / "cam.webm", codec="libvpx-vp9", options=options, times=times, container={"live": "1"})
    with open_video(path) as video:
        assert video.info.frames == 9
        assert video.info.duration == pytest.approx(0.45, abs=0.01)
        assert video.info.fps == pytest.approx(20, rel=0.01)
        assert [number(f.image) for f in video.frames(Segment(0.1, 0.35))] == [3, 4, 5, 6]


def test_sound_that_starts_first_is_the_start(tmp_path, make_video):
    times = [Fraction(k, 25) + Fraction(1, 2) for k in range(5)]
    path = make_video(tmp_path / "late.mkv", times=times, audio=True)
    with open_video(path) as video:
        assert video.info.has_audio
        assert next(video.frames()).time == pytest.approx(0.5, abs=0.07)
        early = next(video.resampled(25))
    assert early.time == 0.0


@pytest.mark.parametrize(
    ("turn", "mirrored", "degrees"),
    [(0, False, 0), (90, False, 270), (180, False, 180), (-90, False, 90), (0, True, 0), (90, True, 90)],
)
def test_frames_are_upright(tmp_path, make_video, picture, turn, mirrored, degrees):
    path = make_video(tmp_path / "phone.mp4", rotation=turn, mirrored=mirrored, frames=2)
    expected = np.rot90(picture(0), turn // 90)
    if mirrored:
        expected = expected[:, ::-1]
    with open_video(path) as video:
        image = next(video.frames()).image
        assert (video.info.height, video.info.width) == image.shape[:2]
        assert video.info.rotation == degrees
    assert image.shape == expected.shape
    assert np.abs(image.astype(int) - expected).mean() < 12


def test_pixels_become_square(tmp_path, make_video):
    path = make_video(tmp_path / "pal.mp4", pixel_aspect=Fraction(16, 11), frames=1)
    with open_video(path) as video:
        assert (video.info.width, video.info.height) == (233, 64)
        assert next(video.frames()).image.shape == (64, 233, 3)


def test_one_frame_is_a_video(tmp_path, make_video, number):
    with open_video(make_video(tmp_path / "one.mp4", frames=1)) as video:
        assert [number(f.image) for f in video.frames()] == [0]
        assert len(list(video.resampled(25))) == 1
        assert len(list(video.resampled(1))) == 1


def test_readings_do_not_disturb_each_other(tmp_path, make_video, number):
    with open_video(make_video(tmp_path / "v.mp4")) as video:
        pairs = zip(video.frames(), video.frames(Segment(0.4, 1.0)), strict=False)
        numbers = [(number(a.image), number(b.image)) for a, b in pairs]
    assert numbers == [(k, k + 10) for k in range(15)]


def test_frames_that_are_not_shown_are_not_converted(tmp_path, make_video, monkeypatch):
    path = make_video(tmp_path / "fast.mp4", rate=Fraction(60), frames=120)
    converted = []
    convert = RgbConverter._convert
    monkeypatch.setattr(RgbConverter, "_convert", lambda self, p: converted.append(p) or convert(self, p))
    with open_video(path) as video:
        for fps, segment, frames, different in ((25, None, 50, 50), (240, Segment(0.5, 0.6), 24, 6)):
            converted.clear()
            images = [frame.image for frame in video.resampled(fps, segment)]
            assert (len(images), len({id(image) for image in images}), len(converted)) == (frames, different, different)


def test_frame_at_any_time(tmp_path, make_video, number):
    with open_video(make_video(tmp_path / "v.mp4")) as video:
        assert [number(video.frame_at(t).image) for t in (-3, 0, 0.99, 1.0, 77)] == [0, 0, 24, 25, 39]


def test_max_side_scales_down_and_never_up(tmp_path, make_video, number):
    path = make_video(tmp_path / "v.mp4", rotation=90)
    with open_video(path, max_side=80) as video:
        frame = next(video.frames())
        assert frame.image.shape == (80, 32, 3)
        assert (video.info.width, video.info.height) == (64, 160)
    with open_video(path, max_side=4000) as video:
        assert next(video.frames()).image.shape == (160, 64, 3)
    with pytest.raises(OptionsError):
        open_video(path, max_side=0)


def test_no_frame_after_the_end(tmp_path, make_video):
    with open_video(make_video(tmp_path / "v.mp4")) as video:
        for read in (video.frames(Segment(5, 6)), video.resampled(25, Segment(5, 6)), video.frames(Segment(1, 1))):
            with pytest.raises(EmptyVideoError, match=r"1\.60"):
                next(read)
        assert len(list(video.resampled(25, Segment(1.2, 99)))) == 10
        assert len(list(video.resampled(25, Segment(1.2, float("inf"))))) == 10
        assert len(list(video.resampled(25, Segment(0.5, 0.5)))) == 1


@pytest.mark.parametrize("fps", [0, -1, float("nan"), float("inf"), 1e9])
def test_impossible_rates_are_refused(tmp_path, make_video, fps):
    with open_video(make_video(tmp_path / "v.mp4", frames=2)) as video, pytest.raises(OptionsError):
        video.resampled(fps)


def test_closing_ends_readings(tmp_path, make_video):
    with open_video(make_video(tmp_path / "v.mp4")) as video:
        frames = video.frames()
        next(frames)
    assert list(frames) == []
    with pytest.raises(VideoError):
        video.frames()


def test_a_gap_in_the_data_is_reported_and_the_rest_is_read(tmp_path, make_video, caplog, number):
    path = make_video(tmp_path / "v.ts", frames=200)
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 188 * 4] = bytes(188 * 4)
    path.write_bytes(data)
    with caplog.at_level(logging.WARNING), open_video(path) as video:
        numbers = [number(f.image) for f in video.frames()]
    assert numbers[:80] == list(range(80))
    assert numbers[-1] == 199
    assert "is damaged" in caplog.text


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
