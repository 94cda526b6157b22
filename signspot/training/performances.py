"""What training sees of signing: performances of signs as landmark features, whatever corpus they come from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Features = NDArray[np.float32]

SIBLINGS = 0.1  # share of signs that come with one that differs in one parameter


@dataclass(frozen=True, slots=True)
class Performance:
    """One signer's performance of one sign."""

    signer: int
    features: Features  # (T, J, C) at 25 fps
    within: tuple[int, int] | None = None  # first frame of the sign and the one after its last, in a sentence; None:
    # `features` is an isolated sign, trimmed


class PerformanceSource(Protocol):
    """Draws signs, each performed several times."""

    def draw(self, random: np.random.Generator, signs: int, times: int) -> list[list[Performance]]:
        """`signs` different signs, each performed `times` times, by different signers where there are enough."""


class MixedSource:
    """Draws every batch from one of several sources, in fixed shares.

    A batch is never mixed: signs of different sources are too easily told apart by their style, and such negatives
    teach nothing about signs.
    """

    def __init__(self, sources: Sequence[PerformanceSource], shares: Sequence[float]):
        self.sources, self.shares = list(sources), np.asarray(shares, float) / np.sum(shares)

    def draw(self, random: np.random.Generator, signs: int, times: int) -> list[list[Performance]]:
        """As `PerformanceSource.draw`; which source is random."""
        return self.sources[int(random.choice(len(self.sources), p=self.shares))].draw(random, signs, times)
