"""The search itself: the windows of a track against a gallery, all words, all peaks; the only road to spottings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.embedding.refine import Windows
from signspot.errors import OptionsError
from signspot.records import Spotting
from signspot.spotting.matching import EmbeddingMatcher, Matcher, Spans
from signspot.spotting.peaks import OVERLAP, Peak, find_peaks
from signspot.spotting.similarity import exemplar_curves
from signspot.timeline import Segment, Track

_CELLS = 2_000_000  # windows × exemplars that are compared at once: 8 MB
_FEWEST = 16  # exemplars at once, however long the track
_REACH = 2  # windows around a segment that still decide about its edges

Scores = NDArray[np.float32]  # (T,)
Rows = NDArray[np.int64]  # (T,) or (P,)


@dataclass(frozen=True, slots=True)
class SpotOptions:
    """How to spot: one record for the library, the command line, annotation and evaluation."""

    threshold: float | None = None  # least score of a spotting, in [0, 1]; None: the encoder's calibrated one
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
    windows: Windows  # of the track; more around candidates where the search was refined
    gallery: Gallery
    options: SpotOptions
    threshold: float  # that was used
    spottings: tuple[Spotting, ...]  # by time
    best: Mapping[str, Spotting]  # the best place of every word, whatever its score

    @property
    def duration(self) -> float:
        """Seconds at which the video ends."""
        return self.track.grid.origin + self.track.grid.frames / self.track.grid.fps

    def curve(self, exemplar: int) -> NDArray[np.float32]:
        """(T,) the score of one exemplar in every window; that of its mirror image, where it is higher."""
        wanted = self.gallery.exemplars[exemplar]
        rows = [row for row in range(len(self.gallery.embeddings)) if self.gallery.exemplar(row)[0] is wanted]
        best: NDArray[np.float32] = exemplar_curves(self.windows.embeddings, self.gallery.embeddings[rows]).max(axis=0)
        return best


def search_windows(
    track: Track,
    windows: Windows,
    gallery: Gallery,
    options: SpotOptions,
    threshold: float,
    within: Segment | None = None,
) -> Found:
    """Find the words of a gallery in the windows of a track.

    Args:
        track: where the windows come from.
        windows: (T, D) that are compared.
        gallery: exemplars of any number of words.
        options: how to decide; its threshold is replaced by `threshold`.
        threshold: least score of a spotting.
        within: only spottings whose time lies in this segment; windows around it are still seen, so that an edge is
            never taken for a peak.
    """
    seen = windows if within is None else _around(windows, within, track)
    matcher = EmbeddingMatcher(seen, track.grid, gallery)
    spottings: list[Spotting] = []
    best: dict[str, Spotting] = {}
    inside = np.ones(len(matcher.times), bool) if within is None else _inside(matcher.times, within)
    for word, scores, rows in best_scores(matcher, gallery) if inside.any() else ():
        peaks = _peaks(matcher, scores, rows, threshold, options.overlap)
        kept = sorted((peak for peak in peaks if inside[peak.index]), key=lambda peak: (-peak.score, peak.time))
        spottings += [_spotting(track, gallery, word, peak, rows[peak.index]) for peak in kept[: options.top]]
        place = kept[0] if kept else _place(matcher, scores, rows, int(np.where(inside, scores, -1).argmax()))
        best[word] = _spotting(track, gallery, word, place, rows[place.index])
    spottings.sort(key=lambda spotting: (spotting.time, spotting.word))
    return Found(track, seen, gallery, options, threshold, tuple(spottings), best)


def _peaks(matcher: Matcher, scores: Scores, rows: Rows, threshold: float, overlap: float) -> list[Peak]:
    """The peaks of one word's curve."""

    def spans(moments: Rows) -> Spans:
        return matcher.spans(scores, rows[moments], moments)

    return find_peaks(matcher.times, scores, threshold=threshold, spans=spans, overlap=overlap)


def _place(matcher: Matcher, scores: Scores, rows: Rows, moment: int) -> Peak:
    """The span at any moment, whatever its score."""
    starts, ends = matcher.spans(scores, rows[[moment]], np.array([moment]))
    return Peak(moment, float(matcher.times[moment]), float(starts[0]), float(ends[0]), float(scores[moment]))


def candidates(windows: Windows, track: Track, gallery: Gallery, least: float) -> set[int]:
    """Windows at which some word has a peak of at least this score."""
    matcher, found = EmbeddingMatcher(windows, track.grid, gallery), set[int]()
    for _, scores, rows in best_scores(matcher, gallery):
        found.update(peak.index for peak in _peaks(matcher, scores, rows, least, overlap=1.0))
    return found


def best_scores(matcher: Matcher, gallery: Gallery) -> Iterator[tuple[str, Scores, Rows]]:
    """For each word: (T,) the best score over its exemplars, and (T,) which row of the gallery gave it."""
    rows_of: dict[str, list[int]] = {}
    for row in range(len(gallery.embeddings)):
        rows_of.setdefault(gallery.exemplar(row)[0].word, []).append(row)
    for block in _blocks(rows_of, max(_FEWEST, _CELLS // max(1, len(matcher.times)))):
        rows = [row for word in block for row in rows_of[word]]
        scores = matcher.scores(rows)
        done = 0
        for word in block:
            own = scores[done : done + len(rows_of[word])]
            done += len(rows_of[word])
            best = own.argmax(axis=0)
            curve = own[0] if len(own) == 1 else np.take_along_axis(own, best[None], axis=0)[0]
            yield word, curve, np.asarray(rows_of[word])[best]


def _blocks(rows_of: Mapping[str, list[int]], most: int) -> Iterator[list[str]]:
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


def _around(windows: Windows, within: Segment, track: Track) -> Windows:
    """The windows in a segment and those that decide about its edges."""
    reach = _REACH * track.grid.window / track.grid.fps
    first, last = np.searchsorted(windows.times, (within.start - reach, within.end + reach))
    return replace(windows, times=windows.times[first:last], embeddings=windows.embeddings[first:last])


def _inside(times: NDArray[np.float64], within: Segment) -> NDArray[np.bool_]:
    return np.asarray((times >= within.start) & (times <= within.end))


def _spotting(track: Track, gallery: Gallery, word: str, peak: Peak, row: int) -> Spotting:
    exemplar, mirrored = gallery.exemplar(int(row))
    end = track.grid.origin + track.grid.frames / track.grid.fps
    return Spotting(
        word=word,
        video=track.video,
        time=round(peak.time, 3),
        start=round(min(peak.start, end), 3),
        end=round(min(peak.end, end), 3),
        score=round(peak.score, 6),
        exemplar=exemplar.id,
        variant=exemplar.variant,
        mirrored=mirrored,
    )
