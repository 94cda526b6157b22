"""Cameras: `camera:0` is the first one. A video may stand for a camera; its frames then come one after the other."""

import sys
from collections.abc import Generator, Iterator
from itertools import takewhile
from pathlib import Path
from time import monotonic

from signspot.errors import EmptyVideoError, NotAVideoError
from signspot.io.progress import Progress, silent
from signspot.video.reader import Frame, open_video
from signspot.video.writer import VideoWriter

_PREFIX = "camera:"
_FPS = 25.0  # of recordings


def is_camera(source: str) -> bool:
    """Whether a source is a camera, not a file."""
    return source.startswith(_PREFIX)


def camera_frames(source: str) -> Generator[Frame, None, None]:
    """Frames of a camera as they come, or of a video; their times begin at 0.

    Raises:
        NotAVideoError: there is no such camera, or it cannot be opened.
        VideoError: the video cannot be read.
    """
    if not is_camera(source):
        with open_video(source) as video:
            yield from video.frames()
        return
    import cv2

    number = source.removeprefix(_PREFIX)
    device = Path(f"/dev/video{number}")
    if not number.isdecimal() or (sys.platform == "linux" and not device.exists()):
        raise NotAVideoError(f"there is no camera '{number}'. The first is {_PREFIX}0")
    camera = cv2.VideoCapture(int(number))
    try:
        if not camera.isOpened():
            raise NotAVideoError(f"the camera '{number}' cannot be opened. Is another program using it?")
        began = monotonic()
        while True:
            was_read, image = camera.read()
            if not was_read:
                return
            yield Frame(monotonic() - began, cv2.cvtColor(image, cv2.COLOR_BGR2RGB))
    finally:
        camera.release()


def skip(frames: Iterator[Frame], seconds: float) -> None:
    """Drop the frames of the next seconds."""
    first = next(frames, None)
    if first is not None and seconds > 0:
        for _ in takewhile(lambda frame: frame.time < first.time + seconds, frames):
            pass


def record(frames: Iterator[Frame], path: Path, seconds: float, progress: Progress = silent) -> None:
    """Write the next seconds of a camera as a video of 25 frames per second; each frame stands until the next one.

    Raises:
        EmptyVideoError: the camera ends before.
        OutputError: the video cannot be written.
    """
    written, total, first = 0, round(seconds * _FPS), None
    with VideoWriter(path, _FPS) as writer:
        for frame in frames:
            first = frame.time if first is None else first
            while written < total and written <= (frame.time - first) * _FPS + 1e-6:
                writer.add(frame.image)
                written += 1
            progress(written, total)
            if written == total:
                return
        raise EmptyVideoError(f"the camera stopped after {written / _FPS:.1f} of {seconds:g} s")
