"""Trials of the mouthing spotter: a window of lips, a word, and whether and where it is mouthed there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.mouthing.lips import FPS
from signspot.mouthing.network import STEP, MouthingNetwork, pad_words
from signspot_lab.mouthing.batches import Shapes, WrongWords, numbers
from signspot_lab.mouthing.clips import LipClip, Vocabulary

Floats = NDArray[np.float64]
WINDOW = 10.0  # seconds: about a subtitle and what it is padded by
TOLERANCE = 0.4  # seconds between a peak and the end of the mouthing, at most


@dataclass(frozen=True, slots=True)
class Trial:
    """One question: is this word mouthed in this window?"""

    clip: int
    start: float  # of the window, seconds
    shapes: Shapes
    ends: tuple[float, ...] = ()  # of its mouthings in the window; none: it is not mouthed
    share: float = 0.0  # of the word that is mouthed, at most


@dataclass(frozen=True, slots=True)
class Answers:
    """What the spotter says to trials, each (n,)."""

    logit: Floats  # of the highest peak, before calibration
    late: Floats  # seconds from the nearest end of a mouthing of the word to the peak; infinite where there is none

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether the peak is at a mouthing of the word."""
        return np.asarray(np.abs(self.late) <= TOLERANCE)


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
        visemes = {word.word: _shapes(word.word, vocabulary) for word in clip.words}
        for turn in range(each):
            start = clip.lips.start + float(random.uniform(0, max(0.0, len(clip.lips) / FPS - WINDOW)))
            near = [w for w in clip.words if w.segment.end > start and w.segment.start < start + WINDOW]
            inside = [w for w in near if start + 0.5 <= w.segment.end <= start + WINDOW - 0.2]
            if turn % 2 == 0 and inside:
                asked = inside[int(random.integers(len(inside)))]
                same = [w for w in near if visemes[w.word] == visemes[asked.word]]
                ends = tuple(w.segment.end for w in same)
                trials.append(Trial(number, start, visemes[asked.word], ends, max(w.share for w in same)))
            else:
                shapes = wrong.draw([visemes[w.word] for w in near], hard, random)
                trials.append(Trial(number, start, shapes))
    return trials


def _shapes(word: str, vocabulary: Vocabulary) -> Shapes:
    from signspot.mouthing.visemes import visemes_of

    return vocabulary.visemes.get(word) or visemes_of(word)


@torch.inference_mode()
def answer(network: MouthingNetwork, clips: Sequence[LipClip], trials: Sequence[Trial]) -> Answers:
    """Let the spotter answer."""
    logits, late = [], []
    for first in range(0, len(trials), 64):
        block = trials[first : first + 64]
        windows = [_window(clips[trial.clip], trial.start) for trial in block]
        coded = network.code_lips(torch.from_numpy(np.stack(windows)))
        found = network.compare(coded, pad_words([numbers(trial.shapes) for trial in block])).numpy()
        for trial, row in zip(block, found, strict=True):
            place = int(row.argmax())
            time = _start(clips[trial.clip], trial.start) + place * STEP / FPS
            logits.append(float(row[place]))
            late.append(min((time - end for end in trial.ends), key=abs, default=float("inf")))
    return Answers(np.array(logits), np.array(late))


def _first(clip: LipClip, start: float) -> int:
    return max(0, round((start - clip.lips.start) * FPS))


def _start(clip: LipClip, start: float) -> float:
    return clip.lips.start + _first(clip, start) / FPS


def _window(clip: LipClip, start: float) -> NDArray[np.float32]:
    """(T, CHANNELS) lips of a window, with nothing seen beyond the end of the clip."""
    frames, first = round(WINDOW * FPS), _first(clip, start)
    values = clip.lips.values[first : first + frames]
    return np.pad(values, ((0, frames - len(values)), (0, 0)))
