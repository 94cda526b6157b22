"""Laws of rotations. Arms keep their bones, their reach and their joints' limits, whatever is asked of them."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from signspot_synthetic.geometry import (
    ArmBuild,
    about,
    aligned,
    elbow_of,
    frame,
    matrix,
    possible_hand,
    product,
    quaternion,
    reachable,
    rotate,
    slerp,
    smoothed,
)

numbers = st.floats(-3, 3, allow_nan=False)
vectors = st.tuples(numbers, numbers, numbers).filter(lambda v: np.linalg.norm(v) > 0.1).map(np.array)
angles = st.floats(-3.1, 3.1)


def unit(vector):
    return vector / np.linalg.norm(vector)


@given(vectors, angles)
def test_a_quaternion_and_its_matrix_turn_alike(axis, angle):
    turn = about(unit(axis), np.array(angle))
    there_and_back = quaternion(matrix(turn))
    assert np.isclose(abs(turn @ there_and_back), 1, atol=1e-9)
    assert np.allclose(matrix(turn) @ [1.0, 2.0, 3.0], rotate(turn, np.array([1.0, 2.0, 3.0])), atol=1e-9)


@given(vectors, angles, vectors, angles)
def test_a_product_turns_by_the_second_then_by_the_first(axis, angle, other, more):
    first, second = about(unit(axis), np.array(angle)), about(unit(other), np.array(more))
    assert np.allclose(matrix(product(first, second)), matrix(first) @ matrix(second), atol=1e-9)


@given(vectors, angles, st.floats(0, 1))
def test_slerp_goes_the_given_share_of_the_way(axis, angle, share):
    start, end = np.array([1.0, 0, 0, 0]), about(unit(axis), np.array(angle))
    part = slerp(start, end, np.array(share))
    turned = 2 * np.arccos(np.clip(abs(part @ start), 0, 1))
    assert np.isclose(turned, share * abs(angle), atol=1e-5)


def test_a_hand_frame_is_right_handed_and_keeps_the_fingers():
    hand = frame(np.array([0.0, -2.0, 0.0]), np.array([0.0, -1.0, -1.0]))
    assert np.allclose(hand[:, 1], [0, -1, 0])  # fingers up
    assert np.allclose(hand[:, 2], [0, 0, -1])  # palm to the camera
    assert np.allclose(hand[:, 0], [1, 0, 0])  # so a right thumb points to the image's right
    assert np.isclose(np.linalg.det(hand), 1)


def test_aligned_quaternions_never_flip():
    turns = np.stack([about(np.array([0.0, 0, 1]), np.array(a)) for a in np.linspace(0, 12, 60)])
    flipped = turns * np.where(np.arange(60) % 3 == 0, -1.0, 1.0)[:, None]
    smooth = aligned(flipped)
    assert (np.einsum("ti,ti->t", smooth[1:], smooth[:-1]) > 0.9).all()


ARM = ArmBuild(0.29, 0.255)
SHOULDER = np.array([[-0.17, 0.0, 0.0]])
coordinate = st.floats(-1.2, 1.2)
points = st.tuples(coordinate, coordinate, coordinate).map(lambda p: np.array([p]))
directions = (
    st.tuples(coordinate, coordinate, coordinate)
    .filter(lambda p: np.linalg.norm(p) > 0.2)
    .map(lambda p: np.array([p]) / np.linalg.norm(p))
)


def length(vector):
    return float(np.linalg.norm(vector))


@given(points, directions)
def test_bones_keep_their_length_and_wrists_are_within_reach(target, fingers):
    wrist = reachable(SHOULDER, target.copy(), ARM)
    elbow = elbow_of(SHOULDER, wrist, fingers, ARM)
    assert np.isclose(length(elbow - SHOULDER), ARM.upper, atol=1e-3)
    assert np.isclose(length(wrist - elbow), ARM.fore, atol=1e-3)
    assert 0.26 * 0.545 < length(wrist - SHOULDER) < 0.99 * 0.545


@given(points)
def test_what_can_be_reached_is_reached(target):
    near = SHOULDER + 0.4 * target / max(length(target), 0.1) * [1, 1, 0] + [[0, 0, -0.25]]
    assert np.allclose(reachable(SHOULDER, near.copy(), ARM), near) or length(near - SHOULDER) > 0.53


@given(points, directions, directions)
def test_a_wrist_never_bends_further_than_it_can(target, fingers, palm):
    assume(length(np.cross(fingers[0], palm[0])) > 1e-3)  # no palm looks along its fingers
    hand = frame(fingers, palm)
    wrist = reachable(SHOULDER, target.copy(), ARM)
    elbow = elbow_of(SHOULDER, wrist, hand[..., 1], ARM)
    limited = possible_hand(elbow, wrist, SHOULDER, hand)
    fore = (wrist - elbow)[0] / ARM.fore
    bend = np.degrees(np.arccos(np.clip(limited[0, :, 1] @ fore, -1, 1)))
    assert bend < 76
    assert np.isclose(np.linalg.det(limited[0]), 1, atol=1e-6)


def test_an_easy_hand_is_left_as_it_is():
    wrist = np.array([[-0.15, 0.15, -0.30]])
    hand = frame(np.array([[0.2, -0.3, -1.0]]), np.array([[1.0, 0.0, 0.0]]))  # thumb up, palm to the weak side
    elbow = elbow_of(SHOULDER, wrist, hand[..., 1], ARM)
    assert np.allclose(possible_hand(elbow, wrist, SHOULDER, hand), hand, atol=1e-6)
    assert elbow[0, 1] > 0.1  # it hangs below the shoulder
    assert elbow[0, 0] < 0  # and does not go through the body


def test_smoothing_keeps_a_constant_and_flattens_a_peak():
    peak = np.zeros((9, 1))
    peak[4] = 1
    assert np.allclose(smoothed(np.ones((9, 1)), 3), 1)
    assert smoothed(peak, 1)[4, 0] == 0.5
    assert np.isclose(smoothed(peak, 2).sum(), 1)
