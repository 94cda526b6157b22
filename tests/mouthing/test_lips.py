"""Lips out of landmarks: the same whatever the head's pose, the picture's scale and the mouth at rest."""

from dataclasses import replace

import numpy as np
import pytest

from signspot.errors import LandmarksError
from signspot.landmarks.estimators import estimating_with
from signspot.landmarks.landmarks import Landmarks, concatenate
from signspot.mouthing.lips import CHANNELS, FPS, SHAPES, follow_lips, lip_shapes, read_lips
from signspot.types import Segment
from signspot_synthetic.body.motion import talking
from signspot_synthetic.body.mouthing import MouthedWord
from signspot_synthetic.body.signers import Camera, Role, make_signer
from signspot_synthetic.observation import project
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render_video

SIGNER = make_signer("one", 1, Role.TEST)
WORD = MouthedWord("papa", ("P", "AA1", "P", "AA0"), Segment(1.0, 1.8), 1.0)
STRAIGHT = Camera(distance=3.0, height=1.1)


def talking_face(
    camera: Camera = STRAIGHT, words: tuple[MouthedWord, ...] = (WORD,), size: tuple[int, int] = (640, 480)
) -> Landmarks:
    motion = talking(words, 3.0, SIGNER, np.random.default_rng(0), lips=0.3)
    return project(motion, camera, size)


def test_an_open_mouth_is_seen_as_one():
    lips = follow_lips([talking_face()])
    assert lips.values.shape == (75, CHANNELS)
    assert lips.seen == 1
    opening = lips.values[:, SHAPES.index("opening")]
    assert opening[: int(0.8 * FPS)].max() < 0.3 < 0.8 < opening[int(1.0 * FPS) : int(1.9 * FPS)].max()


@pytest.mark.parametrize(
    "camera",
    [
        Camera(distance=3.0, height=1.6, aim=(0.1, 0.1)),  # smaller, elsewhere
        Camera(distance=3.0, height=1.1, roll=0.3),
        Camera(distance=3.0, height=1.1, azimuth=0.35),
        Camera(distance=3.0, height=1.1, elevation=-0.2),
    ],
)
def test_pose_and_scale_make_little_difference(camera):
    straight, other = follow_lips([talking_face()]).values, follow_lips([talking_face(camera)]).values
    for shape in ("opening", "width", "height"):
        one, two = straight[:, SHAPES.index(shape)], other[:, SHAPES.index(shape)]
        assert np.corrcoef(one, two)[0, 1] > 0.95, shape
        assert np.abs(one - two).max() < 0.25 * np.ptp(one) + 0.05, shape


def test_the_shape_of_the_picture_makes_no_difference():
    wide = follow_lips([talking_face(size=(1280, 480))]).values
    assert np.allclose(wide, follow_lips([talking_face()]).values, atol=1e-3)


def test_chunks_make_no_difference():
    marks = talking_face()
    assert np.array_equal(follow_lips([marks[:10], marks[10:70], marks[70:]]).values, follow_lips([marks]).values)


def test_between_gives_the_frames_of_those_times():
    part = follow_lips([talking_face()]).between(1.0, 1.4)
    assert part.start == pytest.approx(1.0)
    assert len(part) == 11


def test_no_face_is_a_reason():
    marks = talking_face()
    with pytest.raises(LandmarksError, match="75"):
        follow_lips([replace(marks, face=np.full_like(marks.face, np.nan))])
    with pytest.raises(LandmarksError):
        follow_lips([])


def test_a_face_from_the_side_is_a_reason_and_a_turned_head_is_counted():
    side = talking_face(Camera(distance=3.0, height=1.1, azimuth=1.15))
    with pytest.raises(LandmarksError):
        follow_lips([side])
    both = concatenate([side[:25], talking_face()[25:]])
    lips = follow_lips([both])
    assert lips.turned == pytest.approx(1 / 3, abs=0.02)
    assert (lips.values[:25, :-1] == 0).all()


def test_missing_frames_are_zero_and_marked():
    marks = talking_face()
    face = marks.face.copy()
    face[30:40] = np.nan
    values = follow_lips([replace(marks, face=face)]).values
    assert (values[30:40] == 0).all()
    assert values[:30, -2].all()


def test_a_hand_before_the_mouth_is_marked():
    marks = talking_face()
    hand = marks.right_hand.copy()
    hand[20:30, :, :2] = marks.face[20:30, :40, :2].mean(axis=1, keepdims=True)
    covered = lip_shapes(replace(marks, right_hand=hand))[:, -2]
    assert covered[20:30].all()
    assert not covered[:20].any()


def test_landmarks_without_lips_say_what_to_do():
    marks = talking_face()
    with pytest.raises(LandmarksError, match="17"):
        lip_shapes(replace(marks, face=marks.face[:, 17:18] * 0, face_points=(5,)))


@pytest.mark.long
def test_videos_are_read_by_an_estimator_that_sees_how_wide_a_mouth_is(tmp_path):
    """MediaPipe's usual network of faces gives most mouths their usual width; a second look at lips gives their own."""
    words = [MouthedWord("we", ("W", "IY1"), Segment(start, start + 0.5), 1.0) for start in (0.2, 0.8)]
    motion = talking(words, 1.6, SIGNER, np.random.default_rng(0), lips=0.3)
    close = Camera(distance=3.0, height=0.8, aim=(0.0, -0.06))
    marks = project(motion, close, (640, 480))
    render_video(marks, make_appearance(1), tmp_path / "v.mp4", (640, 480), FPS)
    wide = SHAPES.index("width")
    exact, read = follow_lips([marks]).values[:, wide], read_lips(tmp_path / "v.mp4").values[:, wide]
    with estimating_with("mediapipe"):
        usual = read_lips(tmp_path / "v.mp4").values[:, wide]
    assert np.corrcoef(exact, read)[0, 1] > 0.8
    assert np.ptp(read) > 0.5 * np.ptp(exact)
    assert np.corrcoef(exact, usual)[0, 1] < np.corrcoef(exact, read)[0, 1]
