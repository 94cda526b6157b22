"""Lips that are hard to read: words begun, slurred and stretched, gestures, hidden mouths; hands stay as they are."""

from dataclasses import replace

import numpy as np
import pytest

from signspot.mouthing.visemes import pronounce
from signspot.types import Segment
from signspot_synthetic.body.motion import continuous, talking
from signspot_synthetic.body.mouthing import MouthedWord, habits_of, mouth_shapes, say
from signspot_synthetic.body.signers import Role, make_signer, make_signers
from signspot_synthetic.corpus_plan import CorpusOptions, options_as_json
from signspot_synthetic.difficulty_knobs import Knobs
from signspot_synthetic.language.phonology import Sign
from signspot_synthetic.observation import NoiseOptions, observe, project

SIGNERS = make_signers(20, 1, "test")
SIGNS = [Sign(), Sign(place="chin")]


def mouthed(word: str, habits, count: int = 200) -> list[MouthedWord]:
    return [say(word, Segment(1.0, 1.6), habits, np.random.default_rng(i)) for i in range(count)]


def test_words_are_mouthed_near_the_end_of_their_sign():
    words = mouthed("elephant", habits_of(SIGNERS[0]))
    ends = np.array([word.segment.end for word in words])
    assert abs(ends.mean() - 1.6) < 0.1
    assert all(0.045 * len(w.phonemes) - 1e-9 <= w.segment.duration <= 0.19 * len(w.phonemes) + 1e-9 for w in words)


def test_some_words_are_only_begun_and_short_ones_never():
    habits = replace(habits_of(SIGNERS[0]), partial=0.5, slur=0.0)
    complete = pronounce("elephant")
    words = mouthed("elephant", habits)
    begun = [word for word in words if word.share < 1]
    assert 0.4 < len(begun) / len(words) < 0.6
    assert all(word.phonemes == complete[: len(word.phonemes)] for word in begun)
    assert all(word.share == 1 for word in mouthed("cat", habits))


def test_people_differ_and_stay_who_they_are():
    habits = [habits_of(signer) for signer in SIGNERS]
    assert np.std([habit.clarity for habit in habits]) > 0.1
    assert habits_of(SIGNERS[3]).clarity == habits[3].clarity
    plain = habits_of(SIGNERS[3], 0.0)
    assert (plain.clarity, plain.partial, plain.gestures) == (1, 0, 0)


def test_lips_close_for_p_and_open_for_a():
    habits = habits_of(SIGNERS[0], 0.0)
    word = MouthedWord("papa", ("P", "AA1", "P", "AA1"), Segment(1.0, 1.8), 1.0)
    shapes = mouth_shapes(60, 25.0, [word], habits, np.random.default_rng(0))
    opening, pressing = shapes[:, 0], shapes[:, 3]
    assert pressing[26] > 0.6
    assert opening[26] < 0.2
    assert opening[30:34].max() > 0.6


def test_gestures_move_lips_without_words():
    habits = habits_of(SIGNERS[0])
    calm, busy = (
        mouth_shapes(500, 25.0, [], replace(habits, gestures=rate), np.random.default_rng(0)) for rate in (0.0, 1.0)
    )
    assert np.ptp(calm[:, 0]) < 1e-9
    assert np.ptp(busy[:, 0]) > 0.1


def test_the_knob_changes_lips_and_nothing_else():
    (plain, where), (hard, there) = (
        continuous(SIGNS, SIGNERS[0], np.random.default_rng(0), Knobs(lips=lips), ["apple", "moon"])
        for lips in (0.0, 1.0)
    )
    assert where == there
    assert np.array_equal(plain.right_hand, hard.right_hand)
    assert np.array_equal(plain.body[:, 11:], hard.body[:, 11:])
    assert not np.array_equal(plain.face[:, :40], hard.face[:, :40])
    assert np.array_equal(plain.face[:, 40:46], hard.face[:, 40:46])  # nose and one eye


def test_a_corpus_without_the_knob_is_described_as_before():
    assert "lips" not in options_as_json(CorpusOptions())["knobs"]
    assert options_as_json(CorpusOptions(knobs=Knobs(lips=1.0)))["knobs"]["lips"] == 1


@pytest.mark.parametrize("cover", [0.0, 1.0])
def test_a_hand_before_the_mouth_hides_what_it_says(cover):
    signer = make_signer("one", 1, Role.TEST, webcam_share=0)
    word = MouthedWord("papa", ("P", "AA1", "P", "AA1") * 3, Segment(0.5, 2.9), 1.0)
    motion = talking([word], 3.2, signer, np.random.default_rng(0), lips=0.2)
    at_mouth = motion.right_hand - motion.right_hand[:, 9:10] + motion.face[:, :40].mean(axis=1, keepdims=True)
    exact = project(replace(motion, right_hand=at_mouth.astype(np.float32)), signer.camera)
    noise = replace(NoiseOptions(), mouth_cover=cover, face_drop_rate=0.0)
    observed = observe(exact, np.random.default_rng(0), noise)
    gaps = [marks.face[:, 25, 1] - marks.face[:, 35, 1] for marks in (exact, observed)]  # inner lips, below and above
    agreement = np.corrcoef(gaps[0], gaps[1])[0, 1]
    assert agreement > 0.9 if cover == 0 else agreement < 0.5
