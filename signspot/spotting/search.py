"""The search: a track against a gallery, all words, all peaks, read against decoys; the only road to spottings."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.embedding.refine import Windows
from signspot.errors import OptionsError, TrackError
from signspot.records import Spotting
from signspot.spotting.alarms import MOST_WORDS, DecoyPeaks, VideoAlarms, drawn_from, rates_of_words, some_words
from signspot.spotting.curves import Scores, WordCurve, best_scores, find_word_peaks, place_of
from signspot.spotting.decoys import Cohort
from signspot.spotting.matching import AlignmentMatcher, EmbeddingMatcher, Matcher
from signspot.spotting.peaks import OVERLAP, Peak
from signspot.spotting.rates import CurveScale, PeakRates, WordAlarms
from signspot.timeline import Segment, Track

DEFAULT_RATE = 20.0  # false alarms per hour and word that a spotting means at most, unless options tell otherwise
DEFAULT_FLOOR = 0.75  # least score of a spotting where rates decide: whatever its rate, less is no likeness
_REACH = 2.0  # seconds around a segment that still decide about its edges
_SAMPLE, _PIECES = 300.0, 15  # seconds of a video, in so many pieces, in which decoys are searched
_HELD = 5_000_000  # moments × words whose curves are held in memory at once: 60 MB

FloatArray = NDArray[np.floating[Any]]
MatchBy = Literal["auto", "alignment", "embedding"]


@dataclass(frozen=True, slots=True)
class SpotOptions:
    """Options of spotting: one record for the library, the command line, annotation and evaluation."""

    threshold: float | None = None  # least score of a spotting, in [0, 1]; None: as `is_default` has it
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
    """The result of one search, and all that it follows from."""

    track: Track  # its `video` is the source as it was given
    matcher: Matcher  # which scored every row of the gallery at every moment
    gallery: Gallery
    options: SpotOptions
    thresholds: Mapping[str, float]  # of each word: the least score of its spottings
    spottings: tuple[Spotting, ...]  # by time
    best: Mapping[str, Spotting]  # the best place of every word, whatever its score
    rough_rates: bool = False  # the video is so short that its false alarms per hour may be off by several times

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


def is_default(spotting: Spotting, threshold: float, *, rough: bool) -> bool:
    """Whether a search with default options finds this, too.

    False alarms per hour decide, as scores differ with camera, signer and co-articulation; the encoder's threshold does
    where there are no rates to rely on.

    Args:
        spotting: of a search with a low threshold.
        threshold: the encoder's.
        rough: whether the video is too short for its rates to decide.
    """
    rate = spotting.false_alarms_per_hour
    if rough or rate is None:
        return spotting.score >= threshold
    return rate <= DEFAULT_RATE and spotting.score >= min(threshold, DEFAULT_FLOOR)


@dataclass(frozen=True, slots=True)
class WordScores:
    """The best score of each word over its exemplars, at the moments of a track or of a part of it."""

    times: NDArray[np.float64]  # (T,) seconds
    scores: Mapping[str, Scores]  # word → (T,)

    def highest(self, within: Segment) -> dict[str, float]:
        """The highest score of each word in a segment: that of its best place in `Found`; empty without a moment."""
        first, last = np.searchsorted(self.times, within.start), np.searchsorted(self.times, within.end, "right")
        inside = slice(int(first), int(last))
        return {} if first >= last else {w: round(float(s[inside].max()), 6) for w, s in self.scores.items()}


@dataclass(frozen=True)
class Search:
    """A track that is searched: windows and frames, the cohort of decoys, and how to decide."""

    track: Track
    windows: Windows  # of the track; more around candidates where the search is refined
    options: SpotOptions
    fallback: float  # least score of a spotting, unless false alarms are allowed and decoys tell another
    cohort: Cohort | None = None  # decoys of the encoder that made the track
    scale: float = 1.0  # the cost of a path whose score is a half
    known: DecoyPeaks = field(default_factory=DecoyPeaks, repr=False, compare=False)  # of earlier searches of the track

    def run(self, gallery: Gallery, within: Segment | None = None) -> Found:
        """Find the words of a gallery.

        Args:
            gallery: exemplars of any number of words.
            within: only spottings whose time lies in this segment; what is around it is still seen, so that an edge
                is never taken for a peak.
        """
        matcher = self.matcher(gallery, within)
        inside = np.ones(len(matcher.times), bool) if within is None else _inside(matcher.times, within)
        reader = self._alarms(gallery) if inside.any() else None
        rough = reader is not None and reader.rough
        spottings: list[Spotting] = []
        best: dict[str, Spotting] = {}
        thresholds: dict[str, float] = {}
        for curve, alarms in self._read(matcher, gallery, reader, within) if inside.any() else ():
            thresholds[curve.word] = self.threshold(alarms, rough=rough)
            peaks = find_word_peaks(matcher, curve, thresholds[curve.word], self.options.overlap)
            kept = [peak for peak in peaks if inside[peak.index]]
            kept.sort(key=lambda peak: (-peak.score, peak.time))
            place = kept[0] if kept else place_of(matcher, curve, int(np.where(inside, curve.scores, -1).argmax()))
            made = [self._spotting(gallery, curve, peak, alarms) for peak in [place, *kept[: self.options.top]]]
            best[curve.word] = made[0]
            spottings += made[1:]
        spottings.sort(key=lambda spotting: (spotting.time, spotting.word))
        return Found(self.track, matcher, gallery, self.options, thresholds, tuple(spottings), best, rough)

    def best_places(self, gallery: Gallery, within: Segment) -> dict[str, Spotting]:
        """The best place of every word in a segment, as `run` finds it; its score is not read as false alarms.

        Decoys need not be searched for, so many segments of many videos are looked at in a moment.
        """
        matcher = self.matcher(gallery, within)
        inside = _inside(matcher.times, within)
        found: dict[str, Spotting] = {}
        for curve in best_scores(matcher, gallery) if inside.any() else ():
            peaks = find_word_peaks(matcher, curve, self.fallback, self.options.overlap)
            kept = [peak for peak in peaks if inside[peak.index]]
            best = int(np.where(inside, curve.scores, -1).argmax())
            place = min(kept, key=lambda peak: (-peak.score, peak.time)) if kept else place_of(matcher, curve, best)
            found[curve.word] = self._spotting(gallery, curve, place, None)
        return found

    def word_scores(self, gallery: Gallery, within: Segment | None = None) -> WordScores:
        """The best score of each word at every moment, or at those that decide about a segment; no peaks, no spans."""
        matcher = self.matcher(gallery, within)
        curves = best_scores(matcher, gallery) if len(matcher.times) else ()
        return WordScores(matcher.times, {curve.word: curve.scores for curve in curves})

    def _read(
        self, matcher: Matcher, gallery: Gallery, reader: VideoAlarms | None, within: Segment | None
    ) -> Iterator[tuple[WordCurve, WordAlarms | None]]:
        """The curve of every word, and how its scores are read as false alarms."""
        curves: Iterable[WordCurve] = best_scores(matcher, gallery)
        if reader is None:
            yield from ((curve, None) for curve in curves)
            return
        scales = self._scales(gallery) if within is not None else {}  # a part of a video has no scale of its own
        words: PeakRates | None = None
        if within is None and self.cohort is not None and not reader.rough:
            count = len(gallery.words)
            if count <= MOST_WORDS and count * len(matcher.times) <= _HELD:
                curves = list(curves)
                words = rates_of_words(curves, matcher.times, self.seconds)
            else:
                words = self._rates_in_sample(gallery.of_words(some_words(gallery)))
        for curve in curves:
            yield curve, reader.of(curve.word, scales.get(curve.word, curve.scale), gallery, words)

    def _scales(self, gallery: Gallery) -> dict[str, CurveScale]:
        """The scale of every word in the whole video, worked out once for each word."""
        shown = gallery.embeddings if gallery.codes is None else gallery.codes
        names = {word: blake2b(shown[rows].tobytes(), digest_size=16).digest() for word, rows in gallery.words.items()}
        new = gallery.of_words([word for word, name in names.items() if name not in self.known.scales])
        for curve in best_scores(self._sampled(new), new) if new.words else ():
            self.known.scales[names[curve.word]] = curve.scale
        return {word: self.known.scales[name] for word, name in names.items()}

    def _rates_in_sample(self, gallery: Gallery) -> PeakRates | None:
        matcher = self._sampled(gallery)
        lasted = min(self.seconds, _SAMPLE)
        return rates_of_words(best_scores(matcher, gallery), matcher.times, lasted)

    @property
    def seconds(self) -> float:
        """The length of the video in seconds."""
        return self.track.grid.frames / self.track.grid.fps

    def aligns(self, gallery: Gallery) -> bool:
        """Whether frame codes are aligned; else embeddings of windows are compared.

        Raises:
            TrackError: there are exemplars with frame codes and a track without, or alignment was asked for and the
                exemplars have none.
        """
        if self.options.match == "embedding":
            return False
        if gallery.codes is not None and self.track.codes is None:
            raise TrackError(
                f"the track of '{self.track.video}' has no frame codes, and this encoder aligns them: it was made by "
                "an earlier version. Make it again with: signspot embed. Or match by embedding"
            )
        if self.options.match == "alignment" and gallery.codes is None:
            raise TrackError(
                "the exemplars have no frame codes to align: this encoder gives none. Choose another encoder, or match "
                "by embedding"
            )
        return gallery.codes is not None

    def matcher(self, gallery: Gallery, within: Segment | None = None) -> Matcher:
        """The matcher of a gallery's rows at the moments of the track, or of a part of it."""
        if self.aligns(gallery):
            assert self.track.codes is not None
            assert gallery.codes is not None
            part = _around(self._frame_times, within)
            return self._aligned(self.track.codes[part], self._frame_times[part], gallery)
        part = _around(self.windows.times, within)
        return EmbeddingMatcher(Windows(self.windows.times[part], self.windows.embeddings[part]), gallery.embeddings)

    @cached_property
    def _frame_times(self) -> NDArray[np.float64]:
        assert self.track.codes is not None
        return np.asarray(self.track.grid.origin + np.arange(len(self.track.codes)) / self.track.grid.fps)

    def _sampled(self, gallery: Gallery) -> Matcher:
        """The matcher of a gallery's rows in pieces of the track, joined; in all of it, where it is short."""
        if self.aligns(gallery):
            return self._aligned(*self._sample_of_codes, gallery)
        return EmbeddingMatcher(self._sample_of_windows, gallery.embeddings)

    @cached_property
    def _sample_of_codes(self) -> tuple[FloatArray, NDArray[np.float64]]:
        assert self.track.codes is not None
        fps = self.track.grid.fps
        codes = np.concatenate([self.track.codes[part] for part in _pieces(len(self.track.codes), fps)])
        return codes, np.arange(len(codes)) / fps

    @cached_property
    def _sample_of_windows(self) -> Windows:
        if len(self.windows.times) != len(self.track):  # more of them around candidates
            return self.windows
        rate = self.track.grid.fps / self.track.grid.stride
        rows = np.concatenate([self.windows.embeddings[part] for part in _pieces(len(self.track), rate)])
        return Windows(np.arange(len(rows)) / rate, rows)

    def _aligned(self, codes: FloatArray, times: NDArray[np.float64], gallery: Gallery) -> AlignmentMatcher:
        assert gallery.codes is not None
        corrections = None if self.cohort is None else self.cohort.corrections_of(gallery.codes)
        return AlignmentMatcher(codes, times, gallery.codes, self.scale, corrections)

    def threshold(self, alarms: WordAlarms | None, *, rough: bool) -> float:
        """The least score of a word's spottings: as given, by what decoys score, or as `is_default` has it."""
        rate = self.options.false_alarms_per_hour
        if alarms is None or self.options.threshold is not None:
            return self.fallback
        if rate is None:
            return self.fallback if rough else max(min(self.fallback, DEFAULT_FLOOR), alarms.threshold(DEFAULT_RATE))
        return alarms.threshold(rate)

    def _alarms(self, gallery: Gallery) -> VideoAlarms | None:
        """The reading of scores as false alarms: by the encoder's decoys, else by the gallery's words, else none."""
        cohort = self.cohort
        if cohort is None:
            drawn = drawn_from(gallery)
            return None if drawn is None else VideoAlarms(drawn, self._sampled, None, self.seconds, 1)

        def decoys(exemplars: int) -> Gallery:
            return cohort.gallery(exemplars, mirror=self.options.mirror)

        def background(words: Gallery) -> Matcher:
            times = np.arange(len(cohort.background)) / self.track.grid.fps
            return self._aligned(cohort.background, times, words)

        there = background if self.aligns(gallery) else None
        return VideoAlarms(decoys, self._sampled, there, self.seconds, cohort.most, self.known)

    def _spotting(self, gallery: Gallery, curve: WordCurve, peak: Peak, alarms: WordAlarms | None) -> Spotting:
        row = int(curve.rows(np.array([peak.index]))[0])
        exemplar, mirrored = gallery.exemplar(row)
        end = self.track.grid.origin + self.track.grid.frames / self.track.grid.fps
        rate = None if alarms is None else alarms.per_hour(peak.score)
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
            licence=exemplar.licence,
            consent=exemplar.consent,
        )


def _pieces(count: int, rate: float) -> list[slice]:
    """Pieces of so many moments, at equal steps; all of them in one piece, where they are few."""
    each = int(_SAMPLE * rate / _PIECES)
    if count <= each * _PIECES:
        return [slice(0, count)]
    return [slice(first, first + each) for first in np.linspace(0, count - each, _PIECES).astype(int).tolist()]


def _around(times: NDArray[np.float64], within: Segment | None) -> slice:
    """The moments in a segment and those that decide about its edges."""
    if within is None:
        return slice(0, len(times))
    first, last = np.searchsorted(times, (within.start - _REACH, within.end + _REACH))
    return slice(int(first), int(last))


def _inside(times: NDArray[np.float64], within: Segment) -> NDArray[np.bool_]:
    return np.asarray((times >= within.start) & (times <= within.end))
