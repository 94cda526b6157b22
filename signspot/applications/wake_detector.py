"""The decision of a wake sign: frame codes in, one at a time, events out.

Paths of the enrolled recordings through the stream are followed frame by frame. Where one scores high enough, what it
went through is cut out and verified: it has to be about as near to the recordings as these are to each other, and
nearer to them than to any impostor; the more of the one, the less of the other. Impostors are the decoys of the
encoder, what came nearest to the sign in the user's own background, and the nearest signs of a dictionary.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.applications.wake_neighbours import Distinctiveness
from signspot.embedding.exemplars import Gallery
from signspot.models.frame_coder import stretched
from signspot.spotting.alignment import STEPS, path_costs, path_starts, warping_costs
from signspot.spotting.decoys import Cohort
from signspot.spotting.matching import to_score

CONFIRMED = 4  # frames without a better score until a peak is an event
_APART = 2.5  # seconds between two events, at least: on their way back to rest, hands pass through much of a sign
_LEFT = 5 / 6  # of an event's score: below, its sign is over; what scores less than it before that is the same sign
_TINY = 1e-6
_MARGIN, _LEAST = 0.5, -0.5  # weight of being nearer than impostors, and the least verdict; both by worlds 151 and 152
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class WakeSign:
    """A sign to wait for: a few recordings of it, the score that decides, and impostors that it is told from."""

    gallery: Gallery
    threshold: float
    background_hours: float  # in which the threshold was measured
    background_alarms: int  # that are still given there, without what the background itself taught
    own_scores: tuple[float, ...]  # of each recording among the others; empty with one recording
    impostors: Floats = field(default_factory=lambda: np.empty((0, 0, 0), np.float32), repr=False)  # (N, L, C)
    usual: float = float("inf")  # what it costs to align two recordings; infinite: anything is usual
    distinct: Distinctiveness | None = None  # None: there is nothing to compare with

    @property
    def false_alarms_per_hour(self) -> float:
        """An upper bound with 95 % confidence, by the alarms in the background."""
        bounds = (3.0, 4.74, 6.3, 7.75, 9.15, 10.51)  # of a Poisson count of 0 to 5
        known = self.background_alarms
        most = bounds[known] if known < len(bounds) else known + 2 * known**0.5 + 2
        return most / self.background_hours if self.background_hours else float("inf")


@dataclass(frozen=True, slots=True)
class WakePeak:
    """A moment at which a recording fits best."""

    time: float  # seconds: the end of the sign, on the stream's clock
    score: float
    row: int  # of the gallery
    codes: Floats  # (L, C) of what was signed, brought to the length of a recording


def are_verified(own: NDArray[Any], others: NDArray[Any], usual: float) -> NDArray[np.bool_]:
    """Whether signs are that of the recordings: logarithms of how usual they are, and how far from impostors, decide.

    Args:
        own: (N, V) costs of aligning each sign with each recording.
        others: (N,) least cost of aligning each with an impostor; infinite where there is none.
        usual: what it costs to align two recordings.
    """
    likeness = np.log(usual / (own.mean(axis=1) + _TINY))
    margin = np.log((others + _TINY) / (own.min(axis=1) + _TINY))
    return np.asarray(likeness + _MARGIN * margin >= _LEAST, np.bool_)


class OnlineAlignment:
    """The costs of all paths that end at the newest frame; equal to those of `path_costs`, one frame at a time."""

    def __init__(self, gallery: Gallery, scale: float, cohort: Cohort | None):
        """Align the views of a gallery; `scale` is the cost of a path whose score is a half."""
        assert gallery.codes is not None, "checked by whoever enrols"
        self.codes = np.asarray(gallery.codes, np.float32)
        self.scale, self._steps = scale, STEPS.times(scale).costs
        plain = np.zeros(len(self.codes), np.float32)
        self._corrections = plain if cohort is None else cohort.corrections_of(self.codes)
        self._columns: deque[Floats] = deque(maxlen=len(self._steps) - 1)

    def forget(self) -> None:
        """Begin anew."""
        self._columns.clear()

    def step(self, code: Floats) -> tuple[float, int]:
        """Take the (C,) code of the next frame; give the best score of a path that ends here, and its row."""
        apart = np.linalg.norm(self.codes - code, axis=2)  # (V, L)
        column = np.empty_like(apart)
        column[:, 0] = apart[:, 0]
        for place in range(1, apart.shape[1]):
            best = column[:, place - 1] + self._steps[0]
            for price, before in zip(self._steps[1:], self._columns, strict=False):
                best = np.minimum(best, before[:, place - 1] + price)
            column[:, place] = apart[:, place] + best
        self._columns.appendleft(column)
        scores = to_score(column[:, -1] / apart.shape[1] + self._corrections, self.scale)
        row = int(scores.argmax())
        return float(scores[row]), row

    def over(self, codes: Floats) -> Floats:
        """(T, C) codes of a whole file to (V, T): the score of the best path of every row that ends at each frame."""
        costs = path_costs(codes, self.codes, STEPS.times(self.scale))
        return np.asarray(to_score(costs + self._corrections[:, None], self.scale), np.float32)


class WakeDetector:
    """Takes frame codes as they come and says when the sign was seen; its memory is bounded."""

    def __init__(self, sign: WakeSign, scale: float, cohort: Cohort | None, fps: float):
        """Wait for a sign.

        Args:
            sign: what to wait for.
            scale: the cost of a path whose score is a half.
            cohort: decoys, by which recordings that are near to everything are known.
            fps: of the codes.
        """
        self.sign, self._fps = sign, fps
        self._costs = OnlineAlignment(sign.gallery, scale, cohort)
        reach = STEPS.reach(self._costs.codes.shape[1])
        self._codes: deque[Floats] = deque(maxlen=reach + CONFIRMED + 2)
        self._best: tuple[float, float, int] | None = None  # time, score and row of a peak that is not sure yet
        self._told = -np.inf
        self._held = 0.0  # the score of the last event, until its sign is over

    def forget(self) -> None:
        """Begin anew, maybe by another clock: what was under way is given up."""
        self._best, self._held, self._told = None, 0.0, -np.inf
        self._codes.clear()
        self._costs.forget()

    def step(self, code: Floats, time: float) -> WakePeak | None:
        """Take the (C,) code of the next frame and its time; give a peak that is sure by now, and is verified."""
        self._codes.append(code)
        best = self._sure(*self._costs.step(code), time)
        return None if best is None else self._verified(best, np.stack(self._codes), time)

    def over(self, codes: Floats, times: Sequence[float]) -> list[WakePeak]:
        """The peaks of a whole file: as `step` gives them for (T, C) codes one by one, with all frames aligned at once.

        Args:
            codes: of every frame.
            times: of every frame, in seconds.
        """
        self.forget()
        kept, found = self._codes.maxlen or 0, list[WakePeak]()
        scores = self._costs.over(codes)
        rows, best = scores.argmax(axis=0).tolist(), scores.max(axis=0).tolist()
        for frame, time in enumerate(times):
            sure = self._sure(best[frame], rows[frame], time)
            peak = sure and self._verified(sure, codes[max(0, frame + 1 - kept) : frame + 1], time)
            found += [peak] if peak else []
        return found

    def _sure(self, score: float, row: int, time: float) -> tuple[float, float, int] | None:
        """Take the best score of the next frame; give time, score and row of a peak that is sure by now."""
        best = self._best
        if score < _LEFT * self._held:
            self._held = 0.0
        better = score > self._held and (best is None or score > best[1])
        if score >= self.sign.threshold and better and time - self._told >= _APART:
            self._best = (time, score, row)
            return None
        if best is None or time - best[0] < CONFIRMED / self._fps - 1e-6:
            return None
        self._best = None
        return best

    def _verified(self, best: tuple[float, float, int], codes: Floats, time: float) -> WakePeak | None:
        """The peak, if it shows the sign of the recordings; `codes` are those of the newest frames."""
        peak = WakePeak(*best, self._signed(codes, round((time - best[0]) * self._fps), best[2]))
        if len(self.sign.impostors):
            own, others = (warping_costs(peak.codes[None], some) for some in (self._costs.codes, self.sign.impostors))
            if not are_verified(own, others.min(axis=1), self.sign.usual)[0]:
                return None
        self._told, self._held = best[:2]
        return peak

    def _signed(self, codes: Floats, ago: int, row: int) -> Floats:
        """(L, C) codes of the path of a row that ended so many frames ago."""
        end = max(0, len(codes) - 1 - ago)
        shown = self._costs.codes[[row]]
        start = int(path_starts(codes, shown, np.array([end]), STEPS.times(self._costs.scale))[0])
        seen = torch.from_numpy(np.ascontiguousarray(codes, np.float32))
        return np.asarray(stretched(seen, start, end, shown.shape[1]).numpy(), np.float32)
