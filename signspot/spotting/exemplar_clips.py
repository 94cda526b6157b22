"""How an isolated sign is sampled: n clips at a random shift and a random rate (Sec. 3.3), seeded."""

import numpy as np
from numpy.typing import NDArray

FRAMES_PER_CLIP_DRAWN = 4  # n grows with the length of the sign: a clip for every four frames
FEWEST, MOST = 4, 24  # clips of one exemplar
WIDEST, NARROWEST = 1.0, 0.6  # the share of the sign that a clip spans


def clip_positions(length: int, window: int, seed: int = 0) -> NDArray[np.float64]:
    """Draw where the frames of each clip lie in a sign.

    Dictionary signs are slow, continuous ones are fast. So a clip spans most of the sign whatever its length: its
    rate is the one at which `window` frames cover a random share of the sign, its shift is random within the rest.

    Args:
        length: frames of the trimmed sign.
        window: frames in a clip.
        seed: the same seed draws the same clips.

    Returns:
        (n, window) positions in frames, in [0, length - 1].
    """
    count = int(np.clip(length // FRAMES_PER_CLIP_DRAWN, FEWEST, MOST))
    random = np.random.default_rng([seed, length, window])
    span = random.uniform(NARROWEST, WIDEST, count) * (length - 1)
    start = random.uniform(0, 1, count) * (length - 1 - span)
    positions: NDArray[np.float64] = start[:, None] + span[:, None] * np.linspace(0, 1, window)
    return positions
