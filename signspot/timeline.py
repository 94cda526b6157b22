"""Time: segments in seconds, the grid on which windows lie, and a track of embeddings on that grid."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError, TrackError

Embeddings = NDArray[np.floating[Any]]

_ROWS = 8192  # windows that are checked at once


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A stretch of time, in seconds: start included, end not."""

    start: float
    end: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.start) and self.end >= self.start):
            raise OptionsError(f"a segment must end after it starts; got {self.start} to {self.end} s")

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return self.end - self.start

    @property
    def middle(self) -> float:
        """The time half-way, in seconds."""
        return (self.start + self.end) / 2

    def __contains__(self, time: float) -> bool:
        return self.start <= time < self.end

    def overlap(self, other: "Segment") -> float:
        """Seconds that both segments share."""
        return max(0.0, min(self.end, other.end) - max(self.start, other.start))

    def iou(self, other: "Segment") -> float:
        """Shared time over joint time, in [0, 1]."""
        joint = self.duration + other.duration - self.overlap(other)
        return self.overlap(other) / joint if joint > 0 else float(self == other)

    def padded(self, seconds: float) -> "Segment":
        """The segment, longer by `seconds` on both sides, not before zero."""
        return Segment(max(0.0, self.start - seconds), self.end + seconds)


@dataclass(frozen=True, slots=True)
class Grid:
    """Times of the windows of a video. The only place where frames become seconds.

    The count of windows is ceil((frames - window) / stride) + 1 and the last one snaps to the end, as in the
    authors' released tool; a video shorter than a window has one window (its last frame is repeated).
    """

    fps: float  # frames per second after resampling
    window: int  # frames in a window
    stride: int  # frames between the starts of two windows
    frames: int  # frames in the video after resampling
    origin: float = 0.0  # seconds at frame 0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.fps) and self.fps > 0):
            raise OptionsError(f"frames per second must be above 0; got {self.fps}")
        for name in ("window", "stride", "frames"):
            if getattr(self, name) < 1:
                raise OptionsError(f"{name} must be at least 1 frame; got {getattr(self, name)}")

    @property
    def count(self) -> int:
        """The number of windows."""
        return max(0, math.ceil((self.frames - self.window) / self.stride)) + 1

    @property
    def starts(self) -> NDArray[np.int64]:
        """(T,) first frame of every window."""
        last = max(0, self.frames - self.window)
        return np.minimum(np.arange(self.count, dtype=np.int64) * self.stride, last)

    @property
    def times(self) -> NDArray[np.float64]:
        """(T,) the time of every window, in seconds: its start + half a window."""
        return self.origin + (self.starts + self.window // 2) / self.fps

    def segment(self, index: int) -> Segment:
        """The time that window `index` covers, not beyond the video's end."""
        start = int(self.starts[index])
        end = min(start + self.window, self.frames)
        return Segment(self.origin + start / self.fps, self.origin + end / self.fps)

    def nearest(self, time: float) -> int:
        """The window whose time is nearest to `time` seconds."""
        return int(np.abs(self.times - time).argmin())


@dataclass(frozen=True, slots=True)
class Track:
    """The embeddings of all windows of one video, and the codes of its frames where the encoder gives them."""

    embeddings: Embeddings = field(repr=False)  # (T, D) unit norm
    grid: Grid
    encoder: str  # content hash of the encoder that made it
    video: str = ""  # name of the video
    source: str = ""  # content digest of the video or landmarks it was made from
    codes: Embeddings | None = field(default=None, repr=False)  # (frames, C) one code per frame of the grid, or none

    def __post_init__(self) -> None:
        if self.embeddings.ndim != 2 or len(self.embeddings) != self.grid.count:
            raise TrackError(
                f"a track needs one embedding per window: {self.grid.count} windows, embeddings of shape "
                f"{self.embeddings.shape}"
            )
        if self.codes is not None and (self.codes.ndim != 2 or len(self.codes) != self.grid.frames):
            raise TrackError(
                f"a track needs one code per frame: {self.grid.frames} frames, codes of shape {self.codes.shape}"
            )
        for name, rows in (("embeddings", self.embeddings), ("frame codes", self.codes)):
            bad = 0 if rows is None else sum(int((~np.isfinite(part).all(axis=1)).sum()) for part in _parts(rows))
            if rows is not None and bad:
                raise TrackError(f"{bad} of {len(rows)} {name} of '{self.video}' are NaN or infinite")

    def __len__(self) -> int:
        return len(self.embeddings)


def _parts(rows: Embeddings) -> Iterator[Embeddings]:
    """Rows in pieces, since they may lie on disk."""
    return (rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS))
