"""The search: a track against a gallery, all words, all peaks, read against decoys; the only road to spottings."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.embedding.refine import Windows
from signspot.errors import OptionsError, TrackError
from signspot.records import Spotting
from signspot.spotting.decoys import Cohort, DecoyRates
from signspot.spotting.matching import AlignmentMatcher, EmbeddingMatcher, Matcher, Spans
from signspot.spotting.peaks import OVERLAP, Peak, find_peaks
from signspot.timeline import Segment, Track

_CELLS = 2_000_000  # moments × exemplars that are compared at once: 8 MB
_FEWEST = 16  # exemplars at once, however long the track
_REACH = 2.0  # seconds around a segment that still decide about its edges
_DECOY_SPAN = 0.64  # seconds: how long a decoy counts as, when its peaks are told apart
_LOWEST_DECOY = 0.2  # score from which peaks of decoys are counted
DEFAULT_RATE = 10.0  # false alarms per hour and word that the default threshold allows, where there are decoys

Scores = NDArray[np.float32]  # (T,)
Rows = NDArray[np.int64]  # (T,) or (P,)
MatchBy = Literal["auto", "alignment", "embedding"]


@dataclass(frozen=True, slots=True)
class SpotOptions:
    """How to spot: one record for the library, the command line, annotation and evaluation."""

    threshold: float | None = None  # least score of a spotting, in [0, 1]; None: as many false alarms as allowed
    false_alarms_per_hour: float | None = None  # allowed per word, if no threshold is given; None: `DEFAULT_RATE`
    match: MatchBy = "auto"  # by alignment of frame codes where there are any, else by embeddings of windows
    stride: int = 1  # frames between two windows
    refine: bool = False  # with a stride above 1: embed again at stride 1 around candidate peaks
    margin: float = 0.1  # with refine: how far below the threshold a coarse peak still is a candidate
    overlap: float = OVERLAP  # largest part of the shorter of two spans of one word that they may share
    top: int | None = None  # at most so many spottings per word, the best; None: all
    mirror: bool = True  # also compare with exemplars mirrored left to right
    seed: int = 0  # random seed for sampling exemplar clips

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise OptionsError(f"threshold is a score in [0, 1]; got {self.threshold}")
        if self.false_alarms_per_hour is not None and not 0 < self.false_alarms_per_hour < float("inf"):
            raise OptionsError(f"false alarms per hour must be above 0; got {self.false_alarms_per_hour}")
        if self.threshold is not None and self.false_alarms_per_hour is not None:
            raise OptionsError("give a threshold or false alarms per hour, not both")
        if self.match not in ("auto", "alignment", "embedding"):
            raise OptionsError(f"match is auto, alignment or embedding; got '{self.match}'")
        if self.stride < 1:
            raise OptionsError(f"stride must be at least 1 frame; got {self.stride}")
        if not 0 <= self.overlap <= 1:
            raise OptionsError(f"overlap is a part of a span in [0, 1]; got {self.overlap}")
        if not 0 <= self.margin <= 1:
            raise OptionsError(f"margin is a difference of scores in [0, 1]; got {self.margin}")
        if self.top is not None and self.top < 1:
            raise OptionsError(f"top must be at least 1; got {self.top}")


class SpotKeywords(TypedDict, total=False):
    """The fields of `SpotOptions`, as keywords of `Spotter.spot`."""

    threshold: float | None
    false_alarms_per_hour: float | None
    match: MatchBy
    stride: int
    refine: bool
    margin: float
    overlap: float
    top: int | None
    mirror: bool
    seed: int


@dataclass(frozen=True)
class Found:
    """What one search found, and all that it follows from."""

    track: Track  # its `video` is the source as it was given
    matcher: Matcher  # which scored every row of the gallery at every moment
    gallery: Gallery
    options: SpotOptions
    thresholds: Mapping[str, float]  # of each word: the least score of its spottings
    spottings: tuple[Spotting, ...]  # by time
    best: Mapping[str, Spotting]  # the best place of every word, whatever its score

    @property
    def times(self) -> NDArray[np.float64]:
        """(T,) seconds of the moments at which exemplars were scored."""
        return self.matcher.times

    @property
    def threshold(self) -> float:
        """The threshold of most words."""
        return float(np.median(list(self.thresholds.values()))) if self.thresholds else 1.0

    @property
    def duration(self) -> float:
        """Seconds at which the video ends."""
        return self.track.grid.origin + self.track.grid.frames / self.track.grid.fps

    def curve(self, exemplar: int) -> Scores:
        """(T,) the score of one exemplar at every moment; that of its mirror image, where it is higher."""
        best: Scores = self.matcher.scores(np.flatnonzero(self.gallery.rows == exemplar).tolist()).max(axis=0)
        return best


@dataclass(frozen=True)
class Search:
    """A track that is searched: windows and frames, the cohort of decoys, and how to decide."""

    track: Track
    windows: Windows  # of the track; more around candidates where the search is refined
    options: SpotOptions
    fallback: float  # least score of a spotting where neither the user nor decoys say another
    cohort: Cohort | None = None  # decoys of the encoder that made the track
    scale: float = 1.0  # the cost of a path whose score is a half
    _rates: dict[int, DecoyRates] = field(default_factory=dict, init=False, repr=False, compare=False)

    def run(self, gallery: Gallery, within: Segment | None = None) -> Found:
        """Find the words of a gallery.

        Args:
            gallery: exemplars of any number of words.
            within: only spottings whose time lies in this segment; what is around it is still seen, so that an edge
                is never taken for a peak.
        """
        matcher = self.matcher(gallery, within)
        spottings: list[Spotting] = []
        best: dict[str, Spotting] = {}
        thresholds: dict[str, float] = {}
        inside = np.ones(len(matcher.times), bool) if within is None else _inside(matcher.times, within)
        for word, scores, rows in best_scores(matcher, gallery) if inside.any() else ():
            exemplars = len(set(gallery.rows[gallery.words[word]].tolist()))
            thresholds[word] = self.threshold(exemplars)
            peaks = find_word_peaks(matcher, scores, rows, thresholds[word], self.options.overlap)
            kept = sorted((peak for peak in peaks if inside[peak.index]), key=lambda peak: (-peak.score, peak.time))
            place = kept[0] if kept else _place(matcher, scores, rows, int(np.where(inside, scores, -1).argmax()))
            made = [
                self._spotting(gallery, word, peak, rows[peak.index], exemplars)
                for peak in [place, *kept[: self.options.top]]
            ]
            best[word] = made[0]
            spottings += made[1:]
        spottings.sort(key=lambda spotting: (spotting.time, spotting.word))
        return Found(self.track, matcher, gallery, self.options, thresholds, tuple(spottings), best)

    def aligns(self, gallery: Gallery) -> bool:
        """Whether frame codes are aligned; else embeddings of windows are compared.

        Raises:
            TrackError: alignment was asked for and there are no frame codes.
        """
        there = self.track.codes is not None and gallery.codes is not None
        if self.options.match == "alignment" and not there:
            raise TrackError(
                f"'{self.track.video}' or the exemplars have no frame codes to align: this encoder gives none. "
                "Choose another encoder, or match by embedding"
            )
        return there and self.options.match != "embedding"

    def matcher(self, gallery: Gallery, within: Segment | None = None) -> Matcher:
        """What scores the rows of a gallery at the moments of the track, or of a part of it."""
        if self.aligns(gallery):
            assert self.track.codes is not None
            assert gallery.codes is not None
            times = self.track.grid.origin + np.arange(len(self.track.codes)) / self.track.grid.fps
            part = _around(times, within)
            corrections = self.cohort.corrections_of(gallery.codes) if self.cohort else None
            return AlignmentMatcher(self.track.codes[part], times[part], gallery.codes, self.scale, corrections)
        part = _around(self.windows.times, within)
        return EmbeddingMatcher(Windows(self.windows.times[part], self.windows.embeddings[part]), gallery.embeddings)

    def threshold(self, exemplars: int) -> float:
        """The least score of a word with so many exemplars."""
        if self.options.threshold is not None:
            return self.options.threshold
        rates = self.rates(exemplars)
        if rates is None:
            return self.fallback
        allowed = self.options.false_alarms_per_hour or DEFAULT_RATE
        return min(1.0, rates.threshold(allowed, self._more(exemplars)))

    def rates(self, exemplars: int) -> DecoyRates | None:
        """How often decoys of so many exemplars score how high in this video; None where there are no decoys."""
        if self.cohort is None:
            return None
        each = min(exemplars, self.cohort.most)
        if each not in self._rates:
            decoys = self.cohort.gallery(each, mirror=self.options.mirror)
            matcher = self.matcher(decoys)
            scores = [
                peak.score
                for _, curve, _ in best_scores(matcher, decoys)
                for peak in find_peaks(matcher.times, curve, threshold=_LOWEST_DECOY, spans=_short(matcher.times))
            ]
            hours = self.track.grid.frames / self.track.grid.fps / 3600
            self._rates[each] = DecoyRates(np.array(scores), hours, len(decoys.words))
        return self._rates[each]

    def _more(self, exemplars: int) -> float:
        """How many times more exemplars a word has than a decoy can have."""
        return exemplars / min(exemplars, self.cohort.most) if self.cohort else 1.0

    def _spotting(self, gallery: Gallery, word: str, peak: Peak, row: int, exemplars: int) -> Spotting:
        exemplar, mirrored = gallery.exemplar(int(row))
        end = self.track.grid.origin + self.track.grid.frames / self.track.grid.fps
        rates = self.rates(exemplars)
        alarms = None if rates is None else rates.per_hour(peak.score, self._more(exemplars))
        return Spotting(
            word=word,
            video=self.track.video,
            time=round(min(peak.time, end), 3),
            start=round(min(peak.start, end), 3),
            end=round(min(peak.end, end), 3),
            score=round(peak.score, 6),
            exemplar=exemplar.id,
            variant=exemplar.variant,
            mirrored=mirrored,
            false_alarms_per_hour=None if alarms is None else float(f"{alarms:.3g}"),
        )


def find_word_peaks(matcher: Matcher, scores: Scores, rows: Rows, threshold: float, overlap: float) -> list[Peak]:
    """The peaks of one word's curve.

    Args:
        matcher: that scored it.
        scores: (T,) the curve.
        rows: (T,) the row of the gallery that gave each score.
        threshold: least score of a peak.
        overlap: largest part of the shorter of two spans that they may share.
    """

    def spans(moments: Rows) -> Spans:
        return matcher.spans(scores, rows[moments], moments)

    return find_peaks(matcher.times, scores, threshold=threshold, spans=spans, overlap=overlap)


def best_scores(matcher: Matcher, gallery: Gallery) -> Iterator[tuple[str, Scores, Rows]]:
    """For each word: (T,) the best score over its exemplars, and (T,) which row of the gallery gave it."""
    for block in _blocks(gallery.words, max(_FEWEST, _CELLS // max(1, len(matcher.times)))):
        scores = matcher.scores([row for word in block for row in gallery.words[word].tolist()])
        done = 0
        for word in block:
            own = scores[done : done + len(gallery.words[word])]
            done += len(own)
            best = own.argmax(axis=0)
            curve = own[0] if len(own) == 1 else np.take_along_axis(own, best[None], axis=0)[0]
            yield word, curve, gallery.words[word][best]


def _blocks(rows_of: Mapping[str, Rows], most: int) -> Iterator[list[str]]:
    """Words in groups that together have about `most` rows."""
    block: list[str] = []
    rows = 0
    for word, own in rows_of.items():
        block.append(word)
        rows += len(own)
        if rows >= most:
            yield block
            block, rows = [], 0
    if block:
        yield block


def _around(times: NDArray[np.float64], within: Segment | None) -> slice:
    """The moments in a segment and those that decide about its edges."""
    if within is None:
        return slice(0, len(times))
    first, last = np.searchsorted(times, (within.start - _REACH, within.end + _REACH))
    return slice(int(first), int(last))


def _inside(times: NDArray[np.float64], within: Segment) -> NDArray[np.bool_]:
    return np.asarray((times >= within.start) & (times <= within.end))


def _short(times: NDArray[np.float64]) -> Callable[[Rows], Spans]:
    """Spans of one length around moments: decoys need not be localised."""
    return lambda moments: (times[moments] - _DECOY_SPAN / 2, times[moments] + _DECOY_SPAN / 2)


def _place(matcher: Matcher, scores: Scores, rows: Rows, moment: int) -> Peak:
    """The span at any moment, whatever its score."""
    starts, ends = matcher.spans(scores, rows[[moment]], np.array([moment]))
    return Peak(moment, float(matcher.times[moment]), float(starts[0]), float(ends[0]), float(scores[moment]))
