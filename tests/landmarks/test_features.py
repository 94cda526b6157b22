"""Landmark features: alike for every camera, local in time."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from signspot.landmarks.features import (
    CHANNELS,
    CONTEXT,
    FACE,
    JOINTS,
    LEFT_HAND,
    RIGHT_HAND,
    FeatureStream,
    at_positions,
    features,
    frames_at,
    mirror_features,
    motion_time,
)
from signspot.landmarks.landmarks import Landmarks, concatenate


def replaced(landmarks: Landmarks, **parts) -> Landmarks:
    names = ("body", "left_hand", "right_hand", "face", "times", "size", "face_points")
    return Landmarks(**({name: getattr(landmarks, name) for name in names} | parts))


def still(frames: int, size=(200, 100)) -> Landmarks:
    """Shoulders at (60, 50) and (40, 50) of a 200 x 100 image: 20 pixels wide, the middle at (50, 50)."""
    body = np.full((frames, 33, 4), 0.5, dtype=np.float32)
    body[:, 11] = [0.3, 0.5, -0.1, 1]
    body[:, 12] = [0.2, 0.5, -0.1, 1]
    body[:, 15] = [0.35, 0.7, -0.3, 1]
    nothing = np.full((frames, 21, 3), np.nan)
    right = np.tile(np.float32([0.25, 0.4, -0.02]), (frames, 21, 1))
    return Landmarks(body, nothing, right, np.full((frames, 60, 3), np.nan), np.arange(frames) / 25, size)


def test_values_worked_by_hand():
    values = features(still(3))
    # The left shoulder is 10 pixels to the right of the middle; a shoulder width is 20 pixels.
    np.testing.assert_allclose(values[1, 1], [0.5, 0, 0, 1], atol=1e-6)
    # The left wrist: 20 pixels right, 20 down, 0.2 widths of 200 pixels nearer, stretched by MediaPipe.
    np.testing.assert_allclose(values[1, 5], [1, 1, -2 * 0.27, 1], atol=1e-6)
    # The right hand: in the middle, 10 pixels up; its depth is its own.
    np.testing.assert_allclose(values[1, RIGHT_HAND.start], [0, -0.5, -0.2, 1], atol=1e-6)
    assert (values[:, LEFT_HAND] == 0).all()
    assert (values[:, FACE] == 0).all()


def test_unknown_size_counts_as_square():
    wide, square = features(still(2, size=None)), features(still(2, size=(77, 77)))
    np.testing.assert_array_equal(wide, square)


def copied_parts(landmarks: Landmarks) -> list[np.ndarray]:
    return [part.copy() for part in (landmarks.body, landmarks.left_hand, landmarks.right_hand, landmarks.face)]


def test_camera_does_not_matter(make_signing):
    landmarks = make_signing(60, size=(500, 500))
    moved = copied_parts(landmarks)
    for part in moved:
        part[..., :3] *= 0.5
        part[..., 0] += 0.2
        part[..., 1] += 0.1
    farther = Landmarks(*moved, landmarks.times, landmarks.size)  # type: ignore[call-arg]
    np.testing.assert_allclose(features(farther), features(landmarks), atol=2e-5)


def test_aspect_does_not_matter(make_signing):
    square = make_signing(40, size=(400, 400))
    parts = copied_parts(square)
    for part in parts:
        part[..., [0, 2]] /= 2  # the same picture on a canvas twice as wide
    wide = Landmarks(*parts, square.times, (800, 400))  # type: ignore[call-arg]
    np.testing.assert_allclose(features(wide), features(square), atol=2e-5)


@pytest.mark.parametrize("gap", [1, 5])
def test_short_gaps_of_a_hand_are_filled_linearly(gap):
    landmarks = still(40)
    landmarks.right_hand[..., 1] = 0.4 + 0.001 * np.arange(40)[:, None]
    expected = features(landmarks)
    hand = landmarks.right_hand.copy()
    hand[10 : 10 + gap] = np.nan
    np.testing.assert_allclose(features(replaced(landmarks, right_hand=hand)), expected, atol=1e-5)


def moving_hand(frames: int) -> Landmarks:
    """The right hand opens evenly while its wrist goes down, shakes, and carries the hand with it."""
    landmarks = still(frames)
    wrist = np.stack([np.full(frames, 0.25), 0.3 + 0.1 * np.sin(np.arange(frames)), np.full(frames, -0.4)], axis=1)
    landmarks.body[:, 16] = np.concatenate([wrist, np.ones((frames, 1))], axis=1)
    opening = np.linspace(0, 0.1, frames)[:, None, None] * np.random.default_rng(0).normal(size=(1, 21, 3))
    landmarks.right_hand[:] = opening + wrist[:, None] * [1, 1, 0]
    return landmarks


@pytest.mark.parametrize("gap", [6, 20, 35])
def test_a_lost_hand_goes_with_its_wrist_from_one_shape_to_the_next(gap):
    landmarks = moving_hand(80)
    full = features(landmarks)
    landmarks.right_hand[15 : 15 + gap] = np.nan
    filled = features(landmarks)
    np.testing.assert_array_equal(np.delete(filled, np.s_[15 : 15 + gap], 0), np.delete(full, np.s_[15 : 15 + gap], 0))
    assert (filled[:, RIGHT_HAND, 3] == 1).all()
    shape = (filled[:, RIGHT_HAND, :2] - filled[:, 6:7, :2])[14 : 16 + gap]
    travelled = np.abs(shape - shape[0]).max(axis=(1, 2)) / np.abs(shape[-1] - shape[0]).max()
    assert (np.diff(travelled) >= -1e-5).all()
    assert travelled[len(travelled) // 2] == pytest.approx(0.5, abs=0.1)
    assert np.diff(travelled).max() < 0.25


def test_a_hand_lost_at_an_edge_keeps_its_last_shape_for_a_second():
    landmarks = moving_hand(80)
    landmarks.right_hand[30:] = np.nan
    filled = features(landmarks)
    shape = filled[:, RIGHT_HAND, :2] - filled[:, 6:7, :2]
    np.testing.assert_allclose(shape[30 : 30 + CONTEXT - 1], shape[29:30].repeat(CONTEXT - 1, 0), atol=1e-5)
    assert (filled[:55, RIGHT_HAND, 3] == 1).all()
    assert (filled[55:, RIGHT_HAND] == 0).all()


def test_a_hand_whose_wrist_is_not_seen_is_not_carried_along():
    landmarks = moving_hand(60)
    landmarks.right_hand[20:40] = np.nan
    landmarks.body[25:35, 16, 3] = 0.1
    assert (features(landmarks)[25:35, RIGHT_HAND] == 0).all()
    assert (features(landmarks)[20:25, RIGHT_HAND, 3] == 1).all()


def test_hidden_shoulders_are_taken_from_nearby_frames():
    landmarks = still(100)
    complete = features(landmarks)
    landmarks.body[40:60, 11:13, 3] = 0.1
    filled = features(landmarks)
    np.testing.assert_allclose(filled[:, RIGHT_HAND], complete[:, RIGHT_HAND], atol=1e-6)
    assert (filled[46:54, 1:3] == 0).all()


def test_without_shoulders_there_are_zeros():
    landmarks = still(5)
    landmarks.body[:] = np.nan
    assert (features(landmarks) == 0).all()
    assert features(landmarks[:0]).shape == (0, 69, 4)


def test_scale_is_robust_and_values_are_bounded():
    landmarks = still(80)
    landmarks.body[10, 11] = landmarks.body[10, 12]  # shoulders fall together for a frame
    landmarks.right_hand[20] = 1e9
    values = features(landmarks)
    np.testing.assert_allclose(values[11, 5], [1, 1, -2 * 0.27, 1], atol=1e-5)
    assert np.isfinite(values).all()
    assert np.abs(values).max() <= 4


def test_a_point_without_depth_is_seen_at_the_depth_of_the_shoulders_or_of_its_wrist():
    landmarks = still(3)
    landmarks.body[:, 15, 2] = np.nan
    landmarks.right_hand[..., 2] = np.nan
    values = features(landmarks)
    np.testing.assert_allclose(values[1, 5], [1, 1, 0, 1], atol=1e-6)
    np.testing.assert_allclose(values[1, RIGHT_HAND.start], [0, -0.5, 0, 1], atol=1e-6)


def test_faces_with_other_points_are_used_where_they_are_known(make_signing):
    landmarks = make_signing(3)
    full = features(landmarks)
    order = [5, 0, 10]  # mesh points 17, 61, 291
    few = replaced(
        landmarks,
        face=landmarks.face[:, order],
        face_points=tuple(landmarks.face_points[index] for index in order),
    )
    reduced = features(few)[:, FACE]
    assert reduced[0, :, 3].sum() == 3
    np.testing.assert_array_equal(reduced[:, [0, 1, 3]], full[:, FACE][:, [0, 1, 3]])


def test_mirrored_features_are_those_of_the_mirrored_video(make_signing):
    landmarks = make_signing(60, dropped=0.1)
    mirrored = features(landmarks, mirror=True)
    np.testing.assert_allclose(mirrored, features(landmarks.mirrored()), atol=1e-5)
    np.testing.assert_array_equal(mirror_features(mirrored), features(landmarks))
    assert not np.allclose(mirrored, features(landmarks))


@st.composite
def cuts(draw, longest=140):
    total = draw(st.integers(1, longest))
    return total, sorted(draw(st.lists(st.integers(0, total), max_size=8)))


@example(cut=(137, []), seed=1, dropped=0.95)  # a carried hand must not depend on a filled wrist
@given(cut=cuts(), seed=st.integers(0, 1000), dropped=st.sampled_from([0.0, 0.1, 0.5, 0.95]))
def test_chunking_changes_nothing(make_signing, cut, seed, dropped):
    total, places = cut
    landmarks = make_signing(total, seed, dropped=dropped)
    stream = FeatureStream()
    edges = [0, *places, total]
    chunks = [stream.push(landmarks[a:b]) for a, b in pairwise(edges)]
    np.testing.assert_array_equal(np.concatenate([*chunks, stream.finish()]), features(landmarks))


@given(length=st.integers(CONTEXT + 1, 90), extra=st.integers(1, 60), seed=st.integers(0, 1000))
def test_what_comes_a_second_later_changes_nothing(make_signing, length, extra, seed):
    signing = make_signing(length + extra, seed, dropped=0.3)
    other = make_signing(length + extra, seed + 1, dropped=0.3)
    spliced = concatenate([signing[:length], other[length:]])
    settled = length - CONTEXT
    np.testing.assert_array_equal(features(spliced)[:settled], features(signing)[:settled])


def test_a_stream_gives_frames_a_second_late_and_can_be_used_again(make_signing):
    landmarks = make_signing(40)
    stream = FeatureStream()
    for _ in range(2):
        assert len(stream.push(landmarks[:CONTEXT])) == 0
        assert len(stream.push(landmarks[CONTEXT : CONTEXT + 3])) == 3
        assert len(stream.finish()) == CONTEXT


@pytest.mark.data
def test_real_signers_have_features_of_about_one(lsa64):
    values = np.concatenate([features(clip.resampled(25)) for _, clip in lsa64(3)[:40]])
    observed = values[values[..., 3] > 0]
    assert 0.2 < observed[:, :2].std() < 1
    assert np.percentile(np.abs(observed[:, :3]), 99) < 2.5
    assert values[:, RIGHT_HAND.start, 3].mean() > 0.6


def frames(*points: tuple[float, float]) -> np.ndarray:
    """One joint: (x, seen) a frame."""
    return np.array([[[x * observed, 0, 0, observed]] for x, observed in points], np.float32)


def test_between_two_seen_frames_it_is_linear() -> None:
    assert at_positions(frames((0, 1), (4, 1)), np.array([0.25]))[0, 0, 0] == pytest.approx(1)


def test_a_point_seen_on_one_side_stays_where_it_is_seen() -> None:
    interpolated = at_positions(frames((2, 1), (0, 0)), np.array([0.25, 0.75]))
    assert interpolated[:, 0].tolist() == [[2, 0, 0, 1], [0, 0, 0, 0]]


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


def test_fingers_move_too() -> None:
    features = signing(np.zeros(20))
    features[10:, RIGHT_HAND.start + 8, 1] = 0.5 * np.minimum(np.arange(11) / 4, 1)  # the index finger stretches
    time = motion_time(features)
    assert time[15] - time[9] > 0.5
    features[:, RIGHT_HAND, 3] = 0  # a hand that is not seen does not count
    assert motion_time(features) == pytest.approx(np.linspace(0, 1, 21))


def test_places_are_found_again_and_cut_to_the_sign() -> None:
    time = motion_time(signing(np.random.default_rng(2).uniform(0, 0.2, 20)))
    assert frames_at(time, time) == pytest.approx(np.arange(21))
    assert frames_at(time, np.array([-0.5, 1.5])).tolist() == [0, 20]
