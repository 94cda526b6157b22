"""A wake sign: frames of a stream in, events out, with bounded memory and a known delay.

The stream is brought to the encoder's rate, a short buffer of landmarks becomes features and frame codes, and the
alignment with the enrolled recordings goes on frame by frame: three columns of costs are all that it remembers.
"""

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.embedding.exemplars import ExemplarEmbedder, Gallery
from signspot.embedding.inputs import Source
from signspot.embedding.windows import on_device
from signspot.errors import OptionsError
from signspot.landmarks.features import CONTEXT, features
from signspot.landmarks.landmarks import Landmarks, concatenate
from signspot.models.encoder import Encoder
from signspot.records import Exemplar
from signspot.spotting.alignment import STEPS, path_costs, warping_costs
from signspot.spotting.decoys import Cohort, cohort_of
from signspot.spotting.identification import alignment_scale
from signspot.spotting.matching import to_score
from signspot.spotting.spotter import Spotter

logger = logging.getLogger(__name__)

_LONGEST_GAP = 0.4  # seconds without a frame after which a sign that had begun is given up
_CONFIRMED = 4  # frames without a better score until a peak is an event
_APART = 1.0  # seconds between two events, at least
_KEPT = 2 * CONTEXT + 10  # frames of landmarks that are remembered


@dataclass(frozen=True, slots=True)
class WakeSign:
    """A sign to wait for: a few recordings of it, and the score that decides."""

    gallery: Gallery
    threshold: float
    background_hours: float  # in which the threshold was measured
    background_alarms: int  # that the threshold still gives there
    own_scores: tuple[float, ...]  # of each recording among the others; empty with one recording

    @property
    def false_alarms_per_hour(self) -> float:
        """An upper bound with 95 % confidence, by the alarms in the background."""
        bounds = (3.0, 4.74, 6.3, 7.75, 9.15, 10.51)  # of a Poisson count of 0 to 5
        known = self.background_alarms
        most = bounds[known] if known < len(bounds) else known + 2 * known**0.5 + 2
        return most / self.background_hours if self.background_hours else float("inf")


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
        self._reach, self._fps = encoder.module.trunk.code_reach, encoder.contract.fps
        self._costs = OnlineAlignment(sign.gallery, alignment_scale(encoder), cohort_of(encoder))
        self._buffer: list[Landmarks] = []  # on the encoder's grid of times
        self._last: Landmarks | None = None  # the newest frame as it came
        self._best: tuple[float, float, int] | None = None  # time, score and row of a peak that is not sure yet
        self._next, self._seen, self._done, self._told = 0.0, 0, 0, -np.inf

    @property
    def latency(self) -> int:
        """Frames from the end of a sign until it is known, at most."""
        return self._reach + self.hop + _CONFIRMED

    def push(self, chunk: Landmarks) -> list[WakeEvent]:
        """Take further frames, of any rate; give the events that are sure by now."""
        events: list[WakeEvent] = []
        for place in range(len(chunk)):
            events += self._push_one(chunk[place : place + 1])
        return events

    def _push_one(self, frame: Landmarks) -> list[WakeEvent]:
        last = self._last
        time = float(frame.times[0])
        if last is not None:
            known = float(last.times[-1])
            if frame.size != last.size or not known < time <= known + _LONGEST_GAP:
                reason = "its size changed" if frame.size != last.size else f"{time - known:.2f} s went by"
                logger.info("the stream was broken at %.2f s: %s", time, reason)
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

    def _look(self, ready: int) -> list[WakeEvent]:
        """Code the frames up to number `ready` of the stream, and go on with the alignment."""
        fresh = min(ready - self._done, len(self._buffer) - self._reach)
        seen = features(concatenate(self._buffer))
        wanted = seen[max(0, len(seen) - fresh - 2 * self._reach) :]
        missing = fresh + 2 * self._reach - len(wanted)
        wanted = np.pad(wanted, ((max(0, missing), 0), (0, 0), (0, 0)), mode="edge")
        with torch.inference_mode():
            codes = self.encoder.module.frame_codes(on_device(self.encoder, wanted), "continuous").cpu().numpy()
        newest = float(self._buffer[-1].times[0]) - self._reach / self._fps
        events = []
        for place, code in enumerate(codes):
            time = newest - (len(codes) - 1 - place) / self._fps
            events += self._decide(time, *self._costs.step(code))
        self._done = ready
        return events

    def _decide(self, time: float, score: float, row: int) -> list[WakeEvent]:
        best = self._best
        if score >= self.sign.threshold and (best is None or score > best[1]) and time - self._told >= _APART:
            self._best = (time, score, row)
        elif best is not None and time - best[0] >= _CONFIRMED / self._fps - 1e-6:
            self._best, self._told = None, best[0]
            exemplar, _ = self.sign.gallery.exemplar(best[2])
            late = round((float(self._buffer[-1].times[0]) - best[0]) * self._fps)
            return [WakeEvent(round(best[0], 3), round(best[1], 6), exemplar.id, late)]
        return []

    def _forget(self) -> None:
        self._buffer, self._last, self._best = [], None, None
        self._next, self._seen, self._done = 0.0, 0, 0
        self._costs.forget()


class OnlineAlignment:
    """The costs of all paths that end at the newest frame; equal to those of `path_costs`, one frame at a time."""

    def __init__(self, gallery: Gallery, scale: float, cohort: Cohort | None):
        """Align the views of a gallery; `scale` is the cost of a path whose score is a half."""
        assert gallery.codes is not None, "checked by whoever enrols"
        self._codes = np.asarray(gallery.codes, np.float32)
        self._scale, self._steps = scale, STEPS.times(scale).costs
        plain = np.zeros(len(self._codes), np.float32)
        self._corrections = plain if cohort is None else cohort.corrections_of(self._codes)
        self._columns: deque[NDArray[np.float32]] = deque(maxlen=len(self._steps) - 1)

    def forget(self) -> None:
        """Begin anew."""
        self._columns.clear()

    def step(self, code: NDArray[np.float32]) -> tuple[float, int]:
        """Take the (C,) code of the next frame; give the best score of a path that ends here, and its row."""
        apart = np.linalg.norm(self._codes - code, axis=2)  # (V, L)
        column = np.empty_like(apart)
        column[:, 0] = apart[:, 0]
        for place in range(1, apart.shape[1]):
            best = column[:, place - 1] + self._steps[0]
            for price, before in zip(self._steps[1:], self._columns, strict=False):
                best = np.minimum(best, before[:, place - 1] + price)
            column[:, place] = apart[:, place] + best
        self._columns.appendleft(column)
        scores = to_score(column[:, -1] / apart.shape[1] + self._corrections, self._scale)
        row = int(scores.argmax())
        return float(scores[row]), row


def enrol(
    spotter: Spotter, recordings: Sequence[Source], background: Iterable[Landmarks] | None = None, rate: float = 1.0
) -> WakeSign:
    """Enrol a sign by a few recordings of it, and choose its threshold by what the background scores.

    Args:
        spotter: with an encoder that gives frame codes.
        recordings: clips of the sign, by whoever will make it; three or more are better than one.
        background: landmarks of whatever else goes on before the camera, in chunks; None: signs of the encoder's own
            decoys stand in.
        rate: false alarms per hour that are allowed. With less background than an hour over the rate, none are.

    Raises:
        OptionsError: there is no recording, the rate is not above 0, or the encoder gives no frame codes.
        NoHandsError: a recording shows no hand.
    """
    if not recordings:
        raise OptionsError("a wake sign needs at least one recording")
    if not 0 < rate < float("inf"):
        raise OptionsError(f"false alarms per hour must be above 0; got {rate}")
    exemplars = [Exemplar("wake", f"recording {number}") for number in range(1, len(recordings) + 1)]
    embedder = ExemplarEmbedder(spotter.encoder, spotter.cache)
    views = [embedder.embed_source(each) for each in recordings]
    if any(each.codes is None for each in views):
        raise OptionsError(f"a wake sign needs frame codes, which the encoder '{spotter.encoder.name}' does not give")
    codes = np.stack([each.codes for each in views if each.codes is not None])
    gallery = Gallery.of(exemplars, np.stack([each.embeddings for each in views]), codes)
    seconds, peaks = _peaks(spotter.encoder, gallery, background)
    hours = seconds / 3600
    allowed = int(rate * hours)
    threshold = min(0.99, (float(peaks[allowed]) if len(peaks) > allowed else 0.0) + 0.01)
    floor = 0.5  # below, a path is no better than one of two different signs
    threshold = max(floor, threshold)
    return WakeSign(gallery, threshold, hours, int((peaks >= threshold).sum()), tuple(_own_scores(spotter, gallery)))


def _own_scores(spotter: Spotter, gallery: Gallery) -> Iterator[float]:
    """The score of every recording among the others."""
    assert gallery.codes is not None, "checked before"
    costs = warping_costs(gallery.codes, gallery.codes)
    np.fill_diagonal(costs, np.inf)
    if len(costs) > 1:
        yield from to_score(costs.min(axis=1), alignment_scale(spotter.encoder)).tolist()


def _peaks(
    encoder: Encoder, gallery: Gallery, background: Iterable[Landmarks] | None
) -> tuple[float, NDArray[np.float64]]:
    """Seconds of background, and the scores of its peaks, the highest first."""
    everything = WakeSign(gallery, 0.05, 0.0, 0, ())
    if background is not None:
        stream, seconds, scores = WakeStream(encoder, everything, hop=8), 0.0, []
        for chunk in background:
            seconds += chunk.duration
            scores += [event.score for event in stream.push(chunk)]
        return seconds, np.sort(np.array(scores, np.float64))[::-1]
    cohort = cohort_of(encoder)
    if cohort is None:
        raise OptionsError(f"the encoder '{encoder.name}' has no decoys: name a background, a video of other movements")
    assert gallery.codes is not None, "checked by whoever enrols"
    scale = alignment_scale(encoder)
    costs = path_costs(cohort.background, gallery.codes, STEPS.times(scale))
    scores = to_score(costs + cohort.corrections_of(gallery.codes)[:, None], scale).max(axis=0)
    apart = round(_APART * encoder.contract.fps)
    tops = [float(scores[first : first + apart].max()) for first in range(0, len(scores), apart)]
    return len(scores) / encoder.contract.fps, np.sort(np.array(tops, np.float64))[::-1]
