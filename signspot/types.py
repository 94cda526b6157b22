"""The records that every package shares: Segment, Grid, Track; Exemplar, Subtitle, Label, Spotting.

Times are seconds. Frames become seconds once, in `Grid` and in `video`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

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


@dataclass(frozen=True, slots=True)
class Windows:
    """Embedded windows at any times, in order."""

    times: NDArray[np.float64]  # (T,) seconds
    embeddings: Embeddings  # (T, D) unit norm

    @classmethod
    def of(cls, track: Track) -> "Windows":
        """The windows of a track."""
        return cls(track.grid.times, track.embeddings)


def _parts(rows: Embeddings) -> Iterator[Embeddings]:
    """Rows in pieces, since they may lie on disk."""
    return (rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS))


SIGN_SECONDS = 0.6  # how long a sign is taken to last where a label gives a time alone
Decision = Literal["", "yes", "no", "unsure"]  # a person's answer to "is this sign the word?"; "": not asked
Confidence = Literal["", "sure", "likely", "check"]  # how far a spotting can be trusted; "": not known


class LabelSource(StrEnum):
    """Origin of a label."""

    MOUTHING = "M"
    DICTIONARY = "D"
    VERIFIED = "V"


class TimeMeaning(StrEnum):
    """The part of a sign that the time of a label marks."""

    END = "end"  # the 0.6 s before it are the sign
    MIDDLE = "middle"
    SPAN = "span"  # start and end of the sign are known


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a sign is in footage that may be searched: there, an exemplar of it would find itself."""

    contents: tuple[str, ...]  # content digests of the footage: of its video, of its landmarks
    span: Segment


@dataclass(frozen=True, slots=True)
class Exemplar:
    """One dictionary video of a word."""

    word: str
    id: str  # unique in its dictionary
    path: Path | None = None  # a video or a .pose file; None where only the embedding is known
    signer: str = ""
    source: str = ""  # who published it
    licence: str = ""
    consent: str = ""  # what the signer agreed to
    variant: str = ""  # exemplars of a word with the same variant show the same sign
    bbox: tuple[float, float, float, float] | None = None  # signer's place: y0, x0, y1, x1 in [0, 1]
    segment: Segment | None = None  # where the sign is in the video; None: find it by wrist motion
    embedding: np.ndarray[Any, Any] | None = field(default=None, compare=False, repr=False)  # (D,) unit norm
    encoder: str = field(default="", compare=False, repr=False)  # content hash of its embedding's encoder
    origins: tuple[Origin, ...] = field(default=(), compare=False, repr=False)  # footage that it was cut out of


@dataclass(frozen=True, slots=True)
class Subtitle:
    """A line of text shown for a while."""

    start: float
    end: float
    text: str


@dataclass(frozen=True, slots=True)
class VideoRights:
    """Rights to the use of a video."""

    licence: str = ""
    consent: str = ""  # what the signer agreed to


@dataclass(frozen=True, slots=True)
class Label:
    """A word at a time in a video, as training data.

    The confidence of M is a probability, that of D a score, that of V a decision: 1 for a person's yes, 0 for a no.
    """

    word: str
    video: str
    time: float
    confidence: float = 1.0
    source: LabelSource = LabelSource.MOUTHING
    start: float | None = None  # of the sign; None: not known
    end: float | None = None
    at: TimeMeaning | None = None  # None: the span where it is known, else the end of a sign for M, the middle for D, V
    licence: str = ""  # of the exemplar by which it was found
    consent: str = ""  # of the signer of that exemplar: what they agreed to
    video_licence: str = ""  # of the video, where a corpus tells it
    video_consent: str = ""  # of the signer in the video

    def __post_init__(self) -> None:
        if (self.start is None) != (self.end is None) or (self.at is TimeMeaning.SPAN and self.start is None):
            raise OptionsError(
                f"the span of a label needs both start and end; got {self.start} and {self.end} for '{self.word}'"
            )
        if self.start is not None and self.end is not None and not self.start <= self.end:
            raise OptionsError(f"the sign of '{self.word}' must end after it starts; got {self.start} to {self.end} s")
        if self.at is None:
            of_source = TimeMeaning.END if self.source is LabelSource.MOUTHING else TimeMeaning.MIDDLE
            object.__setattr__(self, "at", of_source if self.start is None else TimeMeaning.SPAN)

    @property
    def segment(self) -> Segment:
        """The span of the sign: as given, or the 0.6 s that end at its time or lie around it."""
        if self.at is TimeMeaning.SPAN and self.start is not None and self.end is not None:
            return Segment(self.start, self.end)
        if self.at is TimeMeaning.END:
            return Segment(self.time - SIGN_SECONDS, self.time)
        return Segment(self.time - SIGN_SECONDS / 2, self.time + SIGN_SECONDS / 2)

    def stretch(self, before: float, after: float, around: float) -> Segment:
        """The stretch from which clips of its sign are drawn.

        Args:
            before: seconds before the end of a sign, where the label marks that.
            after: seconds after it.
            around: seconds before and after the middle of a sign, where the label marks the middle or the span.
        """
        if self.at is TimeMeaning.END:
            return Segment(self.time - before, self.time + after)
        middle = self.segment.middle
        return Segment(middle - around, middle + around)


@dataclass(frozen=True, slots=True)
class Spotting:
    """A word found at a time in a video."""

    word: str
    video: str  # path as given
    time: float  # the middle of the aligned sign, or of the best window
    start: float
    end: float
    score: float  # in [0, 1]; of embeddings it is (1 + cosine) / 2
    exemplar: str = ""  # id of the best exemplar
    variant: str = ""
    mirrored: bool = False  # the exemplar matched left-right mirrored
    source: LabelSource = LabelSource.DICTIONARY
    decision: Decision = ""  # "no" with source V: a person says that this sign is not the word
    confidence: Confidence = ""  # see `spotting.decision.confidence_of`
    false_alarms_per_hour: float | None = None  # of its word at this score, in this video; None: not known
    licence: str = ""  # of the exemplar
    consent: str = ""  # of the signer of the exemplar: what they agreed to
    mouthed: float | None = None  # probability of a mouthing of the word there; None: none was found, or looked for
    video_licence: str = ""  # of the video, where a corpus tells it
    video_consent: str = ""  # of the signer in the video
    note: str = ""  # of a person

    @property
    def similarity(self) -> float:
        """Cosine similarity, in [-1, 1]."""
        return 2 * self.score - 1

    @property
    def segment(self) -> Segment:
        """The span of the sign."""
        return Segment(self.start, self.end)

    def as_exemplar(self) -> Exemplar:
        """This sign as a further exemplar of its word: by this signer, in this video."""
        exemplar_id = f"{Path(self.video).stem}@{self.start:.2f}"
        return Exemplar(
            self.word,
            exemplar_id,
            Path(self.video),
            licence=self.video_licence,
            consent=self.video_consent,
            variant=self.variant,
            segment=self.segment,
        )
