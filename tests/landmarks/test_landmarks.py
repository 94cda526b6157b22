"""Landmarks over time, and at other times."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signspot.errors import LandmarksError, OptionsError
from signspot.landmarks.landmarks import (
    FACE_POINTS,
    MIRRORED_BODY_POINTS,
    MIRRORED_FACE_POINT,
    Landmarks,
    concatenate,
    resample_stream,
)
from signspot.types import Segment


def test_mirror_maps_are_their_own_inverse():
    assert {MIRRORED_FACE_POINT[MIRRORED_FACE_POINT[point]] == point for point in FACE_POINTS} == {True}
    assert set(MIRRORED_FACE_POINT) == set(FACE_POINTS)
    assert [MIRRORED_BODY_POINTS[point] for point in MIRRORED_BODY_POINTS] == list(range(33))
    assert MIRRORED_FACE_POINT[61] == 291
    assert MIRRORED_BODY_POINTS[11] == 12


def test_other_shapes_and_times_that_do_not_increase_are_refused(make_signing):
    good = make_signing(3)
    for body, times in ((good.body[..., :3], good.times), (good.body, [0.0, 0.1, 0.1])):
        with pytest.raises(LandmarksError):
            Landmarks(body, good.left_hand, good.right_hand, good.face, times)


def test_between_takes_start_and_leaves_end(make_signing):
    part = make_signing(100).between(Segment(1.0, 2.0))
    assert part.times[0] == 1.0
    assert len(part) == 25


def test_fps_is_the_median_step(make_signing):
    assert make_signing(20, fps=29.97).fps == pytest.approx(29.97)
    assert make_signing(1).fps == 25


def test_resampling_a_straight_movement_is_exact(make_signing):
    landmarks = make_signing(21, fps=20)
    landmarks.body[..., 0] = landmarks.times[:, None]
    fine = landmarks.resampled(60)
    inside = fine.times <= landmarks.times[-1]
    np.testing.assert_allclose(fine.body[inside, :, 0], np.repeat(fine.times[inside, None], 33, 1), atol=1e-6)
    assert len(fine) == 63
    assert fine.fps == pytest.approx(60)


def test_resampling_keeps_an_unseen_frame_unseen_for_its_share_of_time(make_signing):
    landmarks = make_signing(5, fps=10)
    landmarks.left_hand[2] = np.nan
    unseen = np.isnan(landmarks.resampled(100).left_hand[:, 0, 0])
    assert unseen.nonzero()[0].tolist() == list(range(15, 25))


def test_resampling_to_the_same_grid_changes_nothing(make_signing):
    landmarks = make_signing(50, dropped=0.2)
    assert landmarks.resampled(25) is landmarks
    with pytest.raises(OptionsError):
        landmarks.resampled(0)


@given(frames=st.integers(1, 40), fps=st.sampled_from([7.0, 12.5, 20.0, 24.0, 50.0]), seed=st.integers(0, 99))
def test_resampling_stays_within_what_was_there(make_signing, frames, fps, seed):
    landmarks = make_signing(frames, seed, dropped=0.3)
    other = landmarks.resampled(fps)
    assert abs(len(other) - frames * fps / 25) <= 1
    for part in ("body", "left_hand", "right_hand", "face"):
        if np.isfinite(getattr(other, part)).any():
            assert np.nanmax(getattr(other, part)) <= np.nanmax(getattr(landmarks, part))


def test_mirroring_swaps_hands_and_turns_x(make_signing):
    landmarks = make_signing(4)
    mirrored = landmarks.mirrored()
    np.testing.assert_array_equal(mirrored.left_hand[..., 0], 1 - landmarks.right_hand[..., 0])
    np.testing.assert_array_equal(mirrored.left_hand[..., 1:], landmarks.right_hand[..., 1:])
    np.testing.assert_array_equal(mirrored.body[:, 15, 1:], landmarks.body[:, 16, 1:])
    np.testing.assert_array_equal(
        mirrored.face[:, FACE_POINTS.index(61), 1], landmarks.face[:, FACE_POINTS.index(291), 1]
    )
    assert mirrored.mirrored().equals(landmarks, tolerance=1e-6)


def test_a_face_point_without_counterpart_is_lost_in_the_mirror(make_signing):
    sign = make_signing(2)
    part = Landmarks(sign.body, sign.left_hand, sign.right_hand, sign.face[:, :2], sign.times, None, (61, 0))
    mirrored = part.mirrored()
    assert np.isnan(mirrored.face[:, 0]).all()
    assert np.isfinite(mirrored.face[:, 1]).all()


def test_joining_chunks_gives_the_whole(make_signing):
    signing = make_signing(30, dropped=0.3)
    assert concatenate([signing[:7], signing[7:8], signing[8:]]).equals(signing)
    assert not signing.equals(signing[:29])


def test_joining_different_images_is_refused(make_signing):
    with pytest.raises(LandmarksError):
        concatenate([make_signing(3)[:1], make_signing(3, size=(10, 10))[1:]])
    with pytest.raises(LandmarksError):
        concatenate([])


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
    signing = moving(frames, old, 1.5)
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, frames), max_size=4))), frames]
    parts = [signing[a:b] for a, b in pairwise(cuts)]
    expected = signing.resampled(25.0)
    resampled = concatenate(list(resample_stream(parts, 25.0)))
    assert len(resampled) == len(expected)
    assert resampled.equals(expected, tolerance=1e-4)


def test_nothing_gives_nothing_and_no_rate_is_refused() -> None:
    assert list(resample_stream([], 25.0)) == []
    with pytest.raises(OptionsError):
        list(resample_stream([moving(3, 25)], 0))
