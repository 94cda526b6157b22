"""A tiny real-looking corpus: two words by three signers, with hands on known paths."""

import numpy as np
import pytest

from signspot.landmarks.features import CHANNELS, JOINTS, LEFT_HAND, RIGHT_HAND
from signspot.training.recombination import ELBOWS, WRISTS, Clips


def clip(word: int, signer: int, repetition: int, frames: int = 30) -> np.ndarray:
    """A right hand that goes up (word 1) or sideways (word 2), with a shape that belongs to the word."""
    random = np.random.default_rng([word, signer, repetition])
    made = np.zeros((frames, JOINTS, CHANNELS), np.float32)
    made[:, :7, 3] = 1
    made[:, 49:, 3] = 1
    made[:, 1, 0], made[:, 2, 0] = 0.5, -0.5
    share = np.linspace(0, 1, frames)
    wrist = np.stack([-0.4 + share * (word == 2), 1.0 - share * (word == 1)], axis=1)
    made[:, WRISTS[1], :2] = wrist
    made[:, ELBOWS[1], :2] = wrist / 2
    shape = np.random.default_rng(word).normal(0, 0.1, (21, 3)) + random.normal(0, 0.004, (21, 3))
    shape[0] = 0
    made[:, RIGHT_HAND, :3] = shape
    made[:, RIGHT_HAND, :2] += wrist[:, None]
    made[:, RIGHT_HAND, 3] = 1
    made[:, LEFT_HAND] = 0
    return made


@pytest.fixture(scope="session")
def clips() -> Clips:
    return {s: {w: [clip(w, s, r) for r in (1, 2)] for w in (1, 2)} for s in (1, 2, 3)}
