"""Looks whether a fetched file is a video, and a whole one; only its first frames are decoded."""

from pathlib import Path

import av
from av.error import FFmpegError

from signspot.dictionary.download import page_problem
from signspot.dictionary.structure import announced_size
from signspot.errors import VideoError
from signspot.video.reader import open_video

_TOLERANCE = 0.5  # seconds that a video may end before the end its header announces


def video_problem(path: Path) -> str | None:
    """What is wrong with a video file, an end that is missing included; None if nothing is."""
    size = path.stat().st_size
    with path.open("rb") as file:
        wrong = page_problem(file.read(512)) if size else "the file is empty"
        whole = announced_size(file, size)
    if wrong:
        return wrong
    try:
        with open_video(path) as video:
            announced = video.info.duration
        reached = _end_of_packets(path)
    except (VideoError, FFmpegError):
        return "it is no video that can be read, or it is cut off"
    if whole > size:
        return f"it is cut off: {size:,} of {whole:,} bytes are there"
    if reached < announced - max(_TOLERANCE, 0.05 * announced):
        return f"it is cut off: {reached:.1f} s of {announced:.1f} s are there"
    return None


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
