"""Curves: the best score of a word at every moment of a track, over its exemplars and their mirror images."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.spotting.matching import Matcher, Spans
from signspot.spotting.peaks import Peaks, peaks_of_curves
from signspot.spotting.rates import CurveScale
from signspot.types import Segment

_CELLS = 24_000_000  # moments × exemplars that are compared at once: 96 MB; products of fewer rows are slower
_FEWEST = 16  # exemplars at once, however long the track

Scores = NDArray[np.float32]  # (T,)
Rows = NDArray[np.int64]  # (V,) or (P,)


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
class CurveBlock:
    """The best scores of some words at every moment."""

    words: tuple[str, ...]  # W of them
    scores: NDArray[np.float32]  # (W, T)
    shown: tuple[Rows, ...]  # of each word: the rows of the gallery that show it
    compared: NDArray[np.float32]  # (V, T) what the matcher gave for these rows, those of the first word first
    matcher: Matcher

    @property
    def scales(self) -> list[CurveScale]:
        """The scales on which the scores of each word are read in this video."""
        return CurveScale.of_curves(self.scores)

    @cached_property
    def _table(self) -> Rows:
        """(W, M) which rows of `compared` are of each word; where it has fewer than M, its first one again."""
        firsts = accumulate((len(rows) for rows in self.shown[:-1]), initial=0)
        most = max(len(rows) for rows in self.shown)
        made = np.empty((len(self.words), most), np.int64)
        for place, (first, rows) in enumerate(zip(firsts, self.shown, strict=True)):
            made[place] = first
            made[place, : len(rows)] += np.arange(len(rows))
        return made

    @cached_property
    def _joined(self) -> Rows:
        """(V,) rows of the gallery."""
        return np.concatenate(self.shown)

    def rows(self, words: Rows, moments: Rows) -> Rows:
        """(P,) which row of the gallery gave the score of each of (P,) words, by number, at (P,) moments."""
        own = self._table[words]
        scores = self.matcher.as_scores(self.compared[own, moments[:, None]])  # of a copy
        rows: Rows = self._joined[own[np.arange(len(own)), scores.argmax(axis=1)]]
        return rows

    def scores_of_rows(self, word: str) -> NDArray[np.float32]:
        """(R, T) the scores of the rows of the gallery that show a word."""
        place = self.words.index(word)
        first = sum(len(rows) for rows in self.shown[:place])
        return self.matcher.as_scores(self.compared[first : first + len(self.shown[place])].copy())

    def spans(self, words: Rows, moments: Rows) -> Spans:
        """The spans of (P,) words, by number, at any (P,) moments, whatever their scores."""
        return self.matcher.spans(self.scores, words, self.rows(words, moments), moments)

    def peaks(self, thresholds: Sequence[float], overlap: float) -> Peaks:
        """The peaks of every word.

        Args:
            thresholds: of each word: the least score of a peak.
            overlap: largest part of the shorter of two spans that they may share.
        """
        return peaks_of_curves(self.scores, np.array(thresholds), self.spans, overlap)

    def places(self, words: Rows, moments: Rows) -> Peaks:
        """As peaks, (P,) words, by number, at any (P,) moments."""
        return Peaks(words, moments, *self.spans(words, moments), self.scores[words, moments])


def curve_blocks(
    matcher: Matcher, gallery: Gallery, *, lasting: bool = True, apart: bool = False
) -> Iterator[CurveBlock]:
    """The best scores of all words over their exemplars, some words at a time, in the order of the gallery.

    Args:
        matcher: of the gallery's rows.
        gallery: the words.
        lasting: whether a block is kept when the next one is asked for; if not, its memory is used again.
        apart: compare the exemplars of each word by themselves, so that not even the last digit of a score depends on
            which other words are looked for: products of other sizes are rounded otherwise.
    """
    room: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None
    most = max(_FEWEST, _CELLS // max(1, len(matcher.times)))
    for block in _blocks(gallery.words, most):
        shown = tuple(gallery.words[word] for word in block)
        rows, length = [row for own in shown for row in own.tolist()], len(matcher.times)
        if room is None or lasting or len(room[0]) < len(rows) or len(room[1]) < len(block):
            room = np.empty((len(rows), length), np.float32), np.empty((len(block), length), np.float32)
        compared, scores = room[0][: len(rows)], room[1][: len(block)]
        if not apart:
            compared = matcher.compared(rows, compared)
        done = 0
        for own, curve in zip(shown, scores, strict=True):
            part = compared[done : done + len(own)]
            if apart:
                matcher.compared(own.tolist(), part)
            part.max(axis=0, out=curve)
            matcher.as_scores(curve)
            done += len(own)
        yield CurveBlock(tuple(block), scores, shown, compared, matcher)


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
