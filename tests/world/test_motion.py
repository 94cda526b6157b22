"""The thin whole: signs become motion, motion becomes landmarks, always the same."""

import hashlib

import numpy as np
import pytest

from signspot.errors import OptionsError
from signspot.world.camera import project
from signspot.world.knobs import Knobs
from signspot.world.lexicon import LexiconOptions, make_lexicon
from signspot.world.motion import continuous, isolated
from signspot.world.signers import make_signers

LEXICON = make_lexicon(LexiconOptions(words=40, seed=7))
SIGNERS = make_signers(4, 7, "train")
SIGNS = [entry.variants[0] for entry in LEXICON.values()]


def digest(motion):
    return hashlib.sha256(
        b"".join(p.tobytes() for p in (motion.body, motion.left_hand, motion.right_hand, motion.face))
    )


def test_every_sign_becomes_finite_landmarks():
    for i, sign in enumerate(SIGNS):
        motion, segment = isolated(sign, SIGNERS[i % 4], np.random.default_rng(i), word="apple")
        landmarks = project(motion, SIGNERS[i % 4].camera)
        assert 0 < segment.start < segment.end < len(motion) / motion.fps
        for part in (landmarks.body, landmarks.left_hand, landmarks.right_hand, landmarks.face):
            assert np.isfinite(part).all()


def test_the_same_seed_gives_the_same_bytes_and_another_does_not():
    first, again, other = (
        continuous(SIGNS[:6], SIGNERS[0], np.random.default_rng(seed), Knobs(), [None] * 6)[0] for seed in (1, 1, 2)
    )
    assert digest(first).hexdigest() == digest(again).hexdigest()
    assert digest(first).hexdigest() != digest(other).hexdigest()


def test_segments_are_in_order_and_within_the_motion():
    motion, segments = continuous(SIGNS, SIGNERS[1], np.random.default_rng(5))
    ends = [0.0, *(s.end for s in segments)]
    assert all(end < s.start for end, s in zip(ends, segments, strict=False))
    assert segments[-1].end < len(motion) / motion.fps


def test_nothing_to_sign_is_refused():
    with pytest.raises(OptionsError, match="at least 1 sign"):
        continuous([], SIGNERS[0], np.random.default_rng(0))
    with pytest.raises(OptionsError, match="mouthings"):
        continuous(SIGNS[:2], SIGNERS[0], np.random.default_rng(0), Knobs(), [None])
