"""Is a sign found where it is? The time of the greatest similarity against a labelled time or an exact segment."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.metrics.ranking import Averages, FloatArray, Group, GroupedValues
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
        for name in ("before", "after", "margin"):
            if not getattr(self, name) >= 0:
                raise OptionsError(f"tolerance {name} must be 0 seconds or more; got {getattr(self, name)}")

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
        borders = np.array([self._borders(one) for one in truths], np.float64).reshape(-1, 2)
        times = np.asarray(peaks, np.float64)[..., None]
        if len(borders) == 0 or not (np.isfinite(borders).all() and np.isfinite(times).all()):
            raise OptionsError(f"peak and labelled times must be finite seconds; got peak {peaks}, label {truth}")
        inside = (times >= borders[:, 0] - ROUNDING) & (times <= borders[:, 1] + ROUNDING)
        return np.asarray(inside.any(axis=-1))

    def _borders(self, truth: float | Segment) -> tuple[float, float]:
        if isinstance(truth, Segment):
            return truth.start - self.margin, truth.end + self.margin
        return truth - self.before, truth + self.after


class LocalisationAccuracy:
    """Share of known words whose greatest similarity lies where the word is signed."""

    def __init__(self, tolerance: Tolerance | None = None):
        self.tolerance = tolerance or Tolerance()
        self.hits = GroupedValues()  # 1 or 0 for every clip, by word

    def add(self, word: Group, peak: float, truth: Truth) -> None:
        """Take in one clip.

        Args:
            word: the word that is known to be in it.
            peak: seconds at which the similarity is greatest.
            truth: where the word is: a labelled time, a segment, or several if it is signed several times.
        """
        self.hits.add(word, float(self.tolerance.accepts(peak, truth)))

    def add_curve(self, word: Group, times: FloatArray, similarity: FloatArray, truth: Truth) -> None:
        """Take in one clip by its (T,) window times and (T,) similarities; the earliest of equal maxima counts."""
        if similarity.ndim != 1 or similarity.shape != times.shape or len(times) == 0 or np.isnan(similarity).any():
            raise OptionsError(
                f"a curve needs one time and one similarity (no NaN) a window; got shapes {times.shape} and "
                f"{similarity.shape} for '{word}'"
            )
        self.add(word, float(times[similarity.argmax()]), truth)

    def merge(self, other: "LocalisationAccuracy") -> None:
        """Take in all clips of another accumulator."""
        self.hits.merge(other.hits)

    def value(self) -> Averages:
        """The share of clips that are right, over words and over clips; nan where there is none."""
        return self.hits.value()
