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
from signspot.spotting.similarity import exemplar_cosines, in_32_bits, scores_of

Spans = tuple[NDArray[np.float64], NDArray[np.float64]]  # (P,) starts and (P,) ends, seconds
Numbers = NDArray[np.int64]
_LONGEST = 1.28  # seconds: the longest span by half height
_MANY = 256  # rows of a gallery: with more, windows in 16 bits are converted once, not for every block of rows
_HELD = 32_000_000  # numbers that are converted at once at most: 128 MB, or 1.4 hours


class Matcher(Protocol):
    """Compares the rows of a gallery with the moments of one track."""

    times: NDArray[np.float64]  # (T,) seconds of the moments

    def scores(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """(R, T) the score in [0, 1] of each row of the gallery at each moment."""

    def compared(self, rows: Sequence[int], out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """(R, T) numbers that rise with the scores of rows, which `as_scores` makes of them; in `out`, if given."""

    def as_scores(self, compared: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scores in [0, 1] of numbers that `compared` gave, or of the best of them, in their place."""

    def spans(self, curves: NDArray[np.float32], words: Numbers, rows: Numbers, moments: Numbers) -> Spans:
        """Starts and ends of the signs at some moments.

        Args:
            curves: (W, T) the scores of some words.
            words: (P,) which of the curves each is of.
            rows: (P,) the row of the gallery that matched at each.
            moments: (P,) into the curve.
        """


class EmbeddingMatcher:
    """One embedding per window, by cosine; a sign spans the windows that stay above half of the height of its peak."""

    def __init__(self, windows: Windows, embeddings: NDArray[np.floating[Any]]):
        """Match windows with (V, D) embeddings of the rows of a gallery."""
        self.times, self._embeddings, self._shown = windows.times, embeddings, windows.embeddings
        if len(embeddings) > _MANY and windows.embeddings.size <= _HELD:
            self._shown = in_32_bits(windows.embeddings)

    def scores(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """(R, T) as `Matcher.scores`."""
        return self.as_scores(self.compared(rows))

    def compared(self, rows: Sequence[int], out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """(R, T) as `Matcher.compared`: cosine similarities."""
        return exemplar_cosines(self._shown, self._embeddings[list(rows)], out)

    def as_scores(self, compared: NDArray[np.float32]) -> NDArray[np.float32]:
        """As `Matcher.as_scores`."""
        return scores_of(compared)

    def spans(self, curves: NDArray[np.float32], words: Numbers, rows: Numbers, moments: Numbers) -> Spans:
        """As `Matcher.spans`."""
        return half_height_spans(self.times, curves, words, moments, _LONGEST)


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
        return self.compared(rows)

    def compared(self, rows: Sequence[int], out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """(R, T) as `Matcher.compared`: the scores themselves."""
        costs = path_costs(self._codes, self._exemplars[list(rows)], self._steps)
        costs += self._corrections[list(rows), None]
        scores, delay = np.empty_like(costs) if out is None else out, min(self._delay, costs.shape[1] - 1)
        scores[:, : costs.shape[1] - delay] = to_score(costs[:, delay:], self._scale)
        scores[:, costs.shape[1] - delay :] = scores[:, costs.shape[1] - delay - 1, None]  # no path ends later
        return scores

    def as_scores(self, compared: NDArray[np.float32]) -> NDArray[np.float32]:
        """As `Matcher.as_scores`: they are scores."""
        return compared

    def spans(self, curves: NDArray[np.float32], words: Numbers, rows: Numbers, moments: Numbers) -> Spans:
        """As `Matcher.spans`."""
        ends = np.minimum(moments + self._delay, len(self._codes) - 1)
        starts = path_starts(self._codes, self._exemplars[rows], ends, self._steps)
        return self.times[starts], self.times[ends] + self._frame


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
