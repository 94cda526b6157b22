"""Projection: what is where in the image, and how depth is numbered."""

from dataclasses import replace

import numpy as np
import pytest

from signspot.errors import OptionsError
from signspot_synthetic.body.motion import isolated
from signspot_synthetic.body.signers import make_signers
from signspot_synthetic.camera.projection import project
from signspot_synthetic.geometry.framing import Camera
from signspot_synthetic.language.phonology import Sign

SIGNER = make_signers(1, 1, "test", left_share=0)[0]
MOTION, _ = isolated(Sign(), SIGNER, np.random.default_rng(0))
CAMERA = Camera(distance=2.5, height=1.2)


def test_the_signer_faces_the_camera_upright():
    body = project(MOTION, CAMERA).body[0]
    assert body[11, 0] > body[12, 0]  # the left shoulder is at the image's right
    assert body[0, 1] < body[11, 1] < body[23, 1]  # nose above shoulders above hips
    assert body[0, 2] < body[11, 2]  # the nose is nearer
    assert (body[:, 3] == 1).all()


def test_size_follows_what_is_seen():
    wide = project(MOTION, CAMERA, (960, 480)).body
    tall = project(MOTION, CAMERA, (480, 960)).body
    width = SIGNER.proportions.shoulders / CAMERA.height
    across = (wide[0, 11, 0] - wide[0, 12, 0]) * 2  # in image heights
    assert np.isclose(across, width, rtol=0.12)
    assert np.allclose(wide[..., 1], tall[..., 1])  # the height seen stays
    assert np.allclose((wide[..., 0] - 0.5) * 4, tall[..., 0] - 0.5, atol=1e-5)


def test_depth_has_the_origins_of_the_estimator():
    landmarks = project(MOTION, CAMERA)
    assert np.allclose(landmarks.body[:, 23:25, 2].mean(axis=1), 0, atol=1e-5)
    assert np.allclose(landmarks.right_hand[:, 0, 2], 0, atol=1e-6)
    assert np.allclose(landmarks.face[..., 2].mean(axis=1), 0, atol=1e-5)


def test_a_low_camera_sees_the_chin_nearer_to_the_nose():
    def nose_above_chin(camera):
        face = project(MOTION, camera).face[0]
        points = dict(zip(MOTION.face_points, face, strict=True))
        return (points[152][1] - points[4][1]) / (points[152][1] - points[10][1])

    assert nose_above_chin(replace(CAMERA, elevation=-0.4)) > nose_above_chin(CAMERA)


def test_roll_turns_the_image_about_its_middle():
    level, rolled = (project(MOTION, replace(CAMERA, roll=r), (500, 500)).body[0, :, :2] - 0.5 for r in (0.0, 0.2))
    assert np.allclose(np.linalg.norm(level, axis=1), np.linalg.norm(rolled, axis=1), atol=1e-5)
    assert not np.allclose(level, rolled, atol=0.01)


def test_an_image_needs_pixels():
    with pytest.raises(OptionsError, match="0 × 480"):
        project(MOTION, CAMERA, (0, 480))
