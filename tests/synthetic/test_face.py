"""Lips say words: visemes from letters, lips from visemes, at the end of the sign."""

import numpy as np
import pytest

from signspot.landmarks.landmarks import FACE_POINTS, MIRRORED_FACE_POINT
from signspot.types import Segment
from signspot_synthetic.body.body import Expression, draw_expression, face_points, mouth_keys, visemes
from signspot_synthetic.body.signers import make_signers

SIGNER = make_signers(1, 1, "test")[0]


def face(opening=0.0, width=0.0, protrusion=0.0, pressing=0.0, brows=0.0, lids=0.0):
    values = (np.full(1, v) for v in (opening, width, protrusion, pressing, brows, lids))
    return dict(zip(FACE_POINTS, face_points(Expression(*values), 1.0)[0], strict=True))


@pytest.mark.parametrize(
    ("word", "shapes"),
    [
        ("map", ("closed", "a", "closed")),
        ("fish", ("teeth", "i", "hush")),
        ("moon", ("closed", "u", "tongue")),
        ("cake", ("throat", "a", "throat")),
        ("nice", ("tongue", "i", "hiss")),
        ("ice cream", ("i", "hiss", "throat", "r", "i", "closed")),
        ("", ()),
        ("24", ()),
    ],
)
def test_words_become_mouth_shapes(word, shapes):
    assert visemes(word) == shapes


def test_keys_are_in_order_within_the_word():
    times, values = mouth_keys("strawberry")
    assert (np.diff(times) > 0).all()
    assert 0 < times[0] < times[-1] < 1
    assert values.shape == (len(times), 4)


def test_the_resting_face_is_symmetric_and_in_order():
    points = face()
    for name, point in points.items():
        assert np.allclose(points[MIRRORED_FACE_POINT[name]], point * [-1, 1, 1], atol=1e-9)
    assert (
        points[10][1] < points[105][1] < points[159][1] < points[4][1] < points[13][1] < points[17][1] < points[152][1]
    )
    assert points[4][2] == min(p[2] for p in points.values())  # the nose is foremost


def test_lips_open_spread_round_and_press():
    gap = lambda p: p[14][1] - p[13][1]  # noqa: E731
    width = lambda p: p[291][0] - p[61][0]  # noqa: E731
    at_rest = face()
    assert gap(face(opening=1.0)) > gap(at_rest) + 0.015
    assert width(face(width=1.0)) > width(at_rest) > width(face(width=-1.0, protrusion=1.0))
    assert face(protrusion=1.0)[0][2] < at_rest[0][2]
    assert face(pressing=1.0)[17][1] < at_rest[17][1]
    assert face(brows=0.01)[105][1] < at_rest[105][1]
    assert gap(face(opening=0.0)) >= 0


def test_the_mouth_moves_while_a_word_is_said_and_rests_before():
    segment = Segment(2.0, 2.4)
    silent = draw_expression(100, 25.0, [], SIGNER, np.random.default_rng(0))
    saying = draw_expression(100, 25.0, [("palm", segment)], SIGNER, np.random.default_rng(0))
    moved = np.abs(saying.opening - silent.opening) > 0.05
    times = np.flatnonzero(moved) / 25
    assert times.min() > 1.7
    assert times.max() < 2.65
    assert saying.opening[50:62].max() > 0.4
