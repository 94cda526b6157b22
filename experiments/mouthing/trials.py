"""Trials of the mouthing spotter: a window of lips, a word, and whether and where it is mouthed there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.mouthing.batches import WrongWords
from experiments.mouthing.clips import LipClip, Vocabulary
from signspot.mouthing.lips import FPS, LipTrack
from signspot.mouthing.spotter import MentionWindow, MouthingSpotter
from signspot.mouthing.visemes import visemes_of
from signspot.types import Segment

Floats = NDArray[np.float64]
WINDOW = 10.0  # seconds: about a subtitle and what it is padded by
TOLERANCE = 0.4  # seconds between a peak and the end of the mouthing, at most


@dataclass(frozen=True, slots=True)
class Trial:
    """One question: is this word mouthed in this window?"""

    clip: int
    start: float  # of the window, seconds
    word: str
    ends: tuple[float, ...] = ()  # of its mouthings in the window; none: it is not mouthed
    share: float = 0.0  # of the word that is mouthed, at most


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers of the spotter to trials, each (n,)."""

    sure: Floats  # probability of the label that it gives; 0 where it gives none, since it does not see the lips
    late: Floats  # seconds from the nearest end of a mouthing of the word to the label; infinite where there is none
    searched: Floats  # seconds of lips that were searched

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether the label is at a mouthing of the word."""
        return np.asarray(np.abs(self.late) <= TOLERANCE)

    def only(self, wanted: NDArray[np.bool_]) -> "Answers":
        """Those of some trials."""
        return Answers(self.sure[wanted], self.late[wanted], self.searched[wanted])


def draw_trials(
    clips: Sequence[LipClip], vocabulary: Vocabulary, seed: int, *, each: int = 8, hard: float = 0.0
) -> list[Trial]:
    """Ask for words in windows of clips: half of them mouthed there, where so many are.

    Args:
        clips: at least as long as a window.
        vocabulary: of the words that are not mouthed.
        seed: of all chance.
        each: trials of one clip.
        hard: share of the words that are not mouthed and begin or end like one that is.
    """
    random, wrong = np.random.default_rng((seed, 77)), WrongWords(vocabulary)
    trials = []
    for number, clip in enumerate(clips):
        visemes = {word.word: vocabulary.visemes.get(word.word) or visemes_of(word.word) for word in clip.words}
        for turn in range(each):
            start = clip.lips.start + float(random.uniform(0, max(0.0, len(clip.lips) / FPS - WINDOW)))
            near = [w for w in clip.words if w.segment.end > start and w.segment.start < start + WINDOW]
            inside = [w for w in near if start + 0.5 <= w.segment.end <= start + WINDOW - 0.2]
            if turn % 2 == 0 and inside:
                asked = inside[int(random.integers(len(inside)))]
                same = [w for w in near if visemes[w.word] == visemes[asked.word]]
                ends = tuple(w.segment.end for w in same)
                trials.append(Trial(number, start, asked.word, ends, max(w.share for w in same)))
            else:
                trials.append(Trial(number, start, wrong.draw([visemes[w.word] for w in near], hard, random)))
    return trials


def answer(spotter: MouthingSpotter, clips: Sequence[LipClip], trials: Sequence[Trial]) -> Answers:
    """Ask as users ask: each question is a window with one word, and what the search labels in it is the answer."""
    rows = [_ask(spotter, clips[trial.clip].lips, trial) for trial in trials]
    sure, late, searched = np.array(rows, float).reshape(-1, 3).T
    return Answers(sure, late, searched)


def _ask(spotter: MouthingSpotter, lips: LipTrack, trial: Trial) -> tuple[float, float, float]:
    """Probability of the label, its seconds from the nearest end of a mouthing, seconds searched."""
    window = Segment(trial.start, trial.start + WINDOW)
    found = spotter.search(lips, [MentionWindow(window, (trial.word,))], "", least=0.0)
    searched = max(0.0, min(window.end, lips.end) - trial.start) if found.queries else 0.0
    if not found.labels:
        return 0.0, np.inf, searched
    (label,) = found.labels
    return label.confidence, min((label.time - end for end in trial.ends), key=abs, default=np.inf), searched
