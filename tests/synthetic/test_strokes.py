"""Movements go where the sign says, as often as it says."""

import numpy as np
import pytest

from signspot_synthetic.body.gestures import ANGLES, POSITION, TURN, make_token, minimum_jerk, stroke_states, to_and_fro
from signspot_synthetic.body.signers import make_signers
from signspot_synthetic.language.phonology import (
    Direction,
    HandOrientation,
    HandPath,
    Hands,
    Local,
    PathKind,
    Sign,
    Symmetry,
    joint_angles,
)

SIGNER = make_signers(1, 1, "test", left_share=0)[0]
SHARES = np.linspace(0, 1, 61)


def strokes(**parameters):
    token = make_token(Sign(**parameters), SIGNER, np.random.default_rng(0), 0.0)
    return stroke_states(token.strong, SHARES, 0.6), token


def test_minimum_jerk_starts_and_ends_at_rest():
    way = minimum_jerk(SHARES)
    assert way[0] == 0
    assert way[-1] == 1
    assert np.isclose(way[30], 0.5)
    assert (np.diff(way) >= 0).all()
    assert np.diff(way)[[0, -1]].max() < 0.001


@pytest.mark.parametrize("times", [1, 2, 3])
def test_repetition_counts_the_ways_out(times):
    progress, lift = to_and_fro(np.linspace(0, 1, 600), times)
    peaks = ((progress[1:-1] > progress[:-2]) & (progress[1:-1] >= progress[2:]) & (progress[1:-1] > 0.99)).sum()
    assert peaks == times - 1  # the last one ends at the end
    assert progress[-1] == pytest.approx(1)
    assert (lift.max() > 0.9) == (times > 1)


@pytest.mark.parametrize(
    ("direction", "axis", "sign"),
    [(Direction.UP, 1, -1), (Direction.DOWN, 1, 1), (Direction.WEAK, 0, 1), (Direction.FORTH, 2, -1)],
)
def test_straight_paths_go_where_they_should(direction, axis, sign):
    states, token = strokes(path=HandPath(PathKind.STRAIGHT, direction))
    way = states[-1, POSITION] - states[0, POSITION]
    assert way[axis] * sign == pytest.approx(token.strong.size, rel=0.05)


def test_a_circle_comes_back_and_is_round():
    states, _ = strokes(path=HandPath(PathKind.CIRCLE, Direction.FORTH), repetition=1)
    positions = states[:, POSITION]
    assert np.allclose(positions[0], positions[-1])
    radii = np.linalg.norm(positions - (positions.max(axis=0) + positions.min(axis=0)) / 2, axis=1)
    assert radii.std() < 0.05 * radii.mean()
    assert np.ptp(positions[:, 2]) < 0.2 * np.ptp(positions[:, 1])  # it turns about the axis to the camera


def test_to_and_from_the_place_end_and_begin_there():
    to, token = strokes(place="chin", path=HandPath(PathKind.TO_BODY))
    assert np.allclose(to[-1, POSITION], token.strong.place)
    assert to[0, 2] < to[-1, 2]
    away, token = strokes(place="chin", path=HandPath(PathKind.FROM_BODY))
    assert np.allclose(away[0, POSITION], token.strong.place)


def test_paths_on_the_body_never_lead_into_it():
    for direction in Direction:
        for kind in (PathKind.STRAIGHT, PathKind.CIRCLE):
            states, token = strokes(place="chest", path=HandPath(kind, direction))
            depth = (states[:, POSITION] - token.strong.place) @ token.strong.outward
            assert depth.min() > -0.35 * token.strong.size


def test_shapes_change_and_open_and_close():
    states, _ = strokes(shape="5", end_shape="S")
    assert np.allclose(states[0, ANGLES], joint_angles("5"), atol=0.02)
    assert np.allclose(states[-1, ANGLES], joint_angles("S"), atol=0.02)
    states, _ = strokes(shape="5", end_shape="S", local=Local.OPEN_CLOSE, repetition=2)
    bend = states[:, 15]
    assert ((bend[1:-1] > bend[:-2]) & (bend[1:-1] >= bend[2:])).sum() == 2


@pytest.mark.parametrize(("local", "axis"), [(Local.TWIST, 1), (Local.NOD, 0)])
def test_twist_and_nod_turn_the_hand_only(local, axis):
    states, _ = strokes(local=local, repetition=2)
    assert np.ptp(states[:, POSITION], axis=0).max() == 0
    turned = 2 * np.arccos(np.clip(np.abs(states[:, TURN] @ states[0, TURN]), 0, 1))
    assert turned.max() > 0.45


def test_wiggling_fingers_take_turns():
    states, _ = strokes(shape="5", end_shape="5", local=Local.WIGGLE)
    index, little = states[:, 15], states[:, 27]
    assert np.ptp(index) > 0.2
    assert np.corrcoef(index, little)[0, 1] < 0.9


def test_two_hands_mirror_alternate_or_go_along():
    for symmetry, sign in ((Symmetry.MIRRORED, 1), (Symmetry.ALTERNATING, -1)):
        path = HandPath(PathKind.STRAIGHT, Direction.UP)
        token = make_token(
            Sign(hands=Hands.SYMMETRIC, path=path, symmetry=symmetry, repetition=2),
            SIGNER,
            np.random.default_rng(0),
            0.0,
        )
        strong, weak = (stroke_states(g, SHARES, 0.6)[:, 1] for g in (token.strong, token.weak))
        assert np.sign(np.corrcoef(strong, weak)[0, 1]) == sign
    path = HandPath(PathKind.STRAIGHT, Direction.WEAK)
    token = make_token(
        Sign(hands=Hands.SYMMETRIC, path=path, symmetry=Symmetry.PARALLEL), SIGNER, np.random.default_rng(0), 0.0
    )
    strong, weak = (stroke_states(g, SHARES, 0.6)[:, 0] for g in (token.strong, token.weak))
    assert np.sign(strong[-1] - strong[0]) == -np.sign(weak[-1] - weak[0])  # the weak one is kept mirrored


def test_letters_follow_each_other():
    states, _ = strokes(letters="by", place="high space", orientation=HandOrientation(Direction.FORTH, Direction.UP))
    assert np.allclose(states[0, ANGLES], joint_angles("B-thumb-in"), atol=0.02)
    assert np.allclose(states[-1, ANGLES], joint_angles("Y"), atol=0.02)
