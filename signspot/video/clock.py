"""Times of frames: seconds since the container's start, by timestamps or by counting; resampling by time."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from signspot.errors import OptionsError
from signspot.types import Segment
from signspot.video.containers import LONGEST_STILL, StillTime

_RESET = 1.0  # a timestamp that jumps back by more seconds than this starts anew: times go on from there
_MICROSECOND = Fraction(1, 1_000_000)
_FASTEST = 1000.0  # frames per second


class TimedFrame(NamedTuple):
    """A decoded frame, its pixels not yet touched."""

    time: float  # seconds since the container's start
    duration: float  # seconds that it is shown, as far as the file says
    picture: Any  # av.VideoFrame

    @property
    def end(self) -> float:
        """The time at which the frame stops being shown, if no other follows earlier."""
        return self.time + self.duration


@dataclass(frozen=True, slots=True)
class Timing:
    """Facts of a file from which the times of its frames follow."""

    time_base: Fraction  # seconds of one tick
    origin: Fraction  # timestamp, in seconds, of the container's start
    interval: float  # seconds between frames, on average
    counted: bool = False  # timestamps are missing or wrong: the n-th frame is at n intervals
    seekable: bool = True  # timestamps after a seek are those of a full reading

    @property
    def tolerance(self) -> float:
        """Seconds by which a timestamp may be wrong, being rounded to a tick (1 ms in .webm and .flv)."""
        return min(float(self.time_base) / 2, 0.0005) + 1e-6

    def ticks(self, time: float) -> int:
        """The timestamp, rounded down, of a time in seconds."""
        return int((Fraction(time) + self.origin) // self.time_base)


class Clock:
    """Gives frames their times, in the order in which they are shown; times never go back.

    Args:
        timing: of the file.
        path: of the file, for messages.
        begun: seconds from which the video has been followed; None: it was sought, what comes first may be anywhere.
    """

    def __init__(self, timing: Timing, path: Path, begun: float | None = 0.0):
        self._timing = timing
        self._begun = begun
        self._previous: TimedFrame | None = None
        self._shift = 0.0  # added to timestamps since they started anew
        self._still = StillTime(path)

    def timed(self, picture: Any) -> TimedFrame:
        """Give a decoded frame its time.

        Raises:
            VideoLimitError: the clock jumps so far that the video would never end.
        """
        time, duration = self._time(picture), self._duration(picture)
        before = self._previous.time if self._previous else self._begun
        if before is not None:
            self._still.add(time - before)
        if duration > LONGEST_STILL:
            self._still.add(duration)
        self._previous = TimedFrame(time, duration, None)
        return self._previous._replace(picture=picture)

    def _time(self, picture: Any) -> float:
        following = self._previous.end if self._previous else 0.0
        if self._timing.counted or picture.pts is None:
            return following
        stamp = float(picture.pts * self._timing.time_base - self._timing.origin)
        if self._previous is None:
            return stamp
        if stamp + self._shift < self._previous.time - _RESET:
            self._shift = following - stamp
        return max(stamp + self._shift, self._previous.time)

    def _duration(self, picture: Any) -> float:
        if self._timing.counted or not picture.duration or picture.duration < 0:
            return self._timing.interval
        return float(picture.duration * self._timing.time_base)


def container_origin(container: Any, stream: Any) -> Fraction:
    """The timestamp, in seconds, from which a player counts.

    It is the earliest start of all streams, save sound that starts before zero (an encoder's run-in).
    """
    start: Fraction | None = None if stream.start_time is None else stream.start_time * stream.time_base
    if container.start_time is None:
        return start or Fraction(0)
    origin: Fraction = container.start_time * _MICROSECOND
    if origin < 0:
        return min(Fraction(0), start or Fraction(0))
    # The container's start is rounded to microseconds; the stream's own is exact.
    return start if start is not None and abs(start - origin) <= _MICROSECOND else origin


@dataclass(frozen=True, slots=True)
class SampleTimes:
    """The even times at which frames are wanted: origin + k / fps."""

    fps: float
    origin: float = 0.0  # seconds
    end: float = math.inf  # seconds; the video's own end, where that is earlier
    tolerance: float = 1e-6  # seconds by which a frame's time may be late and the frame still counts as shown

    def __post_init__(self) -> None:
        if not (math.isfinite(self.fps) and 0 < self.fps <= _FASTEST):
            raise OptionsError(f"frames per second must be above 0 and at most {_FASTEST:g}; got {self.fps}")

    def time(self, index: int) -> float:
        """Seconds of frame `index`."""
        return self.origin + index / self.fps

    def count(self, end: float) -> float:
        """Number of frames if the video ends at `end` seconds: at least one."""
        span = (min(end, self.end) - self.origin) * self.fps
        return max(1, round(span)) if math.isfinite(span) else math.inf


def sample_times(fps: float, segment: Segment | None, tolerance: float) -> SampleTimes:
    """The sample times of a segment, or of a whole video."""
    if segment is None:
        return SampleTimes(fps, tolerance=tolerance)
    return SampleTimes(fps, segment.start, segment.end, tolerance)


def resample(frames: Iterable[TimedFrame], samples: SampleTimes) -> Iterator[TimedFrame]:
    """Give, for every sample time, the last frame whose time is not after it (the first frame, if all are).

    Nothing but the shown frame and at most one waiting sample is held. A sample in the last half interval waits
    until the video is known to reach far enough to have it, so that the count is round(duration * fps) even
    where the duration is not known in advance. No frame comes out if the video ends before the first sample.
    """
    half, most, index = 0.5 / samples.fps, samples.count(math.inf), 0
    last_frame: TimedFrame | None = None
    waiting: TimedFrame | None = None
    for frame in frames:
        if waiting and waiting.time + half < frame.time:
            yield waiting
            waiting = None
        while index < most and samples.time(index) < frame.time - samples.tolerance:
            current = (last_frame or frame)._replace(time=samples.time(index), duration=2 * half)
            index += 1
            if current.time + half < frame.time:
                yield current
            else:
                waiting = current
        if index >= most and waiting is None:
            return
        last_frame = frame
    if last_frame is None or last_frame.end <= samples.origin:
        return
    yield from _last(samples, last_frame, waiting, index)


def _last(samples: SampleTimes, last_frame: TimedFrame, waiting: TimedFrame | None, index: int) -> Iterator[TimedFrame]:
    """The samples that only the end of the video decides on."""
    count = int(samples.count(last_frame.end))
    if waiting and index <= count:
        yield waiting
    for later in range(index, count):
        yield last_frame._replace(time=samples.time(later), duration=1 / samples.fps)
