"""Curves: the best score of a word at every moment of a track, over its exemplars and their mirror images."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.spotting.matching import Matcher, Spans
from signspot.spotting.peaks import Peak, find_peaks
from signspot.spotting.rates import CurveScale

_CELLS = 24_000_000  # moments × exemplars that are compared at once: 96 MB; products of fewer rows are slower
_FEWEST = 16  # exemplars at once, however long the track

Scores = NDArray[np.float32]  # (T,)
Rows = NDArray[np.int64]  # (T,) or (P,)


@dataclass(frozen=True)
class WordCurve:
    """The best score of a word at every moment."""

    word: str
    scores: Scores  # (T,)
    shown: Rows  # (V,) rows of the gallery that show the word
    compared: NDArray[np.float32]  # (V, T) what the matcher gave for each of them
    matcher: Matcher

    def rows(self, moments: Rows) -> Rows:
        """(P,) which row of the gallery gave the scores at (P,) moments."""
        scores = self.matcher.as_scores(self.compared[:, moments])  # of a copy
        rows: Rows = self.shown[scores.argmax(axis=0)]
        return rows

    @property
    def scale(self) -> CurveScale:
        """The scale on which its scores are read in this video."""
        return CurveScale.of(self.scores)


def find_word_peaks(matcher: Matcher, curve: WordCurve, threshold: float, overlap: float) -> list[Peak]:
    """The peaks of one word's curve.

    Args:
        matcher: that scored it.
        curve: the scores.
        threshold: least score of a peak.
        overlap: largest part of the shorter of two spans that they may share.
    """

    def spans(moments: Rows) -> Spans:
        return matcher.spans(curve.scores, curve.rows(moments), moments)

    return find_peaks(matcher.times, curve.scores, threshold=threshold, spans=spans, overlap=overlap)


def best_scores(matcher: Matcher, gallery: Gallery) -> Iterator[WordCurve]:
    """For each word, the best score over its exemplars."""
    for block in _blocks(gallery.words, max(_FEWEST, _CELLS // max(1, len(matcher.times)))):
        compared = matcher.compared([row for word in block for row in gallery.words[word].tolist()])
        done = 0
        for word in block:
            rows = gallery.words[word]
            own = compared[done : done + len(rows)]
            done += len(rows)
            yield WordCurve(word, matcher.as_scores(own.max(axis=0)), rows, own, matcher)


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


def place_of(matcher: Matcher, curve: WordCurve, moment: int) -> Peak:
    """The span at any moment, whatever its score."""
    moments = np.array([moment])
    starts, ends = matcher.spans(curve.scores, curve.rows(moments), moments)
    return Peak(moment, float(matcher.times[moment]), float(starts[0]), float(ends[0]), float(curve.scores[moment]))
