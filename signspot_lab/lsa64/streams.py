"""How well an encoder finds real signs in a stream: trimmed signs of LSA64, played fast and joined; truth is exact."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery, embed_sign
from signspot.embedding.refine import Windows
from signspot.embedding.windows import embed_chunks
from signspot.errors import OptionsError
from signspot.metrics.detection import Detection, TrueSign
from signspot.metrics.localisation import LocalisationAccuracy
from signspot.models.encoder import Encoder
from signspot.records import Exemplar, Spotting
from signspot.spotting.calibration import FalseAlarms, false_alarms
from signspot.spotting.matching import EmbeddingMatcher
from signspot.spotting.peaks import Peak, find_peaks, half_height_spans
from signspot.spotting.search import best_scores
from signspot.timeline import Grid, Segment, Track
from signspot_lab.contrastive.performances import Features, joined, played
from signspot_lab.isolated.lsa64 import SEEN_WORDS, UNSEEN_WORDS
from signspot_lab.lsa64.retrieval import Sign
from signspot_lab.warping import describe, time_normalised, warping_distance, windows_normalised

FPS = 25.0
Curve = tuple[NDArray[np.float64], NDArray[np.float32]]  # times and scores
Curves = Callable[[str, Features], dict[str, Curve]]  # the name of a stream and its features → a curve a word
Streams = list[tuple[str, Features, list[TrueSign]]]

STREAM_SIGNS = 28  # signs in a pseudo-continuous stream
SPEED = (1.5, 2.5)  # times faster than the isolated sign
GAPS = (2, 6)  # frames between two signs
LOWEST = 0.5  # score from which spottings enter the precision-recall curve


@dataclass(frozen=True, slots=True)
class StreamSpotting:
    """Spotting in pseudo-continuous streams, on one group of words; nan where a method has no threshold."""

    method: str
    words: str
    mean_average_precision: float
    localisation: float  # share of signs whose word, known to be there, peaks inside the sign
    precision: float  # at the encoder's default threshold
    recall: float
    false_alarms_an_hour: float  # of one word, at that threshold
    signs: int


def make_streams(signs: Sequence[Sign], seed: int = 0) -> Streams:
    """Join one signer's signs, each played fast, into streams with exact truth."""
    random = np.random.default_rng([seed, len(signs)])
    order = random.permutation(len(signs))
    streams = []
    for number, part in enumerate(np.array_split(order, max(1, len(order) // STREAM_SIGNS))):
        chosen = [signs[index] for index in part]
        lengths = [max(6, round(len(s.features) / random.uniform(*SPEED))) for s in chosen]
        parts = [played(s.features, n, random) for s, n in zip(chosen, lengths, strict=True)]
        stream, frames = joined(parts, random.integers(GAPS[0], GAPS[1] + 1, len(parts) - 1).tolist())
        name = f"stream-{number:02d}"
        truth = [
            TrueSign(str(s.word), name, Segment(first / FPS, last / FPS))
            for s, (first, last) in zip(chosen, frames, strict=True)
        ]
        streams.append((name, stream, truth))
    return streams


def spot_streams(
    encoders: Sequence[Encoder], signs: Sequence[Sign], tested: int, lender: int, seed: int = 0
) -> Iterator[StreamSpotting]:
    """Spot all words, one exemplar each by signer `lender`, in streams of signer `tested`: encoders, then warping."""
    shown = [sign for sign in signs if sign.signer == lender and sign.repetition == 1]
    streams = make_streams([sign for sign in signs if sign.signer == tested], seed)
    if not shown or not streams:
        raise OptionsError(f"spotting needs signs of signers {tested} and {lender}")
    for encoder in encoders:
        yield from _spot(encoder.name, _by_encoder(encoder, shown), streams, encoder.contract.threshold, LOWEST)
    yield from _spot("warping", lambda _, stream: _warped_curves(stream, shown), streams, float("nan"), -np.inf)


def stream_alarms(encoder: Encoder, signs: Sequence[Sign], tested: int = 8, seed: int = 0) -> FalseAlarms:
    """Search streams of some seen words, by signer `tested`, for the other seen words, by every other signer."""
    alarms = []
    for part in (0, 1):
        there = [s for s in signs if s.signer == tested and s.word in SEEN_WORDS and s.word % 2 == part]
        shown = [s for s in signs if s.signer != tested and s.word in SEEN_WORDS and s.word % 2 != part]
        shown = [sign for sign in shown if sign.repetition == 1]
        if not there or not shown:
            raise OptionsError(f"background streams need signs of signer {tested} and of at least one other")
        exemplars = tuple(Exemplar(f"{sign.word} by {sign.signer}", f"{sign.word} by {sign.signer}") for sign in shown)
        gallery = Gallery.of(exemplars, np.stack([embed_sign(encoder, sign.features) for sign in shown]))
        alarms.append(
            false_alarms((_track(encoder, name, stream) for name, stream, _ in make_streams(there, seed)), gallery)
        )
    one, two = alarms
    scores = np.sort(np.concatenate([one.scores, two.scores]))[::-1]
    return FalseAlarms(scores, (one.hours * one.words + two.hours * two.words) / one.words, one.words)


def _by_encoder(encoder: Encoder, shown: Sequence[Sign]) -> Curves:
    exemplars = tuple(Exemplar(str(sign.word), str(sign.word)) for sign in shown)
    gallery = Gallery.of(exemplars, np.stack([embed_sign(encoder, sign.features) for sign in shown]))

    def curves(name: str, stream: Features) -> dict[str, Curve]:
        track = _track(encoder, name, stream)
        matcher = EmbeddingMatcher(Windows.of(track), track.grid, gallery)
        return {word: (matcher.times, scores) for word, scores, _ in best_scores(matcher, gallery)}

    return curves


def _spot(
    method: str,
    curves_of: Curves,
    streams: Streams,
    threshold: float,
    lowest: float,
) -> Iterator[StreamSpotting]:
    """Find peaks in every word's curve over every stream, and measure them by group of words."""
    groups = {"seen": {str(w) for w in SEEN_WORDS}, "unseen": {str(w) for w in UNSEEN_WORDS}}
    detections = {group: Detection() for group in groups}
    accuracies = {group: LocalisationAccuracy() for group in groups}
    for name, stream, truth in streams:
        curves = curves_of(name, stream)
        found = [
            Spotting(word, name, peak.time, peak.start, peak.end, peak.score)
            for word, (times, scores) in curves.items()
            for peak in _peaks_of(times, scores, lowest)
        ]
        for group, words in groups.items():
            own = [t for t in truth if t.word in words]
            detections[group].add(name, len(stream) / FPS, [s for s in found if s.word in words], own)
            for true in (t for t in own if sum(t.word == other.word for other in own) == 1):
                accuracies[group].add_curve(true.word, *curves[true.word], true.segment)
    for group, words in groups.items():
        point = detections[group].curve().at(threshold) if threshold == threshold else None
        yield StreamSpotting(
            method,
            group,
            detections[group].value().mean_average_precision,
            accuracies[group].value().per_group,
            point.precision if point else float("nan"),
            point.recall if point else float("nan"),
            point.false_alarms_per_hour / len(words) if point else float("nan"),
            sum(t.word in words for _, _, truth in streams for t in truth),
        )


def _warped_curves(stream: Features, shown: Sequence[Sign]) -> dict[str, Curve]:
    """For each word, minus the warping distance of its exemplar to the window that ends up nearest, over time.

    Windows have the length of the exemplar played at the mean speed of the streams, at a stride of two frames.
    """
    rows = describe(stream)
    curves: dict[str, Curve] = {}
    for sign in shown:
        width = min(len(rows), max(6, round(len(sign.features) / np.mean(SPEED))))
        starts = np.arange(0, len(rows) - width + 1, 2)
        windows = windows_normalised(rows, starts, width)
        exemplar = time_normalised(describe(sign.features))[None]
        times = (starts + width / 2).astype(np.float64) / FPS
        curves[str(sign.word)] = (times, -warping_distance(windows, exemplar)[:, 0])
    return curves


def _track(encoder: Encoder, name: str, stream: Features) -> Track:
    embeddings = embed_chunks(encoder, [stream])
    return Track(embeddings, Grid(FPS, encoder.contract.frames, 1, len(stream)), encoder.hash, name)


def _peaks_of(times: NDArray[np.float64], scores: NDArray[np.float32], lowest: float) -> list[Peak]:
    return find_peaks(
        times, scores, threshold=lowest, spans=lambda places: half_height_spans(times, scores, places, 1.28)
    )
