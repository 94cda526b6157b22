"""Batches for a trunk that must know signing, not words: every sign as two exemplars and as one continuous use."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from experiments.contrastive.performances import (
    MINIMAL_PAIRS,
    Features,
    Performance,
    PerformanceSource,
    joined,
    played,
)
from signspot.embedding.clips import ClipSampling, draw_clips
from signspot.errors import OptionsError
from signspot.landmarks.resampling import at_positions, frames_at, motion_time
from signspot.training.augment import Augmentation, augment
from signspot.training.configuration import check_numbers


@dataclass(frozen=True, slots=True)
class ContrastiveBatchOptions:
    """Options of cutting clips from signs."""

    signs: int = 96  # different signs in a batch
    minimal_pairs: float = MINIMAL_PAIRS  # share of them that come with one that differs in one parameter
    window: int = 16  # frames in a clip
    clips: int = 1  # of one exemplar
    stretch: float = 0.3  # of a sign in a clip of an exemplar, and …
    shift: float = 0.1  # … by how much it is early or late: more than when an exemplar is embedded
    exemplar_clock: tuple[float, float] = (0.1, 0.6)  # the share of plain time as an exemplar is played
    clock: tuple[float, float] = (0.15, 1.0)  # the share of plain time as a sign is played in continuous signing
    shortest: int = 7  # frames of a sign in continuous signing
    longest: int = 20
    off_centre: int = 3  # frames by which a window may miss the middle of its sign
    transition: tuple[int, int] = (2, 6)  # frames between two signs

    def __post_init__(self) -> None:
        check_numbers(self, "signs", least=2)
        check_numbers(self, "window", "clips", "shortest", "longest", least=1)
        check_numbers(self, "off_centre", "stretch", "shift", "transition", least=0)
        check_numbers(self, "minimal_pairs", "exemplar_clock", "clock", least=0, most=1)
        for name in ("exemplar_clock", "clock", "transition"):
            if len(getattr(self, name)) != 2 or getattr(self, name)[0] > getattr(self, name)[1]:
                raise OptionsError(f"{name} is a lowest and a highest value; got {getattr(self, name)}")
        if self.shortest > self.longest:
            raise OptionsError(f"shortest must be at most longest ({self.longest}); got {self.shortest}")


class ContrastiveBatches(Dataset[tuple[Tensor, Tensor, Tensor]]):
    """Batch number i is made from the seed and i alone, so any number of workers gives the same training.

    A batch is (K, 2, n, F, J, C) clips of two exemplars, (K, F, J, C) the sign in continuous signing, and
    (K, F, J, C) a window beside it, which shows mostly something else.
    """

    def __init__(
        self,
        source: PerformanceSource,
        steps: int,
        seed: int,
        options: ContrastiveBatchOptions = ContrastiveBatchOptions(),
        augmentation: Augmentation = Augmentation(),
    ):
        self.source, self.steps, self.seed = source, steps, seed
        self.options, self.augmentation = options, augmentation

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """Make batch number `step`."""
        random = np.random.default_rng([self.seed, step])
        options = self.options
        drawn = self.source.draw(random, options.signs, 3)
        k = len(drawn)
        exemplars = np.stack([[self._exemplar(sign[i].features, random) for i in (0, 1)] for sign in drawn])
        flat = exemplars.reshape(2 * k, options.clips * options.window, *exemplars.shape[-2:])
        exemplars = augment(flat, random, self.augmentation).reshape(exemplars.shape)
        neighbours = random.permutation(k)
        pairs = [
            self._continuous(sign[2], drawn[neighbours[i]][1], drawn[neighbours[i - 1]][1], random)
            for i, sign in enumerate(drawn)
        ]
        both = np.stack([np.concatenate(pair) for pair in pairs])  # (K, 2 F, J, C): changed alike
        both = augment(both, random, self.augmentation)
        window = options.window
        return torch.from_numpy(exemplars), torch.from_numpy(both[:, :window]), torch.from_numpy(both[:, window:])

    def _exemplar(self, sign: Features, random: np.random.Generator) -> Features:
        """(n, F, J, C) clips of an isolated sign, in the sign's own time."""
        options = self.options
        sampling = ClipSampling(options.stretch, options.shift, random.uniform(*options.exemplar_clock))
        return draw_clips(sign, options.window, options.clips, random, sampling)

    def _continuous(
        self, sign: Performance, before: Performance, after: Performance, random: np.random.Generator
    ) -> tuple[Features, Features]:
        """The window on a sign in continuous signing, and a window beside it."""
        options = self.options
        stream, middle = sign.features, 0
        if sign.within is None:
            stream, middle = self._joined(sign.features, before.features, after.features, random)
        else:
            shown = stream[slice(*sign.within)]
            middle = sign.within[0] + round(float(frames_at(motion_time(shown), np.array(0.5))))
        start = middle - options.window // 2 + int(random.integers(-options.off_centre, options.off_centre + 1))
        aside = start + int(random.choice([-1, 1])) * int(random.integers(options.window // 2 + 1, options.window + 1))
        frames = np.arange(options.window, dtype=np.float64)
        return at_positions(stream, start + frames), at_positions(stream, aside + frames)

    def _joined(
        self, sign: Features, before: Features, after: Features, random: np.random.Generator
    ) -> tuple[Features, int]:
        """An isolated sign played fast between two others, and where its middle is."""
        options = self.options
        length = int(random.integers(options.shortest, options.longest + 1))
        clock = random.uniform(*options.clock)
        first, last = (played(part, int(random.integers(8, 18)), random, clock) for part in (before, after))
        gaps = random.integers(options.transition[0], options.transition[1] + 1, 2)
        shown = played(sign, length, random, clock)
        stream, segments = joined([first, shown, last], gaps.tolist())
        return stream, segments[1][0] + round(float(frames_at(motion_time(shown), np.array(0.5))))
