"""The work of annotation by mouthing, done in workers: read the lips of a video, look for words around subtitles."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signspot.annotation.plan import VideoUnit
from signspot.annotation.records import Candidate, Findings, RunOptions, SubtitleQuery, VideoRecord
from signspot.annotation.search import Query, against, by_subtitle, impostors_of, window_of
from signspot.errors import EncoderMismatchError, VideoError
from signspot.io.files import content_digest
from signspot.mouthing.checkpoints import load_mouthing
from signspot.mouthing.lips import FPS, LipTrack, remarks_on
from signspot.mouthing.network import STEP
from signspot.mouthing.spotter import SHORTEST, LipPeak, MouthingSpotter, find_peaks
from signspot.types import SIGN_SECONDS, LabelSource, Segment, TimeMeaning

_NEAR = 2  # steps before and after a peak within which impostors may have theirs

Curves = Mapping[str, NDArray[np.float32]]  # word → (S,) probabilities that it ends at a step of a window


@dataclass(frozen=True, slots=True)
class LipContext:
    """The tools of a worker; the same for all units of a run."""

    model: str | None  # name or file of a mouthing spotter; None: the shipped one
    hash: str  # of that spotter
    landmarks: Path  # folder in which those of videos are kept
    options: RunOptions
    panel: tuple[str, ...] = ()  # words from which impostors are taken


def mouth_unit(context: LipContext, unit: VideoUnit) -> Findings:
    """Look for the words of a unit on the lips; landmarks are estimated unless they are in the cache.

    Raises:
        SignspotError: the video cannot be read, shows no face, or was changed meanwhile.
    """
    spotter = _spotter(context.model, context.hash)
    lips = spotter.read(unit.media, context.landmarks)
    if content_digest(unit.media) != unit.digest:
        raise VideoError(f"{unit.media.name} was changed while it was worked on. Run again.")
    found = list(LipSearcher(spotter, lips, context.panel, context.options).search(unit))
    return Findings(
        video=VideoRecord(unit.video, unit.digest, round(lips.end, 3), remarks="\n".join(remarks_on(lips))),
        keys=dict(unit.keys),
        queries=tuple(query for query, _ in found),
        candidates=tuple(candidate for _, candidates in found for candidate in candidates),
    )


class LipSearcher:
    """Looks for words on the lips of one video."""

    def __init__(self, spotter: MouthingSpotter, lips: LipTrack, panel: Sequence[str], options: RunOptions):
        assert options.keep is not None, "settled before the run"
        self._spotter, self._lips, self._options, self._keep = spotter, lips, options, options.keep
        self._panel = tuple(panel)
        self._video = Segment(lips.start, lips.end)

    def search(self, unit: VideoUnit) -> Iterator[tuple[SubtitleQuery, list[Candidate]]]:
        """All queries of a unit, in order of subtitle and word, each with its candidates, the best first."""
        for asked in by_subtitle(unit):
            window = window_of(asked[0][1], self._options.padding, self._video)
            part = self._lips.between(window.start, window.end)
            queries = [Query(unit.video, word, mention, window, 0) for word, mention in asked]
            if len(part) < SHORTEST:
                yield from ((query.unanswered(), []) for query in queries)
                continue
            most = self._options.impostors
            others = {query: impostors_of(query, unit, self._panel, most) for query in queries}
            words = dict.fromkeys([query.word for query in queries] + [w for each in others.values() for w in each])
            found = self._spotter.curves(part, list(words), self._options.language)
            curves = dict(zip(words, found, strict=True))
            for query, impostors in others.items():
                yield self._answer(query, part, curves, impostors)

    def _answer(
        self, query: Query, lips: LipTrack, curves: Curves, impostors: Sequence[str]
    ) -> tuple[SubtitleQuery, list[Candidate]]:
        curve = curves[query.word]
        peaks = find_peaks(curve, lips, self._keep, self._options.peaks)
        candidates = [
            self._candidate(query, rank, peak, _around(curves, impostors, round((peak.time - lips.start) * FPS / STEP)))
            for rank, peak in enumerate(peaks, 1)
            if peak.seen
        ]
        chance = [round(float(curves[word].max()), 4) for word in impostors]
        return query.answered(round(float(curve.max()), 4), chance), candidates

    def _candidate(self, query: Query, rank: int, peak: LipPeak, chance: Sequence[float]) -> Candidate:
        return Candidate(
            video=query.video,
            subtitle=query.mention.subtitle,
            word=query.word,
            rank=rank,
            time=peak.time,
            start=round(max(0.0, peak.time - SIGN_SECONDS), 3),
            end=peak.time,
            score=peak.probability,
            exemplar="",
            variant="",
            mirrored=False,
            exemplars=0,
            agreeing=0,
            exemplar_second=None,
            exemplar_mean=peak.probability,
            **against(chance, peak.probability),
            source=LabelSource.MOUTHING,
            at=TimeMeaning.END,
        )


def _around(curves: Curves, words: Sequence[str], place: int) -> list[float]:
    """The highest probability of each word near a step."""
    near = slice(max(0, place - _NEAR), place + _NEAR + 1)
    return [round(float(curves[word][near].max()), 4) for word in words]


@lru_cache(maxsize=1)
def _spotter(name: str | None, wanted: str) -> MouthingSpotter:
    import torch

    torch.set_num_threads(1)  # each worker has one core; and how sums are split decides their last digits
    model = load_mouthing(name)
    if model.hash != wanted:
        raise EncoderMismatchError(
            f"this worker's mouthing spotter '{model.name}' is {model.hash}, not {wanted}. Install the same signspot "
            "on all machines, and give the same file."
        )
    return MouthingSpotter(model)
