"""Batches of windows of lips with words that are, and are not, mouthed in them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from torch.utils.data import Dataset

from experiments.mouthing.clips import LipClip, Vocabulary
from experiments.mouthing.config import MouthingOptimiser
from experiments.mouthing.weakening import FilmDistortion, weaken
from signspot.mouthing.lips import FPS, Floats
from signspot.mouthing.network import STEP, pad_words
from signspot.mouthing.visemes import MOST_VISEMES, VISEMES, of_phonemes
from signspot_synthetic.body.mouthing import MouthedWord

Shapes = tuple[str, ...]
UNKNOWN = -100  # as torch's cross-entropy leaves it out
_SPREAD = (0.25, 0.5, 0.25)  # of the end of a word over the steps around it
_FIRST, _LAST = 0.5, 0.2  # seconds: a word counts as inside of a window that begins, and ends, so far from its end


@dataclass(frozen=True, slots=True)
class LipBatch:
    """Windows of lips, with words to look for in each."""

    lips: Tensor  # (W, T, CHANNELS)
    words: Tensor  # (W Q, L) visemes; Q words for each window, in order
    ends: Tensor  # (W Q, S) where the word ends: sums to 1 if it is mouthed, to 0 if not
    shapes: Tensor  # (W, S) number of the viseme that is on the lips; len(VISEMES) none, UNKNOWN where nobody knows

    @property
    def nowhere(self) -> Tensor:
        """(W Q, S + 1) 1 at the first place of words that are not mouthed."""
        return functional.pad(1 - self.ends.sum(dim=1, keepdim=True), (0, self.ends.shape[1]))


class WrongWords:
    """Words that are not on the lips: any, or such as begin or end like one that is."""

    def __init__(self, vocabulary: Vocabulary):
        self.vocabulary = vocabulary
        self._alike: dict[tuple[str, Shapes], list[str]] = defaultdict(list)
        for word in vocabulary.words:
            shapes = vocabulary.visemes[word]
            self._alike["begins", shapes[:2]].append(word)
            self._alike["ends", shapes[-2:]].append(word)

    def draw(self, mouthed: Sequence[Shapes], hard: float, random: np.random.Generator) -> str:
        """A word that is no part of what is mouthed, and that no mouthed word is the beginning of.

        Args:
            mouthed: visemes of the whole words that are on the lips.
            hard: share of the words that are like a mouthed one.
            random: chance.
        """
        for _ in range(20):
            words: Sequence[str] = self.vocabulary.words
            if mouthed and random.random() < hard:
                model = mouthed[int(random.integers(len(mouthed)))]
                way = ("begins", model[:2]) if random.random() < 0.5 else ("ends", model[-2:])
                words = self._alike.get(way, words)
            word = words[int(random.integers(len(words)))]
            shapes = self.vocabulary.visemes[word]
            if not any(holds(each, shapes) or each[:3] == shapes[:3] for each in mouthed):
                break
        return word


def holds(whole: Shapes, part: Shapes) -> bool:
    """Whether visemes stand one after the other in other visemes."""
    return any(whole[place : place + len(part)] == part for place in range(len(whole) - len(part) + 1))


class LipBatches(Dataset[LipBatch]):
    """Batch number i is made from the seed and i alone."""

    def __init__(
        self,
        clips: Sequence[LipClip],
        vocabulary: Vocabulary,
        visemes: dict[str, Shapes],
        how: MouthingOptimiser,
        seed: int,
        films: Sequence[LipClip] = (),
        distortions: Sequence[FilmDistortion] = (),
    ):
        self.clips, self.films = ([clip for clip in kind if len(clip.lips) >= how.frames] for kind in (clips, films))
        self.wrong, self.visemes, self.how, self.seed = WrongWords(vocabulary), visemes, how, seed
        self.distortions = distortions

    def __len__(self) -> int:
        return self.how.steps

    def __getitem__(self, step: int) -> LipBatch:
        """Make batch number `step`."""
        random = np.random.default_rng((self.seed, step))
        parts = [self._window(random) for _ in range(self.how.windows)]
        return LipBatch(
            torch.from_numpy(np.stack([part.lips for part in parts])),
            pad_words([numbers(word) for part in parts for word in part.words]),
            torch.from_numpy(np.stack([row for part in parts for row in part.ends])),
            torch.from_numpy(np.stack([part.shapes for part in parts])),
        )

    def _window(self, random: np.random.Generator) -> "_Window":
        filmed = bool(self.films) and random.random() < self.how.filmed
        clips, frames = self.films if filmed else self.clips, self.how.frames
        clip = clips[int(random.integers(len(clips)))]
        first = int(random.integers(len(clip.lips) - frames + 1))
        start = clip.lips.start + first / FPS
        end = start + frames / FPS
        near = [w for w in clip.words if w.segment.end > start and w.segment.start < end]
        inside = [w for w in near if start + _FIRST <= w.segment.end <= end - _LAST]
        chosen = [inside[i] for i in random.permutation(len(inside))[: (self.how.queries + 1) // 2]]
        mouthed = [self.visemes[word.word] for word in near]
        words, ends = [], []
        for number in range(self.how.queries):
            row = np.zeros(-(-frames // STEP), np.float32)
            if number < len(chosen):
                words.append(self.visemes[chosen[number].word])
                place = round((chosen[number].segment.end - start) * FPS / STEP)
                for step, weight in enumerate(_SPREAD, place - 1):
                    row[min(max(step, 0), len(row) - 1)] += weight
            else:
                words.append(self.wrong.vocabulary.visemes[self.wrong.draw(mouthed, self.how.hard, random)])
            ends.append(row)
        lips = clip.lips.values[first : first + frames]
        if not filmed and self.how.weakened and random.random() < self.how.weakened:
            lips = weaken(lips, random, self.distortions)
        return _Window(lips, words, ends, self._shapes(clip, near, start))

    def _shapes(self, clip: LipClip, words: Sequence[MouthedWord], start: float) -> NDArray[np.int64]:
        """(S,) visemes on the lips, each word's spread evenly over its time."""
        steps = -(-self.how.frames // STEP)
        times = start + np.arange(steps) * STEP / FPS
        shapes = np.full(steps, len(VISEMES) if clip.complete else UNKNOWN)
        for word in words:
            said = numbers(of_phonemes(word.phonemes) if word.phonemes else self.visemes[word.word])
            place = (times - word.segment.start) / word.segment.duration * len(said)
            inside = (place >= 0) & (place < len(said))
            shapes[inside] = np.array(said)[place[inside].astype(int)]
        return shapes


@dataclass(frozen=True, slots=True)
class _Window:
    """Part of a batch: one window of one clip."""

    lips: Floats  # (T, CHANNELS)
    words: list[Shapes]  # that are asked for
    ends: list[Floats]  # for each word (S,) where it ends
    shapes: NDArray[np.int64]  # (S,)


def numbers(shapes: Shapes) -> list[int]:
    """Visemes as the network takes them."""
    return [VISEMES.index(shape) for shape in shapes[:MOST_VISEMES]]
