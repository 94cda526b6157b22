"""From pixels to landmarks: MediaPipe Holistic over a video, streamed, cached, several videos at once."""

import hashlib
import json
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Literal

from signspot.errors import FormatError, LandmarksError, OptionsError, OutputError, SignspotError
from signspot.files import cache_folder, content_digest
from signspot.landmarks.holistic import Sight, Tracker, estimator_version, join_sights
from signspot.landmarks.landmarks import DEFAULT_FPS, Landmarks, concatenate
from signspot.landmarks.parallel import give_up_if_stopped, run_each
from signspot.landmarks.pose_file import open_landmarks, write_landmarks
from signspot.progress import Progress, silent
from signspot.timeline import Segment
from signspot.video.reader import Frame, Video, open_video

logger = logging.getLogger(__name__)

Cache = str | PathLike[str] | Literal["beside"] | None


def default_cache() -> Path:
    """The folder in which landmarks are kept unless another is named."""
    return cache_folder() / "landmarks"


class CacheEntry:
    """The place of one video's landmarks in a cache.

    Two runs may fill the same entry at once: each writes beside and renames, and both write the same.
    """

    def __init__(self, path: Path, origin: float):
        self.path = path
        self.origin = origin  # seconds at the first frame, which a `.pose` file does not keep

    @classmethod
    def of(cls, video: Path, cache: Cache, settings: str, fps: float, segment: Segment | None) -> "CacheEntry | None":
        """Name the entry of a video: in a folder, or beside the video; None without a cache."""
        if cache is None:
            return None
        span = [segment.start, segment.end] if segment else None
        how = hashlib.sha256(json.dumps([settings, fps, span]).encode()).hexdigest()[:12]
        key = f"{content_digest(video)}-{how}"
        origin = segment.start if segment else 0.0
        if cache == "beside":
            return cls(video.with_name(f"{video.name}.{key}.pose"), origin)
        return cls(Path(cache) / key[:2] / f"{key}.pose", origin)

    def read(self) -> Landmarks | None:
        """Give the landmarks; None where there are none yet, or where the file is damaged."""
        if not self.path.is_file():
            return None
        try:
            landmarks = open_landmarks(self.path)
        except (FormatError, LandmarksError) as error:
            logger.warning("damaged landmarks in the cache are made again: %s", error)
            return None
        return replace(landmarks, times=landmarks.times + self.origin)

    def write(self, landmarks: Landmarks) -> None:
        """Keep landmarks; a cache that cannot be written is no reason to stop."""
        try:
            write_landmarks(landmarks, self.path)
        except OutputError as error:
            logger.warning("landmarks are not kept in the cache: %s", error)


MAX_SIDE = 1280  # pixels; larger pictures are scaled down while they are decoded: the models see no more
_CHUNK = 64  # frames


def estimate_landmarks(
    video: str | PathLike[str] | Video,
    progress: Progress | None = None,
    *,
    fps: float = DEFAULT_FPS,
    segment: Segment | None = None,
    cache: Cache = None,
) -> Landmarks:
    """Estimate a signer's points in every frame of a video.

    Args:
        video: a path, or an open video.
        progress: called with the frames done and the frames in all.
        fps: frames a second to look at, whatever the video's own rate.
        segment: the part to look at; all of it if not given.
        cache: a folder that keeps landmarks for the next time (see `default_cache`), or "beside" to keep them
            beside the video; nothing is kept if not given.

    Returns:
        What was seen, NaN elsewhere. Use `check_signing` to make sure that there is a signer.

    Raises:
        VideoError: the video cannot be read.
    """
    if not isinstance(video, Video):
        with open_video(video, max_side=MAX_SIDE) as opened:
            return estimate_landmarks(opened, progress, fps=fps, segment=segment, cache=cache)
    entry = CacheEntry.of(video.info.path, cache, estimator_version(), fps, segment)
    landmarks = entry.read() if entry else None
    if landmarks is None:
        landmarks = concatenate(list(_reporting(video, fps, segment, progress or silent)))
        if entry:
            entry.write(landmarks)
    if progress:
        progress(len(landmarks), len(landmarks))
    return landmarks


def known_landmarks(video: Path, cache: Cache, fps: float = DEFAULT_FPS) -> Landmarks | None:
    """What an earlier `estimate_landmarks` of a whole video left in a cache; None if nothing."""
    entry = CacheEntry.of(video, cache, estimator_version(), fps, None) if video.is_file() else None
    return entry.read() if entry else None


def stream_landmarks(
    video: Video, fps: float = DEFAULT_FPS, segment: Segment | None = None, chunk: int = _CHUNK
) -> Iterator[Landmarks]:
    """Estimate landmarks as `estimate_landmarks` does, in chunks of up to `chunk` frames, in bounded memory."""
    size = (video.info.width, video.info.height)
    sights: list[Sight] = []
    times: list[float] = []
    with Tracker() as tracker:
        shown: Frame | None = None
        for frame in video.resampled(fps, segment):
            repeated = shown is not None and frame.image is shown.image and sights
            sights.append(sights[-1] if repeated else tracker.see(frame.image))
            times.append(frame.time)
            shown = frame
            if len(sights) == chunk:
                yield join_sights(sights, times, size)
                sights, times = [], []
    if sights:
        yield join_sights(sights, times, size)


def estimate_many(
    paths: Sequence[str | PathLike[str]],
    workers: int | None = None,
    progress: Progress | None = None,
    *,
    fps: float = DEFAULT_FPS,
    cache: Cache = None,
) -> Iterator[tuple[Path, Landmarks | SignspotError]]:
    """Estimate the landmarks of several videos at once.

    A script that calls this with more than one worker needs the usual `if __name__ == "__main__":`, since
    Python starts every worker afresh.

    Args:
        paths: videos.
        workers: processes, one for each core if not given; with 1, all happens in this process.
        progress: called with the videos done and the videos in all.
        fps: frames a second to look at.
        cache: see `estimate_landmarks`.

    Yields:
        Each path with its landmarks, or with what was wrong with it, as they become ready.
    """
    if workers is not None and workers < 1:
        raise OptionsError(f"workers must be at least 1; got {workers}")
    videos = [Path(path) for path in paths]
    crew = min(workers or os.cpu_count() or 1, len(videos))
    work = partial(_estimate_or_explain, fps=fps, cache=cache)
    results = run_each(work, videos, crew) if crew > 1 else ((video, work(video)) for video in videos)
    report = progress or silent
    for done, result in enumerate(results, 1):
        report(done, len(videos))
        yield result


def _estimate_or_explain(video: Path, *, fps: float, cache: Cache) -> Landmarks | SignspotError:
    try:
        return estimate_landmarks(video, give_up_if_stopped, fps=fps, cache=cache)
    except SignspotError as error:
        return error


def _reporting(video: Video, fps: float, segment: Segment | None, progress: Progress) -> Iterator[Landmarks]:
    """Stream in small chunks and report after each."""
    end = min(segment.end, video.info.duration) if segment else video.info.duration
    total = max(1, round((end - (segment.start if segment else 0.0)) * fps))
    done = 0
    for chunk in stream_landmarks(video, fps, segment, chunk=8):
        done += len(chunk)
        progress(done, max(done, total))
        yield chunk
