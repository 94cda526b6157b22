"""One long video on several cores: its landmarks are estimated in stretches, each by a tracker of its own.

A tracker sees the second before its stretch first, so that it follows the signer when the stretch begins. Where the
stretches lie depends on the frame rate alone: any number of workers, and none, give the very same landmarks.
"""

import logging
import math
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Protocol

import numpy as np

from signspot.errors import EmptyVideoError, EngineError
from signspot.io.memory import affordable
from signspot.io.processes import Failure, attempt, run_each
from signspot.landmarks.landmarks import Landmarks, concatenate
from signspot.types import Segment
from signspot.video.reader import Frame, Video, open_video

logger = logging.getLogger(__name__)

MAX_SIDE = 1280  # pixels; larger pictures are scaled down while they are decoded: the models see no more
STRETCH, WARM_UP = 30.0, 1.0  # seconds
_PROCESS = 600 * 2**20  # bytes that an estimating process takes, rounded up


class Estimator(Protocol):
    """Estimates the points of one signer, in MediaPipe Holistic's numbering (`Landmarks`)."""

    @property
    def version(self) -> str:
        """Names the estimator and its settings: landmarks of the same version can stand in for each other."""

    def stream(self, frames: Iterable[Frame], size: tuple[int, int], chunk: int) -> Iterator[Landmarks]:
        """Open the models, follow one signer through the frames of one video, and close the models at the end.

        Args:
            frames: of one video, in order of time.
            size: width and height of the pictures.
            chunk: frames that are given at once, at most.

        Yields:
            Landmarks of all frames, rounded as a `.pose` file rounds them (`pose_file.as_stored`), NaN for what is
            not seen.
        """


@dataclass(frozen=True, slots=True)
class Stretch:
    """Frames of a video that one tracker is responsible for."""

    start: float  # seconds of its first frame, the warm-up left out
    end: float  # seconds; infinity: of the last stretch, which goes on to the end of the video
    warm_up: int  # frames before it

    def segment(self, fps: float) -> Segment:
        """The part of the video that its tracker sees."""
        return Segment(self.start - self.warm_up / fps, self.end)


def plan(duration: float, fps: float, segment: Segment | None = None) -> list[Stretch]:
    """The stretches of a video, or of a segment of it, that lasts so many seconds."""
    origin = segment.start if segment else 0.0
    end = segment.end if segment else math.inf
    frames, warm_up = max(1, round(STRETCH * fps)), round(WARM_UP * fps)
    last = min(end, duration) - origin
    # A rest shorter than half a stretch stays with the stretch before it.
    count = max(1, math.floor(last * fps / frames + 0.5)) if math.isfinite(last) else 1
    starts = [origin + number * frames / fps for number in range(count)]
    ends = [*starts[1:], end]
    return [
        Stretch(start, until, warm_up if number else 0)
        for number, (start, until) in enumerate(zip(starts, ends, strict=True))
    ]


def stream_stretches(
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
    stretches = plan(video.info.duration, fps, segment)
    workers = min(workers, len(stretches))
    if workers > 1 and not video.seeks(stretches[-1].start):
        logger.warning("%s cannot be sought: one process estimates its landmarks", video.info.path.name)
        workers = 1
    if workers > 1:
        workers = affordable(workers, _PROCESS)
    if workers == 1:
        yield from _one_reading(video, fps, segment, stretches, chunk, estimator)
        return
    work, done = partial(_estimate, path=video.info.path, fps=fps, estimator=estimator), 0
    for stretch, made in run_each(work, stretches, workers, ordered=True):
        if isinstance(made, Failure) and isinstance(made.error, EngineError):
            logger.warning(
                "%s from %g s: %s This process estimates it", video.info.path.name, stretch.start, made.message
            )
            made = attempt(work, stretch)
        if isinstance(made, Failure):
            if isinstance(made.error, EmptyVideoError) and stretch.warm_up:
                return  # the video ends before it announced
            made.raise_again()
        made = replace(made, times=stretches[0].start + np.arange(done, done + len(made)) / fps)
        done += len(made)
        for start in range(0, len(made), chunk):
            yield made[start : start + chunk]


def _one_reading(
    video: Video, fps: float, segment: Segment | None, stretches: list[Stretch], chunk: int, estimator: Estimator
) -> Iterator[Landmarks]:
    """All stretches in this process; every frame is decoded once, and the last ones are kept for the next warm-up."""
    frames, size = video.resampled(fps, segment), (video.info.width, video.info.height)
    recent: deque[Frame] = deque(maxlen=round(WARM_UP * fps))
    for stretch, later in zip(stretches, [*stretches[1:], None], strict=True):
        many = None if later is None else round((later.start - stretch.start) * fps)
        first = next(frames, None)
        if first is None:
            return  # the video ends before it announced
        shown = chain([first], islice(frames, None if many is None else many - 1))
        before = deque(recent)
        frames_before = len(before)
        seen = estimator.stream(chain(_taken_from(before), _remembered(shown, recent)), size, chunk)
        yield from _without_warm_up(seen, frames_before)


def _taken_from(frames: deque[Frame]) -> Iterator[Frame]:
    """Pass frames on and let go of them: a second of pictures is not held while the stretch lasts."""
    while frames:
        yield frames.popleft()


def _remembered(frames: Iterable[Frame], recent: deque[Frame]) -> Iterator[Frame]:
    """Pass frames on and remember the last ones."""
    for frame in frames:
        recent.append(frame)
        yield frame


def _estimate(stretch: Stretch, *, path: Path, fps: float, estimator: Estimator) -> Landmarks:
    """The landmarks of one stretch, in a worker."""
    with open_video(path, max_side=MAX_SIDE) as video:
        frames = video.resampled(fps, stretch.segment(fps))
        seen = estimator.stream(frames, (video.info.width, video.info.height), max(1, round(STRETCH * fps)))
        made = list(_without_warm_up(seen, stretch.warm_up))
    if not made:
        raise EmptyVideoError(f"{path} holds no frame after {stretch.start:g} s")
    return concatenate(made)


def _without_warm_up(chunks: Iterator[Landmarks], warm_up: int) -> Iterator[Landmarks]:
    for chunk in chunks:
        if warm_up < len(chunk):
            yield chunk[warm_up:]
        warm_up = max(0, warm_up - len(chunk))
