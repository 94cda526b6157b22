"""Accuracy of an encoder on real signs in a stream: signs of LSA64, played fast and joined; truth is exact.

Streams are landmarks, exemplars are `.pose` files: `Spotter.search` sees both as it sees a user's.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from experiments.isolated.clips import FPS, IsolatedClip
from experiments.isolated.lsa64 import SEEN_WORDS, UNSEEN_WORDS
from experiments.warping import describe, time_normalised, warping_distance, windows_normalised
from signspot.embedding.exemplars import Gallery
from signspot.errors import OptionsError
from signspot.evaluation.stream_making import SPEED, Stream, make_streams
from signspot.landmarks.features import features
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import write_landmarks
from signspot.metrics.detection import Detection
from signspot.metrics.localisation import LocalisationAccuracy
from signspot.models.encoder import Encoder
from signspot.spotting.calibration import FalseAlarms, false_alarms
from signspot.spotting.options import SpotOptions
from signspot.spotting.peaks import find_peaks
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar, Spotting

LOWEST = 0.5  # score from which spottings enter the precision-recall curve

Curve = tuple[NDArray[np.float64], NDArray[np.float32]]  # times and scores
Spans = Callable[[NDArray[np.int64]], tuple[NDArray[np.float64], NDArray[np.float64]]]  # places → starts, ends
Search = Callable[[Landmarks], tuple[list[Spotting], dict[str, Curve]]]  # stream → spottings, and a curve per word


@dataclass(frozen=True, slots=True)
class StreamSpotting:
    """Spotting in pseudo-continuous streams, on one group of words; nan where a method has no threshold."""

    method: str
    words: str
    mean_average_precision: float
    localisation: float  # share of signs whose word, known to be there, peaks inside the sign
    precision: float  # at the encoder's default threshold
    recall: float
    false_alarms_per_hour: float  # of one word, at that threshold
    signs: int


def spot_streams(
    encoders: Sequence[Encoder], clips: Sequence[IsolatedClip], tested: str, lender: str, seed: int = 0
) -> Iterator[StreamSpotting]:
    """Spot all words, one exemplar each by signer `lender`, in streams of signer `tested`: encoders, then warping."""
    shown = [clip for clip in clips if clip.signer == lender and clip.clip == "1"]
    streams = make_streams([clip for clip in clips if clip.signer == tested], seed)
    if not shown or not streams:
        raise OptionsError(f"spotting needs signs of signers {tested} and {lender}")
    for encoder in encoders:
        spotter = Spotter(encoder)
        search = _by_spotter(spotter, embed_clips(spotter, shown))
        yield from _spot(encoder.name, search, streams, encoder.contract.threshold)
    yield from _spot("warping", lambda stream: _by_warping(stream, shown), streams, float("nan"))


def stream_alarms(encoder: Encoder, clips: Sequence[IsolatedClip], tested: str = "8", seed: int = 0) -> FalseAlarms:
    """Search streams of some seen words, by signer `tested`, for the other seen words, by every other signer."""
    spotter, alarms = Spotter(encoder), []
    for part in (0, 1):
        there = [c for c in clips if c.signer == tested and c.word in SEEN_WORDS and int(c.word) % 2 == part]
        shown = [c for c in clips if c.signer != tested and c.word in SEEN_WORDS and int(c.word) % 2 != part]
        shown = [replace(clip, word=f"{clip.word} by {clip.signer}") for clip in shown if clip.clip == "1"]
        if not there or not shown:
            raise OptionsError(f"background streams need signs of signer {tested} and of at least one other")
        tracks = (spotter.embed(stream.landmarks) for stream in make_streams(there, seed))
        alarms.append(false_alarms(spotter, tracks, embed_clips(spotter, shown)))
    one, two = alarms
    scores = np.sort(np.concatenate([one.scores, two.scores]))[::-1]
    return FalseAlarms(scores, (one.hours * one.words + two.hours * two.words) / one.words, one.words)


def embed_clips(spotter: Spotter, clips: Sequence[IsolatedClip]) -> Gallery:
    """The gallery of a dictionary of these clips, mirrored ones included, as a user's `.pose` files would give it."""
    with TemporaryDirectory() as folder:
        exemplars = [
            Exemplar(
                clip.word, f"{clip.word}-{number}", write_landmarks(clip.landmarks, Path(folder, f"{number}.pose"))
            )
            for number, clip in enumerate(clips)
        ]
        return spotter.gallery(exemplars)


def _by_spotter(spotter: Spotter, gallery: Gallery) -> Search:
    def search(stream: Landmarks) -> tuple[list[Spotting], dict[str, Curve]]:
        found = spotter.search(stream, gallery, SpotOptions(threshold=LOWEST))
        words = [exemplar.word for exemplar in gallery.exemplars]
        return list(found.spottings), {word: (found.times, found.curve(i)) for i, word in enumerate(words)}

    return search


def _by_warping(stream: Landmarks, shown: Sequence[IsolatedClip]) -> tuple[list[Spotting], dict[str, Curve]]:
    """For each word, minus the warping distance of its exemplar to the window that ends up nearest, over time.

    Windows have the length of the exemplar played at the mean speed of the streams, at a stride of two frames.
    """
    rows = describe(features(stream))
    curves: dict[str, Curve] = {}
    found = []
    for clip in shown:
        width = min(len(rows), max(6, round(len(clip.sign) / np.mean(SPEED))))
        starts = np.arange(0, len(rows) - width + 1, 2)
        windows = windows_normalised(rows, starts, width)
        times = (starts + width / 2).astype(np.float64) / FPS
        scores = -warping_distance(windows, time_normalised(describe(clip.sign))[None])[:, 0]
        curves[clip.word] = (times, scores)
        found += [
            Spotting(clip.word, "", peak.time, peak.start, peak.end, peak.score)
            for peak in find_peaks(times, scores, threshold=-np.inf, spans=_around(times, width / 2 / FPS))
        ]
    return found, curves


def _around(times: NDArray[np.float64], half: float) -> Spans:
    """The spans of windows that reach `half` seconds to either side of their times."""
    return lambda places: (times[places] - half, times[places] + half)


def _spot(method: str, search: Search, streams: Sequence[Stream], threshold: float) -> Iterator[StreamSpotting]:
    """Search every stream for every word, and measure what was found by group of words."""
    groups = {"seen": set(SEEN_WORDS), "unseen": set(UNSEEN_WORDS)}
    detections = {group: Detection() for group in groups}
    accuracies = {group: LocalisationAccuracy() for group in groups}
    for stream in streams:
        spottings, curves = search(stream.landmarks)
        found = [replace(spotting, video=stream.name) for spotting in spottings]
        for group, words in groups.items():
            own = [true for true in stream.truth if true.word in words]
            detections[group].add(stream.name, len(stream.landmarks) / FPS, [s for s in found if s.word in words], own)
            for true in (t for t in own if sum(t.word == other.word for other in own) == 1):
                if true.word in curves:
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
            sum(true.word in words for stream in streams for true in stream.truth),
        )
