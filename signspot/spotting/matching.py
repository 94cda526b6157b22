"""Matchers: the score of every exemplar at every moment of a track, and the span of a sign at a moment.

The paper's matcher compares one embedding per window by cosine. The aligning matcher compares frame by frame, and knows
from the path where a sign begins and ends.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.refine import Windows
from signspot.spotting.alignment import STEPS, StepCosts, path_costs, path_starts
from signspot.spotting.peaks import half_height_spans
from signspot.spotting.similarity import exemplar_curves

Spans = tuple[NDArray[np.float64], NDArray[np.float64]]  # (P,) starts and (P,) ends, seconds
_LONGEST = 1.28  # seconds: the longest span by half height
_PROPOSED, _FEWEST = 0.03, 20  # share of the windows that embeddings propose for each exemplar; at least so many
_UNLIKE = 1e3  # in every number of a frame code: no frame is near to it
_AROUND = 24  # frames to either side of a proposed window's middle that are aligned


class Matcher(Protocol):
    """Compares the rows of a gallery with the moments of one track."""

    times: NDArray[np.float64]  # (T,) seconds of the moments

    def scores(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """(R, T) the score in [0, 1] of each row of the gallery at each moment."""

    def spans(self, curve: NDArray[np.float32], rows: NDArray[np.int64], moments: NDArray[np.int64]) -> Spans:
        """Where the signs at some moments begin and end.

        Args:
            curve: (T,) the scores in which these moments are maxima.
            rows: (P,) the row of the gallery that matched at each.
            moments: (P,) into the curve.
        """


class EmbeddingMatcher:
    """One embedding per window, by cosine; a sign spans the windows that stay above half of the height of its peak."""

    def __init__(self, windows: Windows, embeddings: NDArray[np.floating[Any]]):
        """Match windows with (V, D) embeddings of the rows of a gallery."""
        self.times, self._windows, self._embeddings = windows.times, windows, embeddings

    def scores(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """(R, T) as `Matcher.scores`."""
        return exemplar_curves(self._windows.embeddings, self._embeddings[list(rows)])

    def spans(self, curve: NDArray[np.float32], rows: NDArray[np.int64], moments: NDArray[np.int64]) -> Spans:
        """As `Matcher.spans`."""
        return half_height_spans(self.times, curve, moments, _LONGEST)


class AlignmentMatcher:
    """Frame codes aligned with those of exemplars; a sign spans what its path spans."""

    def __init__(
        self,
        codes: NDArray[np.floating[Any]],
        times: NDArray[np.float64],
        exemplars: NDArray[np.floating[Any]],
        scale: float,
        corrections: NDArray[np.float32] | None = None,
        steps: StepCosts = STEPS,
    ):
        """Match frames.

        Args:
            codes: (F, C) frame codes.
            times: (F,) seconds at which the frames begin.
            exemplars: (V, L, C) frame codes of the rows of a gallery.
            scale: the cost of a path whose score is a half.
            corrections: (V,) to be added to the costs of each: above 0 for rows that are near to everything.
            steps: what steps of a path cost, in units of `scale`.
        """
        self._codes, self._exemplars, self._scale, self._steps = codes, exemplars, scale, steps.times(scale)
        self._corrections = np.zeros(len(exemplars), np.float32) if corrections is None else corrections
        self._delay = exemplars.shape[1] // 2  # frames from the middle of a path to its end, at the exemplar's own pace
        self._frame = float(times[1] - times[0]) if len(times) > 1 else 0.04
        self.times = times

    def scores(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """(R, T) as `Matcher.scores`: at each frame, of the path that ends half an exemplar later."""
        costs = path_costs(self._codes, self._exemplars[list(rows)], self._steps)
        costs += self._corrections[list(rows), None]
        scores, delay = np.empty_like(costs), min(self._delay, costs.shape[1] - 1)
        scores[:, : costs.shape[1] - delay] = to_score(costs[:, delay:], self._scale)
        scores[:, costs.shape[1] - delay :] = scores[:, costs.shape[1] - delay - 1, None]  # no path ends later
        return scores

    def scores_at(self, row: int, frames: NDArray[np.int64]) -> NDArray[np.float32]:
        """(F,) scores of one row at some frames, which lie in runs; 0 where no path ends before its run does."""
        breaks = np.flatnonzero(np.diff(frames) > 1) + 1  # between runs, frames that no step can pass and none is like
        wall = len(self._steps.costs) - 1
        codes = np.insert(self._codes[frames].astype(np.float32), np.repeat(breaks, wall), _UNLIKE, axis=0)
        places = np.arange(len(frames)) + wall * np.searchsorted(breaks, np.arange(len(frames)), side="right")
        costs = path_costs(codes, self._exemplars[row : row + 1], self._steps)[0][places]
        late = np.minimum(np.arange(len(frames)) + self._delay, len(frames) - 1)
        is_whole = frames[late] == np.minimum(frames + self._delay, len(self._codes) - 1)
        scores = to_score(costs[late] + self._corrections[row], self._scale)
        return np.where(is_whole, scores, np.float32(0))

    def spans(self, curve: NDArray[np.float32], rows: NDArray[np.int64], moments: NDArray[np.int64]) -> Spans:
        """As `Matcher.spans`."""
        ends = np.minimum(moments + self._delay, len(self._codes) - 1)
        starts = path_starts(self._codes, self._exemplars[rows], ends, self._steps)
        return self.times[starts], self.times[ends] + self._frame


class ProposingMatcher:
    """Alignment where embeddings of windows propose it, and a score of 0 elsewhere: for thousands of words."""

    def __init__(self, aligned: AlignmentMatcher, windows: Windows, embeddings: NDArray[np.floating[Any]]):
        """Propose by windows of the same track, compared with (V, D) embeddings of the rows of a gallery."""
        self.times, self._aligned, self._windows, self._embeddings = aligned.times, aligned, windows, embeddings
        self._middles = np.searchsorted(aligned.times, windows.times).clip(0, len(aligned.times) - 1)

    def scores(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """(R, T) as `Matcher.scores`."""
        found = np.zeros((len(rows), len(self.times)), np.float32)
        proposed = exemplar_curves(self._windows.embeddings, self._embeddings[list(rows)])
        for own, row, windows in zip(found, rows, proposed, strict=True):
            frames = self._frames(windows)
            own[frames] = self._aligned.scores_at(row, frames)
        return found

    def _frames(self, scores: NDArray[np.float32]) -> NDArray[np.int64]:
        """The frames around the windows that have the highest of (W,) scores."""
        count = min(len(scores), max(_FEWEST, int(_PROPOSED * len(scores))))
        middles = self._middles[np.argpartition(scores, -count)[-count:]]
        edges = np.zeros(len(self.times) + 1, np.int64)
        np.add.at(edges, np.maximum(middles - _AROUND, 0), 1)
        np.add.at(edges, np.minimum(middles + _AROUND + 1, len(self.times)), -1)
        return np.flatnonzero(np.cumsum(edges[:-1]))

    def spans(self, curve: NDArray[np.float32], rows: NDArray[np.int64], moments: NDArray[np.int64]) -> Spans:
        """As `Matcher.spans`."""
        return self._aligned.spans(curve, rows, moments)


def to_score(costs: NDArray[np.float32], scale: float) -> NDArray[np.float32]:
    """Costs of paths to scores in [0, 1]: 1 for no cost, a half for `scale`, towards 0 beyond."""
    powers = costs.clip(0) / np.float32(scale)
    powers *= powers  # squared twice: a power of 4 is ten times as slow
    powers *= powers
    powers += 1
    scores: NDArray[np.float32] = np.divide(1, powers, out=powers)
    return scores


def strength(scores: NDArray[np.floating[Any]] | float) -> NDArray[np.float64]:
    """Scores on the scale of costs: 0 for a score of 1, -1 for a half, lower below."""
    safe = np.clip(np.asarray(scores, np.float64), 1e-9, 1.0)
    return np.asarray(-((1 / safe - 1) ** 0.25))


def from_strength(value: float) -> float:
    """The score in [0, 1] of a strength; above 1 for one that no score has."""
    return 1 / (1 + value**4) if value <= 0 else 1.0 + value
