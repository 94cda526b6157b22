"""The one-euro filter and the low pass, by hand."""

import math

import numpy as np
import pytest

from signspot.landmarks.openvino_estimator import LowPass, OneEuro


def value(number):
    return np.array([number], dtype=np.float32)


def test_a_low_pass_takes_a_share_of_what_is_new():
    low = LowPass()
    assert low.step(value(1), 0.1)[0] == 1  # nothing came before
    assert low.step(value(2), 0.1)[0] == pytest.approx(1.1)
    assert low.step(value(2), 0.1)[0] == pytest.approx(1.19)


def test_what_stands_still_stays_and_what_moves_is_followed():
    slow, quick = OneEuro(0.05, 80.0), OneEuro(0.05, 80.0)
    for _ in range(5):
        assert slow.step(value(3), 1.0, 1 / 30)[0] == pytest.approx(3)
    assert slow.step(value(3.0001), 1.0, 1 / 30)[0] < 3.0001 - 0.00005  # a tremor is held back
    quick.step(value(0), 1.0, 1 / 30)
    assert quick.step(value(1), 1.0, 1 / 30)[0] > 0.98  # a jump is not


def test_the_second_step_by_hand():
    """Speed 1 / (1/30) = 30, of which alpha(1 Hz) passes; the cut-off grows with it."""
    seconds = 1 / 30
    alpha = 1 / (1 + 1 / (2 * math.pi * 1.0 * seconds))
    cutoff = 0.5 + 2.0 * (alpha * 30.0)
    share = 1 / (1 + 1 / (2 * math.pi * cutoff * seconds))
    smooth = OneEuro(0.5, 2.0)
    smooth.step(value(0), 1.0, seconds)
    assert smooth.step(value(1), 1.0, seconds)[0] == pytest.approx(share, rel=1e-5)


def test_near_and_far_people_are_smoothed_alike():
    near, far = OneEuro(0.5, 2.0), OneEuro(0.5, 2.0)
    for number in (0.0, 1.0, 1.5):
        large = near.step(value(10 * number), 10.0, 1 / 30)
        small = far.step(value(number), 1.0, 1 / 30)
        assert large[0] == pytest.approx(10 * small[0], rel=1e-5)
