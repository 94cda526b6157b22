"""The search of one track for the words of a gallery: all peaks of all words, their scores read against decoys."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.errors import TrackError
from signspot.io import html_fragments
from signspot.spotting.decision import decide, least_score
from signspot.spotting.decoys import DecoySet
from signspot.spotting.false_alarms import (
    FEWEST_WORDS,
    SHORTEST_VIDEO,
    CurveScale,
    FalseAlarmModel,
    TrackCache,
    WordFalseAlarms,
    sample_words,
    word_scales,
)
from signspot.spotting.matching import AlignmentMatcher, EmbeddingMatcher, FloatArray, Matcher, Scores, strength
from signspot.spotting.peaks import CurveBlock, Peaks, curve_blocks
from signspot.spotting.spot_options import SpotOptions
from signspot.types import Segment, Spotting, Track, Windows

_SHOWN_WORDS = 12  # in a notebook, those that were found first
_HELD = 5_000_000  # time steps × words whose curves are held in memory at once: 60 MB
_SAMPLE, _PIECES = 300.0, 15  # seconds of a video, in so many pieces, in which decoys are searched
_REACH = 2.0  # seconds around a segment that still decide about its edges


@dataclass(frozen=True)
class SearchResult:
    """The result of one search, and all that it follows from."""

    track: Track  # its `video` is the source as it was given
    matcher: Matcher  # which scored every row of the gallery at every time step
    gallery: Gallery
    options: SpotOptions
    thresholds: Mapping[str, float]  # of each word: the least score of its spottings
    default_thresholds: Mapping[str, float]  # of each word: what it would be with default options
    spottings: tuple[Spotting, ...]  # by time
    default_spottings: tuple[Spotting, ...]  # those of them that a search with default options finds, too
    best: Mapping[str, Spotting]  # the best location of every word, whatever its score
    blocks: tuple[CurveBlock, ...] = field(default=(), repr=False, compare=False)  # of a search in a part of a video

    @property
    def times(self) -> NDArray[np.float64]:
        """(T,) seconds of the time steps at which exemplars were scored."""
        return self.matcher.times

    @property
    def threshold(self) -> float:
        """The threshold of most words."""
        return float(np.median(list(self.thresholds.values()))) if self.thresholds else 1.0

    def decided(self, threshold: float | None) -> tuple[Spotting, ...]:
        """Of this search with a low threshold: the spottings with this score or more; None: as by default."""
        if threshold is None:
            return self.default_spottings
        return tuple(spotting for spotting in self.spottings if spotting.score >= threshold)

    @property
    def duration(self) -> float:
        """Seconds at which the video ends."""
        return self.track.grid.origin + self.track.grid.frames / self.track.grid.fps

    def curve(self, exemplar: int) -> Scores:
        """(T,) the score of one exemplar at every time step; that of its mirror image, where it is higher."""
        best: Scores = self.matcher.scores(np.flatnonzero(self.gallery.rows == exemplar).tolist()).max(axis=0)
        return best

    def word_curve(self, word: str) -> Scores:
        """(T,) the score of a word at every time step, by all its exemplars."""
        curve: Scores
        for block in self.blocks:
            if word in block.words:
                curve = block.scores[block.words.index(word)]
                return curve
        rows = self.gallery.words[word].tolist()
        curve = np.empty(len(self.times), np.float32)
        self.matcher.fuse(self.matcher.compared(rows), self.gallery, word, curve)
        return curve

    def exemplar_curves(self, word: str) -> Scores:
        """(E, T) the scores of each exemplar of a word at every time step, as `curve` has them."""
        rows = self.gallery.words[word]
        block_scores = next((block.scores_of_rows(word) for block in self.blocks if word in block.words), None)
        scores = self.matcher.scores(rows.tolist()) if block_scores is None else block_scores
        exemplars = self.gallery.rows[rows]
        return np.stack([scores[exemplars == exemplar].max(axis=0) for exemplar in dict.fromkeys(exemplars.tolist())])

    def _repr_html_(self) -> str:
        """The spottings in a notebook, by word, with the curve of the word's best score and its threshold."""
        rows = []
        for word in list(dict.fromkeys([*(s.word for s in self.spottings), *self.thresholds]))[:_SHOWN_WORDS]:
            times = (f"{s.start:.2f}–{s.end:.2f} s, {s.score:.2f}" for s in self.spottings if s.word == word)
            scores = self.word_curve(word).tolist()
            curve = html_fragments.curve(scores, self.thresholds[word], f"scores of {word}")
            rows.append((html_fragments.text(word), "<br>".join(times), curve))
        return html_fragments.table(("word", "spottings", f"score over {self.duration:.1f} s"), rows)


@dataclass(frozen=True, slots=True)
class WordScores:
    """The score of each word, by all its exemplars, at the time steps of a track or of a part of it."""

    times: NDArray[np.float64]  # (T,) seconds
    scores: Mapping[str, Scores]  # word → (T,)

    def highest(self, within: Segment) -> dict[str, float]:
        """The highest score of each word in a segment, as `SearchResult.best` has it; empty without a time step."""
        first, last = np.searchsorted(self.times, within.start), np.searchsorted(self.times, within.end, "right")
        inside = slice(int(first), int(last))
        return {} if first >= last else {w: round(float(s[inside].max()), 6) for w, s in self.scores.items()}


@dataclass(frozen=True)
class TrackSearch:
    """A track that is searched: windows and frames, the decoys, and how to decide."""

    track: Track
    windows: Windows  # of the track; more around candidates where the search is refined
    options: SpotOptions
    fallback: float  # least score of a spotting where no false alarms per hour decide
    decoys: DecoySet | None = None  # of the encoder that made the track
    scale: float = 1.0  # the cost of a path whose score is a half
    cache: TrackCache = field(default_factory=TrackCache, repr=False, compare=False)  # of earlier searches of the track

    def run(self, gallery: Gallery, within: Segment | None = None) -> SearchResult:
        """Find the words of a gallery.

        Args:
            gallery: exemplars of any number of words.
            within: only spottings whose time lies in this segment; what is around it is still compared, so that an
                edge is never taken for a peak.
        """
        matcher = self.matcher(gallery, within)
        inside = _steps_inside(matcher.times, within)
        holds = within is not None and len(gallery.rows) * len(matcher.times) <= _HELD
        blocks: list[CurveBlock] = []
        spottings: list[Spotting] = []
        best: dict[str, Spotting] = {}
        thresholds: dict[str, float] = {}
        defaults: dict[str, float] = {}
        if inside.any():
            model = self._false_alarm_model(gallery, within)
            for block, models in self._fit(model, matcher, gallery, within, lasting=holds):
                blocks += [block] if holds else []
                usual = [self._least_score(SpotOptions(), word_model, gallery) for word_model in models]
                least = [self._least_score(self.options, word_model, gallery) for word_model in models]
                thresholds |= zip(block.words, least, strict=True)
                defaults |= zip(block.words, usual, strict=True)
                for word, highest, above in self._spottings(gallery, block, least, models, within):
                    best[word] = highest
                    spottings += above
        searched = self.seconds if within is None else within.duration
        default = SpotOptions(overlap=self.options.overlap)
        above = [spotting for spotting in spottings if spotting.score >= defaults[spotting.word]]
        results = (
            self._reported(decide(spottings, self.options, len(gallery.words), searched)),
            self._reported(decide(above, default, len(gallery.words), searched)),
            dict(zip(best, self._reported(best.values()), strict=True)),
        )
        inputs = self.track, matcher, gallery, self.options, thresholds, defaults
        return SearchResult(*inputs, *results, tuple(blocks))

    def _reported(self, spottings: Iterable[Spotting]) -> tuple[Spotting, ...]:
        """Spottings without false alarms per hour, where the video is too short to tell them."""
        if self.seconds >= SHORTEST_VIDEO:
            return tuple(spottings)
        return tuple(replace(spotting, false_alarms_per_hour=None) for spotting in spottings)

    def best_locations(self, gallery: Gallery, within: Segment) -> dict[str, Spotting]:
        """The best location of every word in a segment, as `run` finds it, without its false alarms per hour.

        Decoys need not be searched for, so many segments of many videos are searched quickly.
        """
        matcher = self.matcher(gallery, within)
        inside = _steps_inside(matcher.times, within)
        best: dict[str, Spotting] = {}
        for block in curve_blocks(matcher, gallery, lasting=False) if inside.any() else ():
            least, rates = [self.fallback] * len(block.words), [None] * len(block.words)
            best |= {word: highest for word, highest, _ in self._spottings(gallery, block, least, rates, within)}
        return best

    def word_scores(self, gallery: Gallery) -> WordScores:
        """The score of each word at every time step; no peaks, no spans."""
        matcher = self.matcher(gallery)
        blocks = curve_blocks(matcher, gallery) if len(matcher.times) else ()
        pairs = (pair for block in blocks for pair in zip(block.words, block.scores, strict=True))
        return WordScores(matcher.times, dict(pairs))

    def _spottings(
        self,
        gallery: Gallery,
        block: CurveBlock,
        thresholds: Sequence[float],
        models: Sequence[WordFalseAlarms | None],
        within: Segment | None,
    ) -> Iterator[tuple[str, Spotting, list[Spotting]]]:
        """Of every word of a block: its best location, and its spottings, the best first."""
        peaks = block.peaks(thresholds, self.options.overlap)
        peaks = peaks.select(_steps_inside(_sign_times(block.matcher, peaks), within))
        peaks = peaks.select(np.lexsort((peaks.steps, -peaks.scores, peaks.curves)))
        counts = np.bincount(peaks.curves, minlength=len(block.words))
        without, inside = np.flatnonzero(counts == 0), _steps_inside(block.matcher.times, within)
        highest = np.where(inside, block.scores[without], -1).argmax(axis=1) if len(without) else without
        spottings = iter(self._as_spottings(gallery, block, peaks, models))
        others = iter(self._as_spottings(gallery, block, block.at(without, highest), models))
        for word, count in zip(block.words, counts.tolist(), strict=True):
            above = [next(spottings) for _ in range(count)]
            yield word, above[0] if above else next(others), above

    def _fit(
        self,
        model: FalseAlarmModel | None,
        matcher: Matcher,
        gallery: Gallery,
        within: Segment | None,
        *,
        lasting: bool,
    ) -> Iterator[tuple[CurveBlock, Sequence[WordFalseAlarms | None]]]:
        """The curves of some words at a time, and the model of false alarms of each word."""
        blocks: Iterable[CurveBlock] = curve_blocks(matcher, gallery, lasting=lasting, apart=within is not None)
        if model is None:
            yield from ((block, [None] * len(block.words)) for block in blocks)
            return
        # A part of a video has no scale of its own.
        scales = word_scales(gallery, self._sampled, self.cache.scales) if within is not None else {}
        for block in blocks:
            whole = within is None
            block_scales = CurveScale.of_curves(block.scores) if whole else [scales[word] for word in block.words]
            yield block, model.fit(block.words, block_scales, gallery)

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
                f"the track of '{self.track.video}' has no frame codes, and this encoder aligns them. "
                "Make it again with: signspot embed. Or match by embedding"
            )
        if self.options.match == "alignment" and gallery.codes is None:
            raise TrackError(
                "the exemplars have no frame codes to align: this encoder gives none. Choose another encoder, or match "
                "by embedding"
            )
        return gallery.codes is not None

    def matcher(self, gallery: Gallery, within: Segment | None = None) -> Matcher:
        """The matcher of a gallery's rows at the time steps of the track, or of a part of it.

        An exemplar that was cut out of the same video does not count where it was cut out: it would find itself.
        """
        matcher = self._matcher(gallery, within)
        for row, number in enumerate(gallery.rows.tolist()):
            for origin in gallery.exemplars[number].origins:
                if self.track.source in origin.contents:
                    matcher.leave_out(row, origin.span)
        return matcher

    def _matcher(self, gallery: Gallery, within: Segment | None) -> Matcher:
        if self.aligns(gallery):
            assert self.track.codes is not None
            assert gallery.codes is not None
            part = _steps_around(self._frame_times, within)
            return self._aligned(self.track.codes[part], self._frame_times[part], gallery, apart=within is not None)
        part = _steps_around(self.windows.times, within)
        windows = Windows(self.windows.times[part], self.windows.embeddings[part])
        return EmbeddingMatcher(windows, gallery.embeddings, self.track.grid.window / self.track.grid.fps)

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

    def _aligned(
        self, codes: FloatArray, times: NDArray[np.float64], gallery: Gallery, *, apart: bool = False
    ) -> AlignmentMatcher:
        """A matcher by alignment; `apart` as in `curve_blocks`."""
        assert gallery.codes is not None
        corrections: NDArray[np.float32] | None = None
        if self.decoys is not None:
            corrections = np.empty(len(gallery.rows), np.float32)
            for rows in gallery.words.values() if apart else [np.arange(len(gallery.rows))]:
                corrections[rows] = self.decoys.corrections_of(gallery.codes[rows])
        return AlignmentMatcher(codes, times, gallery.codes, self.scale, corrections)

    def _least_score(self, options: SpotOptions, model: WordFalseAlarms | None, gallery: Gallery) -> float:
        """The least score of a word's spottings; the words of a gallery that stand in for decoys decide if asked to."""
        if self.decoys is None and options.false_alarms_per_hour is None:
            model = None
        return least_score(options, model, len(gallery.words), self.fallback, self.seconds)

    def _false_alarm_model(self, gallery: Gallery, within: Segment | None) -> FalseAlarmModel | None:
        """The model by the encoder's decoys, else by the gallery's words as decoys for each other, else None.

        Words of a gallery serve where a whole video is searched: those of a part are others in each part, and what is
        found of a word must not depend on which others are looked for there.
        """
        decoys = self.decoys
        if decoys is None:
            if within is not None or len(gallery.words) < FEWEST_WORDS:
                return None
            some = sample_words(gallery)
            return FalseAlarmModel(lambda exemplars: some, self._sampled, None, self.seconds, 1)

        def background(words: Gallery) -> Matcher:
            times = np.arange(len(decoys.background)) / self.track.grid.fps
            return self._aligned(decoys.background, times, words)

        return FalseAlarmModel(
            lambda exemplars: decoys.gallery(exemplars, mirror=self.options.mirror),
            self._sampled,
            background if self.aligns(gallery) else None,
            self.seconds,
            decoys.exemplars,
            self.cache,
        )

    def _as_spottings(
        self, gallery: Gallery, block: CurveBlock, peaks: Peaks, models: Sequence[WordFalseAlarms | None]
    ) -> list[Spotting]:
        end = self.track.grid.origin + self.track.grid.frames / self.track.grid.fps
        rows = block.best_rows(peaks.curves, peaks.steps)
        times = _sign_times(block.matcher, peaks)
        columns = (peaks.curves, rows, times, peaks.starts, peaks.ends, peaks.scores)
        strengths = strength(peaks.scores)
        spottings = []
        for values in zip(*(column.tolist() for column in columns), strengths.tolist(), strict=True):
            word, row, time, start, stop, score, value = values
            exemplar, mirrored = gallery.exemplar(row)
            model = models[word]
            rate = None if model is None else float(f"{model.rate_of_strength(value):.3g}")
            spottings.append(
                Spotting(
                    word=block.words[word],
                    video=self.track.video,
                    time=round(min(max(time, start), stop, end), 3),
                    start=round(min(start, end), 3),
                    end=round(min(stop, end), 3),
                    score=round(score, 6),
                    exemplar=exemplar.id,
                    variant=exemplar.variant,
                    mirrored=mirrored,
                    false_alarms_per_hour=rate,
                    licence=exemplar.licence,
                    consent=exemplar.consent,
                )
            )
        return spottings


def _sign_times(matcher: Matcher, peaks: Peaks) -> NDArray[np.float64]:
    """(P,) seconds: the middles of aligned signs, or of the best windows."""
    if isinstance(matcher, EmbeddingMatcher):
        return matcher.times[peaks.steps]
    return np.asarray((peaks.starts + peaks.ends) / 2)


def _pieces(count: int, rate: float) -> list[slice]:
    """Pieces of a video in which decoys are searched, at equal steps; all of it in one piece, where it is short.

    Args:
        count: time steps of the video.
        rate: time steps per second.
    """
    length = int(_SAMPLE * rate / _PIECES)
    if count <= length * _PIECES:
        return [slice(0, count)]
    return [slice(first, first + length) for first in np.linspace(0, count - length, _PIECES).astype(int).tolist()]


def _steps_around(times: NDArray[np.float64], within: Segment | None) -> slice:
    """The time steps in a segment and those that decide about its edges; all, where there is no segment."""
    if within is None:
        return slice(0, len(times))
    first, last = np.searchsorted(times, (within.start - _REACH, within.end + _REACH))
    return slice(int(first), int(last))


def _steps_inside(times: NDArray[np.float64], within: Segment | None) -> NDArray[np.bool_]:
    """(T,) whether each time step lies in a segment; all do where there is none."""
    if within is None:
        return np.ones(len(times), bool)
    return np.asarray((times >= within.start) & (times <= within.end))
