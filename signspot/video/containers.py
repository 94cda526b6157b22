"""Opening and reading of video files: limits on what a file may ask for, and one clear line for every fault.

Files are decoded in the process that asks, with these limits: pixels and bytes of a picture, hours, still time, bytes
read again and again, seconds without a frame. What cannot be limited here is a single call into FFmpeg that hangs or
crashes, and memory for the tables of a container, which grows with the size of the file. Whoever reads files of others
(the server) does so in `signspot.io.sandbox`.
"""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import av

from signspot.errors import EmptyVideoError, NotAVideoError, VideoError, VideoLimitError

_log = logging.getLogger(__name__)

MOST_PIXELS = 8192 * 4608  # of one picture: 8K and a little more
MOST_BYTES = 160_000_000  # of one decoded picture: 8K in 10 bits, with half the colours
LONGEST = 100 * 3600.0  # seconds of a video
LONGEST_STILL = 3600.0  # seconds in all without a new picture; no signing has so many
_STILL = 10.0  # seconds after which a picture counts as still
_AGAIN = 2  # times the file's size that its packets may have in all; more is a file that repeats itself
_SLACK = 1 << 16  # bytes
FRAME_SECONDS = 30.0  # of decoding without one frame
SCAN_SECONDS, _SCAN_RATE = 30.0, 5e6  # for reading all packets of a file: seconds, and bytes per second
_REMEDY = "Encode it again, or leave it out."
_ADVICE = "Give a video file such as .mp4, .mov, .webm, .mkv or .avi."

# The only formats that are opened. Others are text, playlists and manifests that point elsewhere, patterns of names,
# devices and network streams; sound and pictures are here so that the message can say what they are.
_VIDEO_FORMATS = (
    *("3g2", "3gp", "asf", "asf_o", "av1", "avi", "dv", "flv", "gif", "gxf", "h263", "h264", "hevc", "ivf", "live_flv"),
    *("m4a", "m4v", "matroska", "mj2", "mjpeg", "mov", "mp4", "mpeg", "mpegts", "mpegvideo", "mxf", "nsv", "nut"),
    *("nuv", "obu", "ogg", "rm", "vc1", "webm", "wtv", "yuv4mpegpipe"),
)
_SOUND_FORMATS = ("aac", "ac3", "aiff", "amr", "ape", "au", "caf", "eac3", "flac", "mp3", "w64", "wav", "wv")
_PICTURE_FORMATS = tuple(sorted(name for name in av.formats_available if name.endswith("_pipe")))
_READING = {
    "protocol_whitelist": "file",
    "format_whitelist": ",".join((*_VIDEO_FORMATS, *_SOUND_FORMATS, *_PICTURE_FORMATS)),
}
_DECODING = {"max_pixels": str(MOST_PIXELS)}  # asked for before memory is
_READ_TIMEOUT = 60.0  # seconds that one reading from the disk may take

# Decoding frames in parallel keeps at least one frame per thread in memory: too much beyond this many pixels.
_PIXELS_FOR_PARALLEL_FRAMES = 4096 * 2304


@contextmanager
def open_container(path: Path, *, parallel: bool = True) -> Iterator[tuple[Any, Any]]:
    """Open a file for reading only, and give its PyAV container and its video stream; nothing else is opened.

    Args:
        path: the file.
        parallel: decode on all cores; not worth it for a few frames.

    Raises:
        NotAVideoError: it is not a video, a picture, or holds only sound.
        EmptyVideoError: it holds no byte.
        VideoError: it is missing, a folder, unreadable, damaged, or its codec is unknown.
    """
    check_file(path)
    try:
        container = _open(path, "r", _READING, options=_DECODING, timeout=_READ_TIMEOUT)
    except av.error.FFmpegError as error:
        raise _explain_open_failure(path, error) from error
    with container:
        stream = _video_stream(path, container)
        check_pixels(path, stream.width, stream.height)
        small = stream.width * stream.height <= _PIXELS_FOR_PARALLEL_FRAMES
        stream.thread_type = "AUTO" if small and parallel else "SLICE"
        stream.codec_context.options = _DECODING
        yield container, stream


def create_container(path: Path, options: dict[str, str]) -> Any:
    """Open a new file for writing; the suffix says in which format.

    Raises:
        av.error.FFmpegError: it cannot be written, or the suffix is unknown.
    """
    return _open(path, "w", options)


def _open(path: Path, mode: Literal["r", "w"], container_options: dict[str, str], **more: Any) -> Any:
    """The one call of `av.open`. An absolute path is never taken for a protocol ("http:", "concat:")."""
    absolute = os.path.abspath(path)  # noqa: PTH100 (a link keeps its own name in messages)
    return av.open(absolute, mode, container_options=container_options, metadata_errors="replace", **more)


def decode_packets(path: Path, container: Any, stream: Any) -> Iterator[Any]:
    """Decode frame after frame in the order of showing; what is damaged is left out, with one warning.

    Raises:
        VideoLimitError: no frame comes for long; the time for which the caller holds a frame does not count.
    """
    damaged, start = 0, time.monotonic()
    for packet in _undamaged_packets(path, container, stream):
        damaged += packet.is_corrupt
        try:
            frames = packet.decode()
        except av.error.EOFError:  # the end was reached before
            break
        except av.error.FFmpegError as error:
            damaged += 1
            frames = []
            _log.debug("%s: a packet cannot be decoded: %s", path, error)
        for frame in frames:
            yield frame
            start = time.monotonic()
        if time.monotonic() - start > FRAME_SECONDS:
            raise VideoLimitError(f"{path} cannot be read: no frame in {FRAME_SECONDS:.0f} s of decoding. {_REMEDY}")
    if damaged:
        _log.warning("%s is damaged in %d places: frames there are missing or wrong.", path, damaged)


def _undamaged_packets(path: Path, container: Any, stream: Any) -> Iterator[Any]:
    try:
        yield from read_packets(path, container, stream)
    except av.error.FFmpegError as error:
        _log.warning("%s is damaged or cut off: reading stops early (%s).", path, _reason(error))
        yield _flush_packet(stream)


def _flush_packet(stream: Any) -> Any:
    """A packet without content, which makes the decoder give the frames that it still holds."""
    packet = av.Packet()
    packet.stream = stream
    return packet


def read_packets(path: Path, container: Any, stream: Any, *, timeout: float | None = None) -> Iterator[Any]:
    """Give the packets of a stream; a file that leads back to its own beginning is not followed for ever.

    Args:
        path: of the file.
        container: as `open_container` gives it.
        stream: as `open_container` gives it.
        timeout: seconds for all packets; None: without one, for `decode_packets` has its own.

    Raises:
        VideoLimitError: more was read than the file can hold, or it took too long.
        av.error.FFmpegError: it is damaged.
    """
    most, start = _AGAIN * path.stat().st_size + _SLACK, time.monotonic()
    try:
        for packet in container.demux(stream):
            most -= packet.size + 1
            if most < 0:
                raise VideoLimitError(f"{path} repeats itself: it gives more pictures than it has bytes for. {_REMEDY}")
            if timeout is not None and time.monotonic() - start > timeout:
                raise VideoLimitError(f"{path} cannot be read: it took more than {timeout:.0f} s. {_REMEDY}")
            yield packet
    except IndexError:  # PyAV, at the end of a file in which a stream turned up late
        yield _flush_packet(stream)


def scan_packets(path: Path, container: Any, stream: Any) -> Iterator[Any]:
    """Give the packets of a stream, to be looked at and not decoded, with a time limit for all of them.

    Raises:
        VideoLimitError: as `read_packets`.
        av.error.FFmpegError: as `read_packets`.
    """
    timeout = SCAN_SECONDS + path.stat().st_size / _SCAN_RATE
    return read_packets(path, container, stream, timeout=timeout)


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
    """Refuse decoded pictures, of type `av.VideoFrame`, that store more per pixel than videos do.

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
                f"{LONGEST_STILL:,.0f} s in total count as pauses. {_REMEDY}"
            )


def check_file(path: Path) -> None:
    """Check a path before anything is decoded.

    Raises:
        EmptyVideoError: it holds no byte.
        VideoError: it is missing, a folder, a device or unreadable.
    """
    try:
        if path.is_dir():
            raise VideoError(f"cannot read {path}: it is a folder. Name a video file in it.")
        if not path.exists():
            raise VideoError(f"cannot read {path}: there is no such file. Check the path.")
        if not path.is_file():
            raise VideoError(f"cannot read {path}: it is not a regular file. {_ADVICE}")
        with path.open("rb") as file:
            if not file.read(1):
                raise EmptyVideoError(f"{path} is empty (0 bytes). Copy or download it again.")
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        raise VideoError(f"cannot read {path}: {_reason(error)}. Check the path and its permissions.") from error


def _explain_open_failure(path: Path, error: Exception) -> VideoError:
    if isinstance(error, OSError):
        return VideoError(f"cannot read {path}: {_reason(error)}. Check the file and its permissions.")
    with path.open("rb") as file:
        head = file.read(12)
    has_video_header = (
        head[4:8] == b"ftyp" or head[:4] == b"\x1a\x45\xdf\xa3" or (head[:4], head[8:]) == (b"RIFF", b"AVI ")
    )
    if has_video_header and isinstance(error, av.error.EOFError):
        return EmptyVideoError(f"{path} holds no frame: it ends before the first. Copy or download it again.")
    if has_video_header:
        return VideoError(f"{path} is cut off or damaged: nothing in it can be read. Copy or download it again.")
    return NotAVideoError(f"{path} is not a video: its format is unknown. {_ADVICE}")


def _video_stream(path: Path, container: Any) -> Any:
    name = container.format.name
    if name in _PICTURE_FORMATS:
        raise NotAVideoError(f"{path} is a picture, not a video. {_ADVICE}")
    if not len(container.streams):
        raise EmptyVideoError(f"{path} holds neither frames nor sound. Make it again.")
    streams = [s for s in container.streams.video if not _is_cover(s)]
    if not streams and container.streams.audio:
        raise NotAVideoError(f"{path} is audio only: it holds sound and no picture. {_ADVICE}")
    if not streams:
        raise NotAVideoError(f"{path} holds no video stream. {_ADVICE}")
    best = container.streams.best("video")
    stream = best if best in streams else streams[0]
    if stream.codec_context is None:
        raise VideoError(f"cannot decode {path}: its video codec is unknown. Convert it to H.264 in .mp4 first.")
    return stream


def _is_cover(stream: Any) -> bool:
    """Whether a stream is a still cover picture, as music files carry."""
    return bool(stream.disposition & av.stream.Disposition.attached_pic)


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return str(text).rstrip(".").lower()
