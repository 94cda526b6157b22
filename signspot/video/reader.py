"""Videos: a path becomes frames with times in seconds, streamed, upright, RGB; the file is not touched.

Frames are the same whether a reading begins at the start or at the keyframe before a time.
"""

import logging
import os
import weakref
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import av
import numpy as np
from av.video.reformatter import VideoReformatter

from signspot.errors import EmptyVideoError, OptionsError, VideoError
from signspot.types import Segment
from signspot.video.clock import Clock, TimedFrame, resample, sample_times
from signspot.video.containers import decode_packets, open_container
from signspot.video.probing import Image, Source, VideoInfo, probe

__all__ = ["Frame", "Video", "VideoInfo", "open_video"]

_log = logging.getLogger(__name__)

# Seconds before the wanted time at which a keyframe is sought, in turn, before reading from the start.
_STEPS_BACK = (0.0, 1.0, 4.0, 16.0, 64.0)


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One picture of a video."""

    time: float  # seconds since the container's start, as a player shows it
    image: Image  # (H, W, 3) RGB, upright; frames that repeat each other share it


class Video:
    """An open video. Any number of readings may go on at the same time; each streams in bounded memory."""

    def __init__(self, source: Source, max_side: int | None = None):
        fitted(1, 1, max_side)  # a wrong value is an error now, not at the first frame
        self._source = source
        self._max_side = max_side
        self._readings: weakref.WeakSet[Generator[Frame, None, None]] = weakref.WeakSet()
        self._closed = False

    @property
    def info(self) -> VideoInfo:
        """Facts about the video, from its file."""
        return self._source.info

    def frames(self, segment: Segment | None = None) -> Iterator[Frame]:
        """Give every frame, or those whose time lies in `segment`: the very frames of a full reading.

        Raises:
            EmptyVideoError: no frame lies in the segment (when the first is asked for).
        """
        start = segment.start if segment else 0.0
        return self._read(_within(timed_frames(self._source, start), segment), segment)

    def resampled(self, fps: float, segment: Segment | None = None) -> Iterator[Frame]:
        """Give what a player shows at the times origin + k / fps; no other frame is converted to RGB.

        The origin is 0, or the segment's start; there are max(1, round(duration * fps)) frames, the duration
        being that of the video, or of the segment as far as the video reaches.

        Raises:
            OptionsError: `fps` is not above 0.
            EmptyVideoError: the segment starts after the end (when the first frame is asked for).
        """
        times = sample_times(fps, segment, self._source.timing.tolerance)
        return self._read(resample(timed_frames(self._source, times.origin), times), segment)

    def frame_at(self, time: float) -> Frame:
        """Give the frame shown at `time` seconds: after the end the last one, before the start the first.

        Its time is its own, not the one asked for.
        """
        latest = time + self._source.timing.tolerance
        return next(self._read(_shown_at(timed_frames(self._source, time), latest)))

    def seeks(self, time: float) -> bool:
        """Whether a reading can begin near `time` seconds, without decoding all that comes before it."""
        frames = _sought(self._source, time)
        if frames is None:
            return False
        frames.close()
        return True

    def close(self) -> None:
        """End all readings. Further readings are refused."""
        self._closed = True
        for reading in tuple(self._readings):
            reading.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, frames: Iterator[TimedFrame], segment: Segment | None = None) -> Iterator[Frame]:
        if self._closed:
            raise VideoError(f"{self.info.path} is closed: read its frames inside the 'with' block")
        reading = self._frames(frames, segment)
        self._readings.add(reading)
        return reading

    def _frames(self, frames: Iterator[TimedFrame], segment: Segment | None) -> Generator[Frame, None, None]:
        convert, empty = RgbConverter(self._source, self._max_side), True
        for frame in frames:
            empty = False
            yield Frame(frame.time, convert(frame.picture))
        if empty:
            raise self._nothing(segment)

    def _nothing(self, segment: Segment | None) -> EmptyVideoError:
        where = f" between {segment.start:g} and {segment.end:g} s" if segment else " that can be decoded"
        return EmptyVideoError(f"{self.info.path} holds no frame{where}. It lasts {self.info.duration:.2f} s.")


def open_video(path: str | os.PathLike[str], *, max_side: int | None = None) -> Video:
    """Open a video file for reading; use it in a `with` block.

    Args:
        path: any container and codec that FFmpeg reads, with or without sound.
        max_side: frames whose longer side has more pixels are scaled down while they are decoded, so that an
            8K video needs no 100 MB a picture.

    Raises:
        NotAVideoError: it is not a video, a picture, or holds only sound.
        EmptyVideoError: it holds no frame.
        VideoLimitError: it asks for more pixels, time or memory than one video is given.
        VideoError: it is missing, a folder, unreadable or damaged beyond use.
    """
    return Video(probe(Path(path)), max_side)


def _shown_at(frames: Iterable[TimedFrame], latest: float) -> Iterator[TimedFrame]:
    last_frame: TimedFrame | None = None
    for frame in frames:
        if last_frame and frame.time > latest:
            break
        last_frame = frame
    if last_frame is not None:
        yield last_frame


def _within(frames: Iterable[TimedFrame], segment: Segment | None) -> Iterator[TimedFrame]:
    for frame in frames:
        if segment is None or frame.time in segment:
            yield frame
        elif frame.time >= segment.end:
            return


def timed_frames(source: Source, start: float = 0.0) -> Iterator[TimedFrame]:
    """Decode forward from a frame at or before `start` seconds (the first one, if none is).

    The frames are those of a full decode from some keyframe on. Indexes of files go by decoding time, are
    coarse (.ts) or missing (.webm from a browser), so that a seek may land too late: then it is tried further
    back. Memory is bounded.
    """
    yield from _sought(source, start) or _from_beginning(source)


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
            _log.debug("cannot seek in %s: %s", path, error)
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
