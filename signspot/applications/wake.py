"""A wake sign: frames of a stream in, events out, with bounded memory and a known delay.

The stream is brought to the encoder's rate, a short buffer of landmarks becomes features and frame codes, and the
detector goes on frame by frame.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.applications.unlikeness import typical_cost
from signspot.applications.wake_detector import CONFIRMED, WakeDetector, WakePeak, WakeSign, are_verified
from signspot.applications.wake_neighbours import by_decoys, by_dictionary
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery
from signspot.embedding.inputs import Source
from signspot.embedding.windows import on_device
from signspot.errors import OptionsError
from signspot.landmarks.features import CONTEXT, features
from signspot.landmarks.landmarks import Landmarks, concatenate
from signspot.models.encoder import Encoder
from signspot.spotting.alignment import STEPS, path_costs, warping_costs
from signspot.spotting.decoys import cohort_of
from signspot.spotting.identification import alignment_scale
from signspot.spotting.matching import from_strength, strength, to_score
from signspot.spotting.rates import PeakRates
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar

logger = logging.getLogger(__name__)

_LONGEST_GAP = 0.4  # seconds without a frame after which a sign that had begun is given up
_BLOCK = 1.0  # seconds of the decoys' signing of which the best score counts as one peak
_IMPOSTORS = 60  # places of the background that come nearest to the sign
_OWN = 0.8  # of the score of the recordings among each other: a threshold above would miss the sign itself
_FLOOR = 0.6  # least threshold, by the worlds of seeds 151 and 152
_LOOSEST = 0.4  # of what different signs cost: recordings that differ more among each other allow no more; as _FLOOR
LIKE_THE_SIGN = 0.4  # score from which a place of the background is looked at
_KEPT = 2 * CONTEXT + 10  # frames of landmarks that are remembered


@dataclass(frozen=True, slots=True)
class WakeEvent:
    """The sign was seen."""

    time: float  # seconds: the end of the sign, on the stream's clock
    score: float
    recording: str  # the id of the best recording
    latency: int  # frames from the end of the sign until this was known


class WakeStream:
    """Takes landmarks as they come and says when the sign was seen."""

    def __init__(self, encoder: Encoder, sign: WakeSign, hop: int = 2):
        """Wait for a sign.

        Args:
            encoder: one that gives frame codes; the one that the sign was enrolled with.
            sign: what to wait for.
            hop: frames that are waited for before they are looked at together.

        Raises:
            OptionsError: the encoder gives no frame codes, or the hop is below 1.
        """
        if sign.gallery.codes is None or not encoder.contract.codes:
            raise OptionsError(f"a wake sign needs frame codes, which the encoder '{encoder.name}' does not give")
        if hop < 1:
            raise OptionsError(f"at least 1 frame is waited for; got {hop}")
        self.encoder, self.sign, self.hop = encoder, sign, hop
        self.breaks = 0  # times that the stream was interrupted, changed its size, or its clock went back
        self.last_break = ""  # when and why, for people
        self._reach, self._fps = encoder.module.trunk.code_reach, encoder.contract.fps
        self._detector = WakeDetector(sign, alignment_scale(encoder), cohort_of(encoder), self._fps)
        self._buffer: list[Landmarks] = []  # on the encoder's grid of times
        self._last: Landmarks | None = None  # the newest frame as it came
        self._next, self._seen, self._done = 0.0, 0, 0

    @property
    def latency(self) -> int:
        """Frames from the end of a sign until it is known, at most."""
        return self._reach + self.hop + CONFIRMED

    def push(self, chunk: Landmarks) -> list[WakeEvent]:
        """Take further frames, of any rate; give the events that are sure by now."""
        return [self._event(peak) for peak in self.peaks(chunk)]

    def peaks(self, chunk: Landmarks) -> Iterator[WakePeak]:
        """As `push`, with what was signed."""
        for place in range(len(chunk)):
            yield from self._push_one(chunk[place : place + 1])

    def _event(self, peak: WakePeak) -> WakeEvent:
        exemplar, _ = self.sign.gallery.exemplar(peak.row)
        late = round((float(self._buffer[-1].times[0]) - peak.time) * self._fps)
        return WakeEvent(round(peak.time, 3), round(peak.score, 6), exemplar.id, late)

    def _push_one(self, frame: Landmarks) -> list[WakePeak]:
        last = self._last
        time = float(frame.times[0])
        if last is not None:
            known = float(last.times[-1])
            if frame.size != last.size or not known < time <= known + _LONGEST_GAP:
                self.last_break = f"at {time:.2f} s: {_reason(last.size, frame.size, time - known)}"
                logger.info("the stream was broken %s", self.last_break)
                self.breaks += 1
                self._forget()
                last = None
        self._last = frame
        if last is None:
            self._next = time
            self._buffer, self._seen = [frame], 1
            self._next += 1 / self._fps
            return []
        pair = concatenate([last, frame])
        while self._next <= time + 1e-9:
            self._buffer.append(pair.at(np.array([self._next])))
            self._next += 1 / self._fps
            self._seen += 1
        self._buffer = self._buffer[-_KEPT:]
        ready = self._seen - self._reach
        return self._look(ready) if ready - self._done >= self.hop else []

    def _look(self, ready: int) -> list[WakePeak]:
        """Code the frames up to number `ready` of the stream, and go on with the alignment."""
        fresh = min(ready - self._done, len(self._buffer) - self._reach)
        seen = features(concatenate(self._buffer))
        wanted = seen[max(0, len(seen) - fresh - 2 * self._reach) :]
        missing = fresh + 2 * self._reach - len(wanted)
        wanted = np.pad(wanted, ((max(0, missing), 0), (0, 0), (0, 0)), mode="edge")
        with torch.inference_mode():
            codes = self.encoder.module.frame_codes(on_device(self.encoder, wanted), "continuous").cpu().numpy()
        newest = float(self._buffer[-1].times[0]) - self._reach / self._fps
        times = [newest - (len(codes) - 1 - place) / self._fps for place in range(len(codes))]
        told = [self._detector.step(code, time) for code, time in zip(codes, times, strict=True)]
        self._done = ready
        return [peak for peak in told if peak is not None]

    def _forget(self) -> None:
        self._buffer, self._last = [], None
        self._next, self._seen, self._done = 0.0, 0, 0
        self._detector.forget()


def _reason(before: tuple[int, int] | None, after: tuple[int, int] | None, seconds: float) -> str:
    if before != after:
        old, new = (f"{size[0]}x{size[1]}" if size else "unknown" for size in (before, after))
        return f"the picture changed its size from {old} to {new}"
    return f"{seconds:.2f} s without a frame" if seconds > 0 else f"the clock went back by {-seconds:.2f} s"


def enrol(
    spotter: Spotter,
    recordings: Sequence[Source],
    background: Iterable[Landmarks] | None = None,
    rate: float = 1.0,
    dictionary: Gallery | None = None,
) -> WakeSign:
    """Enrol a sign by a few recordings of it, and choose its threshold by what the background scores.

    Args:
        spotter: with an encoder that gives frame codes.
        recordings: clips of the sign, by whoever will make it; three or more are better than one.
        background: landmarks of whatever else goes on before the camera, in chunks; None: signs of the encoder's own
            decoys stand in.
        rate: false alarms per hour that are allowed.
        dictionary: signs that may be made before the camera; those that are near to the sign become impostors.

    Raises:
        OptionsError: there is no recording, the rate is not above 0, or the encoder gives no frame codes.
        NoHandsError: a recording shows no hand.
    """
    if not recordings:
        raise OptionsError("a wake sign needs at least one recording")
    if not 0 < rate < float("inf"):
        raise OptionsError(f"false alarms per hour must be above 0; got {rate}")
    gallery, scores = own_gallery(spotter, recordings)
    if background is None:
        sign = _by_decoys(spotter.encoder, gallery, rate, scores)
    else:
        seconds, peaks = background_peaks(spotter.encoder, gallery, background)
        sign = settle(spotter.encoder, gallery, seconds, peaks, rate, scores)
    return among_known_signs(spotter.encoder, sign, dictionary)


def among_known_signs(encoder: Encoder, sign: WakeSign, dictionary: Gallery | None) -> WakeSign:
    """The sign with how distinctive it is: among decoys, and among words of a dictionary, which become impostors."""
    codes, cohort = sign.gallery.codes, cohort_of(encoder)
    assert codes is not None, "checked by whoever enrols"
    guess = None if cohort is None else by_decoys(codes, sign.usual, cohort.codes[:, 0], cohort.words.tolist())
    if dictionary is not None and dictionary.codes is not None and len(dictionary.codes):
        found, near = by_dictionary(codes, sign.usual, dictionary)
        impostors = np.concatenate([near, sign.impostors]) if len(sign.impostors) else near
        rate = None if guess is None else guess.per_hour
        return replace(sign, distinct=replace(found, guess=rate), impostors=impostors)
    return replace(sign, distinct=guess)


def own_gallery(spotter: Spotter, recordings: Sequence[Source]) -> tuple[Gallery, tuple[float, ...]]:
    """A gallery of recordings of one sign, and the score of each among the others.

    Raises:
        OptionsError: the encoder gives no frame codes.
        NoHandsError: a recording shows no hand.
    """
    exemplars = [Exemplar("wake", f"recording {number}") for number in range(1, len(recordings) + 1)]
    embedder = ExemplarEmbedder(spotter.encoder, spotter.cache)
    views = [embedder.embed_source(each) for each in recordings]
    if any(each.codes is None for each in views):
        raise OptionsError(f"a wake sign needs frame codes, which the encoder '{spotter.encoder.name}' does not give")
    codes = np.stack([each.codes for each in views if each.codes is not None])
    gallery = Gallery.of(exemplars, np.stack([each.embeddings for each in views]), codes)
    return gallery, tuple(_own_scores(spotter, gallery))


def settle(
    encoder: Encoder,
    gallery: Gallery,
    seconds: float,
    peaks: Sequence[WakePeak],
    rate: float,
    own_scores: tuple[float, ...],
) -> WakeSign:
    """Choose impostors and threshold by the peaks of a background of so many seconds.

    What comes nearest to the sign becomes impostors. Where the tail of those peaks that pass for the sign, as far as
    other signs of the background do not give them away, means more alarms than `rate`, the threshold is higher, as far
    as the recordings reach among each other.
    """
    assert gallery.codes is not None, "checked by whoever enrols"
    order, usual = sorted(peaks, key=lambda peak: -peak.score), _usual(encoder, gallery)
    taught = np.stack([peak.codes for peak in order[:_IMPOSTORS]]) if order else np.empty((0, *gallery.codes.shape[1:]))
    cohort = cohort_of(encoder)
    shipped = np.empty((0, *gallery.codes.shape[1:])) if cohort is None else cohort.codes[:, 0]
    looked_at = [peak for peak in order if peak.score >= _FLOOR]
    passing = _passing(looked_at, gallery.codes, (taught, shipped), usual)
    hours = seconds / 3600
    rates = PeakRates(strength(np.array(passing, np.float64)), hours, 1)
    tail = from_strength(rates.threshold(rate)) if passing else 0.0
    most = _OWN * min(own_scores) if own_scores else 0.99
    threshold = min(0.99, max(_FLOOR, min(tail, most)))
    impostors = np.concatenate([taught, shipped]).astype(np.float32)
    alarms = sum(score >= threshold for score in passing)
    return WakeSign(gallery, threshold, hours, alarms, own_scores, impostors, usual)


def _passing(
    peaks: Sequence[WakePeak], recordings: NDArray[Any], impostors: tuple[NDArray[Any], NDArray[Any]], usual: float
) -> list[float]:
    """Scores of the peaks that pass for the sign, each as if it were seen first.

    Of the impostors, those that the background taught and those that are shipped, the former do not count against a
    peak that they cost less than `usual` to align with: they show what it shows.
    """
    if not peaks:
        return []
    codes = np.stack([peak.codes for peak in peaks])
    near = warping_costs(codes, impostors[0])
    near[near < usual] = np.inf
    others = near.min(axis=1, initial=np.inf)
    if len(impostors[1]):
        others = np.minimum(others, warping_costs(codes, impostors[1]).min(axis=1))
    passes = are_verified(warping_costs(codes, recordings), others, usual)
    return [peak.score for peak, passed in zip(peaks, passes.tolist(), strict=True) if passed]


def _usual(encoder: Encoder, gallery: Gallery) -> float:
    """The usual cost of aligning two recordings; with one recording, that of two signers.

    It is bounded: where one recording is unlike the others, much else would be as near to them as it is.
    """
    assert gallery.codes is not None, "checked by whoever enrols"
    costs = warping_costs(gallery.codes, gallery.codes)[np.triu_indices(len(gallery.codes), 1)]
    if not len(costs):
        return typical_cost(gallery, encoder)
    return min(float(costs.mean()), _LOOSEST * alignment_scale(encoder))


def _own_scores(spotter: Spotter, gallery: Gallery) -> Iterator[float]:
    """The score of every recording among the others."""
    assert gallery.codes is not None, "checked before"
    costs = warping_costs(gallery.codes, gallery.codes)
    np.fill_diagonal(costs, np.inf)
    if len(costs) > 1:
        yield from to_score(costs.min(axis=1), alignment_scale(spotter.encoder)).tolist()


def background_peaks(
    encoder: Encoder, gallery: Gallery, background: Iterable[Landmarks]
) -> tuple[float, list[WakePeak]]:
    """Seconds of background, and all places of it that are like the sign at all."""
    stream, seconds, found = (
        WakeStream(encoder, WakeSign(gallery, LIKE_THE_SIGN, 0.0, 0, ()), hop=8),
        0.0,
        list[WakePeak](),
    )
    for chunk in background:
        seconds += chunk.duration
        found += stream.peaks(chunk)
    return seconds, found


def _by_decoys(encoder: Encoder, gallery: Gallery, rate: float, own_scores: tuple[float, ...]) -> WakeSign:
    """A threshold by the encoder's decoys, where no background was recorded."""
    cohort = cohort_of(encoder)
    if cohort is None:
        raise OptionsError(f"the encoder '{encoder.name}' has no decoys: name a background, a video of other movements")
    assert gallery.codes is not None, "checked by whoever enrols"
    scale = alignment_scale(encoder)
    costs = path_costs(cohort.background, gallery.codes, STEPS.times(scale))
    scores = to_score(costs + cohort.corrections_of(gallery.codes)[:, None], scale).max(axis=0)
    apart = round(_BLOCK * encoder.contract.fps)
    tops = np.array([float(scores[first : first + apart].max()) for first in range(0, len(scores), apart)])
    hours = len(scores) / encoder.contract.fps / 3600
    tops, allowed = np.sort(tops)[::-1], int(rate * hours)
    threshold = min(0.99, max(_FLOOR, (float(tops[allowed]) if len(tops) > allowed else 0.0) + 0.01))
    alarms = int((tops >= threshold).sum())
    impostors = np.asarray(cohort.codes[:, 0], np.float32)
    return WakeSign(gallery, threshold, hours, alarms, own_scores, impostors, _usual(encoder, gallery))
