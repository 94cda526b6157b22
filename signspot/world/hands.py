"""Forward kinematics of the hand: joint angles become the 21 joints that landmark estimators mark."""

from dataclasses import dataclass

import numpy as np

from signspot.world.rotations import Array, normalised

JOINTS = 21
WRIST, PALM_JOINTS, TIPS = 0, (0, 5, 17), (4, 8, 12, 16, 20)

# A right hand of 19 cm from wrist to middle fingertip, in metres: x to the thumb side, y to the fingertips,
# z out of the palm.
_KNUCKLES = np.array([[0.025, 0.094, 0.003], [0.005, 0.096, -0.002], [-0.016, 0.088, -0.001], [-0.035, 0.076, 0.004]])
_BONES = np.array([[0.041, 0.024, 0.019], [0.045, 0.028, 0.020], [0.042, 0.027, 0.020], [0.033, 0.019, 0.017]])
_THUMB_ROOT = np.array([0.021, 0.025, 0.010])
_THUMB_BONES = np.array([0.044, 0.034, 0.028])


@dataclass(frozen=True, slots=True)
class HandBuild:
    """How one person's hand is built, relative to the mean adult hand."""

    size: float = 1.0  # of everything
    fingers: float = 1.0  # length of the fingers
    breadth: float = 1.0  # width of the palm


def _thumb(angles: Array, build: HandBuild) -> list[Array]:
    """Joints 1 to 4, each (T, 3), from thumb angles (T, 4)."""
    radial, palmar, knuckle, tip = angles.T
    along = np.stack([np.cos(palmar) * np.sin(radial), np.cos(palmar) * np.cos(radial), np.sin(palmar)], axis=-1)
    # The thumb bends across the palm, the more so the further it stands out of the palm's plane.
    bend = np.stack([-np.ones_like(palmar), np.full_like(palmar, 0.15), 0.55 * np.cos(1.4 * palmar)], axis=-1)
    bend = normalised(bend - np.einsum("ti,ti->t", bend, along)[:, None] * along)
    joints = [np.broadcast_to(_THUMB_ROOT * [build.breadth, 1, 1], along.shape)]
    for bone, turn in zip(_THUMB_BONES, (np.zeros_like(knuckle), knuckle, knuckle + tip), strict=True):
        step = np.cos(turn)[:, None] * along + np.sin(turn)[:, None] * bend
        joints.append(joints[-1] + bone * build.fingers * step)
    return joints


def hand_joints(angles: Array, build: HandBuild) -> Array:
    """Build right hands in their own frame (thumb side, fingers, palm).

    Args:
        angles: (T, 20) joint angles in radians, laid out as in handshapes.py.
        build: the person's hand.

    Returns:
        (T, 21, 3) joints in metres, the wrist at zero.
    """
    out = np.zeros((len(angles), JOINTS, 3))
    out[:, 1:5] = np.stack(_thumb(angles[:, :4], build), axis=1)
    fingers = angles[:, 4:].reshape(-1, 4, 4)
    bend = np.cumsum(fingers[..., 1:], axis=-1)  # (T, 4, 3) of each bone against the palm
    spread = fingers[..., :1]
    steps = np.stack(
        [np.cos(bend) * np.sin(spread), np.cos(bend) * np.cos(spread), np.sin(bend)], axis=-1
    )  # (T, 4 fingers, 3 bones, xyz)
    steps *= (_BONES * build.fingers)[..., None]
    joints = np.cumsum(steps, axis=2) + (_KNUCKLES * [build.breadth, 1, 1])[:, None]
    out[:, 5:].reshape(-1, 4, 4, 3)[:, :, 0] = _KNUCKLES * [build.breadth, 1, 1]
    out[:, 5:].reshape(-1, 4, 4, 3)[:, :, 1:] = joints
    return out * build.size
