import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pose_format import Pose
from pose_format.numpy import NumPyPoseBody
from pose_format.pose_header import PoseHeader, PoseHeaderComponent, PoseHeaderDimensions

from signspot.errors import FormatError, LandmarksError
from signspot.landmarks.landmarks import FACE_POINTS, concatenate
from signspot.landmarks.pose_file import (
    BODY_NAMES,
    HAND_NAMES,
    PoseFile,
    PoseWriter,
    open_landmarks,
    write_landmarks,
)

PIXEL = 1e-6  # float32 precision of a coordinate


@given(
    frames=st.integers(1, 30),
    seed=st.integers(0, 999),
    fps=st.sampled_from([12.5, 25.0, 29.97, 60.0]),
    size=st.sampled_from([None, (1920, 1080), (101, 57)]),
)
@settings(max_examples=40)
def test_what_is_written_reads_back_equal(tmp_path_factory, make_signing, frames, seed, fps, size):
    path = tmp_path_factory.mktemp("pose") / "a.pose"
    landmarks = make_signing(frames, seed, fps=fps, size=size, dropped=0.3)
    with PoseWriter(path, fps) as writer:
        writer.add(landmarks)
    assert open_landmarks(path).equals(landmarks, tolerance=PIXEL)


def test_chunks_and_whole_give_the_same_bytes(tmp_path, make_signing):
    landmarks = make_signing(50, dropped=0.2)
    write_landmarks(landmarks, tmp_path / "whole.pose")
    with PoseWriter(tmp_path / "chunks.pose", 25) as writer:
        for start in range(0, 50, 7):
            writer.add(landmarks[start : start + 7])
    assert (tmp_path / "whole.pose").read_bytes() == (tmp_path / "chunks.pose").read_bytes()
    assert concatenate(list(PoseFile.open(tmp_path / "whole.pose").stream(8))).equals(landmarks, tolerance=PIXEL)


def test_the_pose_format_library_reads_our_files(tmp_path, make_signing):
    landmarks = make_signing(10, dropped=0.3)
    write_landmarks(landmarks, tmp_path / "a.pose")
    pose = Pose.read((tmp_path / "a.pose").read_bytes())
    assert [component.name for component in pose.header.components] == [
        "POSE_LANDMARKS",
        "FACE_LANDMARKS",
        "LEFT_HAND_LANDMARKS",
        "RIGHT_HAND_LANDMARKS",
    ]
    assert pose.body.data.shape == (10, 1, 33 + 60 + 21 + 21, 3)
    assert pose.body.fps == 25
    assert (pose.header.dimensions.width, pose.header.dimensions.height) == (640, 360)
    wrist = pose.header.get_point_index("POSE_LANDMARKS", "LEFT_WRIST")
    expected = np.nan_to_num(landmarks.body[:, 15, :3] * [640, 360, 1])
    np.testing.assert_allclose(pose.body.data[:, 0, wrist].filled(0), expected, rtol=1e-6)


def test_a_seen_point_of_visibility_zero_stays_seen(tmp_path, make_signing):
    landmarks = make_signing(2)
    landmarks.body[:, 15, 3] = 0
    write_landmarks(landmarks, tmp_path / "a.pose")
    np.testing.assert_allclose(open_landmarks(tmp_path / "a.pose").body, landmarks.body, atol=2e-6)


def test_uneven_times_are_made_even(tmp_path, make_signing):
    landmarks = make_signing(20)
    landmarks.times[10:] += 0.4
    write_landmarks(landmarks, tmp_path / "a.pose")
    again = open_landmarks(tmp_path / "a.pose")
    assert len(again) == 30
    np.testing.assert_allclose(again.left_hand[25], landmarks.left_hand[15], atol=1e-5)


def component(name: str, points: list[str], form: str = "XYZC") -> PoseHeaderComponent:
    return PoseHeaderComponent(name, points, [], [(0, 0, 0)], form)


def foreign(path: Path, components, *, frames: int = 4, people: int = 1, fps: float = 30.0, seed: int = 1) -> Pose:
    """Write a file as other people's tools do, with the library."""
    rng = np.random.default_rng(seed)
    header = PoseHeader(0.2, PoseHeaderDimensions(200, 100, 0), components)
    shape = (frames, people, header.total_points())
    body = NumPyPoseBody(fps, rng.uniform(1, 90, (*shape, header.num_dims())), np.full(shape, 0.75))
    pose = Pose(header, body)
    with path.open("wb") as file:
        pose.write(file)
    return pose


@pytest.mark.parametrize("mesh", [468, 478])
def test_full_faces_synthetic_landmarks_and_another_order_are_read(tmp_path, mesh):
    path = tmp_path / "a.pose"
    parts = [
        component("RIGHT_HAND_LANDMARKS", list(HAND_NAMES)),
        component("POSE_WORLD_LANDMARKS", list(BODY_NAMES)),
        component("FACE_LANDMARKS", [str(point) for point in range(mesh)]),
        component("POSE_LANDMARKS", list(BODY_NAMES)),
        component("LEFT_HAND_LANDMARKS", list(HAND_NAMES)),
    ]
    pose = foreign(path, parts)
    landmarks = open_landmarks(path)
    data = pose.body.data.data[:, 0]
    assert landmarks.face_points == FACE_POINTS
    assert landmarks.size == (200, 100)
    np.testing.assert_allclose(landmarks.times, np.arange(4) / 30)
    np.testing.assert_allclose(landmarks.right_hand, data[:, :21] / [200, 100, 1], rtol=1e-5)
    np.testing.assert_allclose(landmarks.face[:, 0], data[:, 21 + 33 + 61] / [200, 100, 1], rtol=1e-5)
    np.testing.assert_allclose(landmarks.body[:, 15, :3], data[:, 54 + mesh + 15] / [200, 100, 1], rtol=1e-5)
    np.testing.assert_allclose(landmarks.body[..., 3], 0.75)


def test_reduced_files_give_nan_for_what_they_lack(tmp_path):
    path = tmp_path / "a.pose"
    parts = [
        component("POSE_LANDMARKS", ["RIGHT_WRIST", "NOSE"], "XYC"),
        component("FACE_LANDMARKS", ["0", "17", "5"], "XYC"),
    ]
    pose = foreign(path, parts)
    landmarks = open_landmarks(path)
    assert landmarks.face_points == (17, 0)
    assert np.isfinite(landmarks.body[0, :, 0]).nonzero()[0].tolist() == [0, 16]
    assert (landmarks.body[:, 16, 2] == 0).all()
    assert np.isnan(landmarks.left_hand).all()
    np.testing.assert_allclose(
        landmarks.body[:, 16, :2], pose.body.data.data[:, 0, 0] / np.array([200, 100]), rtol=1e-5
    )


def test_of_several_people_the_first_is_read(tmp_path, caplog):
    path = tmp_path / "a.pose"
    pose = foreign(path, [component("POSE_LANDMARKS", list(BODY_NAMES))], people=2)
    landmarks = open_landmarks(path)
    np.testing.assert_allclose(landmarks.body[:, 3, 0], pose.body.data.data[:, 0, 3, 0] / 200, rtol=1e-5)
    assert "2 people" in caplog.text


def test_version_one_files_are_read(tmp_path):
    path = tmp_path / "a.pose"
    pose = foreign(path, [component("POSE_LANDMARKS", list(BODY_NAMES))], fps=24)
    new = path.read_bytes()
    size = 4 * 4 * 33 * 4
    head = struct.pack("<f", 0.1) + new[4 : -size - 10]
    path.write_bytes(head + struct.pack("<HHH", 24, 4, 1) + new[-size:])
    landmarks = open_landmarks(path)
    assert landmarks.fps == pytest.approx(24)
    np.testing.assert_allclose(landmarks.body[:, 3, 1], pose.body.data.data[:, 0, 3, 1] / 100, rtol=1e-5)


def test_files_of_another_estimator_get_a_clear_error(tmp_path):
    path = tmp_path / "openpose.pose"
    foreign(path, [component("pose_keypoints_2d", ["Nose", "Neck"], "XYC")])
    with pytest.raises(FormatError):
        open_landmarks(path)


@pytest.mark.parametrize("content", [b"", b"\0", b"not a pose file at all" * 20, b"\0" * 500, b"\xcd\xcc\x4c\x3e"])
def test_what_is_no_pose_file_gets_one_line(tmp_path, content):
    path = tmp_path / "a.pose"
    path.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        open_landmarks(path)
    assert "\n" not in str(caught.value)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FormatError):
        open_landmarks(tmp_path / "nowhere.pose")
    with pytest.raises(FormatError):
        open_landmarks(tmp_path)


@given(keep=st.floats(0, 0.999), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_every_cut_off_file_is_refused(tmp_path_factory, make_signing, keep, seed):
    path = tmp_path_factory.mktemp("pose") / "a.pose"
    write_landmarks(make_signing(5, seed), path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    with pytest.raises(FormatError):
        open_landmarks(path)


@given(offset=st.integers(0, 3000), value=st.integers(0, 255))
@settings(max_examples=60)
def test_a_damaged_header_is_refused_or_harmless(tmp_path_factory, make_signing, offset, value):
    path = tmp_path_factory.mktemp("pose") / "a.pose"
    write_landmarks(make_signing(3), path)
    content = bytearray(path.read_bytes())
    content[offset] = value
    path.write_bytes(content)
    with suppress(FormatError):
        open_landmarks(path)


def test_a_failed_write_leaves_nothing(tmp_path, make_signing):
    path = tmp_path / "a.pose"
    path.write_bytes(b"old")
    landmarks = make_signing(3)

    def stop() -> None:
        with PoseWriter(path) as writer:
            writer.add(landmarks)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_and_mixed_images_are_refused(tmp_path, make_signing):
    with pytest.raises(LandmarksError), PoseWriter(tmp_path / "a.pose"):
        pass
    assert list(tmp_path.iterdir()) == []
    with PoseWriter(tmp_path / "a.pose") as writer:
        writer.add(make_signing(3))
        with pytest.raises(LandmarksError):
            writer.add(make_signing(3, size=(5, 5)))
    assert len(open_landmarks(tmp_path / "a.pose")) == 3
