"""Rates of one video: decoys are searched beside the words, and their peaks say what a word's score is worth there."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.spotting.curves import Rows, WordCurve, best_scores
from signspot.spotting.matching import Matcher, Spans, strength
from signspot.spotting.peaks import peak_places
from signspot.spotting.rates import CurveScale, DecoyRates, WordAlarms, shift_between

_DECOY_SPAN = 0.64  # seconds: how long a decoy counts as, when its peaks are told apart
_LOWEST_DECOY = 0.2  # score from which peaks of decoys are counted
_SHORT = 60.0  # seconds: in a shorter video, what is known of words and decoys without it counts, too
FEWEST_WORDS, _MOST_WORDS = 8, 100  # of a gallery whose own words serve as decoys

Match = Callable[[Gallery], Matcher]


@dataclass(frozen=True)
class _Searched:
    """Decoys that were searched in a video or in background signing."""

    scales: list[CurveScale]
    peaks: list[NDArray[np.float64]]  # of each decoy: the scores of its peaks
    hours: float

    def heights(self, scales: list[CurveScale]) -> NDArray[np.float64]:
        """(P,) the peaks of all decoys on their scales."""
        pairs = zip(scales, self.peaks, strict=True)
        return np.concatenate([np.empty(0), *((strength(own) - scale.level) / scale.spread for scale, own in pairs)])


@dataclass(frozen=True)
class VideoAlarms:
    """Says how many false alarms per hour a score means in one video."""

    decoys: Callable[[int], Gallery]  # words that are not looked for, with at most so many exemplars each
    match: Match  # in the video
    background: Match | None  # in signing that comes with the decoys, for videos that are short; None: there is none
    seconds: float  # of the video
    _rates: dict[int, DecoyRates] = field(default_factory=dict, init=False, repr=False, compare=False)
    _shifts: dict[int, tuple[float, float]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def rough(self) -> bool:
        """Whether the video is so short that rates are told with little certainty."""
        return self.seconds < _SHORT

    def of(self, curve: WordCurve, gallery: Gallery) -> WordAlarms:
        """How the scores of a word of a gallery are read."""
        exemplars = len(set(gallery.rows[gallery.words[curve.word]].tolist()))
        rates, scale = self.rates(exemplars), curve.scale
        if self.background is not None and self.rough:
            own = gallery.of_words([curve.word])
            known = next(best_scores(self.background(own), own)).scale
            scale = scale.shrunk(known.moved(*self._shifts[exemplars]), self.seconds)
        return WordAlarms(rates, scale)

    def rates(self, exemplars: int) -> DecoyRates:
        """How often decoys of so many exemplars come how high in this video."""
        if exemplars not in self._rates:
            decoys = self.decoys(exemplars)
            here = _search(self.match(decoys), decoys, self.seconds)
            scales, heights, hours = here.scales, here.heights(here.scales), here.hours
            if self.background is not None and self.rough:
                there = _search(self.background(decoys), decoys)
                shift = self._shifts[exemplars] = shift_between(here.scales, there.scales)
                pairs = zip(here.scales, there.scales, strict=True)
                scales = [one.shrunk(other.moved(*shift), self.seconds) for one, other in pairs]
                heights = np.concatenate([here.heights(scales), there.heights(there.scales)])
                hours += there.hours
            self._rates[exemplars] = DecoyRates(heights, hours, len(decoys.words))
        return self._rates[exemplars]


def drawn_from(gallery: Gallery) -> Callable[[int], Gallery] | None:
    """Decoys of an encoder that brings none: the words of a gallery are decoys for each other; None: too few words."""
    words = list(gallery.words)
    if len(words) < FEWEST_WORDS:
        return None
    drawn = gallery.of_words(words[:: max(1, len(words) // _MOST_WORDS)][:_MOST_WORDS])
    return lambda exemplars: drawn


def _search(matcher: Matcher, decoys: Gallery, seconds: float | None = None) -> _Searched:
    scales, peaks = [], []
    for curve in best_scores(matcher, decoys):
        places, _, _ = peak_places(curve.scores, threshold=_LOWEST_DECOY, spans=_short(matcher.times))
        scales.append(curve.scale)
        peaks.append(curve.scores[places].astype(np.float64))
    lasted = float(matcher.times[-1] - matcher.times[0]) if seconds is None else seconds
    return _Searched(scales, peaks, lasted / 3600)


def _short(times: NDArray[np.float64]) -> Callable[[Rows], Spans]:
    """Spans of one length around moments: decoys need not be localised."""
    return lambda moments: (times[moments] - _DECOY_SPAN / 2, times[moments] + _DECOY_SPAN / 2)
