"""From metres to the image: perspective projection into landmarks as MediaPipe numbers them."""

import numpy as np

from signspot.errors import OptionsError
from signspot.landmarks.landmarks import Landmarks
from signspot_synthetic.body.motion import Motion
from signspot_synthetic.geometry.framing import Camera
from signspot_synthetic.geometry.rotations import Array, normalised

_NEAREST = 0.05  # metres: nothing is nearer to the lens


def _axes(camera: Camera) -> tuple[Array, Array]:
    """Position of the camera (3,) and its axes (3, 3) as rows: right, down, forwards."""
    az, el = camera.azimuth, camera.elevation
    aim = np.array([*camera.aim, 0.0])
    way = np.array([np.sin(az) * np.cos(el), -np.sin(el), -np.cos(az) * np.cos(el)])
    forwards = -way
    right = normalised(np.cross(np.array([0.0, 1.0, 0.0]), forwards))
    down = np.cross(forwards, right)
    cos, sin = np.cos(camera.roll), np.sin(camera.roll)
    return aim + camera.distance * way, np.stack([cos * right + sin * down, cos * down - sin * right, forwards])


def project(motion: Motion, camera: Camera, size: tuple[int, int] = (640, 480)) -> Landmarks:
    """See a motion through a camera.

    Args:
        motion: the signer's points in metres.
        camera: where it stands.
        size: width and height of the image in pixels.

    Returns:
        Exact landmarks: every point is there, visibility 1. z is in image widths, negative towards the camera: of
        the body from between the hips, of a hand from its wrist, of the face from its mean.
    """
    width, height = size
    if width < 1 or height < 1:
        raise OptionsError(f"an image has at least 1 × 1 pixel; got {width} × {height}")
    eye, axes = _axes(camera)
    parts = (motion.body, motion.left_hand, motion.right_hand, motion.face)
    everything = np.concatenate(parts, axis=1, dtype=np.float64)
    seen = (everything - eye) @ axes.T  # (T, points, 3) right, down, depth
    depth = np.maximum(seen[..., 2], _NEAREST)
    focal = camera.distance / camera.height * np.array([height / width, 1.0])
    out = np.empty_like(seen)
    out[..., :2] = 0.5 + seen[..., :2] / depth[..., None] * focal
    out[..., 2] = seen[..., 2] * focal[0]
    bounds = np.cumsum([part.shape[1] for part in parts])[:-1]
    body, left, right, face = np.split(out, bounds, axis=1)
    hips = seen[:, 23:25, 2].mean(axis=1)
    head = seen[:, bounds[2] :, 2].mean(axis=1)
    for part, origin in ((body, hips), (left, seen[:, 33, 2]), (right, seen[:, 54, 2]), (face, head)):
        part[..., 2] = (part[..., 2] - origin[:, None] * focal[0]) / np.maximum(origin, _NEAREST)[:, None]
    sure = np.concatenate([body, np.ones((*body.shape[:2], 1))], axis=-1)
    single = [part.astype(np.float32) for part in (sure, left, right, face)]
    return Landmarks(single[0], single[1], single[2], single[3], motion.times, size, motion.face_points)
