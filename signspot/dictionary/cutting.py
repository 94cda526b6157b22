"""Exemplars cut out of longer footage: a short video or `.pose` file for each, with a margin around the sign."""

import math
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from signspot.errors import EmptyVideoError, VideoError
from signspot.io.files import content_digest
from signspot.landmarks.cache import CacheEntry
from signspot.landmarks.estimators import usual_estimator
from signspot.landmarks.landmarks import DEFAULT_FPS, Landmarks
from signspot.landmarks.pose_file import is_pose_file, write_landmarks
from signspot.landmarks.video_estimation import estimation_version, has_landmarks, landmarks_of
from signspot.types import Exemplar, Origin, Segment
from signspot.video import VIDEO_SUFFIXES
from signspot.video.reader import open_video
from signspot.video.writer import VideoWriter

MARGIN = 0.5  # seconds that are kept before and after a sign
_LONGER = 1.0  # seconds: what is longer than its sign with margins by less is copied as it is


def is_cut(exemplar: Exemplar) -> bool:
    """Whether an exemplar is a part of longer footage.

    Raises:
        VideoError: its video cannot be read.
        FormatError: its `.pose` file cannot be read.
    """
    if exemplar.path is None or exemplar.segment is None:
        return False
    if is_pose_file(exemplar.path):
        duration = _landmarks(exemplar.path, _changed(exemplar.path)).duration
    else:
        with open_video(exemplar.path) as video:
            duration = video.info.duration
    return duration > exemplar.segment.duration + 2 * MARGIN + _LONGER


def origin_of(exemplar: Exemplar) -> Origin | None:
    """The footage in which the segment of an exemplar lies; None without a segment or a file.

    A video and a `.pose` file of one name beside each other are one footage: either may be the one that is searched.
    """
    path = exemplar.path
    if exemplar.segment is None or path is None:
        return None
    suffixes = VIDEO_SUFFIXES if is_pose_file(path) else {".pose"}
    files = (path, *(path.with_suffix(suffix) for suffix in sorted(suffixes)))
    return Origin(tuple(content_digest(file) for file in files if file.is_file()), exemplar.segment)


def videos_to_estimate(exemplars: Iterable[Exemplar], cache: Path) -> list[Path]:
    """Videos whose exemplars, with their margins, are together as long as they are, and that are not in the cache.

    It takes less time to estimate the landmarks of such a video once than those of each exemplar.
    """
    seconds: defaultdict[Path, float] = defaultdict(float)
    for exemplar in exemplars:
        if exemplar.path is not None and exemplar.segment is not None and not is_pose_file(exemplar.path):
            seconds[exemplar.path] += exemplar.segment.duration + 2 * MARGIN
    videos = []
    for path, longest in seconds.items():
        with suppress(VideoError), open_video(path) as video:  # what cannot be read is named when it is cut
            if video.info.duration <= longest and not has_landmarks(path, cache):
                videos.append(path)
    return videos


def cut_exemplar(exemplar: Exemplar, target: Path, *, pixels: bool = True, cache: Path | None = None) -> Exemplar:
    """Write the part of a video that shows an exemplar, unless an earlier run has.

    Landmarks of the whole video that are in the cache serve for the part, too: it is not estimated again.

    Args:
        exemplar: with a path and a segment.
        target: the video to write; a `.pose` file gets this name, too.
        pixels: whether a video is written; else landmarks, to `<target>.pose`.
        cache: folder of landmarks.

    Returns:
        The exemplar with the new file, its segment in it, and the footage that it comes from.

    Raises:
        VideoError: the video cannot be read.
        OutputError: the target cannot be written.
    """
    assert exemplar.path is not None
    assert exemplar.segment is not None
    source, segment = exemplar.path, exemplar.segment
    start = math.floor(max(0.0, segment.start - MARGIN) * DEFAULT_FPS) / DEFAULT_FPS  # a frame of the landmarks
    part = Segment(start, segment.end + MARGIN)
    inside = Segment(round(segment.start - start, 3), round(segment.end - start, 3))
    origin = origin_of(exemplar)
    assert origin is not None
    cut = replace(exemplar, segment=inside, origins=(*exemplar.origins, origin))
    if is_pose_file(source):
        if not target.is_file():
            write_landmarks(_part(_landmarks(source, _changed(source)), part, source), target)
        return replace(cut, path=target)
    if not pixels:
        path = target.with_name(f"{target.name}.pose")
        if not path.is_file():
            write_landmarks(_part(_landmarks(source, _changed(source), cache), part, source), path)
        return replace(cut, path=path)
    path = target.with_suffix(".mp4")
    if not path.is_file():
        _write_part(source, part, path)
        if cache is not None and has_landmarks(source, cache):
            landmarks = _part(_landmarks(source, _changed(source), cache), part, source)
            entry = CacheEntry.of(path, cache, estimation_version(usual_estimator()), DEFAULT_FPS, None)
            assert entry is not None
            for _ in entry.keep(iter([landmarks])):
                pass
    return replace(cut, path=path)


def _write_part(source: Path, part: Segment, target: Path) -> None:
    with open_video(source) as video, VideoWriter(target, video.info.fps or DEFAULT_FPS) as writer:
        for frame in video.resampled(video.info.fps or DEFAULT_FPS, part):
            writer.add(frame.image)


def _part(landmarks: Landmarks, part: Segment, source: Path) -> Landmarks:
    """The frames of a part, their times from 0."""
    half = 0.5 / landmarks.fps
    frames = landmarks.between(Segment(max(0.0, part.start - half), part.end))
    if not len(frames):
        raise EmptyVideoError(f"{source.name} holds no frame between {part.start:g} and {part.end:g} s")
    return replace(frames, times=frames.times - frames.times[0])


def _changed(path: Path) -> int:
    """When a file was changed last: landmarks in memory are those of this very file."""
    return path.stat().st_mtime_ns


@lru_cache(maxsize=1)  # signs of one video follow each other
def _landmarks(path: Path, changed: int, cache: Path | None = None) -> Landmarks:
    return landmarks_of(path, cache)
