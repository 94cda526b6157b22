"""False alarms per hour in this very video: scores are read against those of decoys that are searched beside them.

Decoys are exemplars of signs that nobody looks for. What they score is what chance scores, with this signer, camera
and amount of signing. Above the scores that decoys reach, their rate is continued as an exponential tail.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]

_TAIL = 0.1  # of all decoy peaks: the highest ones, to which the tail is fitted
_FEWEST, _MOST = 20, 300  # peaks in the tail
_LEAST_SPREAD = 1e-3  # of scores in the tail: however few decoys there are, a rate never falls at once


@dataclass(frozen=True)
class DecoyRates:
    """How often decoys score how high in one video."""

    scores: FloatArray  # (P,) of all peaks of all decoys, in any order
    hours: float  # of the video
    decoys: int  # searched

    @cached_property
    def _falling(self) -> NDArray[np.float64]:
        return np.sort(self.scores.astype(np.float64))[::-1]

    @cached_property
    def _tail(self) -> tuple[int, float, float]:
        """How many peaks are in the tail, the score at which it begins, and its mean excess."""
        count = min(len(self._falling), max(_FEWEST, min(_MOST, int(_TAIL * len(self._falling)))))
        if not count:
            return 0, 0.0, _LEAST_SPREAD
        begin = float(self._falling[count - 1])
        return count, begin, max(_LEAST_SPREAD, float(self._falling[:count].mean() - begin))

    def per_hour(self, score: float, exemplars: float = 1.0) -> float:
        """False alarms per hour of a word at a threshold.

        Args:
            score: the threshold.
            exemplars: of the word, for each exemplar of a decoy.
        """
        count, begin, excess = self._tail
        searched = max(self.hours * self.decoys, 1e-9)
        if score >= begin:
            above = count * float(np.exp(-(score - begin) / excess))
        else:
            above = float(np.searchsorted(-self._falling, -score, side="right"))
        return exemplars * max(above, 1e-12) / searched

    def threshold(self, rate: float, exemplars: float = 1.0) -> float:
        """The least score at which a word has at most `rate` false alarms per hour; may be above 1."""
        count, begin, excess = self._tail
        allowed = rate * self.hours * self.decoys / exemplars
        if allowed <= count:
            return begin + excess * float(np.log(max(count, 1e-12) / max(allowed, 1e-12))) if count else 0.0
        place = min(int(allowed), len(self._falling) - 1)
        return float(np.nextafter(self._falling[place], 2.0))
