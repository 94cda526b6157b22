"""False alarms per hour: what a score means in this very video, beside what decoys score in the same search.

Decoys are exemplars of signs that nobody looks for. Words differ in how near they come to any signing, so the curve of
every word, and of every decoy, is normalised first: `CurveScale` takes its level (the 0.65 quantile) and its spread
(between two quantiles) in this video. Normalised scores of all words have about the same distribution, however many
exemplars and mirror images they have, and what decoys reach is what chance reaches. Within a video and a word the order
of scores stays as it is, and nothing depends on which other words are looked for.

A short video says little by itself. Up to `_ALONE` seconds, scales and rates are also taken from background signing
that comes with the decoys, the more so the shorter the video is.
"""

import math
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.errors import OptionsError
from signspot.models.encoder import Encoder
from signspot.spotting.matching import FloatArray, Indices, Matcher, Spans, fitted, from_strength, strength
from signspot.spotting.peaks import CurveBlock, curve_blocks, peaks_of_curves
from signspot.types import Track

# Seconds from which on rates are reported. A rate falls exponentially with the normalised score z, which is read on a
# scale of quantiles of the word's own curve, of about N = seconds / 0.64 independent time steps. The standard error of
# log(rate) is about 10 / sqrt(N) at ten false alarms per hour: 1, a factor of 2.7, in 60 seconds.
SHORTEST_VIDEO = 60.0
FEWEST_WORDS, MOST_WORDS = 8, 100  # of a gallery whose own words serve as decoys

_DECOY_SPAN = 0.64  # seconds: the length that a decoy counts as when its peaks are separated
_LOWEST_DECOY = 0.2  # score from which peaks of decoys are counted
_CACHED_WORDS = 50_000  # words whose scales in background signing are cached: about 15 MB
_FITTED = fitted("false_alarms")
_QUANTILES: tuple[float, ...] = tuple(_FITTED["quantiles"])  # of a curve: low, level, high; its spread is high - low
_STEPS = 4000  # time steps of a curve, from which quantiles are taken
_LEAST_SPREAD = 1e-3  # in units of strength, for curves that hardly move
_BEGIN, _FAR = _FITTED["tail_rates"]  # alarms per hour and word between which the slope of the tail is measured
_FEWEST_BEGIN, _FEWEST_FAR = 8, 4  # peaks there, at least, however short the video
_LEAST_SLOPE = 0.02  # of the tail, in normalised scores: however few decoys there are, a rate never falls at once
_PRIOR_SECONDS: float = _FITTED["prior_seconds"]  # of a video that weigh as much as background signing
_ALONE: float = _FITTED["alone_seconds"]  # a video that is so long is read by itself
_NEAR_DOUBLES: float = _FITTED["near_doubles"]  # signs like a word in its own language, for one that is like a decoy

Match = Callable[[Gallery], Matcher]
Shift = tuple[float, float]  # of levels, and of logarithms of spreads


@dataclass(frozen=True, slots=True)
class CurveScale:
    """The scale on which a word's scores are normalised in one video: (strength - level) / spread."""

    level: float  # strength that a third of all time steps exceed
    spread: float  # of strengths

    @classmethod
    def of_curves(cls, scores: FloatArray) -> list["CurveScale"]:
        """The scales of (W, T) curves."""
        some = scores[:, :: max(1, scores.shape[1] // _STEPS)]
        rows = zip(*_quantiles(some, _QUANTILES), strict=True)
        return [cls(level, max(_LEAST_SPREAD, high - low)) for low, level, high in rows]

    def score(self, normalised: float) -> float:
        """The score of a normalised one; above 1 where no score is so high."""
        return from_strength(self.level + self.spread * normalised)

    def moved(self, shift: Shift) -> "CurveScale":
        """The same scale where curves are shifted."""
        return CurveScale(self.level + shift[0], self.spread * float(np.exp(shift[1])))

    def shrunk(self, other: "CurveScale", seconds: float) -> "CurveScale":
        """The weighted mean of this scale, measured in so many seconds, and of one measured elsewhere."""
        weight = own_weight(seconds)
        logs = weight * np.log(self.spread) + (1 - weight) * np.log(other.spread)
        return CurveScale(weight * self.level + (1 - weight) * other.level, float(np.exp(logs)))


def _quantiles(scores: FloatArray, shares: tuple[float, ...]) -> list[list[float]]:
    """For each share: of each of (W, T) curves, as `np.quantile(strength(scores), share, axis=1)`.

    As strengths rise with scores, only a few are computed.
    """
    count = scores.shape[1]
    positions = [share * (count - 1) for share in shares]
    below = [int(position) for position in positions]
    above = [min(index + 1, count - 1) for index in below]
    ordered = np.sort(scores, axis=1)  # faster than a partition
    low, high = strength(ordered[:, below]), strength(ordered[:, above])
    quantiles = (_between(low[:, at], high[:, at], positions[at] - below[at]) for at in range(len(shares)))
    return [quantile.tolist() for quantile in quantiles]


def _between(low: NDArray[np.float64], high: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Linear, and rounded as numpy does."""
    return low + (high - low) * share if share < 0.5 else high - (high - low) * (1 - share)


def shift_between(here: Sequence[CurveScale], there: Sequence[CurveScale]) -> Shift:
    """The median difference of levels, and of logarithms of spreads, between curves of the same words."""
    level = np.median([scale.level - other.level for scale, other in zip(here, there, strict=True)])
    spread = np.median([np.log(scale.spread / other.spread) for scale, other in zip(here, there, strict=True)])
    return float(level), float(spread)


def own_weight(seconds: float) -> float:
    """The weight, in [0, 1], of what is measured in a video of so many seconds; background signing has the rest."""
    return min(1.0, seconds / (seconds + _PRIOR_SECONDS) * (_ALONE + _PRIOR_SECONDS) / _ALONE)


@dataclass(frozen=True)
class PeakDistribution:
    """Rates at which the peaks of decoys reach each normalised score in one video.

    Peaks are counted down to about one in two minutes; beyond that an exponential tail continues, whose slope is
    measured where there are peaks enough and where the few decoys that really are signed do not matter. Between peaks
    the logarithm of the rate is linear, so that `rate` and `threshold` are inverse.
    """

    values: FloatArray  # (P,) normalised scores of all peaks of all words, in any order
    searched: float  # hours times words
    weights: FloatArray | None = None  # (P,) how much each counts; None: 1

    @cached_property
    def _curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Falling scores, the rising logarithms of their rates, and the slope of the tail before the first of them."""
        if not len(self.values):
            return np.zeros(1), np.log([1 / self.searched]), _LEAST_SLOPE
        order = np.argsort(-self.values, kind="stable")
        falling = self.values[order].astype(np.float64)
        above = np.cumsum(np.ones(len(order)) if self.weights is None else self.weights[order])
        far = min(len(order), int(np.searchsorted(above, max(_FEWEST_FAR, _FAR * self.searched))) + 1) - 1
        begin = min(len(order), int(np.searchsorted(above, max(_FEWEST_BEGIN, _BEGIN * self.searched))) + 1) - 1
        slope = (falling[far] - falling[begin]) / np.log(above[begin] / above[far]) if begin > far else 0.0
        return falling[far:], np.log(above[far:] / self.searched), max(_LEAST_SLOPE, float(slope))

    def rate(self, value: float) -> float:
        """False alarms per hour and word where this normalised score is the threshold."""
        falling, logs, slope = self._curve
        if value >= falling[0]:
            return float(np.exp(logs[0] - (value - falling[0]) / slope))
        return float(np.exp(np.interp(-value, -falling, logs)))

    def threshold(self, rate: float) -> float:
        """The least normalised score at which a word has at most `rate` false alarms per hour."""
        falling, logs, slope = self._curve
        log_rate = float(np.log(rate))
        if log_rate <= logs[0]:
            return float(falling[0] + slope * (logs[0] - log_rate))
        return float(np.interp(log_rate, logs, falling)) if log_rate < logs[-1] else -np.inf


@dataclass(frozen=True, slots=True)
class WordFalseAlarms:
    """The model of false alarms of one word in one video: rate(score) and threshold(rate).

    Decoys of another language have fewer near-doubles in a video than words of the language that is signed there; the
    fitted `near_doubles` makes up for it.
    """

    decoys: PeakDistribution
    scale: CurveScale

    def rate(self, score: float) -> float:
        """False alarms per hour of the word where this score is the threshold."""
        return self.rate_of_strength(float(strength(score)))

    def rate_of_strength(self, value: float) -> float:
        """As `rate`, of the strength of a score."""
        return _NEAR_DOUBLES * self.decoys.rate((value - self.scale.level) / self.scale.spread)

    def threshold(self, rate: float) -> float:
        """The least score at which there are at most `rate` false alarms per hour; at most 1."""
        return min(1.0, self.scale.score(self.decoys.threshold(rate / _NEAR_DOUBLES)))


@dataclass(frozen=True)
class _Searched:
    """Words that were searched in a video or in background signing."""

    scales: list[CurveScale]
    peaks: list[NDArray[np.float64]]  # of each word: the scores of its peaks
    hours: float

    def normalised(self, scales: Sequence[CurveScale]) -> NDArray[np.float64]:
        """(P,) the peaks of all words on their scales."""
        pairs = zip(scales, self.peaks, strict=True)
        return np.concatenate(
            [np.empty(0), *((strength(scores) - scale.level) / scale.spread for scale, scores in pairs)]
        )


@dataclass
class BackgroundCache:
    """Results in the background signing that comes with decoys: the same for every video."""

    decoys: dict[int, _Searched] = field(default_factory=dict)  # by their exemplars per word
    scales: dict[bytes, CurveScale] = field(default_factory=dict)  # of words, by the content of their exemplars


@dataclass
class TrackCache:
    """Results in one track that serve all searches of it: peaks of decoys and scales of words."""

    background: BackgroundCache = field(default_factory=BackgroundCache)
    decoys: dict[int, PeakDistribution] = field(default_factory=dict)  # by their exemplars per word
    shifts: dict[int, Shift] = field(default_factory=dict)  # of scales, from background signing to this video
    scales: dict[bytes, CurveScale] = field(default_factory=dict)  # of words, by the content of their exemplars


class LastTrack:
    """Keeps the `TrackCache` of the track that was searched last, and of background signing for good.

    A server searches several tracks at once, each in a thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._embeddings: weakref.ref[NDArray[np.floating[Any]]] | None = None
        self._caches: dict[tuple[bool, bool], TrackCache] = {}

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return LastTrack, ()  # in another process it begins anew

    def cache(self, track: Track, *, by_codes: bool, mirror: bool) -> TrackCache:
        """The cache of a track that is matched by codes or by embeddings, with mirrored exemplars or without."""
        with self._lock:
            if self._embeddings is None or self._embeddings() is not track.embeddings:
                self._embeddings = weakref.ref(track.embeddings)
                self._caches = {how: TrackCache(cache.background) for how, cache in self._caches.items()}
            return self._caches.setdefault((by_codes, mirror), TrackCache())


@dataclass(frozen=True)
class FalseAlarmModel:
    """Fits the false alarms of words in one video to the peaks of decoys there."""

    decoys: Callable[[int], Gallery]  # words that are not looked for, with at most so many exemplars each
    match: Match  # in the video, or in a sample of it
    background: Match | None  # in signing that comes with the decoys, for videos that are short; None: there is none
    seconds: float  # of the video
    most_exemplars: int  # of each decoy: words with more are compared with decoys of this many
    cache: TrackCache = field(default_factory=TrackCache, repr=False, compare=False)

    def fit(self, words: Sequence[str], scales: Sequence[CurveScale], gallery: Gallery) -> list[WordFalseAlarms]:
        """The models of some words of a gallery.

        Args:
            words: of the gallery.
            scales: of their curves in this video.
            gallery: the words that are looked for.
        """
        elsewhere = self._background_scales(words, gallery)
        models = []
        for word, scale in zip(words, scales, strict=True):
            exemplars = min(self.most_exemplars, len(set(gallery.rows[gallery.words[word]].tolist())))
            decoys = self.decoy_peaks(exemplars)
            if word in elsewhere:
                scale = scale.shrunk(elsewhere[word].moved(self.cache.shifts[exemplars]), self.seconds)
            models.append(WordFalseAlarms(decoys, scale))
        return models

    def decoy_peaks(self, exemplars: int) -> PeakDistribution:
        """Peaks of decoys of so many exemplars in this video; in a short one, together with background signing."""
        if exemplars not in self.cache.decoys:
            decoys = self.decoys(exemplars)
            matcher = self.match(decoys)
            lasted = min(self.seconds, _span(matcher.times) + _DECOY_SPAN)  # all of the video, or the sample of it
            here = _search(curve_blocks(matcher, decoys, lasting=False), matcher.times, lasted)
            values, weights, hours = here.normalised(here.scales), None, here.hours
            if self.background is not None and self.seconds < _ALONE:
                there = self._background_decoys(exemplars, decoys, self.background)
                shift = self.cache.shifts[exemplars] = shift_between(here.scales, there.scales)
                pairs = zip(here.scales, there.scales, strict=True)
                scales = [scale.shrunk(other.moved(shift), self.seconds) for scale, other in pairs]
                normalised, other = here.normalised(scales), there.normalised(there.scales)
                weight = 1 - own_weight(self.seconds)
                values = np.concatenate([normalised, other])
                weights = np.concatenate([np.ones(len(normalised)), np.full(len(other), weight)])
                hours += weight * there.hours
            self.cache.decoys[exemplars] = PeakDistribution(values, hours * len(decoys.words), weights)
        return self.cache.decoys[exemplars]

    def _background_decoys(self, exemplars: int, decoys: Gallery, background: Match) -> _Searched:
        cached = self.cache.background.decoys
        if exemplars not in cached:
            matcher = background(decoys)
            blocks = curve_blocks(matcher, decoys, lasting=False)
            cached[exemplars] = _search(blocks, matcher.times, _span(matcher.times))
        return cached[exemplars]

    def _background_scales(self, words: Sequence[str], gallery: Gallery) -> dict[str, CurveScale]:
        """Scales of words in background signing; empty where there is none."""
        if self.background is None or self.seconds >= _ALONE:
            return {}
        if len(self.cache.background.scales) > _CACHED_WORDS:
            self.cache.background.scales.clear()
        return word_scales(gallery.of_words(words), self.background, self.cache.background.scales)


def word_scales(gallery: Gallery, match: Match, cache: dict[bytes, CurveScale]) -> dict[str, CurveScale]:
    """The scale of every word of a gallery where `match` searches for it.

    Args:
        gallery: the words.
        match: in one video, or in background signing.
        cache: scales there, by the content of a word's exemplars; those of new words are added.
    """
    content = gallery.embeddings if gallery.codes is None else gallery.codes
    digests = {word: blake2b(content[rows].tobytes(), digest_size=16).digest() for word, rows in gallery.words.items()}
    scales = {digest: cache.get(digest) for digest in digests.values()}  # another thread may clear the cache
    new = gallery.of_words([word for word, digest in digests.items() if scales[digest] is None])
    for block in curve_blocks(match(new), new, lasting=False, apart=True) if new.words else ():
        pairs = zip(block.words, CurveScale.of_curves(block.scores), strict=True)
        measured = {digests[word]: scale for word, scale in pairs}
        cache.update(measured)
        scales |= measured
    of_words = {word: scales[digest] for word, digest in digests.items()}
    return {word: scale for word, scale in of_words.items() if scale is not None}


def sample_words(gallery: Gallery) -> Gallery:
    """Words that serve as decoys, at equal steps through a gallery."""
    words = list(gallery.words)
    return gallery.of_words(words[:: max(1, len(words) // MOST_WORDS)][:MOST_WORDS])


def _search(blocks: Iterable[CurveBlock], times: NDArray[np.float64], seconds: float) -> _Searched:
    """Scales and peaks of all words; peaks get spans of one length, as decoys need not be localised."""
    scales: list[CurveScale] = []
    peaks: list[NDArray[np.float64]] = []

    def spans(_: Indices, steps: Indices) -> Spans:
        return times[steps] - _DECOY_SPAN / 2, times[steps] + _DECOY_SPAN / 2

    for block in blocks:
        maxima = peaks_of_curves(block.scores, np.full(len(block.words), _LOWEST_DECOY), spans)
        borders = np.searchsorted(maxima.curves, np.arange(1, len(block.words)))
        scales += CurveScale.of_curves(block.scores)
        peaks += np.split(maxima.scores.astype(np.float64), borders)
    return _Searched(scales, peaks, seconds / 3600)


def _span(times: NDArray[np.float64]) -> float:
    return float(times[-1] - times[0])


def threshold_by_card(encoder: Encoder, rate: float) -> float:
    """The threshold at which an encoder gives `rate` false alarms per hour and word, by the table of its card.

    Between the rates of the table, the threshold is linear in the logarithm of the rate.

    Raises:
        OptionsError: the card has no table, or the rate is outside of it.
    """
    table: Mapping[str, float] = dict(encoder.card.get("false_alarms_per_hour") or {})
    if not table:
        raise OptionsError(f"the encoder '{encoder.name}' is not calibrated. Use --threshold, or signspot calibrate")
    entries = sorted((float(text), threshold) for text, threshold in table.items())
    rates, thresholds = [rate for rate, _ in entries], [threshold for _, threshold in entries]
    if not rates[0] <= rate <= rates[-1]:
        raise OptionsError(
            f"the encoder '{encoder.name}' is calibrated for {rates[0]:g} to {rates[-1]:g} false alarms per hour "
            f"and word; got {rate:g}"
        )
    return float(np.interp(math.log(rate), [math.log(entry) for entry in rates], thresholds))
