"""The way in: a path becomes frames with times in seconds, streamed, upright, RGB; no file is touched."""

import os
import weakref
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from signspot.errors import EmptyVideoError, VideoError
from signspot.types import Segment
from signspot.video.clock import sample_times
from signspot.video.decoding import fitted
from signspot.video.probing import Image, Source, VideoInfo
from signspot.video.trial import Wish, read_frames, try_near, try_source

__all__ = ["Frame", "Video", "VideoInfo", "open_video"]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One picture of a video."""

    time: float  # seconds since the container's start, as a player shows it
    image: Image  # (H, W, 3) RGB, upright; frames that repeat each other share it


class Video:
    """An open video. Any number of readings may go on at the same time; each streams in bounded memory."""

    def __init__(self, source: Source, max_side: int | None = None):
        fitted(1, 1, max_side)  # a wrong value is told now, not at the first frame
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
        return self._read(Wish(segment))

    def resampled(self, fps: float, segment: Segment | None = None) -> Iterator[Frame]:
        """Give what a player shows at the times origin + k / fps; no other frame is converted to RGB.

        The origin is 0, or the segment's start; there are max(1, round(duration * fps)) frames, the duration
        being that of the video, or of the segment as far as the video reaches.

        Raises:
            OptionsError: `fps` is not above 0.
            EmptyVideoError: the segment starts after the end (when the first frame is asked for).
        """
        sample_times(fps, segment, 0.0)  # a wrong value is told now, not at the first frame
        return self._read(Wish(segment, fps))

    def frame_at(self, time: float) -> Frame:
        """Give the frame shown at `time` seconds: after the end the last one, before the start the first.

        Its time is its own, not the one asked for.
        """
        return next(self._read(Wish(at=time)))

    def seeks(self, time: float) -> bool:
        """Whether a reading can begin near `time` seconds, without decoding all that comes before it."""
        return try_near(self._source, time)

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

    def _read(self, wish: Wish) -> Iterator[Frame]:
        if self._closed:
            raise VideoError(f"{self.info.path} is closed: read its frames inside the 'with' block")
        reading = self._frames(replace(wish, max_side=self._max_side))
        self._readings.add(reading)
        return reading

    def _frames(self, wish: Wish) -> Generator[Frame, None, None]:
        empty = True
        for time, image in read_frames(self._source, wish):
            empty = False
            yield Frame(time, image)
        if empty:
            raise self._nothing(wish.segment)

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
        NotAVideoError: it is no video, a picture, or holds only sound.
        EmptyVideoError: it holds no frame.
        VideoLimitError: it asks for more pixels, time or memory than one video is given.
        VideoError: it is missing, a folder, unreadable or damaged beyond use.
    """
    return Video(try_source(Path(path)), max_side)
