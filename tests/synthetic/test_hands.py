"""Handshapes are anatomically possible, different from each other, and built by forward kinematics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot_synthetic.geometry import HandBuild, hand_joints
from signspot_synthetic.language.lexicon import LETTERS, spellable
from signspot_synthetic.language.phonology import ANGLES, BASE_SHAPES, HANDSHAPES, joint_angles

FINGERS = [(0, 1, 2, 3, 4), (5, 6, 7, 8), (9, 10, 11, 12), (13, 14, 15, 16), (17, 18, 19, 20)]


MEAN = HandBuild()


def joints(name, build=MEAN):
    return hand_joints(joint_angles(name)[None], build)[0]


def bones(hand):
    return np.concatenate([np.linalg.norm(np.diff(hand[list(chain)], axis=0), axis=1) for chain in FINGERS])


def test_there_are_at_least_forty_shapes_and_no_two_are_alike():
    assert len(HANDSHAPES) >= 40
    shapes = np.stack([joints(name) for name in HANDSHAPES])
    apart = np.abs(shapes[:, None] - shapes[None]).max(axis=(2, 3)) + np.eye(len(shapes))
    assert apart.min() > 0.01  # some joint is at least a centimetre elsewhere
    assert set(BASE_SHAPES) <= set(HANDSHAPES)


@given(st.lists(st.floats(-0.4, 1.6), min_size=ANGLES, max_size=ANGLES))
def test_bones_never_change_their_length(angles):
    assert np.allclose(bones(hand_joints(np.array(angles)[None], HandBuild())[0]), bones(joints("B")))


def test_the_wrist_is_zero_and_a_flat_hand_measures_nineteen_centimetres():
    flat = joints("B")
    assert np.array_equal(flat[0], np.zeros(3))
    assert 0.17 < flat[12, 1] < 0.21
    assert abs(flat[:, 2]).max() < 0.03  # flat


def test_a_fist_is_closed_and_five_is_fanned():
    assert np.linalg.norm(joints("S")[[8, 12, 16, 20]], axis=1).max() < 0.10
    tips = joints("5")[[4, 8, 12, 16, 20]]
    assert np.linalg.norm(np.diff(tips, axis=0), axis=1).min() > 0.025
    assert (np.diff(tips[:, 0]) < 0).all()  # from the thumb's side to the little finger's


@pytest.mark.parametrize(("name", "finger"), [("O", 8), ("F", 8), ("baby-O", 8), ("flat-O", 12), ("8", 12), ("7", 16)])
def test_pinching_shapes_bring_the_thumb_to_the_finger(name, finger):
    hand = joints(name)
    assert np.linalg.norm(hand[4] - hand[finger]) < 0.025


def test_build_scales_the_hand():
    assert np.allclose(joints("V", HandBuild(size=1.1)), 1.1 * joints("V"))
    assert joints("B", HandBuild(fingers=1.2))[12, 1] > joints("B")[12, 1]


def test_an_unknown_shape_is_refused():
    with pytest.raises(OptionsError, match="'Q7'"):
        joint_angles("Q7")


def test_every_letter_has_a_handshape():
    assert "".join(LETTERS) == "abcdefghijklmnopqrstuvwxyz"
    assert all(shape in HANDSHAPES for shape, _ in LETTERS.values())
    assert spellable("Café 24-Ö") == "cafeo"
