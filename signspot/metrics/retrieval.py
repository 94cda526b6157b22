"""Looking up what was signed: exemplars ranked by similarity to a continuous clip, or to one isolated query."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.metrics.localisation import Tolerance, Truth
from signspot.metrics.ranking import FloatArray, Group, RankedQueries, RetrievalResult, ranks_of

Relevant = Literal["exemplars", "localised"]


class ClipRetrieval:
    """The paper's protocol (Sec. 4.2): which exemplars does a labelled continuous clip retrieve, and where?

    All exemplars are ranked by their greatest similarity over the clip's windows. One is right if it shows the labelled
    word and its greatest similarity lies near the labelled time; an exemplar of the word that peaks elsewhere takes a
    rank like any wrong one. With `relevant="exemplars"` it also counts as missed in the average precision (divided by
    the word's exemplars); with `"localised"` it does not (divided by the right ones; 0 where there is none).
    """

    def __init__(
        self,
        exemplar_words: Sequence[Group],
        *,
        tolerance: Tolerance | None = None,
        relevant: Relevant = "exemplars",
    ):
        if relevant not in ("exemplars", "localised"):
            raise OptionsError(f"relevant must be 'exemplars' or 'localised'; got '{relevant}'")
        self.tolerance = tolerance or Tolerance()
        self.relevant = relevant
        self.queries = RankedQueries()
        self._answers = _Answers(exemplar_words)

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
        of_word = self._answers.of(word)
        best = similarity.max(axis=0)
        self._answers.check(best[None])
        self._rank(word, truth, best, times[similarity[:, of_word].argmax(axis=0)])

    def add_maxima(self, word: Group, truth: Truth, maxima: FloatArray, peaks: FloatArray) -> None:
        """Take in one clip by every exemplar's greatest similarity, (V,), and its time in seconds, (V,)."""
        self._answers.check(maxima[None])
        if peaks.shape != maxima.shape:
            raise OptionsError(f"every maximum needs its time; got {maxima.shape} maxima and {peaks.shape} times")
        self._rank(word, truth, maxima, peaks[self._answers.of(word)])

    def _rank(self, word: Group, truth: Truth, maxima: FloatArray, peaks: FloatArray) -> None:
        """Rank the (V,) maxima; `peaks` are the times of the word's own exemplars."""
        of_word = self._answers.of(word)
        right = of_word[self.tolerance.accepts(peaks, truth)]
        relevant = len(of_word) if self.relevant == "exemplars" else max(1, len(right))
        self.queries.add(word, ranks_of(maxima, right), relevant)

    def merge(self, other: "ClipRetrieval") -> None:
        """Take in all clips of another accumulator."""
        self.queries.merge(other.queries)

    def value(self, ks: Sequence[int] = (5,)) -> RetrievalResult:
        """MAP, R@k and median rank, over words (the paper's) and over clips; nan where there is none."""
        return self.queries.value(ks)


class _Answers:
    """The words of all that can be retrieved."""

    def __init__(self, words: Sequence[Group]):
        self._count = len(words)
        members: defaultdict[Group, list[int]] = defaultdict(list)
        for index, word in enumerate(words):
            members[word].append(index)
        self._members = {word: np.array(indices, np.int64) for word, indices in members.items()}

    def of(self, word: Group) -> NDArray[np.int64]:
        """The indices of a word's answers, at least one."""
        if word not in self._members:
            raise OptionsError(
                f"word '{word}' has nothing to retrieve ({len(self._members):,} words have). "
                "Leave its queries out, or add an exemplar."
            )
        return self._members[word]

    def check(self, similarity: FloatArray) -> None:
        """Refuse a (Q, V) similarity that does not fit or holds NaN."""
        if similarity.ndim != 2 or similarity.shape[1] != self._count:
            raise OptionsError(f"similarities of shape {similarity.shape} do not fit {self._count} answers")
        if np.isnan(similarity).any():
            raise OptionsError("a similarity is NaN. Check the embeddings it was computed from.")
