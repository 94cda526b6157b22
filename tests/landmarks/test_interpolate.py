"""Features between frames."""

import numpy as np
import pytest

from signspot.landmarks.resampling import at_positions


def frames(*points: tuple[float, float]) -> np.ndarray:
    """One joint: (x, seen) a frame."""
    return np.array([[[x * seen, 0, 0, seen]] for x, seen in points], np.float32)


def test_whole_positions_are_the_frames() -> None:
    given = np.random.default_rng(0).normal(size=(5, 3, 4)).astype(np.float32)
    given[..., 3] = 1
    assert at_positions(given, np.arange(5)) == pytest.approx(given)


def test_between_two_seen_frames_it_is_linear() -> None:
    assert at_positions(frames((0, 1), (4, 1)), np.array([0.25]))[0, 0, 0] == pytest.approx(1)


def test_a_point_seen_on_one_side_stays_where_it_is_seen() -> None:
    made = at_positions(frames((2, 1), (0, 0)), np.array([0.25, 0.75]))
    assert made[:, 0].tolist() == [[2, 0, 0, 1], [0, 0, 0, 0]]


def test_positions_outside_are_cut() -> None:
    assert at_positions(frames((1, 1), (3, 1)), np.array([-4.0, 9.0]))[:, 0, 0].tolist() == [1, 3]


def test_any_shape_of_positions() -> None:
    assert at_positions(frames((1, 1), (3, 1)), np.zeros((2, 7))).shape == (2, 7, 1, 4)
