"""From signs as pictures to batches of clips: both domains and all words balanced, each clip changed in its own way."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.embedding.clips import NARROWEST, WIDEST
from signspot.training.rgb.config import RgbAugmentation, RgbConfig
from signspot.training.rgb.signs import PicturedSign, Pictures, RgbSigns

Clip = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class RgbBatch:
    """Clips of both domains."""

    clips: Tensor  # (N, 3, F, H, W) in about [-0.5, 0.5]
    words: Tensor  # (N,)
    dictionary: Tensor  # (N,) bool: the clip is of an exemplar
    targets: Tensor | None  # (N, D) what the teacher embeds; None: there is no teacher

    def to(self, device: torch.device) -> "RgbBatch":
        """The same batch on a device."""
        targets = None if self.targets is None else self.targets.to(device)
        return RgbBatch(self.clips.to(device), self.words.to(device), self.dictionary.to(device), targets)


class RgbBatches:
    """All batches of all epochs, by number: batch i follows from the seed and i."""

    def __init__(self, signs: RgbSigns, config: RgbConfig, frames: int, image_size: int):
        self.signs, self.config, self.frames, self.image_size = signs, config, frames, image_size
        self._continuous, self._dictionary = _by_word(signs.continuous), _by_word(signs.dictionary)

    def of_dictionary(self, epoch: int) -> int:
        """The number of exemplar clips in a batch."""
        options = self.config.batch
        return 0 if epoch < self.config.dictionary_from else round(options.clips * options.dictionary)

    def __len__(self) -> int:
        """Batches in an epoch, in which about as many labels are drawn as there are."""
        each = self.config.batch.clips - round(self.config.batch.clips * self.config.batch.dictionary)
        whole = len(self.signs.continuous) if each else len(self.signs.dictionary)
        return max(1, math.ceil(whole / (each or self.config.batch.clips)))

    def __getitem__(self, step: int) -> RgbBatch:
        """Make batch number `step`, which may lie in any epoch."""
        random = np.random.default_rng([self.config.seed, step])
        listed = self.of_dictionary(step // len(self))
        drawn = _draw(self._continuous, self.config.batch.clips - listed, random)
        made = [self._watch(sign, random) for sign in drawn]
        shown = _draw(self._dictionary, listed, random)
        made += [self._look_up(sign, random) for sign in shown]
        targets = [target for _, target in made if target is not None]
        return RgbBatch(
            torch.from_numpy(np.stack([clip for clip, _ in made])),
            torch.tensor([sign.word for sign in (*drawn, *shown)]),
            torch.arange(len(made)) >= len(drawn),
            torch.from_numpy(np.stack(targets)) if len(targets) == len(made) else None,
        )

    def _watch(self, sign: PicturedSign, random: np.random.Generator) -> tuple[Clip, Clip | None]:
        """A random window of the stretch around a label."""
        start = int(random.integers(len(sign.pictures) - self.frames + 1))
        clip = augmented(sign.pictures[start : start + self.frames], self.image_size, self.config.augmentation, random)
        return clip, None if sign.target is None else sign.target[start]

    def _look_up(self, sign: PicturedSign, random: np.random.Generator) -> tuple[Clip, Clip | None]:
        """An exemplar at a random shift and a random rate."""
        last = len(sign.pictures) - 1
        span = random.uniform(NARROWEST, WIDEST) * last
        places = random.uniform(0, last - span) + np.linspace(0, span, self.frames)
        clip = augmented(sign.pictures[places.round().astype(int)], self.image_size, self.config.augmentation, random)
        return clip, None if sign.target is None else sign.target[0]


def plain(pictures: Pictures, size: int) -> Clip:
    """(F, H, W, 3) pictures → (3, F, size, size): the centre crop, as the road cuts it."""
    edge = (pictures.shape[1] - size) // 2
    return _as_floats(pictures[:, edge : edge + size, edge : edge + size])


def augmented(pictures: Pictures, size: int, how: RgbAugmentation, random: np.random.Generator) -> Clip:
    """The same, scaled, shifted, mirrored and coloured in a random way, alike in all frames."""
    import cv2

    side = pictures.shape[1]
    crop = int(np.clip(round(size * (1 + random.uniform(-how.scale, how.scale))), 8, side))
    room = side - crop
    top, left = (round((room + random.uniform(-how.shift, how.shift) * room) / 2) for _ in range(2))
    cut = pictures[:, top : top + crop, left : left + crop]
    scaled = np.stack([cv2.resize(picture, (size, size), interpolation=cv2.INTER_LINEAR) for picture in cut])
    if random.random() < how.flip:
        scaled = scaled[:, :, ::-1]
    return _coloured(_as_floats(scaled), how, random)


def _coloured(clip: Clip, how: RgbAugmentation, random: np.random.Generator) -> Clip:
    """(3, F, H, W) with other brightness, contrast and saturation."""
    grey = clip.mean(axis=0, keepdims=True)
    saturation = np.float32(1 + random.uniform(-how.saturation, how.saturation))
    contrast = np.float32(1 + random.uniform(-how.contrast, how.contrast))
    brightness = np.float32(random.uniform(-how.brightness, how.brightness))
    changed: Clip = (grey + (clip - grey) * saturation) * contrast + brightness
    return changed


def _as_floats(pictures: Pictures) -> Clip:
    """(F, H, W, 3) in 0 … 255 → (3, F, H, W) in [-0.5, 0.5]."""
    clip: Clip = np.ascontiguousarray(pictures.transpose(3, 0, 1, 2), dtype=np.float32)
    clip /= 255.0
    clip -= 0.5
    return clip


def _by_word(signs: Sequence[PicturedSign]) -> list[list[PicturedSign]]:
    found: defaultdict[int, list[PicturedSign]] = defaultdict(list)
    for sign in signs:
        found[sign.word].append(sign)
    return [found[word] for word in sorted(found)]


def _draw(words: Sequence[Sequence[PicturedSign]], count: int, random: np.random.Generator) -> list[PicturedSign]:
    """Signs of random words, no word a second time before all were drawn."""
    order = [place for _ in range(math.ceil(count / max(1, len(words)))) for place in random.permutation(len(words))]
    pools = [words[place] for place in order[:count]]
    return [pool[int(random.integers(len(pool)))] for pool in pools]
