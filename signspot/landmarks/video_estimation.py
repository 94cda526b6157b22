"""From pixels to landmarks: an estimator over a video, streamed, cached, several videos at once.

A long video is estimated in sections, each by a tracker of its own, so that several cores can share it. A tracker sees
the second before its section first, so that it follows the signer when the section begins. Where the sections lie
depends on the frame rate alone: any number of workers gives the very same landmarks.
"""

import logging
import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from os import PathLike
from pathlib import Path

import numpy as np

from signspot.errors import EmptyVideoError, EngineError, OptionsError, SignspotError
from signspot.io.memory import affordable
from signspot.io.processes import Failure, attempt, report_progress, run_each
from signspot.io.progress import Progress, silent
from signspot.landmarks.cache import Cache, CacheEntry
from signspot.landmarks.estimators import Estimator, usual_estimator
from signspot.landmarks.landmarks import DEFAULT_FPS, Landmarks, concatenate
from signspot.landmarks.pose_file import PoseFile, PoseWriter, is_pose_file, open_landmarks
from signspot.types import Segment
from signspot.video.reader import Frame, Video, open_video

logger = logging.getLogger(__name__)

MAX_SIDE = 1280  # pixels; larger images are scaled down while they are decoded: the models see no more
SECTION, WARM_UP = 30.0, 1.0  # seconds
_PROCESS = 600 * 2**20  # bytes that an estimating process takes, rounded up


@dataclass(frozen=True, slots=True)
class Section:
    """Frames of a video that one tracker is responsible for."""

    start: float  # seconds of its first frame, the warm-up left out
    end: float  # seconds; infinity: of the last section, which goes on to the end of the video
    warm_up: int  # frames before it

    def segment(self, fps: float) -> Segment:
        """The part of the video that its tracker sees."""
        return Segment(self.start - self.warm_up / fps, self.end)


def plan_sections(duration: float, fps: float, segment: Segment | None = None) -> list[Section]:
    """The sections of a video, or of a segment of it, that lasts so many seconds."""
    origin = segment.start if segment else 0.0
    end = segment.end if segment else math.inf
    frames, warm_up = max(1, round(SECTION * fps)), round(WARM_UP * fps)
    last = min(end, duration) - origin
    # A rest shorter than half a section stays with the section before it.
    count = max(1, math.floor(last * fps / frames + 0.5)) if math.isfinite(last) else 1
    starts = [origin + number * frames / fps for number in range(count)]
    ends = [*starts[1:], end]
    return [
        Section(start, until, warm_up if number else 0)
        for number, (start, until) in enumerate(zip(starts, ends, strict=True))
    ]


def stream_sections(
    video: Video, fps: float, segment: Segment | None, chunk: int, estimator: Estimator, workers: int
) -> Iterator[Landmarks]:
    """Estimate the landmarks of a video, in order, in chunks.

    Args:
        video: an open video.
        fps: frames per second to estimate at.
        segment: the part to look at; all of it if not given.
        chunk: frames that are given at once, at most.
        estimator: what estimates.
        workers: processes.
    """
    sections = plan_sections(video.info.duration, fps, segment)
    workers = min(workers, len(sections))
    if workers > 1 and not video.seeks(sections[-1].start):
        logger.warning("cannot seek in %s: one process estimates its landmarks", video.info.path.name)
        workers = 1
    if workers > 1:
        workers = affordable(workers, _PROCESS)
    if workers == 1:
        yield from _one_reading(video, fps, segment, sections, chunk, estimator)
        return
    work, done = partial(_estimate, path=video.info.path, fps=fps, estimator=estimator), 0
    for section, estimated in run_each(work, sections, workers, ordered=True):
        if isinstance(estimated, Failure) and isinstance(estimated.error, EngineError):
            logger.warning(
                "%s from %g s: %s The main process estimates this part",
                video.info.path.name,
                section.start,
                estimated.message,
            )
            estimated = attempt(work, section)
        if isinstance(estimated, Failure):
            if isinstance(estimated.error, EmptyVideoError) and section.warm_up:
                return  # the video ends before it announced
            estimated.raise_again()
        estimated = replace(estimated, times=sections[0].start + np.arange(done, done + len(estimated)) / fps)
        done += len(estimated)
        for start in range(0, len(estimated), chunk):
            yield estimated[start : start + chunk]


def _one_reading(
    video: Video, fps: float, segment: Segment | None, sections: list[Section], chunk: int, estimator: Estimator
) -> Iterator[Landmarks]:
    """All sections in this process; every frame is decoded once, and the last ones are kept for the next warm-up."""
    frames, size = video.resampled(fps, segment), (video.info.width, video.info.height)
    recent: deque[Frame] = deque(maxlen=round(WARM_UP * fps))
    for section, later in zip(sections, [*sections[1:], None], strict=True):
        many = None if later is None else round((later.start - section.start) * fps)
        first = next(frames, None)
        if first is None:
            return  # the video ends before it announced
        section_frames = chain([first], islice(frames, None if many is None else many - 1))
        before = deque(recent)
        frames_before = len(before)
        estimated = estimator.stream(chain(_taken_from(before), _remembered(section_frames, recent)), size, chunk)
        yield from _without_warm_up(estimated, frames_before)


def _taken_from(frames: deque[Frame]) -> Iterator[Frame]:
    """Pass frames on and let go of them: a second of images is not held while the section lasts."""
    while frames:
        yield frames.popleft()


def _remembered(frames: Iterable[Frame], recent: deque[Frame]) -> Iterator[Frame]:
    """Pass frames on and remember the last ones."""
    for frame in frames:
        recent.append(frame)
        yield frame


def _estimate(section: Section, *, path: Path, fps: float, estimator: Estimator) -> Landmarks:
    """The landmarks of one section, in a worker."""
    with open_video(path, max_side=MAX_SIDE) as video:
        frames = video.resampled(fps, section.segment(fps))
        estimated = estimator.stream(frames, (video.info.width, video.info.height), max(1, round(SECTION * fps)))
        parts = list(_without_warm_up(estimated, section.warm_up))
    if not parts:
        raise EmptyVideoError(f"{path} holds no frame after {section.start:g} s")
    return concatenate(parts)


def _without_warm_up(chunks: Iterator[Landmarks], warm_up: int) -> Iterator[Landmarks]:
    for chunk in chunks:
        if warm_up < len(chunk):
            yield chunk[warm_up:]
        warm_up = max(0, warm_up - len(chunk))


Source = str | PathLike[str] | Landmarks
_CHUNK = 64  # frames
_READ = 512  # frames of a file that are read at once
_SMALL_CHUNK = 8  # frames, where progress is reported after each


def stream_landmarks(
    video: str | PathLike[str],
    fps: float = DEFAULT_FPS,
    segment: Segment | None = None,
    chunk: int = _CHUNK,
    *,
    cache: Cache = None,
    digest: str | None = None,
    estimator: Estimator | None = None,
    workers: int = 1,
    progress: Progress = silent,
) -> Iterator[Landmarks]:
    """Give a signer's points in every frame of a video, in chunks of up to `chunk` frames, in bounded memory.

    Args:
        video: its file; it is opened only if its landmarks are not in the cache.
        fps: frames per second to estimate at, whatever the video's own rate.
        segment: the part to look at; all of it if not given.
        chunk: frames that are given at once, at most.
        cache: see `estimate_landmarks`; what is in the cache is read from there, what is not is kept there.
        digest: of the video's content, where it is known already.
        estimator: what estimates; `estimators.usual_estimator` if not given.
        workers: processes that share a long video; with more than one, a script needs `if __name__ == "__main__":`.
        progress: called with the frames done and the frames in all.
    """
    path, estimator, entry = Path(video), estimator or usual_estimator(), None
    if path.is_file():  # else opening it says what is wrong
        entry = CacheEntry.of(path, cache, estimation_version(estimator), fps, segment, digest)
    cached = entry.stream(chunk) if entry else None
    if cached is not None:
        yield from _reporting(cached[1], cached[0], progress)
        return
    with open_video(path, max_side=MAX_SIDE) as opened:
        fresh = stream_sections(opened, fps, segment, chunk, estimator, workers)
        yield from _reporting(entry.keep(fresh) if entry else fresh, frames_of(opened, fps, segment), progress)


def stream_source(
    source: Source,
    fps: float = DEFAULT_FPS,
    chunk: int = _READ,
    *,
    cache: Cache = None,
    digest: str | None = None,
    estimator: Estimator | None = None,
    workers: int = 1,
    progress: Progress = silent,
) -> Iterator[Landmarks]:
    """Landmarks of any source in chunks: as given, of a `.pose` file at its own rate, or of a video at `fps`.

    Arguments are those of `stream_landmarks`, but `chunk`: the frames of a file that are read at once.
    """
    if isinstance(source, Landmarks):
        parts = (source[start : start + chunk] for start in range(0, len(source), chunk))
        yield from _reporting(parts, len(source), progress)
    elif is_pose_file(source):
        content = PoseFile.open(source)
        yield from _reporting(content.stream(chunk), len(content), progress)
    else:
        yield from stream_landmarks(
            source, fps, cache=cache, digest=digest, estimator=estimator, workers=workers, progress=progress
        )


def landmarks_of(source: Source, cache: Cache = None, progress: Progress | None = None) -> Landmarks:
    """All landmarks of a short source: as given, from a `.pose` file, or estimated and kept in the cache."""
    if isinstance(source, Landmarks):
        return source
    return open_landmarks(source) if is_pose_file(source) else estimate_landmarks(source, progress, cache=cache)


def has_landmarks(video: Path, cache: Path) -> bool:
    """Whether the landmarks of a whole video are in a cache."""
    entry = CacheEntry.of(video, cache, estimation_version(usual_estimator()), DEFAULT_FPS, None)
    return entry is not None and entry.path.is_file()


def estimation_version(estimator: Estimator) -> str:
    """Names all that decides landmarks: the estimator, and where sections lie."""
    return f"{estimator.version} {SECTION:g} {WARM_UP:g}"


def estimate_landmarks(
    video: str | PathLike[str],
    progress: Progress | None = None,
    *,
    fps: float = DEFAULT_FPS,
    segment: Segment | None = None,
    cache: Cache = None,
    workers: int = 1,
) -> Landmarks:
    """Estimate a signer's points in every frame of a video.

    Args:
        video: its file; it is opened only if its landmarks are not in the cache.
        progress: called with the frames done and the frames in all.
        fps: frames per second to estimate at, whatever the video's own rate.
        segment: the part to look at; all of it if not given.
        cache: a folder that keeps landmarks for the next time (see `cache.default_cache`), or "beside" to keep them
            beside the video; nothing is kept if not given.
        workers: processes that share a long video; with more than one, a script needs `if __name__ == "__main__":`.

    Returns:
        What was seen, NaN elsewhere. Use `check_signing` to make sure that there is a signer.

    Raises:
        VideoError: the video cannot be read.
    """
    report = progress or silent
    chunks = stream_landmarks(video, fps, segment, _SMALL_CHUNK, cache=cache, workers=workers, progress=report)
    landmarks = concatenate(list(chunks))
    report(len(landmarks), len(landmarks))
    return landmarks


def frames_of(video: Video, fps: float, segment: Segment | None = None) -> int:
    """The expected number of frames of a video, or of a part of it, at `fps`."""
    end = min(segment.end, video.info.duration) if segment else video.info.duration
    return max(1, round((end - (segment.start if segment else 0.0)) * fps))


def _reporting(chunks: Iterator[Landmarks], total: int, progress: Progress) -> Iterator[Landmarks]:
    """Pass chunks on and report after each."""
    done = 0
    for chunk in chunks:
        done += len(chunk)
        progress(done, max(done, total))
        yield chunk


@dataclass(frozen=True, slots=True)
class PoseJob:
    """A video, and the `.pose` file that its landmarks go to; None: to the cache only."""

    video: Path
    target: Path | None = None

    def __str__(self) -> str:
        return str(self.video)


_JobProgress = Callable[[PoseJob, int, int | None], None]


def estimate_files(
    jobs: Sequence[PoseJob],
    workers: int | None = None,
    progress: Progress | None = None,
    *,
    fps: float = DEFAULT_FPS,
    cache: Cache = None,
) -> Iterator[tuple[PoseJob, int | SignspotError]]:
    """Estimate the landmarks of several videos at once, in bounded memory, into `.pose` files and the cache.

    A script that calls this with more than one worker needs the usual `if __name__ == "__main__":`, since
    Python starts every worker afresh.

    Args:
        jobs: videos and where their landmarks go.
        workers: processes, one for each core if not given; with 1, all happens in this process. Fewer videos than
            workers are estimated one after the other, each in sections by all workers.
        progress: called with the frames done and the frames of all videos.
        fps: frames per second to estimate at.
        cache: see `estimate_landmarks`.

    Yields:
        Each job with its number of frames, or with what was wrong with it, as they become ready.
    """
    if workers is not None and workers < 1:
        raise OptionsError(f"workers must be at least 1; got {workers}")
    most = workers or os.cpu_count() or 1
    per_video = most if len(jobs) < most else 1
    at_once = 1 if per_video > 1 else most
    tally = _Tally(progress or silent, {job: _expected(job.video, fps) for job in jobs})
    work = partial(
        _estimate_file, fps=fps, cache=cache, progress=tally.report if at_once == 1 else None, workers=per_video
    )
    for job, result in run_each(work, jobs, at_once, progress=tally.report):
        if isinstance(result, Failure):
            tally.finish(job, 0)
            if not isinstance(result.error, SignspotError):
                result.raise_again()
            yield job, result.error
        else:
            tally.finish(job, result)
            yield job, result


def _estimate_file(job: PoseJob, *, fps: float, cache: Cache, progress: _JobProgress | None, workers: int) -> int:
    report = partial(progress, job) if progress else report_progress
    chunks = stream_landmarks(job.video, fps, None, _SMALL_CHUNK, cache=cache, workers=workers, progress=report)
    if job.target is None:
        return sum(len(chunk) for chunk in chunks)
    done = 0
    with PoseWriter(job.target, fps) as writer:
        for chunk in chunks:
            writer.add(chunk)
            done += len(chunk)
    return done


def _expected(video: Path, fps: float) -> int:
    try:
        with open_video(video, max_side=MAX_SIDE) as opened:
            return frames_of(opened, fps)
    except SignspotError:
        return 0  # the error is reported when it is its turn


class _Tally:
    """Adds up the frames of several videos."""

    def __init__(self, progress: Progress, expected: dict[PoseJob, int]):
        self._progress, self._expected = progress, dict(expected)
        self._done = dict.fromkeys(expected, 0)
        self._tell()

    def report(self, job: PoseJob, done: int, total: int | None) -> None:
        """Take the frames of one video."""
        self._done[job] = done
        self._expected[job] = max(self._expected[job] if total is None else total, done)
        self._tell()

    def finish(self, job: PoseJob, frames: int) -> None:
        """Take the frames of a video that is finished; 0: it failed."""
        self._done[job] = self._expected[job] = frames
        self._tell()

    def _tell(self) -> None:
        self._progress(sum(self._done.values()), sum(self._expected.values()))
