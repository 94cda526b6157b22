"""The whole body: states of the hands, the face and the sway become all points of a signer in metres."""

from dataclasses import dataclass

import numpy as np

from signspot_synthetic.body.face import EARS, NECK_PIVOT, Expression, face_points
from signspot_synthetic.body.gestures import ANGLES, MIRROR, OFFSET, POSITION, TURN
from signspot_synthetic.body.signers import Handedness, Signer
from signspot_synthetic.geometry.limbs import (
    ArmBuild,
    Proportions,
    elbow_of,
    hand_joints,
    possible_hand,
    reachable,
    smoothed,
)
from signspot_synthetic.geometry.rotations import Array, matrix

_SHOULDER_GIVES = np.array([0.03, 0.05, 0.05])  # share of a hand's way that its shoulder goes
_HEAD_CENTRE = np.array([0.0, -0.198, -0.005])  # from between the shoulders


@dataclass(frozen=True, slots=True)
class Sway:
    """Slow movement of body and head, each (T, 3) in radians: about x (nodding), y (turning), z (tilting)."""

    torso: Array
    head: Array


@dataclass(frozen=True, slots=True)
class Points:
    """All points of a signer, in metres."""

    body: Array  # (T, 33, 3)
    left_hand: Array  # (T, 21, 3)
    right_hand: Array  # (T, 21, 3)
    face: Array  # (T, P, 3)


def _clear_of_body(points: Array, build: Proportions) -> Array:
    """Distance by which (T, ...) points (T, ..., 3) must come forward to be before chest, neck and face."""
    x, y, z = points[..., 0], points[..., 1], points[..., 2]
    across = np.sqrt(np.clip(1 - (x / (0.66 * build.shoulders)) ** 2, 0, 1))
    chest = np.interp(y, [-0.10, 0.05, build.torso, build.torso + 0.1], [0.0, 0.108, 0.108, 0.10]) * across
    centre = _HEAD_CENTRE[1] * build.head - build.neck
    round_ = 1 - ((x / 0.078) ** 2 + ((y - centre) / 0.118) ** 2) / build.head**2
    face = 0.108 * build.head * np.sqrt(np.clip(round_, 0, 1))
    return np.asarray(np.clip(z + np.maximum(chest, face), 0, 0.12) * (np.maximum(chest, face) > 0))


def arm_points(states: Array, signer: Signer) -> tuple[Array, Array]:
    """One arm, as a right one: (T, 3, 3) shoulder, elbow, wrist, and (T, 21, 3) its hand."""
    build = signer.proportions
    arm = ArmBuild(build.upper_arm, build.forearm, signer.manner.elbows)
    hand = hand_joints(states[:, ANGLES], build.hand)
    frames = matrix(states[:, TURN])
    rest = np.array([-build.shoulders / 2, 0.0, 0.0])
    contact, offset = states[:, POSITION], states[:, OFFSET]
    shoulder = np.broadcast_to(rest, contact.shape).copy()
    raised = contact - [rest[0], 0.35, -0.20]
    shoulder += _SHOULDER_GIVES * raised  # the shoulder goes along with the hand
    for _ in range(2):
        wrist = contact - np.einsum("tij,tj->ti", frames, offset)
        wrist[:, 2] -= smoothed(_clear_of_body(wrist, build), 2)
        wrist = reachable(shoulder, wrist, arm)
        elbow = elbow_of(shoulder, wrist, frames[..., 1], arm)
        frames = possible_hand(elbow, wrist, shoulder, frames)
    turned = np.einsum("tij,tkj->tki", frames, hand)
    deepest = _clear_of_body(turned[:, [4, 8, 9, 12, 16, 20]] + wrist[:, None], build).max(axis=1)
    wrist[:, 2] -= smoothed(deepest, 2)
    wrist = reachable(shoulder, wrist, arm)
    elbow = elbow_of(shoulder, wrist, frames[..., 1], arm)
    return np.stack([shoulder, elbow, wrist], axis=1), turned + wrist[:, None]


def _turns(angles: Array) -> Array:
    """Rotation matrices (T, 3, 3) of small turns (T, 3) about x, then y, then z."""
    (sx, sy, sz), (cx, cy, cz) = np.sin(angles).T, np.cos(angles).T
    rows = [
        [cy * cz, sx * sy * cz - cx * sz, cx * sy * cz + sx * sz],
        [cy * sz, sx * sy * sz + cx * cz, cx * sy * sz - sx * cz],
        [-sy, sx * cy, cx * cy],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _pose_about(points: Array, pivot: Array, turns: Array) -> Array:
    """Turn points (T, n, 3) about a pivot (3,) by matrices (T, 3, 3)."""
    return np.asarray(np.einsum("tij,tkj->tki", turns, points - pivot) + pivot)


def _head_points(expression: Expression, sway: Sway, build: Proportions) -> tuple[Array, Array]:
    """Face (T, P, 3) and the eleven body points of the head (T, 11, 3)."""
    face = face_points(expression, build.head)
    ears = np.broadcast_to(EARS * build.head, (len(face), 2, 3))
    turned = _pose_about(np.concatenate([face, ears], axis=1), NECK_PIVOT * build.head, _turns(sway.head))
    turned = turned + _HEAD_CENTRE * [1, build.head, build.head] - [0, build.neck, 0]
    face, ears = turned[:, :-2], turned[:, -2:]
    inner_left, outer_left, inner_right, outer_right = (face[:, i] for i in (46, 47, 43, 42))
    mouth_left, mouth_right = face[:, 10], face[:, 0]
    left, right = (inner_left + outer_left) / 2, (inner_right + outer_right) / 2
    eyes = [inner_left, left, outer_left, inner_right, right, outer_right]
    head = np.stack([face[:, 41], *eyes, ears[:, 0], ears[:, 1], mouth_left, mouth_right], axis=1)
    return face, head


def _legs(build: Proportions, count: int) -> Array:
    """Hips, knees, ankles, heels and feet of somebody who stands: (T, 10, 3)."""
    side = build.hips / 2
    rows = [(side, 1.0, 0.0), (side * 0.95, 1.88, -0.01), (side * 0.9, 2.72, 0.03), (side * 0.9, 2.8, 0.06)]
    rows.append((side * 1.1, 2.86, -0.12))
    points = np.array([[s * x, y * build.torso, z] for x, y, z in rows for s in (1, -1)])
    return np.broadcast_to(points, (count, 10, 3))


def _in_body(hand: Array) -> Array:
    """The body's own three hand points, little finger, index and thumb, (T, 3, 3) from a hand (T, 21, 3)."""
    return np.stack([(hand[:, 17] + hand[:, 18]) / 2, (hand[:, 5] + hand[:, 6]) / 2, hand[:, 3]], axis=1)


def assemble(strong: Array, weak: Array, expression: Expression, sway: Sway, signer: Signer) -> Points:
    """Build the signer from the states (T, 30) of both hands, the face and the sway."""
    build, count = signer.proportions, len(strong)
    right, left = (strong, weak) if signer.handedness is Handedness.RIGHT else (weak, strong)
    arms = {"right": arm_points(right, signer), "left": tuple(p * MIRROR for p in arm_points(left, signer))}
    face, head = _head_points(expression, sway, build)
    legs = _legs(build, count)
    body = np.empty((count, 33, 3))
    body[:, :11] = head
    for first, side in ((11, "left"), (12, "right")):
        joints, hand = arms[side]
        body[:, [first, first + 2, first + 4]] = joints
        body[:, [first + 6, first + 8, first + 10]] = _in_body(hand)
    upper = np.concatenate([body[:, :23], arms["left"][1], arms["right"][1], face], axis=1)
    hips = np.array([0.0, build.torso, 0.0])
    upper = _pose_about(upper, hips, _turns(sway.torso))
    body[:, :23], body[:, 23:] = upper[:, :23], legs
    return Points(body, upper[:, 23:44], upper[:, 44:65], upper[:, 65:])
