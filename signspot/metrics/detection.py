"""Spotting in long untrimmed footage: what was found, what was missed, and how often the alarm was false."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.metrics.localisation import ROUNDING
from signspot.metrics.ranking import FloatArray
from signspot.types import Segment, Spotting

Array = NDArray[np.float64]
MARGIN = 0.2  # seconds: a spotting's time lies in the true segment, or at most so far outside


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Found and missed signs, and false alarms, with one threshold."""

    threshold: float  # spottings with this score or more count
    found: int  # true signs found
    false_alarms: int
    truths: int  # true signs there are
    hours: float  # of footage
    overlap: float  # the sum of IoU over those found

    @property
    def precision(self) -> float:
        """Found over spotted; nan where nothing is spotted."""
        return _over(self.found, self.found + self.false_alarms)

    @property
    def recall(self) -> float:
        """Found over true; nan where nothing is true."""
        return _over(self.found, self.truths)

    @property
    def false_alarms_per_hour(self) -> float:
        """False alarms over hours of footage, all words together; nan without footage."""
        return _over(self.false_alarms, self.hours)


@dataclass(frozen=True, slots=True, eq=False)
class DetectionCurve:
    """Counts at every score that occurs, highest first. Equal scores enter together, so their order cannot matter."""

    thresholds: Array  # (P,) decreasing
    found: NDArray[np.int64]  # (P,) true signs found with this threshold
    false_alarms: NDArray[np.int64]  # (P,)
    overlap: Array = field(repr=False)  # (P,) sum of IoU over those found
    truths: int
    hours: float

    @property
    def average_precision(self) -> float:
        """The area under precision against recall, all-point interpolation; nan where nothing is true.

        Precision is first raised to the best that any lower threshold gives, then summed over the steps of recall.
        """
        if self.truths == 0:
            return math.nan
        precision = self.found / (self.found + self.false_alarms)
        envelope = np.maximum.accumulate(precision[::-1])[::-1]
        return float((np.diff(self.found, prepend=0) * envelope).sum()) / self.truths

    def at(self, threshold: float) -> OperatingPoint:
        """The operating point of this threshold: spottings with this score or more."""
        if math.isnan(threshold):
            raise OptionsError("the threshold is NaN; give a number")
        index = int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1
        if index < 0:
            return OperatingPoint(threshold, 0, 0, self.truths, self.hours, 0.0)
        counts = int(self.found[index]), int(self.false_alarms[index])
        return OperatingPoint(threshold, *counts, self.truths, self.hours, float(self.overlap[index]))


def make_curve(
    scores: FloatArray, overlaps: FloatArray, matched: NDArray[np.bool_], *, truths: int, hours: float
) -> DetectionCurve:
    """Count at all thresholds at once, by sorting.

    Args:
        scores: (S,) of every spotting.
        overlaps: (S,) IoU with the true sign it found; any number where it found none.
        matched: (S,) whether it found one.
        truths: how many true signs there are.
        hours: of footage.
    """
    order = np.lexsort((overlaps, matched, -scores))  # the later keys make sums the same in whatever order they came
    ordered = scores[order]
    last_of_ties = np.flatnonzero(np.diff(ordered, append=-np.inf) != 0)
    hits = matched[order]
    return DetectionCurve(
        ordered[last_of_ties].astype(np.float64),
        hits.cumsum(dtype=np.int64)[last_of_ties],
        (~hits).cumsum(dtype=np.int64)[last_of_ties],
        np.where(hits, overlaps[order], 0.0).cumsum(dtype=np.float64)[last_of_ties],
        truths,
        hours,
    )


def _over(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else math.nan


class Occurrence(Protocol):
    """A word truly signed somewhere: any record with these three."""

    @property
    def word(self) -> str:
        """The word that is signed."""

    @property
    def video(self) -> str:
        """In which video."""

    @property
    def segment(self) -> Segment:
        """The span of the sign in it."""


@dataclass(frozen=True, slots=True)
class TrueSign:
    """The plainest occurrence."""

    word: str
    video: str
    segment: Segment


def by_score(spottings: Sequence[Spotting]) -> list[Spotting]:
    """Best score first; of equal scores the earlier time, then start, end, exemplar and variant."""
    return sorted(spottings, key=lambda s: (-s.score, s.time, s.start, s.end, s.exemplar, s.variant, s.mirrored))


def match(spottings: Sequence[Spotting], truths: Sequence[Segment]) -> list[Segment | None]:
    """Give every spotting the true segment it found.

    A spotting may count for a segment if its time lies in it, or at most `MARGIN` outside. In the order given, each
    spotting takes one of these that is still free: the one it overlaps most (IoU), of equals the one whose middle is
    nearest, then the earliest. So a lower threshold never changes what higher scores found, and one matching serves
    all thresholds.

    Args:
        spottings: of one word in one video, in order of score (`by_score`).
        truths: where that word is signed in that video.

    Returns:
        For every spotting its segment; None: a false alarm.
    """
    segments = sorted(truths)
    reach = MARGIN + ROUNDING
    times = np.array([spotting.time for spotting in spottings])
    starts = np.array([segment.start for segment in segments])
    latest_ends = np.maximum.accumulate(np.array([segment.end for segment in segments]))
    firsts = np.searchsorted(latest_ends, times - reach, side="left").tolist()
    lasts = np.searchsorted(starts, times + reach, side="right").tolist()
    free = [True] * len(segments)
    segments_found: list[Segment | None] = []
    for spotting, first, last in zip(spottings, firsts, lasts, strict=True):
        near = [i for i in range(first, last) if free[i] and spotting.time <= segments[i].end + reach]
        best = max(near, key=lambda i: _fit(spotting, segments[i]), default=None)
        if best is not None:
            free[best] = False
        segments_found.append(None if best is None else segments[best])
    return segments_found


def _fit(spotting: Spotting, segment: Segment) -> tuple[float, float]:
    """Larger for a segment that fits better: by overlap, then by the distance of its middle."""
    return spotting.segment.iou(segment), -abs(spotting.time - segment.middle)


class Detection:
    """Accumulates videos: spottings matched one to one with true signs of the same word.

    A video is added whole and once, because its spottings compete for its signs.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}  # by video
        self._pairs: dict[tuple[str, str], _Pairs] = {}  # by video and word

    def add(self, video: str, seconds: float, spottings: Iterable[Spotting], truths: Iterable[Occurrence]) -> None:
        """Take in one video.

        Args:
            video: its name.
            seconds: how much of it was searched.
            spottings: all that was spotted in it, of all words, with as low a threshold as you want to know about.
            truths: all true signs in it of the words that were looked for.

        Raises:
            OptionsError: the video was added before, a record is of another video, or a number is not finite.
        """
        if video in self._seconds:
            raise OptionsError(f"video {video} was added before; add every video once, with all its spottings")
        if not (math.isfinite(seconds) and seconds >= 0):
            raise OptionsError(f"video {video} lasts {seconds} seconds; give a number from 0")
        spotted: defaultdict[str, list[Spotting]] = defaultdict(list)
        true: defaultdict[str, list[Occurrence]] = defaultdict(list)
        for spotting in spottings:
            if not (math.isfinite(spotting.score) and math.isfinite(spotting.time)):
                raise OptionsError(
                    f"a spotting of '{spotting.word}' in {video} has score {spotting.score} at {spotting.time} s"
                )
            spotted[_word_in(video, spotting)].append(spotting)
        for sign in truths:
            true[_word_in(video, sign)].append(sign)
        self._seconds[video] = float(seconds)
        for word in spotted.keys() | true.keys():
            self._pairs[video, word] = _pair(spotted.get(word, []), true.get(word, []))

    def average_precision(self) -> dict[str, float]:
        """Word → its average precision, of the words that are truly signed somewhere; by word."""
        curves = {word: _join(pairs, self.hours) for word, pairs in sorted(self._by("word").items())}
        return {word: curve.average_precision for word, curve in curves.items() if curve.truths}

    @property
    def hours(self) -> float:
        """Hours of footage that were searched."""
        return math.fsum(self._seconds.values()) / 3600

    def curve(self, word: str | None = None) -> DetectionCurve:
        """Counts at every threshold, of one word or of all words together."""
        pairs = list(self._pairs.values()) if word is None else self._by("word").get(word, [])
        return _join(pairs, self.hours)

    def by_video(self, threshold: float) -> dict[str, OperatingPoint]:
        """Counts of each video with one threshold: groups to draw from in a bootstrap."""
        pairs = self._by("video")
        curves = {video: _join(pairs.get(video, []), seconds / 3600) for video, seconds in self._seconds.items()}
        return {video: curve.at(threshold) for video, curve in curves.items()}

    def _by(self, key: Literal["video", "word"]) -> "dict[str, list[_Pairs]]":
        selected: defaultdict[str, list[_Pairs]] = defaultdict(list)
        for (video, word), pairs in self._pairs.items():
            selected[video if key == "video" else word].append(pairs)
        return selected


def _word_in(video: str, record: Spotting | Occurrence) -> str:
    """The word of a record, which must be of this video."""
    if record.video != video:
        raise OptionsError(f"a record of '{record.word}' is of video '{record.video}', not of '{video}'")
    return record.word


def detect(spottings: Iterable[Spotting], truths: Iterable[Occurrence], seconds: Mapping[str, float]) -> Detection:
    """Match the records of many videos at once.

    Args:
        spottings: of any of the videos.
        truths: of any of the videos.
        seconds: how much of every video was searched, videos without any record included.

    Raises:
        OptionsError: a record names a video that is not in `seconds`.
    """
    spotted: defaultdict[str, list[Spotting]] = defaultdict(list)
    true: defaultdict[str, list[Occurrence]] = defaultdict(list)
    for spotting in spottings:
        spotted[spotting.video].append(spotting)
    for sign in truths:
        true[sign.video].append(sign)
    unknown = sorted((spotted.keys() | true.keys()) - seconds.keys())
    if unknown:
        raise OptionsError(f"the length of video '{unknown[0]}' is not known; give its seconds")
    detection = Detection()
    for video, duration in seconds.items():
        detection.add(video, duration, spotted.get(video, []), true.get(video, []))
    return detection


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """The spottings of one word in one video, and what they found."""

    scores: NDArray[np.float64]  # (S,)
    overlaps: NDArray[np.float64]  # (S,) IoU with the sign found, 0 where none is
    matched: NDArray[np.bool_]  # (S,)
    truths: int


def _pair(spottings: Sequence[Spotting], truths: Sequence[Occurrence]) -> _Pairs:
    ordered = by_score(spottings)
    segments = match(ordered, [truth.segment for truth in truths])
    overlaps = [
        0.0 if sign is None else spotting.segment.iou(sign) for spotting, sign in zip(ordered, segments, strict=True)
    ]
    matched = [sign is not None for sign in segments]
    scores = np.array([spotting.score for spotting in ordered], np.float64)
    return _Pairs(scores, np.array(overlaps, np.float64), np.array(matched, np.bool_), len(truths))


def _join(pairs: Sequence[_Pairs], hours: float) -> DetectionCurve:
    """One curve of several words or videos."""
    scores = np.concatenate([np.empty(0), *(pair.scores for pair in pairs)])
    overlaps = np.concatenate([np.empty(0), *(pair.overlaps for pair in pairs)])
    matched = np.concatenate([np.empty(0, np.bool_), *(pair.matched for pair in pairs)])
    return make_curve(scores, overlaps, matched, truths=sum(pair.truths for pair in pairs), hours=hours)
