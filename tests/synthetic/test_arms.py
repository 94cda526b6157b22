"""Arms keep their bones, their reach and their joints' limits, whatever is asked of them."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from signspot_synthetic.geometry.limbs import ArmBuild, elbow_of, possible_hand, reachable, smoothed
from signspot_synthetic.geometry.rotations import frame

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
    held = possible_hand(elbow, wrist, SHOULDER, hand)
    fore = (wrist - elbow)[0] / ARM.fore
    bend = np.degrees(np.arccos(np.clip(held[0, :, 1] @ fore, -1, 1)))
    assert bend < 76
    assert np.isclose(np.linalg.det(held[0]), 1, atol=1e-6)


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
