"""The signer's own time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.landmarks.features import CHANNELS, JOINTS, RIGHT_HAND, mirror_features
from signspot.landmarks.resampling import frames_at, motion_time

WRIST = 6


def signing(steps: np.ndarray) -> np.ndarray:
    """(T, J, C) a right arm that moves by `steps` (T - 1,) shoulder widths from frame to frame."""
    features = np.zeros((len(steps) + 1, JOINTS, CHANNELS), np.float32)
    features[..., 3] = 1
    path = np.concatenate([[0.0], np.cumsum(steps)])
    features[:, WRIST, 0] = path
    features[:, RIGHT_HAND, 0] = path[:, None]
    return features


@given(steps=st.lists(st.floats(0, 0.3), min_size=1, max_size=60), clock=st.floats(0, 1), seed=st.integers(0, 5))
def test_time_goes_on_from_0_to_1(steps: list[float], clock: float, seed: int) -> None:
    features = signing(np.array(steps))
    features[..., :2] += np.random.default_rng(seed).normal(0, 0.01, features[..., :2].shape)
    time = motion_time(features, clock)
    assert time[0] == 0
    assert time[-1] == pytest.approx(1)
    assert (np.diff(time) > 0).all()


def test_a_hold_counts_for_little() -> None:
    steps = np.concatenate([np.full(10, 0.1), np.zeros(30), np.full(10, 0.1)])
    time = motion_time(signing(steps))
    assert time[40] - time[10] < 0.35  # three fifths of the frames
    plain = motion_time(signing(steps), clock=1.0)
    assert plain == pytest.approx(np.linspace(0, 1, 51))


def test_holds_of_any_length_lie_on_each_other() -> None:
    """The first half of the movement is done at about the same share, however long the hold before it is."""
    shares = [
        motion_time(signing(np.concatenate([np.zeros(hold), np.full(20, 0.1)])))[hold + 10] for hold in (0, 10, 25)
    ]
    assert np.ptp(shares) < 0.1


def test_fingers_move_too() -> None:
    features = signing(np.zeros(20))
    features[10:, RIGHT_HAND.start + 8, 1] = 0.5 * np.minimum(np.arange(11) / 4, 1)  # the index finger stretches
    time = motion_time(features)
    assert time[15] - time[9] > 0.5
    features[:, RIGHT_HAND, 3] = 0  # a hand that is not seen does not count
    assert motion_time(features) == pytest.approx(np.linspace(0, 1, 21))


def test_a_mirrored_signer_has_the_same_time() -> None:
    features = signing(np.random.default_rng(1).uniform(0, 0.2, 30))
    assert motion_time(mirror_features(features)) == pytest.approx(motion_time(features))


def test_no_frames_and_one_frame() -> None:
    assert motion_time(signing(np.zeros(0))).tolist() == [0]
    assert len(motion_time(np.zeros((0, JOINTS, CHANNELS), np.float32))) == 0


def test_places_are_found_again_and_cut_to_the_sign() -> None:
    time = motion_time(signing(np.random.default_rng(2).uniform(0, 0.2, 20)))
    assert frames_at(time, time) == pytest.approx(np.arange(21))
    assert frames_at(time, np.array([-0.5, 1.5])).tolist() == [0, 20]
