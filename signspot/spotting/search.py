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
from signspot.spotting.matching import AlignmentMatcher, EmbeddingMatcher, Matcher, Spans, from_strength, strength
from signspot.spotting.peaks import OVERLAP, Peak, find_peaks
from signspot.timeline import Segment, Track

_CELLS = 2_000_000  # moments × exemplars that are compared at once: 8 MB
_FEWEST = 16  # exemplars at once, however long the track
_REACH = 2.0  # seconds around a segment that still decide about its edges
_DECOY_SPAN = 0.64  # seconds: how long a decoy counts as, when its peaks are told apart
_LEVEL, _LEVEL_MOMENTS = 0.75, 4000  # the quantile that is the level of a row in a video; moments it is taken from
_LIKENESS = 3.0  # real signs are like other real signs so many times as often as decoys are
_LOWEST_DECOY = 0.2  # score from which peaks of decoys are counted

Scores = NDArray[np.float32]  # (T,)
Rows = NDArray[np.int64]  # (T,) or (P,)
MatchBy = Literal["auto", "alignment", "embedding"]


@dataclass(frozen=True, slots=True)
class SpotOptions:
    """How to spot: one record for the library, the command line, annotation and evaluation."""

    threshold: float | None = None  # least score of a spotting, in [0, 1]; None: the encoder's
    false_alarms_per_hour: float | None = None  # allowed per word, instead of a threshold; read against decoys
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
    fallback: float  # least score of a spotting, unless false alarms are allowed and decoys tell another
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
        for curve in best_scores(matcher, gallery) if inside.any() else ():
            alarms = self._alarms(curve, gallery) if within is None else None
            thresholds[curve.word] = self.threshold(alarms)
            peaks = find_word_peaks(matcher, curve, thresholds[curve.word], self.options.overlap)
            kept = [peak for peak in peaks if inside[peak.index] and self._is_allowed(alarms, curve, peak)]
            kept.sort(key=lambda peak: (-peak.score, peak.time))
            place = kept[0] if kept else _place(matcher, curve, int(np.where(inside, curve.scores, -1).argmax()))
            made = [self._spotting(gallery, curve, peak, alarms) for peak in [place, *kept[: self.options.top]]]
            best[curve.word] = made[0]
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
            return AlignmentMatcher(self.track.codes[part], times[part], gallery.codes, self.scale)
        part = _around(self.windows.times, within)
        return EmbeddingMatcher(Windows(self.windows.times[part], self.windows.embeddings[part]), gallery.embeddings)

    def threshold(self, alarms: "WordAlarms | None") -> float:
        """The least score of a word's spottings: as given, by what decoys score, or the encoder's own."""
        rate = self.options.false_alarms_per_hour
        return self.fallback if alarms is None or rate is None else alarms.threshold(rate)

    def _is_allowed(self, alarms: "WordAlarms | None", curve: "WordCurve", peak: Peak) -> bool:
        """Whether a peak is decided on by its score, or makes no more false alarms than allowed."""
        rate = self.options.false_alarms_per_hour
        if rate is None or alarms is None:
            return True
        return alarms.per_hour(peak.score, int(curve.rows[peak.index])) <= rate * (1 + 1e-6)

    def _alarms(self, curve: "WordCurve", gallery: Gallery) -> "WordAlarms | None":
        """How a word's scores are read as false alarms; None where there are no decoys."""
        if self.cohort is None:
            return None
        exemplars = len(set(gallery.rows[gallery.words[curve.word]].tolist()))
        each = min(exemplars, self.cohort.most)
        return WordAlarms(self.rates(self.cohort, each), curve.levels, exemplars / each)

    def rates(self, cohort: Cohort, exemplars: int) -> DecoyRates:
        """How often decoys of so many exemplars reach how far above their own level in this video."""
        if exemplars not in self._rates:
            decoys = cohort.gallery(exemplars, mirror=self.options.mirror)
            matcher = self.matcher(decoys)
            found: list[float] = []
            for curve in best_scores(matcher, decoys):
                peaks = find_peaks(matcher.times, curve.scores, threshold=_LOWEST_DECOY, spans=_short(matcher.times))
                found += [curve.above(peak.score, int(curve.rows[peak.index])) for peak in peaks]
            hours = self.track.grid.frames / self.track.grid.fps / 3600
            self._rates[exemplars] = DecoyRates(np.array(found), hours, len(decoys.words))
        return self._rates[exemplars]

    def _spotting(self, gallery: Gallery, curve: "WordCurve", peak: Peak, alarms: "WordAlarms | None") -> Spotting:
        row = int(curve.rows[peak.index])
        exemplar, mirrored = gallery.exemplar(row)
        end = self.track.grid.origin + self.track.grid.frames / self.track.grid.fps
        rate = None if alarms is None else alarms.per_hour(peak.score, row)
        return Spotting(
            word=curve.word,
            video=self.track.video,
            time=round(min(peak.time, end), 3),
            start=round(min(peak.start, end), 3),
            end=round(min(peak.end, end), 3),
            score=round(peak.score, 6),
            exemplar=exemplar.id,
            variant=exemplar.variant,
            mirrored=mirrored,
            false_alarms_per_hour=None if rate is None else float(f"{rate:.3g}"),
        )


@dataclass(frozen=True)
class WordCurve:
    """The best score of a word at every moment."""

    word: str
    scores: Scores  # (T,)
    rows: Rows  # (T,) which row of the gallery gave each
    levels: Mapping[int, float]  # of each of its rows: the strength that a quarter of all moments exceed

    def above(self, score: float, row: int) -> float:
        """How far a score is above the level of its row."""
        return float(strength(score)) - self.levels[row]


@dataclass(frozen=True)
class WordAlarms:
    """Reads a word's scores as false alarms per hour."""

    rates: DecoyRates
    levels: Mapping[int, float]  # of its rows
    more: float  # exemplars of the word for each of a decoy

    def per_hour(self, score: float, row: int) -> float:
        """False alarms per hour of the word at the score of one of its rows."""
        return _LIKENESS * self.rates.per_hour(float(strength(score)) - self.levels[row], self.more)

    def threshold(self, rate: float) -> float:
        """The least score of any of its rows at which there are at most `rate` false alarms per hour."""
        above = self.rates.threshold(rate / _LIKENESS, self.more)
        return min(1.0, *(from_strength(above + level) for level in self.levels.values()))


def find_word_peaks(matcher: Matcher, curve: WordCurve, threshold: float, overlap: float) -> list[Peak]:
    """The peaks of one word's curve.

    Args:
        matcher: that scored it.
        curve: the scores.
        threshold: least score of a peak.
        overlap: largest part of the shorter of two spans that they may share.
    """

    def spans(moments: Rows) -> Spans:
        return matcher.spans(curve.scores, curve.rows[moments], moments)

    return find_peaks(matcher.times, curve.scores, threshold=threshold, spans=spans, overlap=overlap)


def best_scores(matcher: Matcher, gallery: Gallery) -> Iterator[WordCurve]:
    """For each word, the best score over its exemplars."""
    for block in _blocks(gallery.words, max(_FEWEST, _CELLS // max(1, len(matcher.times)))):
        scores = matcher.scores([row for word in block for row in gallery.words[word].tolist()])
        levels = np.quantile(strength(scores[:, :: max(1, scores.shape[1] // _LEVEL_MOMENTS)]), _LEVEL, axis=1)
        done = 0
        for word in block:
            rows = gallery.words[word]
            own = slice(done, done + len(rows))
            done += len(rows)
            best = scores[own].argmax(axis=0)
            curve = np.take_along_axis(scores[own], best[None], axis=0)[0]
            known = dict(zip(rows.tolist(), levels[own].tolist(), strict=True))
            yield WordCurve(word, curve, rows[best], known)


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


def _place(matcher: Matcher, curve: WordCurve, moment: int) -> Peak:
    """The span at any moment, whatever its score."""
    starts, ends = matcher.spans(curve.scores, curve.rows[[moment]], np.array([moment]))
    return Peak(moment, float(matcher.times[moment]), float(starts[0]), float(ends[0]), float(curve.scores[moment]))
