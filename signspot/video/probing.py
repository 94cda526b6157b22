"""Facts about a video file before its frames are used: size, rate, duration, orientation, and whether it is whole."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import IO, Any

import av
import numpy as np
from numpy.typing import NDArray

from signspot.errors import EmptyVideoError, VideoError, VideoLimitError
from signspot.video.clock import Clock, Timing, container_origin
from signspot.video.containers import (
    LONGEST,
    MOST_PIXELS,
    StillTime,
    check_bytes,
    check_duration,
    check_pixels,
    decode_packets,
    open_container,
    scan_packets,
)

Image = NDArray[np.uint8]
_FALLBACK_RATE = Fraction(25)
_LOWEST_RATE = Fraction(1, 60)  # a rate below is a lie, or no signing
_HIGHEST_RATE = 1000  # a rate above is a guess from the tick of the file, not of its frames
_FIRST_FRAMES = 3  # decoded to see whether the file has timestamps
_SPARSE_TIMESTAMPS = {"mpeg"}  # most frames get theirs from those before, which a seek leaves out
_STRETCH = (Fraction(1, 4), Fraction(4))  # pixel aspects beyond are taken for mistakes

_MOST_BOXES = 100_000
_MOST_HEADER = 1 << 24  # bytes of a header that are searched
_FIRST_BOXES = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip")
_TOLERANCE = 0.5  # seconds that a video may end before the end its header announces
_MATROSKA, _SEGMENT = b"\x1a\x45\xdf\xa3", b"\x18\x53\x80\x67"


@dataclass(frozen=True, slots=True)
class Orientation:
    """One of the eight ways in which a picture can lie: transposed first, then flipped."""

    transposed: bool = False
    flipped_across: bool = False  # left and right change places
    flipped_down: bool = False  # top and bottom change places

    @property
    def degrees(self) -> int:
        """Clockwise turn that brings the stored picture upright: 0, 90, 180 or 270 (mirroring left out)."""
        if self.transposed:
            return 90 if self.flipped_across else 270
        return 180 if self.flipped_down else 0

    def displayed(self, width: int, height: int) -> tuple[int, int]:
        """The width and height of a stored picture once it is upright (or the way back)."""
        return (height, width) if self.transposed else (width, height)

    def upright(self, image: Image) -> Image:
        """(H, W, 3) stored picture -> (H, W, 3) or (W, H, 3) upright and contiguous."""
        if self == Orientation():
            return np.ascontiguousarray(image)
        import cv2  # only rotated videos need it; several times as fast as copying a numpy view

        if self.transposed:
            image = cv2.transpose(image)
        if self.flipped_across or self.flipped_down:
            both = self.flipped_across and self.flipped_down
            image = cv2.flip(image, -1 if both else int(self.flipped_across))
        return np.ascontiguousarray(image)


def orientation_of(frame: Any) -> Orientation:
    """Read the orientation from a decoded frame; turns that are not a quarter turn go to the nearest one."""
    for data in frame.side_data:
        if data.type.name == "DISPLAYMATRIX":
            return from_display_matrix(np.frombuffer(bytes(data), dtype=np.int32))
    return Orientation()


def from_display_matrix(matrix: NDArray[np.int32]) -> Orientation:
    """Turn a display matrix (9,) into an orientation.

    The matrix sends a stored pixel (x, y) to (a x + c y, b x + d y), y pointing down, with a, b at 0, 1 and
    c, d at 3, 4.
    """
    a, b, c, d = (int(matrix[index]) for index in (0, 1, 3, 4))
    if abs(a) + abs(d) >= abs(b) + abs(c):
        return Orientation(flipped_across=a < 0, flipped_down=d < 0)
    return Orientation(transposed=True, flipped_across=c < 0, flipped_down=b < 0)


@dataclass(frozen=True, slots=True)
class VideoInfo:
    """Facts about a video, from its file."""

    path: Path
    width: int  # pixels as shown: upright, with square pixels
    height: int
    fps: float  # frames per second, on average
    duration: float  # seconds; what is really there is known only once it is read
    frames: int | None  # an estimate where the file does not say
    rotation: int  # degrees clockwise by which stored frames are turned
    codec: str
    has_audio: bool
    pixel_format: str = ""  # FFmpeg's name for how colours are stored


@dataclass(frozen=True, slots=True)
class Source:
    """Facts about a file that reading needs."""

    info: VideoInfo
    timing: Timing
    orientation: Orientation


@dataclass(frozen=True, slots=True)
class _Extent:
    """Extent of a video."""

    end: float  # seconds since the container's start
    frames: int | None
    rate: Fraction


def probe(path: Path) -> Source:
    """Read what a file says of itself and decode its first frames.

    Raises:
        EmptyVideoError: no frame can be decoded.
        VideoError: as `open_container`; or it asks for more than `limits` allow.
    """
    with open_container(path, parallel=False) as (container, stream):
        first = []
        for picture in islice(decode_packets(path, container, stream), _FIRST_FRAMES):
            check_bytes(path, picture)
            first.append(picture)
        if not first:
            raise EmptyVideoError(
                f"{path} holds no frame that can be decoded: it is damaged, or its pictures have more than "
                f"{MOST_PIXELS / 1e6:.1f} million pixels. Copy or download it again."
            )
        check_pixels(path, first[0].width, first[0].height)
        origin = container_origin(container, stream)
        counted = all(frame.pts is None for frame in first) or _reordered_avi(container, stream)
        extent = _stated_extent(container, stream, origin) or _scanned_extent(path, origin)
        if extent.end > LONGEST:  # before it is believed
            extent = _scanned_extent(path, origin)
        check_duration(path, extent.end)
        seekable = not counted and container.format.name not in _SPARSE_TIMESTAMPS
        timing = Timing(stream.time_base, origin, float(1 / extent.rate), counted, seekable)
        orientation = orientation_of(first[0])
        width, height = orientation.displayed(*_square_pixels(first[0], stream))
        info = VideoInfo(
            path=path,
            width=width,
            height=height,
            fps=float(extent.rate),
            duration=max(extent.end, Clock(timing, path).timed(first[0]).end),
            frames=extent.frames,
            rotation=orientation.degrees,
            codec=stream.codec_context.name,
            has_audio=bool(container.streams.audio),
            pixel_format=first[0].format.name,
        )
    return Source(info, timing, orientation)


def _reordered_avi(container: Any, stream: Any) -> bool:
    """AVI stores no time of showing: where frames are reordered, its timestamps are in the wrong order."""
    return container.format.name == "avi" and bool(stream.codec_context.has_b_frames)


def _square_pixels(frame: Any, stream: Any) -> tuple[int, int]:
    """Width and height of a stored frame once its pixels are square, as players show it."""
    aspect = stream.sample_aspect_ratio or Fraction(1)
    if not _STRETCH[0] <= aspect <= _STRETCH[1] or frame.width * frame.height * aspect > MOST_PIXELS:
        aspect = Fraction(1)
    return max(1, round(frame.width * aspect)), int(frame.height)


def _stated_extent(container: Any, stream: Any, origin: Fraction) -> _Extent | None:
    """Extent by the header; None where it does not say when the video ends."""
    if stream.duration:
        start = stream.start_time * stream.time_base if stream.start_time is not None else origin
        end = float(start - origin + stream.duration * stream.time_base)
    elif container.duration and container.duration > 0:
        end = container.duration / 1_000_000
    else:
        return None
    frames = int(stream.frames) or None
    rate = _measured_rate(frames, end) if frames and frames > 1 else None
    rate = rate or _stated_rate(stream)
    return _Extent(end, frames or max(1, round(end * rate)), rate)


def _scanned_extent(path: Path, origin: Fraction) -> _Extent:
    """Look at every packet, undecoded, where the header is silent, as in a browser's .webm."""
    with open_container(path, parallel=False) as (container, stream):
        packets = (packet for packet in _readable(scan_packets(path, container, stream)) if packet.size)
        count, last, base = 0, None, stream.time_base
        for packet in packets:
            count += 1
            if packet.pts is not None:
                last = max(packet.pts * base - origin, last or Fraction(0))
        rate = _stated_rate(stream)
    if last and count > 1:
        rate = _measured_rate(count - 1, float(last)) or rate
        return _Extent(float(last + 1 / rate), count, rate)
    return _Extent(float(count / rate), count, rate)


def _readable(packets: Iterable[Any]) -> Iterator[Any]:
    try:
        yield from packets
    except av.error.FFmpegError:  # as when they are decoded: what can be read counts
        return


def end_of_packets(path: Path) -> float:
    """Read all packets, undecoded; give the end of the last picture that is there, in seconds since the first.

    Raises:
        VideoError: it cannot be read to its end, or has no times.
    """
    with open_container(path, parallel=False) as (container, stream):
        first: int | None = None
        last = 0
        still = StillTime(path)
        for packet in _whole_packets(path, container, stream):
            time = packet.pts if packet.pts is not None else packet.dts
            if packet.size and time is not None and not packet.is_corrupt:
                if first is not None:
                    still.add(float((time + (packet.duration or 0) - last) * stream.time_base))
                first = time if first is None else min(first, time)
                last = max(last, time + (packet.duration or 0))
    if first is None:
        raise VideoError(f"{path} has no picture with a time. Make it again.")
    return float((last - first) * stream.time_base)


def _whole_packets(path: Path, container: Any, stream: Any) -> Iterator[Any]:
    try:
        yield from scan_packets(path, container, stream)
    except av.error.FFmpegError as error:
        raise VideoError(f"{path} cannot be read to its end ({error}). Copy or download it again.") from error


def _measured_rate(frames: int, seconds: float) -> Fraction | None:
    rate = Fraction(frames / seconds).limit_denominator(1001) if seconds > 0 else None
    return rate if rate and _LOWEST_RATE <= rate < _HIGHEST_RATE else None


def _stated_rate(stream: Any) -> Fraction:
    for rate in (stream.average_rate, stream.guessed_rate):
        if rate and _LOWEST_RATE <= rate < _HIGHEST_RATE:
            return Fraction(rate)
    return _FALLBACK_RATE


def announced_size(file: IO[bytes], size: int) -> int:
    """The bytes that a file of `size` bytes should have by its own structure; 0 where it does not tell."""
    file.seek(0)
    head = file.read(12)
    if head[:4] == _MATROSKA:
        return _matroska_size(file)
    if head[:4] == b"RIFF":
        return 8 + int.from_bytes(head[4:8], "little")
    if head[4:8] in _FIRST_BOXES:
        return max((start + length for _, start, length in _boxes(file, size)), default=0)
    return 0


def shows_pictures(path: Path) -> bool:
    """Whether the structure of a file is whole and tells of pictures. False where this cannot be seen so easily."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(8192)
        if not 0 < announced_size(file, size) <= size:
            return False
        if head[:4] == _MATROSKA:
            return b"V_" in head  # how the names of picture codecs begin
        if head[:4] == b"RIFF":
            return b"vids" in head
        boxes = {name: (start, length) for name, start, length in _boxes(file, size)}
        start, length = boxes.get(b"moov", (0, 0))
        file.seek(start)
        return b"mdat" in boxes and b"vide" in file.read(min(length, _MOST_HEADER))


def _boxes(file: IO[bytes], size: int) -> Iterator[tuple[bytes, int, int]]:
    """The boxes of MP4 and MOV: name, first byte, length."""
    start = 0
    for _ in range(_MOST_BOXES):
        if start + 8 > size:
            return
        file.seek(start)
        length, name = int.from_bytes(file.read(4)), file.read(4)
        if length == 1:  # the real one follows the name
            length = int.from_bytes(file.read(8))
        if length == 0:
            length = size - start
        if length < 8:
            return
        yield name, start, length
        start += length


def _matroska_size(file: IO[bytes]) -> int:
    """Of Matroska and WebM: the end of the segment; browsers record it without."""
    file.seek(4)
    file.seek(_variable_number(file) or 0, 1)
    if file.read(4) != _SEGMENT:
        return 0
    segment = _variable_number(file)
    return 0 if segment is None else file.tell() + segment


def _variable_number(file: IO[bytes]) -> int | None:
    """A number whose first byte tells its width; None where all its bits are set: unknown."""
    first = int.from_bytes(file.read(1))
    width = 9 - first.bit_length()
    if not 1 <= width <= 8:
        return None
    mask = (1 << (7 * width)) - 1
    value = int.from_bytes(bytes([first]) + file.read(width - 1)) & mask
    return None if value == mask else value


def header_problem(path: Path) -> str | None:
    """The fault of a video file as far as its header tells; None if there is none."""
    try:
        if not path.is_file():
            return "a folder, not a file" if path.is_dir() else "no such file"
        if path.stat().st_size == 0:
            return "the file is empty"
        if shows_pictures(path):
            return None  # a hundred times as fast as opening it, for dictionaries of thousands
        with open_container(path, parallel=False) as (_, stream):
            return None if stream.codec_context.width > 0 else "no picture size in its header"
    except VideoError as error:
        return str(error).removeprefix(f"{path} ").removeprefix("is ").partition(". ")[0]
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"


def video_problem(path: Path) -> str | None:
    """The fault of a video file, a missing end included; None if there is none."""
    size = path.stat().st_size
    with path.open("rb") as file:
        wrong = page_problem(file.read(512)) if size else "the file is empty"
        whole = announced_size(file, size)
    if wrong:
        return wrong
    try:
        announced = probe(path).info.duration
        reached = end_of_packets(path)
    except VideoLimitError as error:
        return str(error).removeprefix(f"{path} ").partition(". ")[0]
    except VideoError:
        return "it is not a readable video, or it is cut off"
    if whole > size:
        return f"it is cut off: {size:,} of {whole:,} bytes are there"
    if reached < announced - max(_TOLERANCE, 0.05 * announced):
        return f"it is cut off: {reached:.1f} s of {announced:.1f} s are there"
    return None


def page_problem(head: bytes) -> str | None:
    """Whether the first bytes are those of a web page, or other text, and not of a video."""
    start = head[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<body", b"<script", b"<!--")):
        return "the server sent a web page, not a video"
    return "the server sent text, not a video" if start.startswith((b"{", b"[")) else None
