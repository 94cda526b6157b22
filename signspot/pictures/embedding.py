"""A video inside a page: as it is where browsers play it, else as a small copy."""

import logging
import tempfile
from base64 import b64encode
from pathlib import Path

from signspot.progress import Progress, silent
from signspot.video.reader import VideoInfo, open_video
from signspot.video.writer import VideoWriter

logger = logging.getLogger(__name__)

MOST_BYTES = 30_000_000  # of a video that is put into a page
_PLAYED = {".mp4": {"h264"}, ".m4v": {"h264"}, ".webm": {"vp8", "vp9", "av1"}}
_KINDS = {".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm"}
# Seconds up to which a copy has this longer side in pixels and these frames a second.
_COPIES = ((600.0, 640, 25.0), (1800.0, 426, 25.0), (float("inf"), 320, 12.5))


def data_address(path: Path, progress: Progress | None = None, most_bytes: int = MOST_BYTES) -> str | None:
    """Give the video as a `data:` address, or None where even a small copy is too large for a page.

    Raises:
        VideoError: it cannot be read.
    """
    with open_video(path) as video:
        info = video.info
    if _is_played(info) and path.stat().st_size <= most_bytes:
        return _address(path, _KINDS[path.suffix.lower()])
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.mp4"
        _write_copy(info, copy, progress or silent)
        if copy.stat().st_size > most_bytes:
            logger.warning("%s is too long for a page: its small copy has %d bytes", path, copy.stat().st_size)
            return None
        return _address(copy, "video/mp4")


def _is_played(info: VideoInfo) -> bool:
    """Whether every browser plays it: by container and codec, and 8 bits a colour for H.264."""
    if info.codec not in _PLAYED.get(info.path.suffix.lower(), set()):
        return False
    import av

    with av.open(str(info.path)) as container:
        return container.streams.video[0].pix_fmt in ("yuv420p", "yuvj420p")


def _write_copy(info: VideoInfo, target: Path, progress: Progress) -> None:
    side, fps = next((side, fps) for seconds, side, fps in _COPIES if info.duration <= seconds)
    total = max(1, round(info.duration * fps))
    with open_video(info.path, max_side=side) as video, VideoWriter(target, fps) as writer:
        for done, frame in enumerate(video.resampled(fps), start=1):
            writer.add(frame.image)
            progress(done, max(done, total))


def _address(path: Path, kind: str) -> str:
    return f"data:{kind};base64,{b64encode(path.read_bytes()).decode('ascii')}"
