"""Frames with their times, from the beginning or from the keyframe before a time: the same either way."""

import logging
from collections.abc import Generator, Iterator
from itertools import dropwhile
from typing import Any

import av
import numpy as np
from av.video.reformatter import VideoReformatter

from signspot.errors import OptionsError, VideoError
from signspot.video.clock import Clock, TimedFrame
from signspot.video.containers import decode_packets, open_container
from signspot.video.probing import Image, Source

_log = logging.getLogger(__name__)

# Seconds before the wanted time at which a keyframe is sought, in turn, before reading from the start.
_STEPS_BACK = (0.0, 1.0, 4.0, 16.0, 64.0)


def timed_frames(source: Source, start: float = 0.0) -> Iterator[TimedFrame]:
    """Decode forward from a frame at or before `start` seconds (the first one, if none is).

    The frames are those of a full decode from some keyframe on. Indexes of files go by decoding time, are
    coarse (.ts) or missing (.webm from a browser), so that a seek may land too late: then it is tried further
    back. Memory is bounded.
    """
    yield from _sought(source, start) or _from_beginning(source)


def lands_near(source: Source, start: float) -> bool:
    """Whether `timed_frames` from `start` on can begin at a keyframe near it."""
    frames = _sought(source, start)
    if frames is None:
        return False
    next(frames)
    frames.close()
    return True


def _sought(source: Source, start: float) -> Generator[TimedFrame, None, None] | None:
    """Frames from a keyframe at or before `start` seconds on; None where there is no way to get there."""
    for back in _STEPS_BACK:
        if start - back <= 0 or not source.timing.seekable:
            return None
        frames = _from_keyframe(source, start - back)
        first = next(frames, None)
        if first is not None and first.time <= start:
            return _beginning_with(first, frames)
        frames.close()
    return None


def _beginning_with(first: TimedFrame, frames: Generator[TimedFrame, None, None]) -> Generator[TimedFrame, None, None]:
    try:
        yield first
        yield from frames
    finally:
        frames.close()


def _from_beginning(source: Source) -> Iterator[TimedFrame]:
    path, clock = source.info.path, Clock(source.timing, source.info.path)
    frame = None
    with open_container(path) as (container, stream):
        for picture in decode_packets(path, container, stream):
            frame = clock.timed(picture)
            yield frame
    missing = source.info.duration - (frame.end if frame else 0.0)
    if missing > max(1.0, 0.05 * source.info.duration):
        _log.warning("%s is cut off: the last %.1f s that it announces are missing.", path, missing)


def _from_keyframe(source: Source, start: float) -> Generator[TimedFrame, None, None]:
    """Frames from a keyframe near `start`; none if there is no way to get there, or it has no timestamp."""
    path, clock = source.info.path, Clock(source.timing, source.info.path, begun=None)
    with open_container(path) as (container, stream):
        try:
            container.seek(source.timing.ticks(start), stream=stream, backward=True)
        except av.error.FFmpegError as error:
            _log.debug("%s cannot be sought: %s", path, error)
            return
        pictures = dropwhile(lambda picture: not picture.key_frame, decode_packets(path, container, stream))
        for number, picture in enumerate(pictures):
            if number == 0 and picture.pts is None:
                return
            yield clock.timed(picture)


class RgbConverter:
    """Converts the frames of one video; keeps the scaler between frames, which is half of the cost.

    Frames whose size changes on the way (as in browsers' recordings) are scaled to the size of the first.
    """

    def __init__(self, source: Source, max_side: int | None = None):
        self._source = source
        self._reformatter = VideoReformatter()
        width, height = fitted(source.info.width, source.info.height, max_side)
        self._width, self._height = source.orientation.displayed(width, height)
        self._last: tuple[Any, Image] | None = None

    def __call__(self, picture: Any) -> Image:
        """Convert a decoded frame to (H, W, 3) RGB, upright; the same frame twice gives the same array."""
        if self._last is None or self._last[0] is not picture:
            self._last = (picture, self._convert(picture))
        return self._last[1]

    def _convert(self, picture: Any) -> Image:
        # Averaging areas keeps fine structure from flickering when a picture shrinks.
        shrinks = self._width < picture.width or self._height < picture.height
        try:
            rgb = self._reformatter.reformat(
                picture, self._width, self._height, "rgb24", interpolation="AREA" if shrinks else "BILINEAR"
            )
        except (av.error.FFmpegError, ValueError) as error:
            raise VideoError(
                f"cannot convert a frame of {self._source.info.path} ({picture.format.name}) to RGB: {error}"
            ) from error
        return self._source.orientation.upright(np.asarray(rgb.to_ndarray(), dtype=np.uint8))


def fitted(width: int, height: int, max_side: int | None) -> tuple[int, int]:
    """The size, aspect kept, whose longer side is at most `max_side` pixels; never larger than it was."""
    if max_side is None or max(width, height) <= max_side:
        return width, height
    if max_side < 1:
        raise OptionsError(f"max_side must be at least 1 pixel; got {max_side}")
    scale = max_side / max(width, height)
    return max(1, round(width * scale)), max(1, round(height * scale))
