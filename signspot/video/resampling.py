"""Frames at even times out of frames at any times, by time alone: what a player would show at each moment."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from signspot.errors import OptionsError
from signspot.timeline import Segment
from signspot.video.clock import TimedFrame

_FASTEST = 1000.0


@dataclass(frozen=True, slots=True)
class Beat:
    """The even times at which frames are wanted: origin + k / fps."""

    fps: float
    origin: float = 0.0  # seconds
    end: float = math.inf  # seconds; the video's own end, where that is earlier
    tolerance: float = 1e-6  # seconds by which a frame's time may be late and the frame still counts as shown

    def __post_init__(self) -> None:
        if not (math.isfinite(self.fps) and 0 < self.fps <= _FASTEST):
            raise OptionsError(f"frames a second must be above 0 and at most {_FASTEST:g}; got {self.fps}")

    def time(self, index: int) -> float:
        """Seconds of frame `index`."""
        return self.origin + index / self.fps

    def count(self, end: float) -> float:
        """How many frames there are if the video ends at `end` seconds: at least one."""
        span = (min(end, self.end) - self.origin) * self.fps
        return max(1, round(span)) if math.isfinite(span) else math.inf


def beat_of(fps: float, segment: Segment | None, tolerance: float) -> Beat:
    """The beat of a segment, or of a whole video."""
    if segment is None:
        return Beat(fps, tolerance=tolerance)
    return Beat(fps, segment.start, segment.end, tolerance)


def resample(frames: Iterable[TimedFrame], beat: Beat) -> Iterator[TimedFrame]:
    """Give, for every beat, the last frame whose time is not after it (the first frame, if all are).

    Nothing but the shown frame and at most one waiting beat is held. A beat in the last half interval waits
    until the video is known to reach far enough to have it, so that the count is round(duration * fps) even
    where the duration is not known in advance. No frame comes out if the video ends before the first beat.
    """
    half, most, index = 0.5 / beat.fps, beat.count(math.inf), 0
    shown: TimedFrame | None = None
    waiting: TimedFrame | None = None
    for frame in frames:
        if waiting and waiting.time + half < frame.time:
            yield waiting
            waiting = None
        while index < most and beat.time(index) < frame.time - beat.tolerance:
            current = (shown or frame)._replace(time=beat.time(index), duration=2 * half)
            index += 1
            if current.time + half < frame.time:
                yield current
            else:
                waiting = current
        if index >= most and waiting is None:
            return
        shown = frame
    if shown is None or shown.end <= beat.origin:
        return
    yield from _last(beat, shown, waiting, index)


def _last(beat: Beat, shown: TimedFrame, waiting: TimedFrame | None, index: int) -> Iterator[TimedFrame]:
    """The beats that only the end of the video decides on."""
    count = int(beat.count(shown.end))
    if waiting and index <= count:
        yield waiting
    for later in range(index, count):
        yield shown._replace(time=beat.time(later), duration=1 / beat.fps)
