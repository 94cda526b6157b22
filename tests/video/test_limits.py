"""Strangers' videos: each comes to an end, in little memory, with a plain word or with its frames."""

import subprocess
import sys
from pathlib import Path

import pytest

from signspot.errors import EmptyVideoError, VideoError, VideoLimitError
from signspot.io.bounded_process import BoundedProcesses
from signspot.types import Segment
from signspot.video import limits, trial
from signspot.video.inspection import video_problem
from signspot.video.probing import probe
from signspot.video.reader import open_video
from tools.attack import media


def read(path: Path) -> int:
    with open_video(path, max_side=64) as video:
        return sum(1 for _ in video.resampled(25))


@pytest.mark.parametrize("suffix", [".mkv", ".mp4", ".ts"])
def test_a_jump_in_time_is_told(tmp_path, suffix):
    path = media.jump(tmp_path, suffix)
    with pytest.raises(VideoLimitError, match=r"jumps in time|says it lasts 8,760 hours"):
        read(path)
    assert "jumps in time" in (video_problem(path) or "") or "hours" in (video_problem(path) or "")


@pytest.mark.parametrize(
    "maker", [media.jumps, media.late_start, media.long_last, lambda folder: media.avi_rate(folder, 0x7FFFFFFF, 1)]
)
def test_a_clock_that_lies_is_told(tmp_path, maker):
    with pytest.raises(VideoLimitError):
        read(maker(tmp_path))


def test_a_file_that_repeats_itself_is_told(tmp_path):
    path = media.repeated_edits(tmp_path)
    assert "repeats itself" in (video_problem(path) or "")
    with pytest.raises(VideoLimitError, match="repeats itself"), open_video(path) as video:
        sum(1 for _ in video.frames())


@pytest.mark.parametrize(
    "maker",
    [
        *(lambda folder, box=box: media.long_header(folder, box) for box in (b"mvhd", b"tkhd", b"mdhd")),
        *(lambda folder, value=value: media.matroska_duration(folder, value) for value in (1e18, float("nan"), -5.0)),
        media.many_durations,
    ],
)
def test_a_lying_header_does_no_harm(tmp_path, maker):
    assert read(maker(tmp_path)) == 50


def test_a_pause_is_no_jump(tmp_path):
    """A recorder that stood still for twenty minutes."""
    path = media._film(tmp_path / "pause.mkv", media._even(50) + media._even(50, 1_200_000))
    with open_video(path) as video:
        assert len(list(video.resampled(1, Segment(1190, 1202)))) == 12
        assert sum(1 for _ in video.resampled(1)) == 1202


def test_giant_pictures_take_no_memory(tmp_path):
    path = media.giant(tmp_path)
    with pytest.raises(EmptyVideoError, match=r"37\.7 million pixels"):
        read(path)


def test_pictures_of_many_bytes_per_pixel_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_BYTES", 1_000_000)
    assert probe(media._pictures(tmp_path / "plain.avi", [500])).info.width == 500
    with pytest.raises(VideoLimitError, match=r"pictures of 2 million bytes \(500 x 500 pixels, rgba64be\)"):
        probe(media._pictures(tmp_path / "deep.avi", [500], deep=True))


def test_giant_pictures_in_the_middle_are_passed_over(tmp_path):
    path = media.growing(tmp_path)
    code = (
        "import sys; from signspot.video.reader import open_video\n"
        "print(sum(1 for _ in open_video(sys.argv[1]).frames()))\n"
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    frames, kilobytes = map(int, done.stdout.split())
    assert frames == 12
    assert kilobytes < 250_000


def test_a_stated_size_is_refused_before_it_is_decoded(tmp_path):
    with pytest.raises(VideoLimitError, match=r"9000 x 9000 pixels; at most 37\.7 million"):
        limits.check_pixels(tmp_path / "v.mp4", 9000, 9000)


def test_a_trial_that_takes_too_long_is_ended(tmp_path, make_video, monkeypatch):
    path = make_video(tmp_path / "v.mp4", frames=3)
    monkeypatch.setattr(trial, "_processes", BoundedProcesses("tests_sleep:ask", memory=1 << 30))
    (tmp_path / "tests_sleep.py").write_text("import time\ndef ask(request): time.sleep(60)")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(trial, "_SECONDS", 0.3)
    with pytest.raises(VideoLimitError, match="cannot be read: it took more than 0 s"):
        open_video(path)


def test_the_trial_says_what_the_reader_would_say(tmp_path, make_video, monkeypatch):
    """Names as the user gave them, relative ones included."""
    monkeypatch.chdir(tmp_path)
    make_video(tmp_path / "v.mp4", frames=3)
    assert open_video("v.mp4").info.path == Path("v.mp4")
    Path("v.mp4").write_bytes(Path("v.mp4").read_bytes()[:300])
    with pytest.raises(VideoError, match=r"^v\.mp4 is cut off or damaged"):
        open_video("v.mp4")
