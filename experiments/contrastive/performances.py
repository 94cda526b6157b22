"""Performances of signs as landmark features, from any corpus: the material of contrastive batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from signspot.landmarks.resampling import at_positions, frames_at, motion_time

Features = NDArray[np.float32]

MINIMAL_PAIRS = 0.1  # share of signs that come with one that differs in one parameter


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


def played(sign: Features, length: int, random: np.random.Generator, clock: float = 1.0, cut: float = 0.12) -> Features:
    """A sign at another speed that is not quite even, up to a share `cut` of it lost at each end.

    Args:
        sign: (T, J, C) features.
        length: frames it is to last.
        random: this performance's chance.
        clock: the share of plain time; the less, the shorter its holds (`motion_time`).
        cut: the largest share that is cut off at an end.
    """
    lost = random.uniform(0, cut, 2) * (len(sign) - 1)
    even = np.linspace(0, 1, length)
    warped = even + random.normal(0, 0.05) * np.sin(np.pi * even)
    within = sign[round(lost[0]) : len(sign) - round(lost[1])]
    return at_positions(within, frames_at(motion_time(within, clock), warped))


def joined(signs: Sequence[Features], gaps: Sequence[int]) -> tuple[Features, list[tuple[int, int]]]:
    """Join signs into one stream.

    Args:
        signs: each (T, J, C) features.
        gaps: frames of movement between each sign and the next, one fewer than there are signs.

    Returns:
        (T, J, C) the stream, and of each sign its first frame and the one after its last.
    """
    ends = np.cumsum([len(sign) for sign in signs])
    places: list[NDArray[np.float64]] = []
    segments: list[tuple[int, int]] = []
    frame = 0
    for index, end in enumerate(ends):
        start = end - len(signs[index])
        segments.append((frame, frame + len(signs[index])))
        places.append(np.arange(start, end, dtype=np.float64))
        frame += len(signs[index])
        if index < len(gaps):
            places.append(end - 1 + smooth(np.arange(1, gaps[index] + 1) / (gaps[index] + 1)))
            frame += gaps[index]
    return at_positions(np.concatenate(signs), np.concatenate(places)), segments


def smooth(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimum jerk from 0 to 1."""
    eased: NDArray[np.float64] = share**3 * (10 - 15 * share + 6 * share**2)
    return eased
