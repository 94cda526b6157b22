"""Sampling of clips from an isolated sign: a dictionary shows a sign slowly, continuous signing is fast."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signspot.landmarks.features import CLOCK, at_positions, frames_at, motion_time

Floats = NDArray[np.float32]

FRAMES_PER_CLIP_DRAWN = 4  # n grows with the length of the sign: a clip for every four frames
FEWEST, MOST = 4, 24  # clips of one exemplar
WIDEST, NARROWEST = 1.0, 0.6  # the share of the sign that a clip spans

VERSION = 3  # raised whenever the same sign gives other clips: kept embeddings are then made again
LEAD = 2  # frames of a landmark clip before its sign, and after it: signs in continuous signing are shorter than a clip


@dataclass(frozen=True, slots=True)
class ClipSampling:
    """Placement of a sign in a landmark clip."""

    stretch: float = 0.1  # by which it is longer or shorter, at most
    shift: float = 0.04  # of the sign, by which it is early or late, at most
    clock: float = CLOCK  # the share of plain time


DEFAULT_SAMPLING = ClipSampling()  # as an exemplar is embedded


def clip_count(length: int) -> int:
    """The number of clips that show a sign of so many frames."""
    return int(np.clip(length // FRAMES_PER_CLIP_DRAWN, FEWEST, MOST))


def clip_positions(length: int, window: int, seed: int = 0, count: int | None = None) -> NDArray[np.float64]:
    """Draw where the frames of each clip lie in a sign.

    Dictionary signs are slow, continuous ones are fast. So a clip spans most of the sign whatever its length: its
    rate is the one at which `window` frames cover a random share of the sign, its shift is random within the rest.

    Args:
        length: frames of the trimmed sign.
        window: frames in a clip.
        seed: the same seed draws the same clips.
        count: n; by the length of the sign if not given.

    Returns:
        (n, window) positions in frames, in [0, length - 1].
    """
    count = clip_count(length) if count is None else count
    random = np.random.default_rng([seed, length, window])
    span = random.uniform(NARROWEST, WIDEST, count) * (length - 1)
    start = random.uniform(0, 1, count) * (length - 1 - span)
    positions: NDArray[np.float64] = start[:, None] + span[:, None] * np.linspace(0, 1, window)
    return positions


def pixel_clips(sign: Floats, window: int, seed: int = 0, count: int | None = None) -> Floats:
    """(n, window, 3, H, W) clips of the frames (T, 3, H, W) of an isolated sign, each of the nearest frames."""
    clips: Floats = sign[clip_positions(len(sign), window, seed, count).round().astype(int)]
    return clips


def landmark_clips(sign: Floats, window: int, seed: int = 0, count: int | None = None) -> Floats:
    """(n, window, J, C) clips of the landmark features (T, J, C) of an isolated sign, in the sign's own time."""
    random = np.random.default_rng([seed, len(sign), window])
    return draw_clips(sign, window, clip_count(len(sign)) if count is None else count, random)


def draw_clips(
    sign: Floats,
    window: int,
    count: int,
    random: np.random.Generator,
    sampling: ClipSampling = DEFAULT_SAMPLING,
) -> Floats:
    """(count, window, J, C) as `landmark_clips`.

    Each clip shows the whole sign in its middle; before and after, its first and last frames are held. The sign goes
    by its own time (`motion_time`), in which holds are short, as they are in continuous signing.
    """
    lead = min(LEAD, (window - 2) // 2)
    even = (np.arange(window) - lead) / (window - 1 - 2 * lead)
    size = random.uniform(1 - sampling.stretch, 1 + sampling.stretch, count)
    late = random.uniform(-sampling.shift, sampling.shift, count)
    shares = 0.5 + late[:, None] + (even - 0.5) * size[:, None]
    return at_positions(sign, frames_at(motion_time(sign, sampling.clock), shares))
