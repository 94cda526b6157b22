"""Looking up what was signed: exemplars ranked by similarity to a continuous clip."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from signspot.errors import OptionsError
from signspot.metrics.localisation import Tolerance, Truth
from signspot.metrics.ranking import FloatArray, Group, RankedQueries, ranks_of


class ClipRetrieval:
    """The paper's protocol (Sec. 4.2): which exemplars does a labelled continuous clip retrieve, and where?

    All exemplars are ranked by their greatest similarity over the clip's windows. One is right if it shows the labelled
    word and its greatest similarity lies near the labelled time; an exemplar of the word that peaks elsewhere takes a
    rank like any wrong one, and counts as missed in the average precision.
    """

    def __init__(self, exemplar_words: Sequence[Group], *, tolerance: Tolerance | None = None):
        self.tolerance = tolerance or Tolerance()
        self.queries = RankedQueries()
        self._count = len(exemplar_words)
        self._members: defaultdict[Group, list[int]] = defaultdict(list)
        for index, word in enumerate(exemplar_words):
            self._members[word].append(index)

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
        if not maxima.shape == peaks.shape == (self._count,):
            raise OptionsError(f"{maxima.shape} maxima at {peaks.shape} times do not fit {self._count} exemplars")
        if np.isnan(maxima).any():
            raise OptionsError("a similarity is NaN. Check the embeddings it was computed from.")
        if word not in self._members:
            raise OptionsError(
                f"word '{word}' has no exemplar ({len(self._members):,} words have). "
                "Leave its queries out, or add an exemplar."
            )
        of_word = np.array(self._members[word])
        right = of_word[self.tolerance.accepts(peaks[of_word], truth)]
        self.queries.add(word, ranks_of(maxima, right), len(of_word))
