"""Is a sign found where it is? The time of the greatest similarity against a labelled time or an exact segment."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.metrics.ranking import FloatArray
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
