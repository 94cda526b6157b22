"""Limits of what a video file may ask for: pixels, hours, still pictures, and bytes that are read again and again."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from signspot.errors import VideoLimitError

MOST_PIXELS = 8192 * 4608  # of one picture: 8K and a little more
MOST_BYTES = 160_000_000  # of one decoded picture: 8K in 10 bits, with half the colours
LONGEST = 100 * 3600.0  # seconds of a video
LONGEST_STILL = 3600.0  # seconds in all without a new picture; no signing has so many
_STILL = 10.0  # seconds after which a picture counts as still
_AGAIN = 2  # times the file's size that its packets may have in all; more is a file that repeats itself
_SLACK = 1 << 16  # bytes
_REMEDY = "Encode it again with an honest clock, or leave it out."


def check_pixels(path: Path, width: int, height: int) -> None:
    """Refuse giant pictures before a decoder asks for their memory.

    Raises:
        VideoLimitError: they are too large.
    """
    if width * height > MOST_PIXELS:
        raise VideoLimitError(
            f"{path} has pictures of {width} x {height} pixels; at most {MOST_PIXELS / 1e6:.1f} million are read. "
            "Scale it down first."
        )


def check_bytes(path: Path, picture: Any) -> None:
    """Refuse decoded pictures, of type `av.VideoFrame`, that store more per pixel than films do.

    Raises:
        VideoLimitError: one takes too much memory.
    """
    size = sum(plane.buffer_size for plane in picture.planes)
    if size > MOST_BYTES:
        raise VideoLimitError(
            f"{path} has pictures of {size / 1e6:,.0f} million bytes ({picture.width} x {picture.height} pixels, "
            f"{picture.format.name}); at most {MOST_BYTES / 1e6:,.0f} million are read. Scale it down first."
        )


def check_duration(path: Path, seconds: float) -> None:
    """Refuse a video that lasts for days.

    Raises:
        VideoLimitError: it is too long, or its clock is wrong.
    """
    if not -LONGEST <= seconds <= LONGEST:
        raise VideoLimitError(
            f"{path} says it lasts {seconds / 3600:,.0f} hours; at most {LONGEST / 3600:.0f} are read. {_REMEDY}"
        )


class StillTime:
    """Adds up the time during which no new picture comes: one jump of a clock can make a video endless."""

    def __init__(self, path: Path):
        self._path = path
        self._total = 0.0

    def add(self, seconds: float) -> None:
        """Take the time from one picture to the next, or that for which the last one is shown.

        Raises:
            VideoLimitError: it is too much, in all.
        """
        if seconds <= _STILL:
            return
        self._total += seconds
        if self._total > LONGEST_STILL:
            raise VideoLimitError(
                f"{self._path} jumps in time: {self._total:,.0f} s without a new picture; at most "
                f"{LONGEST_STILL:,.0f} s in all are taken for a pause. {_REMEDY}"
            )


def read_packets(path: Path, container: Any, stream: Any) -> Iterator[Any]:
    """Give the packets of a stream; a file that leads back to its own beginning is not followed for ever.

    Raises:
        VideoLimitError: more was read than the file can hold.
        av.error.FFmpegError: it is damaged.
    """
    return _counted(path, container.demux(stream), _AGAIN * path.stat().st_size + _SLACK)


def _counted(path: Path, packets: Iterable[Any], most: int) -> Iterator[Any]:
    for packet in packets:
        most -= packet.size + 1
        if most < 0:
            raise VideoLimitError(f"{path} repeats itself: it gives more pictures than it has bytes for. {_REMEDY}")
        yield packet
