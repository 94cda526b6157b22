"""Recording from a camera; a video stands for the camera."""

from pathlib import Path

import numpy as np
import pytest

from signspot.errors import EmptyVideoError, NotAVideoError
from signspot.video.camera import camera_frames, record, skip
from signspot.video.reader import Frame, open_video
from signspot.video.writer import write_video


def test_takes_follow_each_other_in_the_rate_of_recordings(tmp_path: Path) -> None:
    images = (np.full((32, 32, 3), 2 * number, np.uint8) for number in range(90))
    write_video(tmp_path / "camera.mp4", images, 30.0)
    frames = camera_frames(str(tmp_path / "camera.mp4"))
    for name in ("one", "two"):
        record(frames, tmp_path / f"{name}.mp4", 1.0)
        with open_video(tmp_path / f"{name}.mp4") as video:
            assert (video.info.fps, len(list(video.frames()))) == (25.0, 25)
    with open_video(tmp_path / "one.mp4") as one, open_video(tmp_path / "two.mp4") as two:
        last, first = list(one.frames())[-1].image.mean(), next(iter(two.frames())).image.mean()
    assert last < first
    with pytest.raises(EmptyVideoError):
        record(frames, tmp_path / "three.mp4", 10.0)
    assert not (tmp_path / "three.mp4").exists()


def test_a_slow_camera_repeats_frames(tmp_path: Path) -> None:
    frames = iter([Frame(time, np.full((32, 32, 3), 50, np.uint8)) for time in (3.0, 3.5, 4.1)])
    record(frames, tmp_path / "a.mp4", 1.0)
    with open_video(tmp_path / "a.mp4") as video:
        assert len(list(video.frames())) == 25


def test_seconds_are_skipped() -> None:
    frames = iter([Frame(float(number), np.zeros((2, 2, 3), np.uint8)) for number in range(10)])
    skip(frames, 3.0)
    assert next(frames).time == 4.0
    skip(iter(()), 1.0)


def test_there_is_no_such_camera() -> None:
    for name in ("camera:99", "camera:x"):
        with pytest.raises(NotAVideoError):
            next(camera_frames(name))
