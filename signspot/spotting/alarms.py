"""Rates of one video: decoys are searched beside the words, and their peaks say what a word's score is worth there."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.spotting.curves import CurveBlock, Rows, curve_blocks
from signspot.spotting.matching import Matcher, Spans, strength
from signspot.spotting.peaks import peaks_of_curves
from signspot.spotting.rates import CurveScale, PeakRates, SafeRates, WordAlarms, shift_between

_DECOY_SPAN = 0.64  # seconds: how long a decoy counts as, when its peaks are told apart
_LOWEST_DECOY = 0.2  # score from which peaks of decoys are counted
_SHORT = 60.0  # seconds: in a shorter video, what is known of words and decoys without it counts, too
FEWEST_WORDS, MOST_WORDS = 8, 100  # of a gallery whose own words serve as decoys
_KEPT = 50_000  # words whose scales in background signing are kept: about 15 MB

Match = Callable[[Gallery], Matcher]
Shift = tuple[float, float]


@dataclass(frozen=True)
class _Searched:
    """Words that were searched in a video or in background signing."""

    scales: list[CurveScale]
    peaks: list[NDArray[np.float64]]  # of each word: the scores of its peaks
    hours: float

    def heights(self, scales: list[CurveScale]) -> NDArray[np.float64]:
        """(P,) the peaks of all words on their scales."""
        pairs = zip(scales, self.peaks, strict=True)
        return np.concatenate([np.empty(0), *((strength(own) - scale.level) / scale.spread for scale, own in pairs)])


@dataclass
class BackgroundPeaks:
    """Results in the background signing that comes with decoys: the same for every video."""

    decoys: dict[int, _Searched] = field(default_factory=dict)  # by their exemplars per word
    scales: dict[bytes, CurveScale] = field(default_factory=dict)  # of words, by what their exemplars show


@dataclass
class DecoyPeaks:
    """Results worked out once per video: peaks of decoys, by their exemplars per word, and scales of words."""

    background: BackgroundPeaks = field(default_factory=BackgroundPeaks)
    rates: dict[int, PeakRates] = field(default_factory=dict)
    shifts: dict[int, Shift] = field(default_factory=dict)  # of scales, from background signing to this video
    scales: dict[bytes, CurveScale] = field(default_factory=dict)  # of words, by what their exemplars show


@dataclass(frozen=True)
class VideoAlarms:
    """Says how many false alarms per hour a score means in one video."""

    decoys: Callable[[int], Gallery]  # words that are not looked for, with at most so many exemplars each
    match: Match  # in the video, or in a sample of it
    background: Match | None  # in signing that comes with the decoys, for videos that are short; None: there is none
    seconds: float  # of the video
    most: int  # exemplars of each decoy that there are: words with more are read by all of them
    known: DecoyPeaks = field(default_factory=DecoyPeaks, repr=False, compare=False)

    @property
    def rough(self) -> bool:
        """Whether the video is so short that rates are told with little certainty."""
        return self.seconds < _SHORT

    def of(
        self, words: Sequence[str], scales: Sequence[CurveScale], gallery: Gallery, rates: PeakRates | None = None
    ) -> list[WordAlarms]:
        """The readings of scores of some words of a gallery.

        Args:
            words: of the gallery.
            scales: of their curves in this video.
            gallery: the words that are looked for.
            rates: what words of the gallery reach in this video; None: there are too few.
        """
        known: dict[int, SafeRates] = {}
        before = self._scales_before(words, gallery) if self.rough else {}
        found = []
        for word, own in zip(words, scales, strict=True):
            exemplars = min(self.most, len(set(gallery.rows[gallery.words[word]].tolist())))
            if exemplars not in known:
                known[exemplars] = SafeRates(self.rates(exemplars), None if self.rough else rates)
            scale = own
            if word in before:
                scale = own.shrunk(before[word].moved(*self.known.shifts[exemplars]), self.seconds)
            found.append(WordAlarms(known[exemplars], scale))
        return found

    def _scales_before(self, words: Sequence[str], gallery: Gallery) -> dict[str, CurveScale]:
        """Scales of words in background signing; empty where there is none."""
        if self.background is None:
            return {}
        asked = gallery.of_words(words)
        if len(self.known.background.scales) > _KEPT:
            self.known.background.scales.clear()
        return known_scales(asked, self.background, self.known.background.scales)

    def rates(self, exemplars: int) -> PeakRates:
        """Rates at which decoys of so many exemplars reach each height in this video."""
        if exemplars not in self.known.rates:
            decoys = self.decoys(exemplars)
            matcher = self.match(decoys)
            here = _searched(curve_blocks(matcher, decoys, lasting=False), matcher.times, self._lasted(matcher))
            scales, heights, hours = here.scales, here.heights(here.scales), here.hours
            if self.background is not None and self.rough:
                there = self._decoys_there(exemplars, decoys, self.background)
                shift = self.known.shifts[exemplars] = shift_between(here.scales, there.scales)
                pairs = zip(here.scales, there.scales, strict=True)
                scales = [one.shrunk(other.moved(*shift), self.seconds) for one, other in pairs]
                heights = np.concatenate([here.heights(scales), there.heights(there.scales)])
                hours += there.hours
            self.known.rates[exemplars] = PeakRates(heights, hours, len(decoys.words))
        return self.known.rates[exemplars]

    def _decoys_there(self, exemplars: int, decoys: Gallery, background: Match) -> _Searched:
        """Decoys of so many exemplars in background signing."""
        known = self.known.background.decoys
        if exemplars not in known:
            matcher = background(decoys)
            blocks = curve_blocks(matcher, decoys, lasting=False)
            known[exemplars] = _searched(blocks, matcher.times, _span(matcher.times))
        return known[exemplars]

    def _lasted(self, matcher: Matcher) -> float:
        """Seconds that were searched: all of the video, or the sample of it."""
        return min(self.seconds, _span(matcher.times) + _DECOY_SPAN)


def known_scales(gallery: Gallery, match: Match, known: dict[bytes, CurveScale]) -> dict[str, CurveScale]:
    """The scale of every word of a gallery where `match` looks for it.

    Args:
        gallery: the words.
        match: of one video, or of one piece of background signing.
        known: scales there, by what the exemplars of a word show; those of new words are added.
    """
    shown = gallery.embeddings if gallery.codes is None else gallery.codes
    names = {word: blake2b(shown[rows].tobytes(), digest_size=16).digest() for word, rows in gallery.words.items()}
    found = {name: known.get(name) for name in names.values()}  # another thread may empty what is known
    new = gallery.of_words([word for word, name in names.items() if found[name] is None])
    for block in curve_blocks(match(new), new, lasting=False, apart=True) if new.words else ():
        made = {names[word]: scale for word, scale in zip(block.words, block.scales, strict=True)}
        known.update(made)
        found |= made
    scales = {word: found[name] for word, name in names.items()}
    return {word: scale for word, scale in scales.items() if scale is not None}


def rates_of_words(blocks: Iterable[CurveBlock], times: NDArray[np.float64], seconds: float) -> PeakRates | None:
    """Rates at which words of a gallery reach each height in a video; None: they are too few to serve as decoys."""
    found = _searched(blocks, times, seconds)
    if len(found.scales) < FEWEST_WORDS:
        return None
    return PeakRates(found.heights(found.scales), found.hours, len(found.scales))


def some_words(gallery: Gallery) -> list[str]:
    """Words that serve as decoys, at equal steps through a gallery."""
    words = list(gallery.words)
    return words[:: max(1, len(words) // MOST_WORDS)][:MOST_WORDS]


def drawn_from(gallery: Gallery) -> Callable[[int], Gallery] | None:
    """Decoys of an encoder that brings none: the words of a gallery are decoys for each other; None: too few words."""
    if len(gallery.words) < FEWEST_WORDS:
        return None
    drawn = gallery.of_words(some_words(gallery))
    return lambda exemplars: drawn


def _searched(blocks: Iterable[CurveBlock], times: NDArray[np.float64], seconds: float) -> _Searched:
    scales: list[CurveScale] = []
    peaks: list[NDArray[np.float64]] = []
    for block in blocks:
        least = np.full(len(block.words), _LOWEST_DECOY)
        found = peaks_of_curves(block.scores, least, lambda _, moments: _short(times, moments))
        borders = np.searchsorted(found.curves, np.arange(1, len(block.words)))
        scales += block.scales
        peaks += np.split(found.scores.astype(np.float64), borders)
    return _Searched(scales, peaks, seconds / 3600)


def _span(times: NDArray[np.float64]) -> float:
    return float(times[-1] - times[0])


def _short(times: NDArray[np.float64], moments: Rows) -> Spans:
    """Spans of one length around moments: decoys need not be localised."""
    return times[moments] - _DECOY_SPAN / 2, times[moments] + _DECOY_SPAN / 2
