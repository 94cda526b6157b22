"""A wake sign: frames of a stream in, events out, with bounded memory and a known delay.

The stream is resampled to the encoder's frame rate, a short buffer of landmarks becomes features and frame codes, and
the detector aligns them frame by frame. Enrolment chooses the threshold and the negatives.
"""

import json
import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from signspot.applications.feedback import typical_cost
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery
from signspot.embedding.windows import on_device
from signspot.errors import OptionsError
from signspot.landmarks.cache import Cache
from signspot.landmarks.features import CONTEXT, features
from signspot.landmarks.landmarks import Landmarks, concatenate
from signspot.landmarks.video_estimation import Source, stream_source
from signspot.models.encoder import Encoder
from signspot.models.frame_coder import stretched
from signspot.plots.curves import COLOURS
from signspot.spotting.decoys import DecoySet, alignment_scale, decoys_of
from signspot.spotting.false_alarms import PeakDistribution
from signspot.spotting.matching import (
    STEPS,
    cost_to_score,
    from_strength,
    path_costs,
    path_starts,
    strength,
    warping_costs,
)
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar
from signspot.video.camera import camera_frames, is_camera

logger = logging.getLogger(__name__)

_FITTED = json.loads((files("signspot.applications") / "wake.json").read_text(encoding="utf-8"))
SIGNS_PER_HOUR: float = _FITTED["signs_per_hour"]  # of signing without any pause, as in synthetic signing
_SAME: float = _FITTED["same_sign"]  # distance below which an exemplar cannot be told from the sign
_NEGATIVES = 60  # exemplars of a dictionary, the nearest ones, that the verifier compares with
_SHOWN = 3  # neighbours that are reported
_TAIL = 20  # nearest words whose distances say how fast words become rarer towards the sign
_CROWDED: float = _FITTED["crowding"]  # words of one language are so much nearer to each other than decoys are to them
_GRID = np.linspace(1.0, 3.0, 201)  # distances over which the chance of a false alarm is summed
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A known sign, and its distance."""

    word: str
    distance: float  # cost of aligning it with the recordings, over what these cost among each other


@dataclass(frozen=True, slots=True)
class Distinctiveness:
    """The false alarms that are expected where the background did not show what is signed."""

    per_hour: float  # of signing without pause
    nearest: tuple[Neighbour, ...]  # nearest first
    same: tuple[str, ...]  # words of the dictionary that show the sign itself, or cannot be told from it
    words: int  # that it was compared with
    by_dictionary: bool  # else by the encoder's decoys, whose words nobody knows
    guess: float | None = None  # beside a dictionary: per hour, by decoys; None: there are none


def false_alarm_chance(distance: Floats, *, negative: bool) -> Floats:
    """The chance that a sign at a distance from the wake sign gives a false alarm, each time that it is made.

    Args:
        distance: as of `Neighbour`.
        negative: whether the verifier compares with exemplars of that very sign.
    """
    chance = _FITTED["negative_sign" if negative else "unknown_sign"]
    return np.asarray(chance["height"] / (1 + np.exp((distance - chance["middle"]) / chance["width"])))


def distances_of(recordings: Floats, usual: float, exemplars: Floats) -> Floats:
    """(V, L, C) codes of recordings and (N, L, C) of exemplars to the (N,) distances of these."""
    return np.asarray(warping_costs(recordings, exemplars).mean(axis=0) / usual)


def by_dictionary(recordings: Floats, usual: float, gallery: Gallery) -> tuple[Distinctiveness, NDArray[np.float32]]:
    """The distinctiveness of a sign among the words of a dictionary, and exemplars that serve as negatives, (N, L, C).

    Args:
        recordings: (V, L, C) codes of the sign.
        usual: what it costs to align two of them.
        gallery: of the dictionary, with frame codes.
    """
    assert gallery.codes is not None, "checked by whoever enrols"
    far = distances_of(recordings, usual, gallery.codes)
    words = {word: float(far[rows].min()) for word, rows in gallery.words.items()}
    same = tuple(sorted((word for word, least in words.items() if least < _SAME), key=words.__getitem__))
    others = {word: least for word, least in words.items() if word not in same}
    rows = [row for row in np.argsort(far).tolist() if gallery.exemplar(row)[0].word in others][:_NEGATIVES]
    chances = false_alarm_chance(np.array(list(others.values())), negative=True)
    rate = SIGNS_PER_HOUR * float(chances.mean()) if len(chances) else 0.0
    distinctiveness = Distinctiveness(rate, _nearest(others), same, len(words), by_dictionary=True)
    return distinctiveness, np.asarray(gallery.codes[rows], np.float32)


def by_decoys(recordings: Floats, usual: float, decoys: Floats, words: Sequence[int]) -> Distinctiveness:
    """The distinctiveness of a sign among decoys, (N, L, C) codes of so many words.

    Decoys are of another vocabulary, so what counts is not how near each is but how their number falls towards the
    sign: as a power of the distance, which the nearest ones tell.
    """
    far, numbers = distances_of(recordings, usual, decoys), np.asarray(words)
    least = _CROWDED * np.sort([far[numbers == number].min() for number in np.unique(numbers)])
    tail = min(_TAIL, len(least) - 1)
    edge, power = least[tail], 1 / max(1e-3, float(np.log(least[tail] / least[:tail]).mean()))
    below = tail / len(least) * np.minimum(1.0, (_GRID / edge) ** power)  # share of words up to each distance
    chance = float((np.diff(below) * false_alarm_chance((_GRID[1:] + _GRID[:-1]) / 2, negative=False)).sum())
    return Distinctiveness(SIGNS_PER_HOUR * chance, (), (), len(least), by_dictionary=False)


def _nearest(words: dict[str, float]) -> tuple[Neighbour, ...]:
    neighbours = sorted(
        (Neighbour(word, round(far, 3)) for word, far in words.items()), key=lambda neighbour: neighbour.distance
    )
    return tuple(neighbours[:_SHOWN])


CONFIRMED = 4  # frames without a better score until a peak is an event
_APART = 2.5  # seconds between two events, at least: on their way back to rest, hands pass through much of a sign
_LEFT = 5 / 6  # of an event's score: below, its sign is over; what scores less than it before that is the same sign
_TINY = 1e-6
_MARGIN: float = _FITTED["margin_weight"]  # weight of being nearer than negatives
_LEAST: float = _FITTED["least_likeness"]  # least sum


@dataclass(frozen=True, slots=True)
class WakeSign:
    """A sign to wait for: a few recordings of it, the score that decides, and negatives that it is told from."""

    gallery: Gallery
    threshold: float
    background_hours: float  # in which the threshold was measured
    background_false_alarms: int  # that are still given there, without what the background itself taught
    recording_scores: tuple[float, ...]  # of each recording among the others; empty with one recording
    negatives: Floats = field(default_factory=lambda: np.empty((0, 0, 0), np.float32), repr=False)  # (N, L, C)
    usual: float = float("inf")  # what it costs to align two recordings; infinite: anything is usual
    distinct: Distinctiveness | None = None  # None: there is nothing to compare with

    @property
    def false_alarms_per_hour(self) -> float:
        """An upper bound with 95 % confidence, by the false alarms in the background."""
        bounds = (3.0, 4.74, 6.3, 7.75, 9.15, 10.51)  # of a Poisson count of 0 to 5
        alarms = self.background_false_alarms
        most = bounds[alarms] if alarms < len(bounds) else alarms + 2 * alarms**0.5 + 2
        return most / self.background_hours if self.background_hours else float("inf")

    def problems(self, rate: float) -> list[str]:
        """Why the sign is not fit for so many false alarms per hour, each with its remedy; empty: it is fit."""
        problems = []
        if not self.recording_scores:
            problems.append("one recording does not show how much your signing varies: make three")
        if missed := sum(score < self.threshold for score in self.recording_scores):
            total = len(self.recording_scores)
            problems.append(
                f"{missed} of {total} recordings would not be recognised by the others: record more in the same way"
            )
        if self.background_false_alarms > rate * max(1.0, self.background_hours):
            problems.append(f"{self.background_false_alarms} false alarms in the background: choose another sign")
        if self.distinct is not None and max(self.distinct.per_hour, self.distinct.guess or 0.0) > rate:
            remedy = "" if self.distinct.by_dictionary else ", or name the signs that are made there with --dictionary"
            problems.append(f"other signs are too near to it: choose one that is less like others{remedy}")
        return problems


@dataclass(frozen=True, slots=True)
class WakePeak:
    """A time at which a recording fits best."""

    time: float  # seconds: the end of the sign, on the stream's clock
    score: float
    row: int  # of the gallery
    codes: Floats  # (L, C) of what was signed, brought to the length of a recording
    start: float  # seconds: the beginning of the sign


def verify(costs: NDArray[Any], others: NDArray[Any], usual: float) -> NDArray[np.bool_]:
    """Whether signs are that of the recordings: logarithms of how usual they are, and how far from negatives, decide.

    Args:
        costs: (N, V) of aligning each sign with each recording.
        others: (N,) least cost of aligning each with an negative; infinite where there is none.
        usual: what it costs to align two recordings.
    """
    likeness = np.log(usual / (costs.mean(axis=1) + _TINY))
    margin = np.log((others + _TINY) / (costs.min(axis=1) + _TINY))
    return np.asarray(likeness + _MARGIN * margin >= _LEAST, np.bool_)


class OnlineAlignment:
    """The costs of all paths that end at the newest frame; equal to those of `path_costs`, one frame at a time."""

    def __init__(self, gallery: Gallery, scale: float, decoy_set: DecoySet | None):
        """Align the views of a gallery; `scale` is the cost of a path whose score is a half."""
        assert gallery.codes is not None, "checked by whoever enrols"
        self.codes = np.asarray(gallery.codes, np.float32)
        self.scale, self._steps = scale, STEPS.times(scale).costs
        plain = np.zeros(len(self.codes), np.float32)
        self._corrections = plain if decoy_set is None else decoy_set.corrections_of(self.codes)
        self._columns: deque[Floats] = deque(maxlen=len(self._steps) - 1)

    def reset(self) -> None:
        """Begin anew."""
        self._columns.clear()

    def step(self, code: Floats) -> tuple[float, int]:
        """Take the (C,) code of the next frame; give the best score of a path that ends here, and its row."""
        apart = np.linalg.norm(self.codes - code, axis=2)  # (V, L)
        column = np.empty_like(apart)
        column[:, 0] = apart[:, 0]
        for position in range(1, apart.shape[1]):
            best = column[:, position - 1] + self._steps[0]
            for price, before in zip(self._steps[1:], self._columns, strict=False):
                best = np.minimum(best, before[:, position - 1] + price)
            column[:, position] = apart[:, position] + best
        self._columns.appendleft(column)
        scores = cost_to_score(column[:, -1] / apart.shape[1] + self._corrections, self.scale)
        row = int(scores.argmax())
        return float(scores[row]), row


class WakeDetector:
    """Takes frame codes as they come and says when the sign was seen; its memory is bounded."""

    def __init__(self, sign: WakeSign, scale: float, decoy_set: DecoySet | None, fps: float):
        """Wait for a sign.

        Args:
            sign: what to wait for.
            scale: the cost of a path whose score is a half.
            decoy_set: decoys, by which recordings that are near to everything are known.
            fps: of the codes.
        """
        self.sign, self._fps = sign, fps
        self._costs = OnlineAlignment(sign.gallery, scale, decoy_set)
        reach = STEPS.reach(self._costs.codes.shape[1])
        self._codes: deque[Floats] = deque(maxlen=reach + CONFIRMED + 2)
        self._best: tuple[float, float, int] | None = None  # time, score and row of a peak that is not sure yet
        self._last_event = -np.inf
        self._held = 0.0  # the score of the last event, until its sign is over

    def reset(self) -> None:
        """Begin anew, maybe by another clock: what was under way is given up."""
        self._best, self._held, self._last_event = None, 0.0, -np.inf
        self._codes.clear()
        self._costs.reset()

    def step(self, code: Floats, time: float) -> WakePeak | None:
        """Take the (C,) code of the next frame and its time; give a peak that is sure by now, and is verified."""
        self._codes.append(code)
        best = self._sure(*self._costs.step(code), time)
        return None if best is None else self._verified(best, np.stack(self._codes), time)

    def _sure(self, score: float, row: int, time: float) -> tuple[float, float, int] | None:
        """Take the best score of the next frame; give time, score and row of a peak that is sure by now."""
        best = self._best
        if score < _LEFT * self._held:
            self._held = 0.0
        better = score > self._held and (best is None or score > best[1])
        if score >= self.sign.threshold and better and time - self._last_event >= _APART:
            self._best = (time, score, row)
            return None
        if best is None or time - best[0] < CONFIRMED / self._fps - 1e-6:
            return None
        self._best = None
        return best

    def _verified(self, best: tuple[float, float, int], codes: Floats, time: float) -> WakePeak | None:
        """The peak, if it shows the sign of the recordings; `codes` are those of the newest frames."""
        signed, length = self._signed(codes, round((time - best[0]) * self._fps), best[2])
        peak = WakePeak(*best, signed, best[0] - length / self._fps)
        if len(self.sign.negatives):
            costs, others = (warping_costs(peak.codes[None], some) for some in (self._costs.codes, self.sign.negatives))
            if not verify(costs, others.min(axis=1), self.sign.usual)[0]:
                return None
        self._last_event, self._held = best[:2]
        return peak

    def _signed(self, codes: Floats, ago: int, row: int) -> tuple[Floats, int]:
        """(L, C) codes of the path of a row that ended so many frames ago, and the frames from its start to its end."""
        end = max(0, len(codes) - 1 - ago)
        recording = self._costs.codes[[row]]
        start = int(path_starts(codes, recording, np.array([end]), STEPS.times(self._costs.scale))[0])
        frames = torch.from_numpy(np.ascontiguousarray(codes, np.float32))
        return np.asarray(stretched(frames, start, end, recording.shape[1]).numpy(), np.float32), end - start


_LONGEST_GAP = 0.4  # seconds without a frame after which a sign that had begun is given up
_BLOCK = 1.0  # seconds of the decoys' signing of which the best score counts as one peak
_OWN: float = _FITTED[
    "recording_share"
]  # of the score of the recordings among each other: a threshold above would miss the sign itself
_FLOOR: float = _FITTED["least_threshold"]
_LOOSEST: float = _FITTED[
    "loosest_recordings"
]  # of what different signs cost: recordings that differ more allow no more
CANDIDATE_SCORE = 0.4  # score from which a segment of the background is looked at
_KEPT = 2 * CONTEXT + 10  # frames of landmarks that are remembered


@dataclass(frozen=True, slots=True)
class WakeEvent:
    """The sign was seen."""

    start: float  # seconds, on the stream's clock
    time: float  # seconds: the end of the sign
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
            raise OptionsError(f"hop must be at least 1 frame; got {hop}")
        self.encoder, self.sign, self.hop = encoder, sign, hop
        self.breaks = 0  # times that the stream was interrupted, changed its size, or its clock went back
        self.last_break = ""  # when and why, for people
        self._reach, self._fps = encoder.module.trunk.code_reach, encoder.contract.fps
        self._detector = WakeDetector(sign, alignment_scale(encoder), decoys_of(encoder), self._fps)
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
        for frame in range(len(chunk)):
            yield from self._push_one(chunk[frame : frame + 1])

    def _event(self, peak: WakePeak) -> WakeEvent:
        exemplar, _ = self.sign.gallery.exemplar(peak.row)
        late = round((float(self._buffer[-1].times[0]) - peak.time) * self._fps)
        start = max(0.0, peak.start)
        return WakeEvent(round(start, 3), round(peak.time, 3), round(peak.score, 6), exemplar.id, late)

    def _push_one(self, frame: Landmarks) -> list[WakePeak]:
        last = self._last
        time = float(frame.times[0])
        if last is not None:
            last_time = float(last.times[-1])
            if frame.size != last.size or not last_time < time <= last_time + _LONGEST_GAP:
                self.last_break = f"at {time:.2f} s: {_reason(last.size, frame.size, time - last_time)}"
                logger.info("the stream was interrupted %s", self.last_break)
                self.breaks += 1
                self._reset()
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
        frames = features(concatenate(self._buffer))
        recent = frames[max(0, len(frames) - fresh - 2 * self._reach) :]
        missing = fresh + 2 * self._reach - len(recent)
        recent = np.pad(recent, ((max(0, missing), 0), (0, 0), (0, 0)), mode="edge")
        with torch.inference_mode():
            codes = self.encoder.module.frame_codes(on_device(self.encoder, recent), "continuous").cpu().numpy()
        newest = float(self._buffer[-1].times[0]) - self._reach / self._fps
        times = [newest - (len(codes) - 1 - number) / self._fps for number in range(len(codes))]
        peaks = [self._detector.step(code, time) for code, time in zip(codes, times, strict=True)]
        self._done = ready
        return [peak for peak in peaks if peak is not None]

    def _reset(self) -> None:
        self._buffer, self._last = [], None
        self._next, self._seen, self._done = 0.0, 0, 0
        self._detector.reset()


def _reason(before: tuple[int, int] | None, after: tuple[int, int] | None, seconds: float) -> str:
    if before != after:
        old, new = (f"{size[0]}x{size[1]}" if size else "unknown" for size in (before, after))
        return f"the frame changed its size from {old} to {new}"
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
        dictionary: signs that may be made before the camera; those that are near to the sign become negatives.

    Raises:
        OptionsError: there is no recording, the rate is not above 0, or the encoder gives no frame codes.
        NoHandsError: a recording shows no hand.
    """
    if not recordings:
        raise OptionsError("a wake sign needs at least one recording")
    if not 0 < rate < float("inf"):
        raise OptionsError(f"false alarms per hour must be above 0; got {rate}")
    gallery, scores = recordings_gallery(spotter, recordings)
    if background is None:
        sign = _by_decoys(spotter.encoder, gallery, rate, scores)
    else:
        seconds, peaks = background_peaks(spotter.encoder, gallery, background)
        sign = choose_threshold(spotter.encoder, gallery, seconds, peaks, rate, scores)
    return with_distinctiveness(spotter.encoder, sign, dictionary)


def with_distinctiveness(encoder: Encoder, sign: WakeSign, dictionary: Gallery | None) -> WakeSign:
    """The sign with how distinctive it is: among decoys, and among words of a dictionary, which become negatives."""
    codes, decoy_set = sign.gallery.codes, decoys_of(encoder)
    assert codes is not None, "checked by whoever enrols"
    guess = None if decoy_set is None else by_decoys(codes, sign.usual, decoy_set.codes[:, 0], decoy_set.words.tolist())
    if dictionary is not None and dictionary.codes is not None and len(dictionary.codes):
        distinctiveness, near = by_dictionary(codes, sign.usual, dictionary)
        negatives = np.concatenate([near, sign.negatives]) if len(sign.negatives) else near
        rate = None if guess is None else guess.per_hour
        return replace(sign, distinct=replace(distinctiveness, guess=rate), negatives=negatives)
    return replace(sign, distinct=guess)


def recordings_gallery(spotter: Spotter, recordings: Sequence[Source]) -> tuple[Gallery, tuple[float, ...]]:
    """A gallery of recordings of one sign, and the score of each among the others.

    Raises:
        OptionsError: the encoder gives no frame codes.
        NoHandsError: a recording shows no hand.
    """
    exemplars = [Exemplar("wake", f"recording {number}") for number in range(1, len(recordings) + 1)]
    embedder = ExemplarEmbedder(spotter.encoder, spotter.cache)
    views = [embedder.embed_source(recording) for recording in recordings]
    if any(view.codes is None for view in views):
        raise OptionsError(f"a wake sign needs frame codes, which the encoder '{spotter.encoder.name}' does not give")
    codes = np.stack([view.codes for view in views if view.codes is not None])
    gallery = Gallery.of(exemplars, np.stack([view.embeddings for view in views]), codes)
    return gallery, tuple(_recording_scores(spotter, gallery))


def choose_threshold(
    encoder: Encoder,
    gallery: Gallery,
    seconds: float,
    peaks: Sequence[WakePeak],
    rate: float,
    recording_scores: tuple[float, ...],
) -> WakeSign:
    """Choose negatives and threshold by the peaks of a background of so many seconds.

    What comes nearest to the sign becomes negatives. Where the tail of those peaks that pass for the sign, as far as
    other signs of the background do not give them away, means more false alarms than `rate`, the threshold is higher,
    as far as the recordings reach among each other.
    """
    assert gallery.codes is not None, "checked by whoever enrols"
    order, usual = sorted(peaks, key=lambda peak: -peak.score), _usual(encoder, gallery)
    taught = np.stack([peak.codes for peak in order[:_NEGATIVES]]) if order else np.empty((0, *gallery.codes.shape[1:]))
    decoy_set = decoys_of(encoder)
    shipped = np.empty((0, *gallery.codes.shape[1:])) if decoy_set is None else decoy_set.codes[:, 0]
    looked_at = [peak for peak in order if peak.score >= _FLOOR]
    passing = _passing(looked_at, gallery.codes, (taught, shipped), usual)
    hours = seconds / 3600
    rates = PeakDistribution(strength(np.array(passing, np.float64)), hours)
    tail = from_strength(rates.threshold(rate)) if passing else 0.0
    most = _OWN * min(recording_scores) if recording_scores else 0.99
    threshold = min(0.99, max(_FLOOR, min(tail, most)))
    negatives = np.concatenate([taught, shipped]).astype(np.float32)
    false_alarms = sum(score >= threshold for score in passing)
    return WakeSign(gallery, threshold, hours, false_alarms, recording_scores, negatives, usual)


def _passing(
    peaks: Sequence[WakePeak], recordings: NDArray[Any], negatives: tuple[NDArray[Any], NDArray[Any]], usual: float
) -> list[float]:
    """Scores of the peaks that pass for the sign, each as if it were seen first.

    Of the negatives, those that the background taught and those that are shipped, the former do not count against a
    peak that they cost less than `usual` to align with: they show what it shows.
    """
    if not peaks:
        return []
    codes = np.stack([peak.codes for peak in peaks])
    near = warping_costs(codes, negatives[0])
    near[near < usual] = np.inf
    others = near.min(axis=1, initial=np.inf)
    if len(negatives[1]):
        others = np.minimum(others, warping_costs(codes, negatives[1]).min(axis=1))
    passes = verify(warping_costs(codes, recordings), others, usual)
    return [peak.score for peak, passed in zip(peaks, passes.tolist(), strict=True) if passed]


def _usual(encoder: Encoder, gallery: Gallery) -> float:
    """The usual cost of aligning two recordings; with one recording, that of two signers.

    It is bounded: where one recording differs from the others, much else would be as near to them as it is.
    """
    assert gallery.codes is not None, "checked by whoever enrols"
    costs = warping_costs(gallery.codes, gallery.codes)[np.triu_indices(len(gallery.codes), 1)]
    if not len(costs):
        return typical_cost(gallery, encoder)
    return min(float(costs.mean()), _LOOSEST * alignment_scale(encoder))


def _recording_scores(spotter: Spotter, gallery: Gallery) -> Iterator[float]:
    """The score of every recording among the others."""
    assert gallery.codes is not None, "checked before"
    costs = warping_costs(gallery.codes, gallery.codes)
    np.fill_diagonal(costs, np.inf)
    if len(costs) > 1:
        yield from cost_to_score(costs.min(axis=1), alignment_scale(spotter.encoder)).tolist()


def background_peaks(
    encoder: Encoder, gallery: Gallery, background: Iterable[Landmarks]
) -> tuple[float, list[WakePeak]]:
    """Seconds of background, and all segments of it that are like the sign at all."""
    stream, seconds, peaks = (
        WakeStream(encoder, WakeSign(gallery, CANDIDATE_SCORE, 0.0, 0, ()), hop=8),
        0.0,
        list[WakePeak](),
    )
    for chunk in background:
        seconds += chunk.duration
        peaks += stream.peaks(chunk)
    return seconds, peaks


def _by_decoys(encoder: Encoder, gallery: Gallery, rate: float, recording_scores: tuple[float, ...]) -> WakeSign:
    """A threshold by the encoder's decoys, where no background was recorded."""
    decoy_set = decoys_of(encoder)
    if decoy_set is None:
        raise OptionsError(f"the encoder '{encoder.name}' has no decoys: name a background, a video of other movements")
    assert gallery.codes is not None, "checked by whoever enrols"
    scale = alignment_scale(encoder)
    costs = path_costs(decoy_set.background, gallery.codes, STEPS.times(scale))
    scores = cost_to_score(costs + decoy_set.corrections_of(gallery.codes)[:, None], scale).max(axis=0)
    apart = round(_BLOCK * encoder.contract.fps)
    tops = np.array([float(scores[first : first + apart].max()) for first in range(0, len(scores), apart)])
    hours = len(scores) / encoder.contract.fps / 3600
    tops, allowed = np.sort(tops)[::-1], int(rate * hours)
    threshold = min(0.99, max(_FLOOR, (float(tops[allowed]) if len(tops) > allowed else 0.0) + 0.01))
    false_alarms = int((tops >= threshold).sum())
    negatives = np.asarray(decoy_set.codes[:, 0], np.float32)
    return WakeSign(gallery, threshold, hours, false_alarms, recording_scores, negatives, _usual(encoder, gallery))


_CHUNK = 50  # frames of a file at once


def open_stream(source: str, cache: Cache = None) -> Iterator[Landmarks]:
    """Landmarks of a camera (`camera:0`), a video or a `.pose` file, as they come.

    Args:
        source: what is seen.
        cache: where landmarks of videos are kept.

    Raises:
        NotAVideoError: there is no such camera.
        VideoError: the video cannot be read.
    """
    return _camera(source) if is_camera(source) else stream_source(source, chunk=_CHUNK, cache=cache)


def _camera(source: str) -> Iterator[Landmarks]:
    from signspot.landmarks.estimators import Tracker, join_frames

    with Tracker() as tracker, closing(camera_frames(source)) as frames:
        for frame in frames:
            height, width = frame.image.shape[:2]
            yield join_frames([tracker.see(frame.image)], [frame.time], (width, height))


def draw_wake(spotter: Spotter, sign: WakeSign, source: str, events: Sequence[WakeEvent]) -> Figure:
    """The score over a file, by the same recordings, with threshold and events."""
    result = spotter.search(source, sign.gallery, SpotOptions(threshold=sign.threshold))
    scores = np.max([result.curve(number) for number in range(len(sign.gallery.exemplars))], axis=0)
    figure = Figure(figsize=(11, 3), layout="constrained", facecolor="white")
    axes = figure.add_subplot(xlabel="seconds", ylabel="score", ylim=(0, 1.03))
    axes.plot(result.times, scores, color=COLOURS[0], lw=1)
    axes.axhline(sign.threshold, color="#777777", ls="--", lw=1, label="threshold; what reaches it is verified, too")
    for number, event in enumerate(events):
        axes.axvline(event.time, color=COLOURS[1], lw=1.5, label=None if number else "events")
    axes.set_xlim(float(result.times[0]), float(result.times[-1]))
    axes.legend(frameon=False, fontsize=8, loc="upper left", ncols=2)
    return figure
