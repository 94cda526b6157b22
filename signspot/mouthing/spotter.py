"""The mouthing spotter: words of subtitles on the lips of the signer, as labels M (Sec. 3.1, stage 2)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.io.progress import Progress, silent
from signspot.mouthing.candidates import LEAST, WORD_LEAST, MentionWindow
from signspot.mouthing.checkpoints import MouthingModel
from signspot.mouthing.lips import FPS, LipTrack
from signspot.mouthing.network import STEP, pad_words
from signspot.mouthing.reading import Source, reader_of
from signspot.mouthing.visemes import query
from signspot.types import SIGN_SECONDS, Label, Spotting

_SEEN = 0.5  # share of the 0.6 s before a peak in which the lips must be seen
SHORTEST = 12  # frames of a window: less is no word
_AT_ONCE = 32  # words that are compared with a window at once


@dataclass(frozen=True, slots=True)
class Mouthed:
    """Mouthings that a search found, and the parts that it could not see."""

    labels: tuple[Label, ...]  # in order of time; the time of each is the end of its sign
    queries: int  # words looked for, once per window
    hidden: int  # peaks that were left out, since the lips are hardly seen there
    unasked: tuple[str, ...] = ()  # words that cannot be looked for, each with the reason

    def spottings(self) -> list[Spotting]:
        """The labels as spottings: the sign is the 0.6 s before the peak."""
        return [as_spotting(label) for label in self.labels]

    def remarks(self) -> list[str]:
        """Remarks for people on what was not looked for, and on peaks that were left out; none where all is well."""
        said = [f"not looked for: {reason}" for reason in self.unasked]
        if self.hidden:
            said.append(f"left out {self.hidden:,} peak{'s' * (self.hidden > 1)} where the lips are hardly seen")
        return said


@dataclass(frozen=True, slots=True)
class LipPeak:
    """A place at which a word may end."""

    time: float  # seconds, to a thousandth
    probability: float  # to four digits: the words that are asked beside it may change what follows
    seen: bool  # the lips are seen before it


def find_peaks(curve: NDArray[np.float32], lips: LipTrack, least: float, most: int = 1) -> list[LipPeak]:
    """The best places of a word in a window, none nearer than a sign to a better one.

    Args:
        curve: (S,) probabilities that the word ends at a step.
        lips: of the window.
        least: probability of a peak.
        most: peaks.

    Returns:
        The best first; those before which the lips are hardly seen, too.
    """
    found: list[LipPeak] = []
    left = curve.copy()
    reach = int(SIGN_SECONDS * FPS / STEP)
    while len(found) < most and len(left) and left.max() >= max(least, 0.0):
        place = int(left.argmax())
        time, sure = lips.start + place * STEP / FPS, float(curve[place])
        found.append(LipPeak(round(time, 3), round(sure, 4), _is_seen(lips, place)))
        left[max(0, place - reach) : place + reach + 1] = -1.0
    return found


def as_spotting(label: Label) -> Spotting:
    """A label as a spotting, for the files of other tools."""
    start = max(0.0, label.time - SIGN_SECONDS)
    return Spotting(
        *(label.word, label.video, label.time, start, label.time, label.confidence),
        source=label.source,
        video_licence=label.video_licence,
        video_consent=label.video_consent,
    )


class MouthingSpotter:
    """Finds mouthed words."""

    def __init__(self, model: MouthingModel):
        self.model = model

    def read(self, source: Source, cache: Path | None = None, progress: Progress = silent) -> LipTrack:
        """The lips of a source as this spotter's network sees them; see `LipReader`."""
        return reader_of(self.model.network).read(source, cache, progress)

    @torch.inference_mode()
    def curves(self, lips: LipTrack, words: Sequence[str], language: str = "en") -> NDArray[np.float32]:
        """(K, S) probabilities that each word ends at a step of 0.08 s, counted from the start of the lips.

        Raises:
            OptionsError: a word has no phonemes, or is a single mouth shape.
        """
        queries = [query(word, language) for word in words]
        if not queries or not len(lips):
            return np.zeros((len(queries), -(-len(lips) // STEP)), np.float32)
        network = self.model.network
        coded = network.code_lips(torch.from_numpy(lips.values)[None])
        parts = []
        for first in range(0, len(queries), _AT_ONCE):
            block = pad_words(queries[first : first + _AT_ONCE])
            logits = network.compare(coded.expand(len(block), -1, -1), block)
            parts.append(torch.sigmoid(network.calibrated(logits)).numpy())
        return np.concatenate(parts)

    def search(
        self,
        lips: LipTrack,
        candidates: Sequence[MentionWindow],
        video: str,
        *,
        least: float = LEAST,
        language: str = "en",
        progress: Progress = silent,
    ) -> Mouthed:
        """Look for the words of subtitles around them; the best place of each word in each window counts.

        Args:
            lips: of the whole video.
            candidates: windows with their words.
            video: its name, for the labels.
            least: probability of a peak, from which it is a label.
            language: of the words.
            progress: told the windows done.

        Returns:
            Labels of source M, each at the end of its sign; a place that several windows show is one label.
        """
        if not 0 <= least <= 1:
            raise OptionsError(f"the least probability of a mouthing is between 0 and 1; got {least:g}")
        peaks: dict[str, list[tuple[float, float]]] = defaultdict(list)  # word → (probability, time)
        unasked: dict[str, str] = {}
        queries = hidden = 0
        for done, candidate in enumerate(candidates, 1):
            part = lips.between(candidate.window.start, candidate.window.end)
            words = [word for word in candidate.words if _can_ask(word, language, unasked)]
            if len(part) >= SHORTEST and words:
                queries += len(words)
                for word, curve in zip(words, self.curves(part, words, language), strict=True):
                    for peak in find_peaks(curve, part, least):
                        hidden += not peak.seen
                        peaks[word] += [(peak.probability, peak.time)] if peak.seen else []
            progress(done, len(candidates))
        labels = [Label(word, video, time, sure) for word, found in peaks.items() for sure, time in _best_apart(found)]
        ordered = sorted(labels, key=lambda label: (label.time, label.word))
        return Mouthed(tuple(ordered), queries, hidden, tuple(unasked.values()))


def keep_vocabulary(labels: Iterable[Label], least: float = WORD_LEAST) -> list[Label]:
    """Labels of the words of which at least one reaches `least` (the paper's rule for its vocabulary).

    Args:
        labels: of the training videos of a corpus, all together.
        least: probability.
    """
    found = list(labels)
    sure = {label.word for label in found if label.confidence >= least}
    return [label for label in found if label.word in sure]


def _can_ask(word: str, language: str, unasked: dict[str, str]) -> bool:
    """Whether a word can be looked for; the reason why not is kept, once."""
    if word not in unasked:
        try:
            query(word, language)
        except OptionsError as error:
            unasked[word] = str(error)
    return word not in unasked


def _is_seen(lips: LipTrack, place: int) -> bool:
    last = place * STEP + 1
    before = lips.values[max(0, last - round(SIGN_SECONDS * FPS)) : last, -2]
    return bool(before.mean() >= _SEEN)


def _best_apart(peaks: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """(probability, time) of the best peaks, none nearer than a sign to a better one."""
    ordered = sorted(peaks, key=lambda peak: (-peak[0], peak[1]))
    return [ordered[place] for place in apart([time for _, time in ordered])]


def apart(times: Sequence[float]) -> list[int]:
    """Those of some mouthings of one word, the best first, that are no nearer than a sign to a better one."""
    kept: list[int] = []
    for place, time in enumerate(times):
        if all(abs(time - times[other]) >= SIGN_SECONDS for other in kept):
            kept.append(place)
    return kept
