"""False alarms per hour in this very video: what a score means beside what decoys score in the same pass.

Decoys are exemplars of signs that nobody looks for. Words differ in how near they come to any signing, so the curve of
every word, and of every decoy, is first read on a scale of its own: heights above its upper third, in units of its
spread in this video. On that scale all words have about the same distribution, however many exemplars and mirror images
they have, and what decoys reach is what chance reaches. Within a video and a word the order of scores stays as it is.

Decoys of another language have fewer near-doubles in a video than words of the language that is signed there. So the
words of a dictionary are decoys for each other, too, and the more cautious answer counts.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.spotting.matching import from_strength, strength

FloatArray = NDArray[np.floating[Any]]

_LOW, _LEVEL, _HIGH = 0.4, 0.65, 0.8  # quantiles of a curve: its spread is from the low to the high one
_MOMENTS = 4000  # of a curve, from which quantiles are taken
_LEAST_SPREAD = 1e-3  # in units of strength, for curves that hardly move
_BEGIN, _FAR = 360.0, 30.0  # alarms per hour and word between which the slope of the tail is measured
_FEWEST_BEGIN, _FEWEST_FAR = 8, 4  # peaks there, at least, however short the video
_LEAST_SLOPE = 0.02  # of the tail, in heights: however few decoys there are, a rate never falls at once
_FEW, _MOST = 10.0, 5.5  # words that reach what decoys reach so rarely, per hour, so many times as often, are signed
_OWN = 4.0  # seconds of a video that count as much as what is known of a word without it


@dataclass(frozen=True, slots=True)
class CurveScale:
    """The scale on which a word's scores are read in one video."""

    level: float  # strength that a third of all moments exceed
    spread: float  # of strengths

    @classmethod
    def of(cls, scores: FloatArray) -> "CurveScale":
        """The scale of a (T,) curve of scores."""
        return cls.of_curves(scores[None])[0]

    @classmethod
    def of_curves(cls, scores: FloatArray) -> list["CurveScale"]:
        """The scales of (W, T) curves."""
        some = scores[:, :: max(1, scores.shape[1] // _MOMENTS)]
        rows = zip(*_quantiles(some, (_LOW, _LEVEL, _HIGH)), strict=True)
        return [cls(level, max(_LEAST_SPREAD, high - low)) for low, level, high in rows]

    def height(self, score: float) -> float:
        """The height of a score above the level, in spreads."""
        return (float(strength(score)) - self.level) / self.spread

    def score(self, height: float) -> float:
        """The score of a height; above 1 where no score is so high."""
        return from_strength(self.level + self.spread * height)

    def moved(self, level: float, log_spread: float) -> "CurveScale":
        """The same scale elsewhere."""
        return CurveScale(self.level + level, self.spread * float(np.exp(log_spread)))

    def shrunk(self, other: "CurveScale", seconds: float) -> "CurveScale":
        """Between this scale, taken from so many seconds, and another one that is known without them."""
        own = seconds / (seconds + _OWN)
        logs = own * np.log(self.spread) + (1 - own) * np.log(other.spread)
        return CurveScale(own * self.level + (1 - own) * other.level, float(np.exp(logs)))


def _quantiles(scores: FloatArray, shares: tuple[float, ...]) -> list[list[float]]:
    """For each share: of each of (W, T) curves, as `np.quantile(strength(scores), share, axis=1)`.

    As strengths rise with scores, only a few are worked out.
    """
    count = scores.shape[1]
    places = [share * (count - 1) for share in shares]
    below = [int(place) for place in places]
    above = [min(place + 1, count - 1) for place in below]
    ordered = np.sort(scores, axis=1)  # faster than a partition
    low, high = strength(ordered[:, below]), strength(ordered[:, above])
    found = (_between(low[:, at], high[:, at], places[at] - below[at]) for at in range(len(shares)))
    return [quantile.tolist() for quantile in found]


def _between(low: NDArray[np.float64], high: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Linear, and rounded as numpy does."""
    return low + (high - low) * share if share < 0.5 else high - (high - low) * (1 - share)


def shift_between(here: list[CurveScale], there: list[CurveScale]) -> tuple[float, float]:
    """The difference in height, and in width as a logarithm, between curves of the same words here and there."""
    level = np.median([one.level - other.level for one, other in zip(here, there, strict=True)])
    spread = np.median([np.log(one.spread / other.spread) for one, other in zip(here, there, strict=True)])
    return float(level), float(spread)


@dataclass(frozen=True)
class PeakRates:
    """Rates at which the peaks of words, or of decoys, reach each height in one video.

    Counted down to about one alarm in two minutes; below that continued as an exponential tail, whose slope is measured
    where there are peaks enough and where the few words that really are signed do not matter.
    """

    heights: FloatArray  # (P,) of all peaks of all words, in any order
    hours: float  # that were searched
    words: int  # that were searched for

    @cached_property
    def _falling(self) -> NDArray[np.float64]:
        return np.sort(self.heights.astype(np.float64))[::-1]

    @cached_property
    def _tail(self) -> tuple[int, float, float]:
        """The number of peaks in the tail, the height at which it begins, and its mean excess."""
        searched, peaks = self.hours * self.words, len(self._falling)
        count = min(peaks, max(_FEWEST_FAR, int(_FAR * searched)))
        before = min(peaks, max(_FEWEST_BEGIN, int(_BEGIN * searched)))
        if not count:
            return 0, 0.0, _LEAST_SLOPE
        begin = float(self._falling[count - 1])
        slope = (begin - float(self._falling[before - 1])) / np.log(before / count) if before > count else 0.0
        return count, begin, max(_LEAST_SLOPE, float(slope))

    def per_hour(self, height: float) -> float:
        """False alarms per hour of a word at a threshold, told as a height."""
        count, begin, excess = self._tail
        if height >= begin:
            above = count * float(np.exp(-(height - begin) / excess))
        else:
            above = float(np.searchsorted(-self._falling, -height, side="right"))
        return max(above, 1e-12) / max(self.hours * self.words, 1e-9)

    def threshold(self, rate: float) -> float:
        """The least height at which a word has at most `rate` false alarms per hour."""
        count, begin, excess = self._tail
        allowed = rate * self.hours * self.words
        if allowed <= count:
            return begin + excess * float(np.log(max(count, 1e-12) / max(allowed, 1e-12))) if count else 0.0
        place = min(int(allowed), len(self._falling) - 1)
        return float(np.nextafter(self._falling[place], np.inf))


@dataclass(frozen=True)
class SafeRates:
    """Decoys and the words of a dictionary together: what the more cautious of both says, within a limit.

    Words that are signed again and again in a video come high because they are there, and are no false alarms. So words
    may tell of at most `_MOST` times as many alarms as decoys do, and where they reach even more, decoys alone tell.
    """

    decoys: PeakRates
    words: PeakRates | None = None  # None: there are too few words

    @cached_property
    def _telling(self) -> PeakRates | None:
        """The words, unless they are signed."""
        if self.words is None or self.words.per_hour(self.decoys.threshold(_FEW)) > _MOST * _FEW:
            return None
        return self.words

    def per_hour(self, height: float) -> float:
        """False alarms per hour of a word at a threshold, told as a height."""
        least = self.decoys.per_hour(height)
        return least if self._telling is None else max(least, min(self._telling.per_hour(height), _MOST * least))

    def threshold(self, rate: float) -> float:
        """The least height at which a word has at most `rate` false alarms per hour."""
        least = self.decoys.threshold(rate)
        if self._telling is None:
            return least
        return max(least, min(self._telling.threshold(rate), self.decoys.threshold(rate / _MOST)))


@dataclass(frozen=True)
class WordAlarms:
    """Reads the scores of one word as false alarms per hour."""

    rates: SafeRates
    scale: CurveScale

    def per_hour(self, score: float) -> float:
        """False alarms per hour of the word where this score is the threshold."""
        return self.per_hour_at(float(strength(score)))

    def per_hour_at(self, strength_: float) -> float:
        """The same, for the strength of a score."""
        return self.rates.per_hour((strength_ - self.scale.level) / self.scale.spread)

    def threshold(self, rate: float) -> float:
        """The least score at which there are at most `rate` false alarms per hour; at most 1."""
        return min(1.0, self.scale.score(self.rates.threshold(rate)))
