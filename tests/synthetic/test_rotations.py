"""Laws of rotations."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from signspot_synthetic.geometry.rotations import about, aligned, frame, matrix, product, quaternion, rotate, slerp

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
