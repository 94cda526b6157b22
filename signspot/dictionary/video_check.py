"""Looks whether a fetched file is a video, and a whole one; only its first frames are decoded."""

from pathlib import Path
from typing import IO

import av
from av.error import FFmpegError

from signspot.dictionary.download import page_problem
from signspot.errors import VideoError
from signspot.video.reader import open_video

_TOLERANCE = 0.5  # seconds that a video may end before the end its header announces
_MOST_BOXES = 100_000


def video_problem(path: Path) -> str | None:
    """What is wrong with a video file, an end that is missing included; None if nothing is."""
    size = path.stat().st_size
    with path.open("rb") as file:
        wrong = page_problem(file.read(512)) if size else "the file is empty"
        announced_size = _announced_size(file, size) if not wrong else 0
    if wrong:
        return wrong
    try:
        with open_video(path) as video:
            announced = video.info.duration
        reached = _end_of_packets(path)
    except (VideoError, FFmpegError):
        return "it is no video that can be read, or it is cut off"
    if announced_size > size:
        return f"it is cut off: {size:,} of {announced_size:,} bytes are there"
    if reached < announced - max(_TOLERANCE, 0.05 * announced):
        return f"it is cut off: {reached:.1f} s of {announced:.1f} s are there"
    return None


def _announced_size(file: IO[bytes], size: int) -> int:
    """The bytes that a file should have by its own structure; 0 where it does not tell."""
    file.seek(0)
    head = file.read(12)
    if head[:4] == b"\x1a\x45\xdf\xa3":
        return _matroska_size(file)
    if head[:4] == b"RIFF":
        return 8 + int.from_bytes(head[4:8], "little")
    return _boxes_size(file, size) if head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free") else 0


def _boxes_size(file: IO[bytes], size: int) -> int:
    """Of MP4 and MOV: the end of the last box."""
    end = 0
    for _ in range(_MOST_BOXES):
        if end + 8 > size:
            break
        file.seek(end)
        length = int.from_bytes(file.read(4))
        if length == 1:  # the real one follows the name
            file.seek(4, 1)
            length = int.from_bytes(file.read(8))
        if length < 8:  # 0: up to the end of the file
            break
        end += length
    return end


def _matroska_size(file: IO[bytes]) -> int:
    """Of Matroska and WebM: the end of the segment; browsers record it without."""
    file.seek(4)
    length = _variable_number(file)
    file.seek(length or 0, 1)
    if file.read(4) != b"\x18\x53\x80\x67":
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


def _end_of_packets(path: Path) -> float:
    """The end of the last picture that is there, in seconds since the first."""
    with av.open(str(path), metadata_errors="ignore") as container:
        stream = container.streams.video[0]
        first: int | None = None
        last = 0
        for packet in container.demux(stream):
            time = packet.pts if packet.pts is not None else packet.dts
            if packet.size and time is not None and not packet.is_corrupt:
                first = time if first is None else min(first, time)
                last = max(last, time + (packet.duration or 0))
    if first is None:
        raise VideoError(f"{path} has no picture with a time")
    return float((last - first) * stream.time_base)
