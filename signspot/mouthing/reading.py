"""From a video or a `.pose` file to lips: landmarks are streamed, only the lips are kept."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from signspot.landmarks.estimate import stream_landmarks
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import stream_pose_file
from signspot.landmarks.resampling import resample_stream
from signspot.landmarks.stretches import MAX_SIDE
from signspot.mouthing.lips import FPS, LipTrack, follow_lips
from signspot.progress import Progress, silent
from signspot.video.reader import open_video

Source = str | PathLike[str] | Landmarks
_CHUNK = 512  # landmark frames that are read at once


def read_lips(source: Source, cache: Path | None = None, progress: Progress = silent) -> LipTrack:
    """Follow the lips through a source, in memory that grows by the lips alone, 64 bytes a frame.

    Args:
        source: a video, a `.pose` file, or landmarks.
        cache: folder of landmarks, so that a video's are estimated once; None: no cache.
        progress: told the frames done.

    Raises:
        VideoError: the video cannot be read.
        LandmarksError: no face is seen, or only from the side, or the landmarks lack points of the face.
    """
    name = "this landmarks record" if isinstance(source, Landmarks) else Path(source).name
    return follow_lips(resample_stream(_stream(source, cache, progress), FPS), name)


def _stream(source: Source, cache: Path | None, progress: Progress) -> Iterator[Landmarks]:
    done = 0
    if isinstance(source, Landmarks):
        yield from (source[first : first + _CHUNK] for first in range(0, len(source), _CHUNK))
        return
    if Path(source).suffix.lower() == ".pose":
        yield from stream_pose_file(source, _CHUNK)
        return
    with open_video(source, max_side=MAX_SIDE) as video:
        total = max(1, round(video.info.duration * FPS)) if video.info.duration else None
        for chunk in stream_landmarks(video, FPS, cache=cache):
            yield chunk
            done += len(chunk)
            progress(done, total)
