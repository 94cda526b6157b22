"""Inspection of video files, without decoding them: whether a file is a video, and a whole one."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from signspot.errors import VideoError, VideoLimitError
from signspot.video.trial import try_header, try_source, try_to_the_end

_MOST_BOXES = 100_000
_MOST_HEADER = 1 << 24  # bytes of a header that are searched
_FIRST_BOXES = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip")
_TOLERANCE = 0.5  # seconds that a video may end before the end its header announces
_MATROSKA, _SEGMENT = b"\x1a\x45\xdf\xa3", b"\x18\x53\x80\x67"


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
        return None if try_header(path) else "no picture size in its header"
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
        announced = try_source(path).info.duration
        reached = try_to_the_end(path)
    except VideoLimitError as error:
        return str(error).removeprefix(f"{path} ").partition(". ")[0]
    except VideoError:
        return "it is no video that can be read, or it is cut off"
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
