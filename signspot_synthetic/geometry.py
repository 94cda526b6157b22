"""Geometry of signers: rotations for many moments at once (unit quaternions w, x, y, z), arms and hands in metres."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def normalised(vectors: Array) -> Array:
    """Scale vectors (..., n) to length 1; a zero vector stays zero."""
    length = np.sqrt(np.einsum("...i,...i->...", vectors, vectors))[..., None]
    return np.asarray(vectors / np.maximum(length, 1e-12))


def frame(fingers: Array, palm: Array) -> Array:
    """Build hand frames (..., 3, 3), columns: thumb side, fingers, palm, from two directions (..., 3).

    The palm direction is made perpendicular to the fingers.
    """
    along = normalised(fingers)
    out = normalised(palm - np.einsum("...i,...i->...", palm, along)[..., None] * along)
    return np.stack([np.cross(along, out), along, out], axis=-1)


def quaternion(matrix: Array) -> Array:
    """Turn rotation matrices (..., 3, 3) into unit quaternions (..., 4)."""
    m = matrix
    four = np.stack(
        [
            1 + m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2],
            1 + m[..., 0, 0] - m[..., 1, 1] - m[..., 2, 2],
            1 - m[..., 0, 0] + m[..., 1, 1] - m[..., 2, 2],
            1 - m[..., 0, 0] - m[..., 1, 1] + m[..., 2, 2],
        ],
        axis=-1,
    )
    a, b, c = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    d, e, f = m[..., 0, 1] + m[..., 1, 0], m[..., 0, 2] + m[..., 2, 0], m[..., 1, 2] + m[..., 2, 1]
    w, x, y, z = (four[..., i] for i in range(4))
    rows = np.stack(
        [
            np.stack([w, a, b, c], axis=-1),
            np.stack([a, x, d, e], axis=-1),
            np.stack([b, d, y, f], axis=-1),
            np.stack([c, e, f, z], axis=-1),
        ],
        axis=-2,
    )
    best = four.argmax(axis=-1)[..., None, None]
    return normalised(np.take_along_axis(rows, best, axis=-2)[..., 0, :])


def matrix(quaternions: Array) -> Array:
    """Turn unit quaternions (..., 4) into rotation matrices (..., 3, 3)."""
    w, x, y, z = (quaternions[..., i] for i in range(4))
    out = np.empty((*quaternions.shape[:-1], 3, 3))
    out[..., 0, 0] = 1 - 2 * (y * y + z * z)
    out[..., 0, 1] = 2 * (x * y - w * z)
    out[..., 0, 2] = 2 * (x * z + w * y)
    out[..., 1, 0] = 2 * (x * y + w * z)
    out[..., 1, 1] = 1 - 2 * (x * x + z * z)
    out[..., 1, 2] = 2 * (y * z - w * x)
    out[..., 2, 0] = 2 * (x * z - w * y)
    out[..., 2, 1] = 2 * (y * z + w * x)
    out[..., 2, 2] = 1 - 2 * (x * x + y * y)
    return out


def product(first: Array, second: Array) -> Array:
    """Multiply quaternions (..., 4): turn by `second`, then by `first`."""
    a, b = first, second
    w1, x1, y1, z1 = (a[..., i] for i in range(4))
    w2, x2, y2, z2 = (b[..., i] for i in range(4))
    return np.stack(
        [
            w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
            w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
            w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
            w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
        ],
        axis=-1,
    )


def about(axis: Array, angle: Array | float) -> Array:
    """Quaternions (..., 4) that turn by `angle` (radians, ...) about unit `axis` (..., 3)."""
    half = np.asarray(angle, dtype=np.float64)[..., None] / 2
    vector = np.sin(half) * axis
    return np.concatenate([np.broadcast_to(np.cos(half), (*vector.shape[:-1], 1)), vector], axis=-1)


def slerp(start: Array, end: Array, share: Array) -> Array:
    """Turn from `start` to `end` (4,) or (..., 4) by `share` (...) of the shorter way."""
    dot = np.einsum("...i,...i->...", start, end)
    end = np.where(dot[..., None] < 0, -end, end)
    angle = np.arccos(np.clip(np.abs(dot), 0, 1))
    small = angle < 1e-4
    sine = np.where(small, 1.0, np.sin(angle))
    first = np.where(small, 1 - share, np.sin((1 - share) * angle) / sine)
    second = np.where(small, share, np.sin(share * angle) / sine)
    return normalised(first[..., None] * start + second[..., None] * end)


def aligned(quaternions: Array) -> Array:
    """Choose signs along time (T, 4) so that neighbours are near: then they may be averaged."""
    dots = np.einsum("ti,ti->t", quaternions[1:], quaternions[:-1])
    signs = np.cumprod(np.where(dots < 0, -1.0, 1.0))
    return np.concatenate([quaternions[:1], quaternions[1:] * signs[:, None]])


def rotate(quaternions: Array, vectors: Array) -> Array:
    """Turn vectors (..., 3) by unit quaternions (..., 4)."""
    axis = quaternions[..., 1:]
    twice = 2 * np.cross(axis, vectors)
    return np.asarray(vectors + quaternions[..., :1] * twice + np.cross(axis, twice))


_WRIST_LIMIT = np.radians(72.0)
_TWIST_LIMIT = np.radians(120.0)  # of the forearm, with what the shoulder adds
_REACH = 0.985  # of a fully straight arm
_OUTWARDS, _BACKWARDS = 1.15, 0.60  # where an elbow hangs, against 1 down
_FOLD = 0.27  # of a straight arm: the wrist comes no nearer to the shoulder
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
    """Build of one person's hand, relative to the mean adult hand."""

    size: float = 1.0  # of everything
    fingers: float = 1.0  # length of the fingers
    breadth: float = 1.0  # width of the palm


@dataclass(frozen=True, slots=True)
class ArmBuild:
    """An arm's bones, in metres, and how far its elbow likes to stand out, in radians."""

    upper: float = 0.28
    fore: float = 0.25
    elbow_out: float = 0.0


@dataclass(frozen=True, slots=True)
class Proportions:
    """Lengths of the body, in metres."""

    shoulders: float = 0.344  # from one shoulder joint to the other
    upper_arm: float = 0.29
    forearm: float = 0.255
    torso: float = 0.475  # shoulders to hips
    hips: float = 0.215  # from one hip joint to the other
    neck: float = 0.0  # how much longer than the mean
    head: float = 1.0  # size against the mean
    hand: HandBuild = field(default_factory=HandBuild)


MEAN = Proportions()
"""The mean adult, for whom places are written."""


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("...i,...i->...", a, b))


def _across(vectors: Array, axis: Array) -> Array:
    """The unit part of vectors (T, 3) that is perpendicular to unit axes (T, 3)."""
    return normalised(vectors - _dot(vectors, axis)[..., None] * axis)


def reachable(shoulder: Array, wrist: Array, arm: ArmBuild) -> Array:
    """Move wrists (T, 3) to what the arm can reach: nearer if too far, forward if too near."""
    way = wrist - shoulder
    total = arm.upper + arm.fore
    near = np.sqrt(np.maximum((_FOLD * total) ** 2 - way[..., 0] ** 2 - way[..., 1] ** 2, 0.0))
    way[..., 2] = np.minimum(way[..., 2], np.where(near > 0, -near, np.inf))
    length = np.sqrt(_dot(way, way))
    return np.asarray(shoulder + way * (np.minimum(length, _REACH * total) / np.maximum(length, 1e-9))[..., None])


def elbow_of(shoulder: Array, wrist: Array, fingers: Array, arm: ArmBuild) -> Array:
    """Place the elbow of a right arm.

    Of all elbows that the bones allow, the one is taken that hangs low, a little outwards, and leaves the wrist
    little bent; and as elbows move less than hands, the one that is nearest to where it would be for a slower hand.

    Args:
        shoulder: (T, 3).
        wrist: (T, 3), reachable.
        fingers: (T, 3) unit direction of the hand.
        arm: the bones.

    Returns:
        (T, 3) elbows.
    """
    slow = smoothed(wrist - shoulder, 12)
    straight = (slow - arm.fore * smoothed(fingers, 12)) / arm.upper  # where a straight wrist would want the elbow
    raised = np.clip(-slow[..., 1:2] / (arm.upper + arm.fore), 0, 1)  # elbows go out as hands go up
    out = _OUTWARDS + arm.elbow_out + 0.5 * raised
    hang = np.concatenate([-out, np.ones_like(out), np.full_like(out, _BACKWARDS)], axis=-1)
    calm = _on_circle(slow, hang + 0.3 * straight, arm)
    return np.asarray(shoulder + _on_circle(wrist - shoulder, calm, arm))


def _on_circle(way: Array, towards: Array, arm: ArmBuild) -> Array:
    """The elbow, from the shoulder, (T, 3) of a wrist at `way` (T, 3), turned towards a direction (T, 3)."""
    length = np.sqrt(_dot(way, way))
    axis = way / np.maximum(length, 1e-9)[..., None]
    along = (arm.upper**2 - arm.fore**2 + length**2) / (2 * length)
    aside = np.sqrt(np.maximum(arm.upper**2 - along**2, 1e-8))
    return np.asarray(along[..., None] * axis + aside[..., None] * _across(towards, axis))


def smoothed(track: Array, times: int) -> Array:
    """Smooth a track (T, ...) over time with weights 1/4, 1/2, 1/4, so many times."""
    for _ in range(times if len(track) > 2 else 0):
        ends = np.concatenate([track[:1], track, track[-1:]])
        track = 0.25 * ends[:-2] + 0.5 * ends[1:-1] + 0.25 * ends[2:]
    return track


def _turn(vectors: Array, axis: Array, angle: Array) -> Array:
    """Turn the columns of frames (T, 3, 3) about unit axes (T, 3) by angles (T,)."""
    cos, sin = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
    columns = np.swapaxes(vectors, 1, 2)
    axes = np.broadcast_to(axis[:, None], columns.shape)
    turned = columns * cos + np.cross(axes, columns) * sin + axes * _dot(axes, columns)[..., None] * (1 - cos)
    return np.swapaxes(turned, 1, 2)


def _limited(angle: Array, limit: float, turning: float) -> Array:
    """Hold angles within ±limit; beyond `turning` let them fall back to 0 at ±pi, so that nothing ever jumps."""
    size = np.abs(angle)
    back = limit * np.clip((np.pi - size) / (np.pi - turning), 0, 1)
    return np.asarray(np.sign(angle) * np.minimum(np.minimum(size, limit), back))


def possible_hand(elbow: Array, wrist: Array, shoulder: Array, hand: Array) -> Array:
    """Turn hand frames (T, 3, 3) back to what wrist and forearm of a right arm can do."""
    fore = normalised(wrist - elbow)
    fingers = hand[..., 1]
    bend = np.arccos(np.clip(_dot(fore, fingers), -1, 1))
    axis = normalised(np.cross(fingers, fore) + 1e-9)
    hand = _turn(hand, axis, bend - _limited(bend, _WRIST_LIMIT, 2.5))
    # Twist: the thumb's direction about the forearm, measured from the upper arm's side of the elbow.
    upper = normalised(shoulder - elbow)
    bent = np.cross(upper, fore)
    clear = np.clip(np.sqrt(_dot(bent, bent)) * 2.5, 0, 1)  # a straight arm has no such side
    neutral, thumb = _across(upper, fore), _across(hand[..., 0], fore)
    twist = np.arctan2(_dot(np.cross(neutral, thumb), fore), _dot(neutral, thumb))
    hand = _turn(hand, fore, (_limited(twist, _TWIST_LIMIT, 2.75) - twist) * clear)
    steady = smoothed(hand, 1)
    return frame(steady[..., 1], steady[..., 2])


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
        angles: (T, 20) joint angles in radians, laid out as in phonology.py.
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
