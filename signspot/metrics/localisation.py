"""Is a sign found where it is? Times against labelled times or exact segments, and what a labelled clip retrieves."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.io.checks import check_numbers
from signspot.metrics.ranking import FloatArray, Group, RankedQueries, ranks_of
from signspot.types import Segment

ROUNDING = 1e-6  # seconds: a peak on the very border counts as inside, however its time was computed

Truth = float | Segment | Sequence[float | Segment] | FloatArray  # of several, any one may be found


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Greatest distance of a peak from the truth, borders included. Defaults: 20 and 5 frames at 25 fps (paper)."""

    before: float = 0.8  # seconds before a labelled time (a mouthing's label lies near the end of the sign)
    after: float = 0.2  # seconds after it
    margin: float = 0.2  # seconds on both sides of an exact segment

    def __post_init__(self) -> None:
        check_numbers(self, "before", "after", "margin", least=0)

    def accepts(self, peaks: FloatArray | float, truth: Truth) -> NDArray[np.bool_]:
        """Say of every peak whether it lies where the sign is.

        Args:
            peaks: (…,) seconds.
            truth: a labelled time, an exact segment, or several of them, of which any will do.

        Returns:
            (…,) whether the peak is right.

        Raises:
            OptionsError: there is no truth, or a time is not finite.
        """
        truths = truth if isinstance(truth, Sequence | np.ndarray) else [truth]
        borders = np.array([self._borders(occurrence) for occurrence in truths], np.float64).reshape(-1, 2)
        times = np.asarray(peaks, np.float64)[..., None]
        if len(borders) == 0 or not (np.isfinite(borders).all() and np.isfinite(times).all()):
            raise OptionsError(f"peak and labelled times must be finite seconds; got peak {peaks}, label {truth}")
        inside = (times >= borders[:, 0] - ROUNDING) & (times <= borders[:, 1] + ROUNDING)
        return np.asarray(inside.any(axis=-1))

    def _borders(self, truth: float | Segment) -> tuple[float, float]:
        if isinstance(truth, Segment):
            return truth.start - self.margin, truth.end + self.margin
        return truth - self.before, truth + self.after


class ClipRetrieval:
    """The paper's protocol (Sec. 4.2): which exemplars does a labelled continuous clip retrieve, and where?

    All exemplars are ranked by their greatest similarity over the clip's windows. One is right if it shows the labelled
    word and its greatest similarity lies near the labelled time; an exemplar of the word that peaks elsewhere takes a
    rank like any wrong one, and counts as missed in the average precision.
    """

    def __init__(self, exemplar_words: Sequence[Group]):
        self.queries = RankedQueries()
        self._words = list(exemplar_words)

    def add(self, word: Group, truth: Truth, similarity: FloatArray, times: FloatArray) -> None:
        """Take in one clip.

        Args:
            word: the labelled word.
            truth: its labelled time (the paper's) or exact segment; several if it is signed several times.
            similarity: (T, V) of every window to every exemplar; of equal maxima over T the earliest counts.
            times: (T,) seconds, on the clock of the label.

        Raises:
            OptionsError: the shapes do not fit, a similarity is NaN, or the word has no exemplar.
        """
        if similarity.ndim != 2 or len(similarity) == 0 or times.shape != similarity.shape[:1]:
            raise OptionsError(
                f"a clip needs similarities of windows × exemplars and one time per window; got shapes "
                f"{similarity.shape} and {times.shape} for '{word}'"
            )
        self.add_maxima(word, truth, similarity.max(axis=0), times[similarity.argmax(axis=0)])

    def add_maxima(self, word: Group, truth: Truth, maxima: FloatArray, peaks: FloatArray) -> None:
        """Take in one clip by every exemplar's greatest similarity, (V,), and its time in seconds, (V,)."""
        if not maxima.shape == peaks.shape == (len(self._words),):
            raise OptionsError(f"{maxima.shape} maxima at {peaks.shape} times do not fit {len(self._words)} exemplars")
        if np.isnan(maxima).any():
            raise OptionsError("a similarity is NaN. Check the embeddings it was computed from.")
        of_word = np.array([index for index, other in enumerate(self._words) if other == word])
        if not len(of_word):
            raise OptionsError(f"word '{word}' has no exemplar. Leave its queries out, or add an exemplar.")
        right = of_word[Tolerance().accepts(peaks[of_word], truth)]
        self.queries.add(word, ranks_of(maxima, right), len(of_word))
