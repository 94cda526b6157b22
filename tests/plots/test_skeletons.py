"""Skeletons: the box that they are drawn in holds the hands, wherever these are."""

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from signspot.landmarks.features import LEFT_HAND, RIGHT_HAND
from signspot.plots.skeletons import MOMENTS, box_of, draw_strip


def sign_at(*places: tuple[float, float]) -> NDArray[np.float32]:
    """(T, J, C) frames in which all points of both hands are at one place each, and nothing else is seen."""
    frames = np.zeros((len(places), RIGHT_HAND.stop + 30, 4), np.float32)
    for frame, point in zip(frames, places, strict=True):
        frame[LEFT_HAND.start : RIGHT_HAND.stop, :2] = point
        frame[LEFT_HAND.start : RIGHT_HAND.stop, 3] = 1
    return frames


def test_hands_far_from_the_body_are_in_the_picture() -> None:
    for point in ((2.0, 0.0), (-2.0, 1.0), (0.0, 2.2), (0.0, -1.9)):
        left, right, top, bottom = box_of(sign_at((0.0, 0.0), point))
        assert left < point[0] < right
        assert top < point[1] < bottom
        assert np.isclose(right - left, bottom - top), "points are as far apart in either direction"
        assert left <= -1.3, "the shoulders are in it"
        assert bottom >= 1.5


def test_hands_near_the_body_change_nothing_and_strays_do_not_count() -> None:
    usual = box_of(sign_at((0.0, 0.0)))
    assert box_of(sign_at((0.5, 0.5))) == usual == box_of(sign_at())
    assert box_of(sign_at(*[(0.0, 0.0)] * 300, (40.0, 0.0))) == usual, "one frame of 301"
    left, right, _, _ = box_of(sign_at((40.0, 0.0)))
    assert right - left < 6, "however far an estimator sees a hand"
    unseen = sign_at((2.5, 0.0))
    unseen[..., 3] = 0
    assert box_of(unseen) == usual


def test_all_stills_of_a_strip_have_one_box() -> None:
    axes = Figure().subplots(1, MOMENTS)
    sign = sign_at((2.0, 0.0), *[(0.0, 0.0)] * 9)
    draw_strip(list(axes), sign, "black")
    left, right, top, bottom = box_of(sign)
    assert {(panel.get_xlim(), panel.get_ylim()) for panel in axes} == {((left, right), (bottom, top))}
