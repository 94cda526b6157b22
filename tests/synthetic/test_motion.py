"""Signs become motion: always the same, always finite, by arms and hands that hold together."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from signspot.errors import OptionsError
from signspot_synthetic.body.motion import continuous, isolated
from signspot_synthetic.body.signers import Handedness, make_signers
from signspot_synthetic.difficulty_knobs import Knobs
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon
from signspot_synthetic.language.phonology import Sign
from signspot_synthetic.observation import project

LEXICON = make_lexicon(LexiconOptions(words=60, seed=7))
SIGNERS = make_signers(4, 7, "train", left_share=0)
SIGNS = [entry.variants[0] for entry in LEXICON.values()]
CLIPS = [isolated(sign, SIGNERS[i % 4], np.random.default_rng(i), word="apple") for i, sign in enumerate(SIGNS)]
STREAM, SEGMENTS = continuous(SIGNS, SIGNERS[1], np.random.default_rng(5), Knobs(), list(LEXICON))
PROGRAM = """
import hashlib
import numpy as np
from signspot_synthetic.observation import observe
from signspot_synthetic.observation import project
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon
from signspot_synthetic.body.motion import continuous
from signspot_synthetic.body.signers import make_signers
signs = [entry.variants[0] for entry in make_lexicon(LexiconOptions(words=9, seed=7)).values()]
signer = make_signers(1, 7, "train")[0]
rng = np.random.default_rng(3)
landmarks = observe(project(continuous(signs, signer, rng)[0], signer.camera), rng)
parts = (landmarks.body, landmarks.left_hand, landmarks.right_hand, landmarks.face)
print(hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())
"""


def digest(motion):
    parts = (motion.body, motion.left_hand, motion.right_hand, motion.face)
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def speed(track, fps=25.0):
    return np.linalg.norm(np.gradient(track.astype(np.float64), axis=0), axis=1) * fps


def test_every_sign_becomes_finite_landmarks():
    for i, (motion, segment) in enumerate(CLIPS):
        landmarks = project(motion, SIGNERS[i % 4].camera)
        assert 0 < segment.start < segment.end < len(motion) / motion.fps
        for part in (landmarks.body, landmarks.left_hand, landmarks.right_hand, landmarks.face):
            assert part.dtype == np.float32
            assert np.isfinite(part).all()


def test_the_same_seed_gives_the_same_bytes_and_another_does_not():
    first, again, other = (continuous(SIGNS[:6], SIGNERS[0], np.random.default_rng(seed))[0] for seed in (1, 1, 2))
    assert digest(first) == digest(again) != digest(other)


def test_another_process_gives_the_same_bytes():
    digests = set()
    for salt in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": salt}
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
        )
        digests.add(run.stdout.strip())
    assert len(digests) == 1
    assert len(digests.pop()) == 64


def test_dictionary_signs_begin_and_end_at_rest_and_last_about_56_frames():
    lengths, moving = [], []
    for motion, segment in CLIPS:
        wrist = speed(motion.body[:, 15 if speed(motion.body[:, 15]).mean() > speed(motion.body[:, 16]).mean() else 16])
        assert wrist[0] < 0.12
        assert wrist[-1] < 0.12
        active = np.flatnonzero(wrist > 0.12)
        moving.append(active[-1] - active[0])
        lengths.append(len(motion))
        assert active[0] / 25 < segment.start + 0.05
    assert 45 < np.mean(moving) < 70
    assert np.mean(lengths) > np.mean(moving) + 8


def test_bones_keep_their_length_through_everything():
    build = SIGNERS[1].proportions
    body = STREAM.body
    for shoulder, elbow, wrist in ((11, 13, 15), (12, 14, 16)):
        assert np.allclose(np.linalg.norm(body[:, elbow] - body[:, shoulder], axis=1), build.upper_arm, atol=2e-3)
        assert np.allclose(np.linalg.norm(body[:, wrist] - body[:, elbow], axis=1), build.forearm, atol=2e-3)
    for hand, wrist in ((STREAM.left_hand, 15), (STREAM.right_hand, 16)):
        assert np.allclose(hand[:, 0], body[:, wrist], atol=1e-5)
        palm = np.linalg.norm(hand[:, 9] - hand[:, 0], axis=1)
        assert np.ptp(palm) < 1e-4


def test_nothing_jumps():
    for motion in (STREAM, *(clip for clip, _ in CLIPS)):
        for track in (motion.body[:, 15], motion.body[:, 16]):
            assert speed(track).max() < 6.0  # metres a second
        for track in (motion.body[:, 0], motion.body[:, 11]):
            assert speed(track).max() < 1.0


def test_hands_stay_before_the_body():
    build = SIGNERS[1].proportions
    inside = []
    for wrist in (STREAM.body[:, 15], STREAM.body[:, 16]):
        chest = (np.abs(wrist[:, 0]) < 0.3 * build.shoulders) & (wrist[:, 1] > 0.08) & (wrist[:, 1] < 0.35)
        inside.append((wrist[:, 2] > -0.03)[chest])
    assert np.concatenate(inside).mean() < 0.01


def test_left_handed_signers_sign_with_the_left():
    right = replace(SIGNERS[0], handedness=Handedness.RIGHT)
    left = replace(SIGNERS[0], handedness=Handedness.LEFT)
    (a, _), (b, _) = (isolated(Sign(place="chin"), s, np.random.default_rng(2)) for s in (right, left))
    assert speed(a.body[:, 16]).mean() > 3 * speed(a.body[:, 15]).mean()
    assert speed(b.body[:, 15]).mean() > 3 * speed(b.body[:, 16]).mean()
    strong, mirrored = a.body[:, 16] - a.body[:, 12], (b.body[:, 15] - b.body[:, 11]) * [-1, 1, 1]
    assert np.abs(strong - mirrored).max() < 0.08  # but for the sway, which is not mirrored


def test_lips_move_with_the_word_only():
    words, silence = (
        continuous(SIGNS[:8], SIGNERS[0], np.random.default_rng(0), Knobs(), mouthings)[0]
        for mouthings in (["banana"] * 8, [None] * 8)
    )
    gap = {name: m.face[:, 25, 1] - m.face[:, 35, 1] for name, m in (("words", words), ("silence", silence))}
    assert gap["words"].max() > 3 * gap["silence"].max()
    assert np.array_equal(words.right_hand, silence.right_hand)


def test_other_frame_rates_show_the_same_movement():
    slow, fast = (isolated(SIGNS[0], SIGNERS[0], np.random.default_rng(1), fps=fps)[0] for fps in (25.0, 50.0))
    assert abs(len(fast) - 2 * len(slow)) <= 2
    count = min(len(slow), len(fast) // 2)
    assert np.abs(fast.right_hand[: 2 * count : 2] - slow.right_hand[:count]).mean() < 0.02


def test_nothing_to_sign_is_refused():
    with pytest.raises(OptionsError):
        continuous([], SIGNERS[0], np.random.default_rng(0))
    with pytest.raises(OptionsError):
        continuous(SIGNS[:2], SIGNERS[0], np.random.default_rng(0), Knobs(), [None])
