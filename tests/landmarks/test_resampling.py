"""Another frame rate, chunk by chunk; features between frames; the signer's own time."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.landmarks.features import (
    CHANNELS,
    JOINTS,
    RIGHT_HAND,
    at_positions,
    frames_at,
    mirror_features,
    motion_time,
)
from signspot.landmarks.landmarks import FACE_POINTS, Landmarks, concatenate, resample_stream


def moving(frames: int, fps: float, start: float = 0.0) -> Landmarks:
    random = np.random.default_rng(frames)

    def points(*shape: int) -> np.ndarray:
        return random.normal(size=(frames, *shape)).astype(np.float32)

    hand = points(21, 3)
    hand[random.random(frames) < 0.2] = np.nan
    times = start + np.arange(frames) / fps
    return Landmarks(points(33, 4), points(21, 3), hand, points(60, 3), times, (640, 480), FACE_POINTS)


@settings(max_examples=40, deadline=None)
@given(frames=st.integers(1, 60), old=st.sampled_from([15, 20, 25, 29.97, 50, 60]), data=st.data())
def test_any_chunks_give_what_the_whole_gives(frames: int, old: float, data: st.DataObject) -> None:
    whole = moving(frames, old, 1.5)
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, frames), max_size=4))), frames]
    parts = [whole[a:b] for a, b in pairwise(cuts)]
    expected = whole.resampled(25.0)
    found = concatenate(list(resample_stream(parts, 25.0)))
    assert len(found) == len(expected)
    assert found.equals(expected, tolerance=1e-4)


def test_nothing_gives_nothing_and_no_rate_is_refused() -> None:
    assert list(resample_stream([], 25.0)) == []
    with pytest.raises(OptionsError, match="above 0"):
        list(resample_stream([moving(3, 25)], 0))


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
