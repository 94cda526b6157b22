"""Opening a video file: the road's first step, where every way a file can be wrong gets one clear line."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import av

from signspot.errors import EmptyVideoError, NotAVideoError, VideoError
from signspot.video.limits import MOST_PIXELS, check_pixels, read_packets

_log = logging.getLogger(__name__)

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
_PATIENCE = 60.0  # seconds that one reading from the disk may take

# Decoding frames in parallel keeps at least one frame per thread in memory: too much beyond this many pixels.
_PIXELS_FOR_PARALLEL_FRAMES = 4096 * 2304


@contextmanager
def open_container(path: Path, *, parallel: bool = True) -> Iterator[tuple[Any, Any]]:
    """Open a file for reading only, and give its PyAV container and its video stream; nothing else is opened.

    Args:
        path: the file.
        parallel: decode on all cores; not worth it for a few frames.

    Raises:
        NotAVideoError: it is no video, a picture, or holds only sound.
        EmptyVideoError: it holds no byte.
        VideoError: it is missing, a folder, unreadable, damaged, or its codec is unknown.
    """
    check_file(path)
    try:
        container = _open(path, "r", _READING, options=_DECODING, timeout=_PATIENCE)
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
    """Decode frame after frame in the order of showing; what is damaged is passed over, with one warning."""
    damaged = 0
    for packet in _undamaged_packets(path, container, stream):
        damaged += packet.is_corrupt
        try:
            yield from packet.decode()
        except av.error.EOFError:  # it was told already that nothing follows
            break
        except av.error.FFmpegError as error:
            damaged += 1
            _log.debug("%s: a packet cannot be decoded: %s", path, error)
    if damaged:
        _log.warning("%s is damaged in %d places: frames there are missing or wrong.", path, damaged)


def _undamaged_packets(path: Path, container: Any, stream: Any) -> Iterator[Any]:
    try:
        yield from read_packets(path, container, stream)
    except av.error.FFmpegError as error:
        _log.warning("%s is damaged or cut off: reading stops early (%s).", path, _reason(error))
        yield _flush_packet(stream)
    except IndexError:  # PyAV, at the end of a file in which a stream turned up late
        yield _flush_packet(stream)


def _flush_packet(stream: Any) -> Any:
    """A packet without content, which makes the decoder give the frames that it still holds."""
    packet = av.Packet()
    packet.stream = stream
    return packet


def check_file(path: Path) -> None:
    """Tell what is wrong with a path before anything is decoded.

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
    known = head[4:8] == b"ftyp" or head[:4] == b"\x1a\x45\xdf\xa3" or (head[:4], head[8:]) == (b"RIFF", b"AVI ")
    if known and isinstance(error, av.error.EOFError):
        return EmptyVideoError(f"{path} holds no frame: it ends before the first. Copy or download it again.")
    if known:
        return VideoError(f"{path} is cut off or damaged: nothing in it can be read. Copy or download it again.")
    return NotAVideoError(f"{path} is not a video: its content is of no known video format. {_ADVICE}")


def _video_stream(path: Path, container: Any) -> Any:
    name = container.format.name
    if name in _PICTURE_FORMATS:
        raise NotAVideoError(f"{path} is a picture, not a video. {_ADVICE}")
    if not len(container.streams):
        raise EmptyVideoError(f"{path} holds no frame, nor sound: it is an empty shell. Make it again.")
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
