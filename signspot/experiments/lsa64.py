"""How well an encoder knows real signing: one-shot retrieval and spotting on LSA64, by signers and words it never saw.

Train signers 1-7, validate 8, test 9; words 1-48 are seen in training, 49-56 are not. All 56 are always candidates.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.metrics.bootstrap import Interval, bootstrap_mean
from signspot.metrics.detection import Detection
from signspot.metrics.localisation import LocalisationAccuracy
from signspot.metrics.matching import TrueSign
from signspot.metrics.retrieval import OneShotRetrieval
from signspot.models.encoder import Encoder
from signspot.records import Exemplar, Spotting
from signspot.spotting.embed import DenseWindows, embed_averaged
from signspot.spotting.exemplar_clips import clips_of
from signspot.spotting.exemplars import Gallery
from signspot.spotting.options import SpotOptions
from signspot.spotting.peaks import find_peaks
from signspot.spotting.refine import Windows
from signspot.spotting.spotter import best_scores
from signspot.timeline import Grid, Segment, Track
from signspot.training.joining import joined, played
from signspot.training.lsa64 import SEEN_WORDS, UNSEEN_WORDS, read_lsa64
from signspot.training.performances import Features
from signspot.world.baseline import centre_of, cosine, describe, time_normalised, warping_distance, windows_normalised

FPS = 25.0
Curve = tuple[NDArray[np.float64], NDArray[np.float32]]  # times and scores
Streams = list[tuple[str, Features, list[TrueSign]]]

STREAM_SIGNS = 28  # signs in a pseudo-continuous stream
SPEED = (1.5, 2.5)  # times faster than the isolated sign
GAPS = (2, 6)  # frames between two signs
LOWEST = 0.5  # score from which spottings enter the precision-recall curve


@dataclass(frozen=True, slots=True)
class Sign:
    """One real isolated sign, trimmed."""

    word: int
    signer: int
    repetition: int
    features: Features  # (T, J, C)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """One-shot retrieval among all words, on one group of words."""

    method: str
    words: str  # seen or unseen
    recall_1: Interval
    recall_5: Interval
    mean_average_precision: float
    queries: int


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


def load_signs(folder: str | PathLike[str], signers: Sequence[int] | None = None) -> list[Sign]:
    """Read and trim all clips of some signers."""
    clips = read_lsa64(folder, tuple(signers) if signers is not None else None)
    return [Sign(clip.word, clip.signer, clip.repetition, clip.sign()) for clip in clips]


def embed_sign(encoder: Encoder, sign: Features) -> NDArray[np.float32]:
    """(D,) an isolated sign as a dictionary embeds it."""
    return embed_averaged(encoder, clips_of(sign, encoder.contract.frames))


def one_shot(encoder: Encoder, signs: Sequence[Sign], queries: Sequence[int]) -> Iterator[Retrieval]:
    """Retrieve each query sign among 56 words with one exemplar each, from every other signer in turn.

    Args:
        encoder: what is measured, beside the training-free baselines.
        signs: of all signers.
        queries: signers whose signs are looked up; all others lend their first repetitions as exemplars.
    """
    asked = [sign for sign in signs if sign.signer in queries]
    lenders = sorted({sign.signer for sign in signs} - set(queries))
    if not asked or not lenders:
        raise OptionsError(f"one-shot retrieval needs signers {list(queries)} and at least one other")
    galleries = [[s for s in signs if s.signer == lender and s.repetition == 1] for lender in lenders]
    everyone = [*asked, *(sign for gallery in galleries for sign in gallery)]
    embedded = {id(sign): embed_sign(encoder, sign.features) for sign in everyone}
    described = {id(sign): time_normalised(describe(sign.features)) for sign in everyone}

    def by_encoder(gallery: list[Sign]) -> NDArray[np.float32]:
        return np.stack([embedded[id(s)] for s in asked]) @ np.stack([embedded[id(s)] for s in gallery]).T

    def by_cosine(gallery: list[Sign]) -> NDArray[np.float32]:
        exemplars = np.stack([described[id(s)] for s in gallery])
        return cosine(np.stack([described[id(s)] for s in asked]), exemplars, centre_of(exemplars))

    def by_warping(gallery: list[Sign]) -> NDArray[np.float32]:
        exemplars = np.stack([described[id(s)] for s in gallery])
        return -warping_distance(np.stack([described[id(s)] for s in asked]), exemplars)

    for name, compare in ((encoder.name, by_encoder), ("cosine", by_cosine), ("warping", by_warping)):
        similarities = [compare(gallery) for gallery in galleries]
        for group, words in (("seen", SEEN_WORDS), ("unseen", UNSEEN_WORDS)):
            yield _retrieval(name, group, [s.word for s in asked], words, galleries, similarities)


def _retrieval(
    method: str,
    group: str,
    asked: list[int],
    words: Sequence[int],
    galleries: list[list[Sign]],
    similarities: list[NDArray[np.float32]],
) -> Retrieval:
    rows = [row for row, word in enumerate(asked) if word in words]
    result: OneShotRetrieval | None = None
    for gallery, similarity in zip(galleries, similarities, strict=True):
        one = OneShotRetrieval([sign.word for sign in gallery])
        one.add([asked[row] for row in rows], similarity[rows])
        if result is None:
            result = one
        else:
            result.merge(one)
    assert result is not None
    value = result.value((1, 5))
    return Retrieval(
        method,
        group,
        bootstrap_mean(result.queries.hits(1)),
        bootstrap_mean(result.queries.hits(5)),
        value.average_precision.per_group,
        len(rows),
    )


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
    encoder: Encoder, signs: Sequence[Sign], tested: int, lender: int, seed: int = 0
) -> Iterator[StreamSpotting]:
    """Spot all words, one exemplar each by signer `lender`, in streams of signer `tested`: encoder, then warping."""
    shown = [sign for sign in signs if sign.signer == lender and sign.repetition == 1]
    streams = make_streams([sign for sign in signs if sign.signer == tested], seed)
    if not shown or not streams:
        raise OptionsError(f"spotting needs signs of signers {tested} and {lender}")
    exemplars = tuple(Exemplar(str(sign.word), str(sign.word)) for sign in shown)
    gallery = Gallery(exemplars, np.stack([embed_sign(encoder, sign.features) for sign in shown]))
    threshold = encoder.contract.threshold

    def by_encoder(name: str, stream: Features) -> dict[str, Curve]:
        windows = Windows.of(_track(encoder, name, stream))
        return {word: (windows.times, scores) for word, scores, _ in best_scores(windows, gallery)}

    def by_warping(name: str, stream: Features) -> dict[str, Curve]:
        return _warped_curves(stream, shown)

    yield from _spot(encoder.name, by_encoder, streams, threshold, LOWEST)
    yield from _spot("warping", by_warping, streams, float("nan"), -np.inf)


def _spot(
    method: str,
    curves_of: Callable[[str, Features], dict[str, Curve]],
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
            for peak in find_peaks(times, scores, threshold=lowest, gap=SpotOptions().gap, longest=1.28)
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
    dense = DenseWindows(encoder, 1)
    dense.push(stream)
    embeddings, frames = dense.finish()
    return Track(embeddings, Grid(FPS, encoder.contract.frames, 1, frames), encoder.hash, name)
