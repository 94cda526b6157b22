"""What travels on the road: exemplars, subtitles, labels and spottings. Times are seconds."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from signspot.timeline import Segment


class LabelSource(StrEnum):
    """Where a label comes from."""

    MOUTHING = "M"
    DICTIONARY = "D"
    VERIFIED = "V"


@dataclass(frozen=True, slots=True)
class Exemplar:
    """One dictionary video of a word."""

    word: str
    id: str  # unique in its dictionary
    path: Path | None = None  # a video or a .pose file; None where only the embedding is known
    signer: str = ""
    source: str = ""  # who published it
    licence: str = ""
    variant: str = ""  # exemplars of a word with the same variant show the same sign
    bbox: tuple[float, float, float, float] | None = None  # signer's place: y0, x0, y1, x1 in [0, 1]
    segment: Segment | None = None  # where the sign is in the video; None: find it by wrist motion
    embedding: np.ndarray[Any, Any] | None = field(default=None, compare=False, repr=False)  # (D,) unit norm
    encoder: str = field(default="", compare=False, repr=False)  # content hash of its embedding's encoder


@dataclass(frozen=True, slots=True)
class Subtitle:
    """A line of text shown for a while."""

    start: float
    end: float
    text: str


@dataclass(frozen=True, slots=True)
class Label:
    """A word at a time in a video, as training data."""

    word: str
    video: str
    time: float
    confidence: float = 1.0
    source: LabelSource = LabelSource.MOUTHING


@dataclass(frozen=True, slots=True)
class Spotting:
    """A word found at a time in a video."""

    word: str
    video: str
    time: float  # of the peak: the middle of the best window
    start: float
    end: float
    score: float  # (1 + cosine) / 2, in [0, 1]
    exemplar: str = ""  # id of the best exemplar
    variant: str = ""
    mirrored: bool = False  # the exemplar matched left-right mirrored
    source: LabelSource = LabelSource.DICTIONARY

    @property
    def similarity(self) -> float:
        """Cosine similarity, in [-1, 1]."""
        return 2 * self.score - 1

    @property
    def segment(self) -> Segment:
        """Where the sign is."""
        return Segment(self.start, self.end)
