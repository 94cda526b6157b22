"""Which spotting found which true sign of a video: one to one, the best scores choose first."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from signspot.errors import OptionsError
from signspot.metrics.localisation import ROUNDING
from signspot.records import Spotting
from signspot.timeline import Segment


class Occurrence(Protocol):
    """A word truly signed somewhere: any record with these three."""

    @property
    def word(self) -> str:
        """What is signed."""

    @property
    def video(self) -> str:
        """In which video."""

    @property
    def segment(self) -> Segment:
        """Where in it."""


@dataclass(frozen=True, slots=True)
class TrueSign:
    """The plainest occurrence."""

    word: str
    video: str
    segment: Segment

    @classmethod
    def from_label(cls, word: str, video: str, time: float, *, before: float = 0.8, after: float = 0.2) -> "TrueSign":
        """A labelled time as a segment from `before` seconds before it to `after` seconds after it.

        The defaults are the paper's 20 and 5 frames. Match such truths with a margin of 0.
        """
        return cls(word, video, Segment(time - before, time + after))


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """When a spotting may count for a true sign: both conditions hold."""

    margin: float = 0.2  # seconds: the spotting's time lies in the true segment, or at most so far outside
    iou: float = 0.0  # the spans overlap at least so much

    def __post_init__(self) -> None:
        if not self.margin >= 0:
            raise OptionsError(f"the margin must be 0 seconds or more; got {self.margin}")
        if not 0 <= self.iou <= 1:
            raise OptionsError(f"the overlap wanted must lie between 0 and 1; got {self.iou}")


def by_score(spottings: Sequence[Spotting]) -> list[Spotting]:
    """Best score first; of equal scores the earlier time, then start, end, exemplar and variant."""
    return sorted(spottings, key=lambda s: (-s.score, s.time, s.start, s.end, s.exemplar, s.variant, s.mirrored))


def match(
    spottings: Sequence[Spotting], truths: Sequence[Segment], options: MatchOptions | None = None
) -> list[Segment | None]:
    """Give every spotting the true segment it found.

    In the order given, each spotting takes one of the segments that it may count for and that are still free: the one
    it overlaps most (IoU), of equals the one whose middle is nearest, then the earliest. So a lower threshold never
    changes what higher scores found, and one matching serves all thresholds.

    Args:
        spottings: of one word in one video, in order of score (`by_score`).
        truths: where that word is signed in that video.
        options: when a spotting may count for a segment.

    Returns:
        For every spotting its segment; None: a false alarm.
    """
    chosen = options or MatchOptions()
    segments = sorted(truths)
    reach = chosen.margin + ROUNDING
    times = np.array([spotting.time for spotting in spottings])
    starts = np.array([segment.start for segment in segments])
    latest_ends = np.maximum.accumulate(np.array([segment.end for segment in segments]))
    firsts = np.searchsorted(latest_ends, times - reach, side="left").tolist()
    lasts = np.searchsorted(starts, times + reach, side="right").tolist()
    free = [True] * len(segments)
    found: list[Segment | None] = []
    for spotting, first, last in zip(spottings, firsts, lasts, strict=True):
        near = [i for i in range(first, last) if free[i] and spotting.time <= segments[i].end + reach]
        index = _best(spotting, segments, near, chosen.iou)
        if index is not None:
            free[index] = False
        found.append(None if index is None else segments[index])
    return found


def _best(spotting: Spotting, segments: Sequence[Segment], near: Sequence[int], iou: float) -> int | None:
    best: int | None = None
    best_key = (-math.inf, -math.inf)
    for index in near:
        overlap = spotting.segment.iou(segments[index])
        key = (overlap, -abs(spotting.time - segments[index].middle))
        if overlap >= iou and key > best_key:
            best, best_key = index, key
    return best
