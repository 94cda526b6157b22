"""The search: a track against a gallery, all words, all peaks, read against decoys; the only road to spottings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.embedding.refine import Windows
from signspot.errors import TrackError
from signspot.spotting.alarms import (
    MOST_WORDS,
    DecoyPeaks,
    VideoAlarms,
    drawn_from,
    known_scales,
    rates_of_words,
    some_words,
)
from signspot.spotting.curves import CurveBlock, Scores, WordScores, curve_blocks
from signspot.spotting.decoys import Cohort
from signspot.spotting.matching import AlignmentMatcher, EmbeddingMatcher, Matcher, strength
from signspot.spotting.moments import SAMPLE, moments_around, moments_inside, pieces
from signspot.spotting.options import SpotOptions
from signspot.spotting.peaks import Peaks
from signspot.spotting.rates import PeakRates, WordAlarms
from signspot.types import Segment, Spotting, Track

DEFAULT_RATE = 20.0  # false alarms per hour and word that a spotting means at most, unless options tell otherwise
DEFAULT_FLOOR = 0.75  # least score of a spotting where rates decide: whatever its rate, less is no likeness
_HELD = 5_000_000  # moments × words whose curves are held in memory at once: 60 MB

FloatArray = NDArray[np.floating[Any]]


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
    kept: tuple[CurveBlock, ...] = field(default=(), repr=False, compare=False)  # of a search in a part of a video

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

    def exemplar_curves(self, word: str) -> NDArray[np.float32]:
        """(E, T) the scores of each exemplar of a word at every moment, as `curve` has them."""
        rows = self.gallery.words[word]
        known = next((block.scores_of_rows(word) for block in self.kept if word in block.words), None)
        scores = self.matcher.scores(rows.tolist()) if known is None else known
        shown = self.gallery.rows[rows]
        return np.stack([scores[shown == exemplar].max(axis=0) for exemplar in dict.fromkeys(shown.tolist())])


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
        inside = moments_inside(matcher.times, within)
        reader = self._alarms(gallery, within) if inside.any() else None
        rough = reader is not None and reader.rough
        holds = within is not None and len(gallery.rows) * len(matcher.times) <= _HELD
        held: list[CurveBlock] = []
        spottings: list[Spotting] = []
        best: dict[str, Spotting] = {}
        thresholds: dict[str, float] = {}
        for block, alarms in self._read(matcher, gallery, reader, within, lasting=holds) if inside.any() else ():
            held += [block] if holds else []
            least = [self.threshold(each, rough=rough) for each in alarms]
            thresholds |= zip(block.words, least, strict=True)
            for word, place, kept in self._spottings(gallery, block, least, alarms, inside):
                best[word] = place
                spottings += kept[: self.options.top]
        spottings.sort(key=lambda spotting: (spotting.time, spotting.word))
        found = tuple(spottings)
        return Found(self.track, matcher, gallery, self.options, thresholds, found, best, rough, tuple(held))

    def best_places(self, gallery: Gallery, within: Segment) -> dict[str, Spotting]:
        """The best place of every word in a segment, as `run` finds it; its score is not read as false alarms.

        Decoys need not be searched for, so many segments of many videos are looked at in a moment.
        """
        matcher = self.matcher(gallery, within)
        inside = moments_inside(matcher.times, within)
        found: dict[str, Spotting] = {}
        for block in curve_blocks(matcher, gallery, lasting=False) if inside.any() else ():
            least, no_alarms = [self.fallback] * len(block.words), [None] * len(block.words)
            found |= {word: place for word, place, _ in self._spottings(gallery, block, least, no_alarms, inside)}
        return found

    def _spottings(
        self,
        gallery: Gallery,
        block: CurveBlock,
        thresholds: Sequence[float],
        alarms: Sequence[WordAlarms | None],
        inside: NDArray[np.bool_],
    ) -> Iterator[tuple[str, Spotting, list[Spotting]]]:
        """Of every word of a block: its best place, and its spottings, the best first."""
        peaks = block.peaks(thresholds, self.options.overlap)
        peaks = peaks.taken(inside[peaks.places])
        peaks = peaks.taken(np.lexsort((peaks.places, -peaks.scores, peaks.curves)))
        counts = np.bincount(peaks.curves, minlength=len(block.words))
        without = np.flatnonzero(counts == 0)
        highest = np.where(inside, block.scores[without], -1).argmax(axis=1) if len(without) else without
        made = self._made(gallery, block, peaks, alarms)
        others = iter(self._made(gallery, block, block.places(without, highest), alarms))
        done = 0
        for word, count in zip(block.words, counts.tolist(), strict=True):
            kept = made[done : done + count]
            done += count
            yield word, kept[0] if kept else next(others), kept

    def word_scores(self, gallery: Gallery) -> WordScores:
        """The best score of each word at every moment; no peaks, no spans."""
        matcher = self.matcher(gallery)
        blocks = curve_blocks(matcher, gallery) if len(matcher.times) else ()
        pairs = (pair for block in blocks for pair in zip(block.words, block.scores, strict=True))
        return WordScores(matcher.times, dict(pairs))

    def _read(
        self, matcher: Matcher, gallery: Gallery, reader: VideoAlarms | None, within: Segment | None, *, lasting: bool
    ) -> Iterator[tuple[CurveBlock, Sequence[WordAlarms | None]]]:
        """The curves of some words at a time, and how their scores are read as false alarms."""
        blocks: Iterable[CurveBlock] = curve_blocks(matcher, gallery, lasting=lasting, apart=within is not None)
        if reader is None:
            yield from ((block, [None] * len(block.words)) for block in blocks)
            return
        # A part of a video has no scale of its own.
        scales = known_scales(gallery, self._sampled, self.known.scales) if within is not None else {}
        rates: PeakRates | None = None
        if within is None and self.cohort is not None and not reader.rough:
            count = len(gallery.words)
            if count <= MOST_WORDS and count * len(matcher.times) <= _HELD:
                blocks = list(curve_blocks(matcher, gallery))
                rates = rates_of_words(blocks, matcher.times, self.seconds)
            else:
                rates = self._rates_in_sample(gallery.of_words(some_words(gallery)))
        for block in blocks:
            own = block.scales if within is None else [scales[word] for word in block.words]
            yield block, reader.of(block.words, own, gallery, rates)

    def _rates_in_sample(self, gallery: Gallery) -> PeakRates | None:
        matcher = self._sampled(gallery)
        lasted = min(self.seconds, SAMPLE)
        return rates_of_words(curve_blocks(matcher, gallery, lasting=False), matcher.times, lasted)

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
            part = moments_around(self._frame_times, within)
            return self._aligned(self.track.codes[part], self._frame_times[part], gallery, apart=within is not None)
        part = moments_around(self.windows.times, within)
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
        codes = np.concatenate([self.track.codes[part] for part in pieces(len(self.track.codes), fps)])
        return codes, np.arange(len(codes)) / fps

    @cached_property
    def _sample_of_windows(self) -> Windows:
        if len(self.windows.times) != len(self.track):  # more of them around candidates
            return self.windows
        rate = self.track.grid.fps / self.track.grid.stride
        rows = np.concatenate([self.windows.embeddings[part] for part in pieces(len(self.track), rate)])
        return Windows(np.arange(len(rows)) / rate, rows)

    def _aligned(
        self, codes: FloatArray, times: NDArray[np.float64], gallery: Gallery, *, apart: bool = False
    ) -> AlignmentMatcher:
        """A matcher by alignment; `apart` as in `curve_blocks`."""
        assert gallery.codes is not None
        corrections: NDArray[np.float32] | None = None
        if self.cohort is not None:
            corrections = np.empty(len(gallery.rows), np.float32)
            for rows in gallery.words.values() if apart else [np.arange(len(gallery.rows))]:
                corrections[rows] = self.cohort.corrections_of(gallery.codes[rows])
        return AlignmentMatcher(codes, times, gallery.codes, self.scale, corrections)

    def threshold(self, alarms: WordAlarms | None, *, rough: bool) -> float:
        """The least score of a word's spottings: as given, by what decoys score, or as `is_default` has it."""
        rate = self.options.false_alarms_per_hour
        if alarms is None or self.options.threshold is not None:
            return self.fallback
        if rate is None:
            return self.fallback if rough else max(min(self.fallback, DEFAULT_FLOOR), alarms.threshold(DEFAULT_RATE))
        return alarms.threshold(rate)

    def _alarms(self, gallery: Gallery, within: Segment | None) -> VideoAlarms | None:
        """The reading of scores as false alarms: by the encoder's decoys, else by the gallery's words, else none.

        Words of a gallery serve where a whole video is searched: those of a part are others in each part, and what is
        found of a word must not depend on which others are looked for there.
        """
        cohort = self.cohort
        if cohort is None:
            if within is not None:
                return None
            drawn = drawn_from(gallery)
            return None if drawn is None else VideoAlarms(drawn, self._sampled, None, self.seconds, 1)

        def decoys(exemplars: int) -> Gallery:
            return cohort.gallery(exemplars, mirror=self.options.mirror)

        def background(words: Gallery) -> Matcher:
            times = np.arange(len(cohort.background)) / self.track.grid.fps
            return self._aligned(cohort.background, times, words)

        there = background if self.aligns(gallery) else None
        return VideoAlarms(decoys, self._sampled, there, self.seconds, cohort.most, self.known)

    def _made(
        self, gallery: Gallery, block: CurveBlock, peaks: Peaks, alarms: Sequence[WordAlarms | None]
    ) -> list[Spotting]:
        """Spottings of places of words."""
        end = self.track.grid.origin + self.track.grid.frames / self.track.grid.fps
        shown = block.rows(peaks.curves, peaks.places)
        columns = (peaks.curves, shown, block.matcher.times[peaks.places], peaks.starts, peaks.ends, peaks.scores)
        heights = strength(peaks.scores)
        made = []
        for values in zip(*(column.tolist() for column in columns), heights.tolist(), strict=True):
            word, row, time, start, stop, score, height = values
            exemplar, mirrored = gallery.exemplar(row)
            reading = alarms[word]
            rate = None if reading is None else reading.per_hour_at(height)
            made.append(
                Spotting(
                    word=block.words[word],
                    video=self.track.video,
                    time=round(min(max(time, start), stop, end), 3),  # a sign much faster than its exemplar
                    start=round(min(start, end), 3),
                    end=round(min(stop, end), 3),
                    score=round(score, 6),
                    exemplar=exemplar.id,
                    variant=exemplar.variant,
                    mirrored=mirrored,
                    false_alarms_per_hour=None if rate is None else float(f"{rate:.3g}"),
                    licence=exemplar.licence,
                    consent=exemplar.consent,
                )
            )
        return made
