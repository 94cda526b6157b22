"""Geometric features of a signer's pose, frame by frame: shape, place and orientation, for the landmark trunk.

Everything here is computed from (..., 69, 4) landmark features (x, y, z in shoulder widths from the middle of the
shoulders, and seen). No frame sees another, but for `heading`, which is shorter than its input by the two frames that
it needs: the trunk stays free of temporal padding.
"""

import torch
from torch import Tensor

FEATURES = 2  # the version of the landmark features that weights are for: `landmarks.features.VERSION`
JOINTS = 69
CHANNELS = 4

NOSE, LEFT_SHOULDER, RIGHT_SHOULDER, LEFT_ELBOW, RIGHT_ELBOW, LEFT_WRIST, RIGHT_WRIST = range(7)
LEFT_HAND = slice(7, 28)
RIGHT_HAND = slice(28, 49)
LIPS = slice(49, 61)
FACE = slice(49, 69)

# Hand joints: 0 is the wrist; each finger has four joints from the palm to the tip.
_FINGERS = torch.arange(1, 21).reshape(5, 4)
_BONE_TIPS = _FINGERS.flatten()
_BONE_ROOTS = torch.cat([torch.zeros(5, 1, dtype=torch.long), _FINGERS[:, :-1]], dim=1).flatten()
_TIPS = _FINGERS[:, -1]
_KNUCKLES = torch.tensor([1, 5, 9, 13, 17])
_INDEX_KNUCKLE, _MIDDLE_KNUCKLE, _LITTLE_KNUCKLE, _INDEX_TIP = 5, 9, 17, 8
_TIP_PAIRS = torch.combinations(torch.arange(5), 2).T
_MOUTH = 3  # among the anchors of a hand

_ARMS = (
    (LEFT_SHOULDER, LEFT_ELBOW),
    (LEFT_ELBOW, LEFT_WRIST),
    (RIGHT_SHOULDER, RIGHT_ELBOW),
    (RIGHT_ELBOW, RIGHT_WRIST),
)

_ARM_JOINTS = ((LEFT_WRIST, LEFT_ELBOW, LEFT_HAND), (RIGHT_WRIST, RIGHT_ELBOW, RIGHT_HAND))
_TOUCHING = torch.tensor([4, 8, 12, 20, _MIDDLE_KNUCKLE])  # of a hand: what comes near the places of a body
_FACE_PLACES = range(FACE.start + 14, FACE.stop)  # outer corners of the eyes, cheeks, chin, forehead
_PLACES = [NOSE, *_FACE_PLACES, LEFT_SHOULDER, RIGHT_SHOULDER]  # and the mouth, before them
_RAISED, _FADE = 1.2, 0.2  # shoulder widths below the shoulders: a hand lower than this rests, whatever it does
_ELBOW_WEIGHT, _FINGER_WEIGHT, _DIRECTION_WEIGHT, _NEAR_WEIGHT = 0.3, 0.2, 0.36, 0.5  # against the wrist's
_HEADING_WEIGHT, _SLOW = 0.4, 0.05  # shoulder widths in two frames: a wrist that moves by less hardly heads anywhere
_NEAR = 0.4  # shoulder widths: a finger is near a place within about this distance

_SMALLEST = 0.05  # shoulder widths: nothing is scaled by less, so that noise never explodes
_FARTHEST = 4.0  # a scaled coordinate beyond this says nothing more

HAND_SHAPE = 63 + 60 + 15 + 10 + 5  # points, bones, bends, tip gaps, tips to the palm's middle
HAND_PLACE = 7 * 3 + 3 * 3 + 1 + 1  # places, palm axes and normal, size, seen
HAND = HAND_SHAPE + HAND_PLACE
BODY = 7 * 4 + 4 * 3
FACE_FEATURES = 20 * 4 + 3 + 4
RAISED_HANDS = 2 * (1 + 2 + 2 + 20 * 3 + 20 * 3 + 3 * 3 + len(_TOUCHING) * (1 + len(_PLACES)))
HEADING = 2 * (2 + 1)


def _unit(vector: Tensor) -> Tensor:
    return vector / (vector.square().sum(dim=-1, keepdim=True) + 1e-6).sqrt()


def _length(vector: Tensor) -> Tensor:
    return (vector.square().sum(dim=-1) + 1e-8).sqrt()


def mirror_x(points: Tensor) -> Tensor:
    """Negate x of (..., 3 or 4) points, so that a left hand looks like a right one."""
    sign = points.new_ones(points.shape[-1])
    sign[0] = -1.0
    return points * sign


def mean_point(points: Tensor) -> Tensor:
    """(..., P, 4) points to (..., 4): the mean of those seen, and whether any is."""
    seen = points[..., 3:]
    count = seen.sum(dim=-2)
    centre = (points[..., :3] * seen).sum(dim=-2) / count.clamp(min=1.0)
    return torch.cat([centre, (count > 0).to(points.dtype)], dim=-1)


def offset(point: Tensor, origin: Tensor) -> Tensor:
    """(..., 4) points to (..., 3): from `origin` to `point`, zero unless both are seen."""
    return (point[..., :3] - origin[..., :3]) * (point[..., 3:] * origin[..., 3:])


def _bones(points: Tensor) -> Tensor:
    """(..., 21, 3) points of a hand to (..., 20, 3): the direction of every bone."""
    return _unit(points[..., _BONE_TIPS, :] - points[..., _BONE_ROOTS, :])


def _palm(hand: Tensor) -> Tensor:
    """(..., 21, 4) points of a hand to (..., 9): the palm's two axes and its normal."""
    along = _unit(offset(hand[..., _MIDDLE_KNUCKLE, :], hand[..., 0, :]))
    across = _unit(offset(hand[..., _INDEX_KNUCKLE, :], hand[..., _LITTLE_KNUCKLE, :]))
    return torch.cat([along, across, torch.linalg.cross(along, across, dim=-1)], dim=-1)


def hand_size(hand: Tensor) -> Tensor:
    """(..., 21, 4) to (..., 1): the mean distance of the five knuckles from the wrist."""
    rays = hand[..., _KNUCKLES, :3] - hand[..., :1, :3]
    return _length(rays).mean(dim=-1, keepdim=True)


def hand_shape(hand: Tensor) -> Tensor:
    """Features of the fingers, whatever the hand's place and size.

    Args:
        hand: (..., 21, 4) points of one hand.

    Returns:
        (..., HAND_SHAPE): points relative to the wrist over the hand's size, bone directions, the bend at
        every joint (the cosine between two bones), gaps between fingertips, fingertips to the palm's middle.
    """
    scaled = (hand[..., :3] - hand[..., :1, :3]) / hand_size(hand).clamp(min=_SMALLEST)[..., None]
    scaled = scaled.clamp(-_FARTHEST, _FARTHEST)
    bones = _bones(scaled)
    chains = bones.reshape(*bones.shape[:-2], 5, 4, 3)
    bends = (chains[..., 1:, :] * chains[..., :-1, :]).sum(dim=-1)
    tips = scaled[..., _TIPS, :]
    gaps = _length(tips[..., _TIP_PAIRS[0], :] - tips[..., _TIP_PAIRS[1], :])
    palm = scaled[..., _KNUCKLES, :].mean(dim=-2, keepdim=True)
    parts = [scaled.flatten(-2), bones.flatten(-2), bends.flatten(-2), gaps, _length(tips - palm)]
    return torch.cat(parts, dim=-1)


def hand_place(hand: Tensor, anchors: Tensor) -> Tensor:
    """Place and orientation of a hand.

    Args:
        hand: (..., 21, 4) points of one hand.
        anchors: (..., 5, 4) nose, own shoulder, other shoulder, mouth, the other hand's wrist.

    Returns:
        (..., HAND_PLACE): the wrist and its offset from every anchor, the index fingertip from the mouth, the
        palm's two axes and normal, size, seen.
    """
    wrist = hand[..., 0, :]
    offsets = offset(wrist[..., None, :], anchors).flatten(-2)
    pointing = offset(hand[..., _INDEX_TIP, :], anchors[..., _MOUTH, :])
    parts = [wrist[..., :3], offsets, pointing, _palm(hand), hand_size(hand), wrist[..., 3:]]
    return torch.cat(parts, dim=-1)


def hands(x: Tensor) -> Tensor:
    """Describe both hands in the same way, the left one mirrored.

    Args:
        x: (..., 69, 4) landmark features.

    Returns:
        (..., 2, HAND): the left hand as if it were a right one, then the right one; zeros where not seen.
    """
    nose, mouth = x[..., NOSE, :], mean_point(x[..., LIPS, :])
    left, right = x[..., LEFT_HAND, :], x[..., RIGHT_HAND, :]
    shoulders = x[..., LEFT_SHOULDER, :], x[..., RIGHT_SHOULDER, :]
    left_anchors = torch.stack([nose, shoulders[0], shoulders[1], mouth, right[..., 0, :]], dim=-2)
    right_anchors = torch.stack([nose, shoulders[1], shoulders[0], mouth, left[..., 0, :]], dim=-2)
    hand = torch.stack([mirror_x(left), right], dim=-3)
    anchors = torch.stack([mirror_x(left_anchors), right_anchors], dim=-3)
    described = torch.cat([hand_shape(hand), hand_place(hand, anchors)], dim=-1)
    return described * hand[..., 0, 3:]


def body(x: Tensor) -> Tensor:
    """(..., 69, 4) to (..., BODY): the seven body points, upper arms and forearms as directions."""
    directions = [_unit(offset(x[..., end, :], x[..., start, :])) for start, end in _ARMS]
    return torch.cat([x[..., : LEFT_HAND.start, :].flatten(-2), *directions], dim=-1)


def face(x: Tensor) -> Tensor:
    """(..., 69, 4) to (..., FACE_FEATURES): points from the mouth over the face's size, the mouth."""
    points, mouth = x[..., FACE, :], mean_point(x[..., LIPS, :])
    centre = mean_point(points)
    size = _length(offset(points, centre[..., None, :])).mean(dim=-1, keepdim=True).clamp(min=_SMALLEST)
    scaled = (offset(points, mouth[..., None, :]) / size[..., None]).clamp(-_FARTHEST, _FARTHEST)
    lips = scaled[..., : LIPS.stop - LIPS.start, :]
    spread = lips.amax(dim=-2)[..., :2] - lips.amin(dim=-2)[..., :2]
    mouth_offset = offset(mouth, x[..., NOSE, :])
    parts = [scaled.flatten(-2), points[..., 3], mouth_offset, spread, size * mouth[..., 3:], mouth[..., 3:]]
    return torch.cat(parts, dim=-1)


def _use(x: Tensor, wrist: int) -> Tensor:
    """(..., 69, 4) to (..., 1): 1 where a hand is raised, 0 where it rests or is not seen."""
    return ((_RAISED - x[..., wrist, 1:2]) / _FADE).clamp(0.0, 1.0) * x[..., wrist, 3:]


def _nearness(hand: Tensor, places: Tensor) -> Tensor:
    """(..., 21, 4) points of a hand and (..., P, 4) places to (..., 5 P): from 0, far or unseen, to 1, at the place.

    Signs at the mouth and at the eye differ by little in space and by all in what is touched.
    """
    fingers = hand[..., _TOUCHING, :]
    apart = (fingers[..., :, None, :2] - places[..., None, :, :2]).square().sum(dim=-1)
    near = torch.exp(-apart / (2 * _NEAR**2)) * fingers[..., :, None, 3] * places[..., None, :, 3]
    return near.flatten(-2)


def raised_hands(x: Tensor) -> Tensor:
    """Hand-crafted features of raised hands, which the linear path sees; a resting hand gives zeros.

    Args:
        x: (..., 69, 4) landmark features.

    Returns:
        (..., RAISED_HANDS): for each hand whether it is raised, and if so where wrist and elbow are, its joints from
        the wrist in hand sizes, the directions of its bones and of its palm, and what of the face its fingers are near.
    """
    parts: list[Tensor] = []
    places = torch.cat([mean_point(x[..., LIPS, :])[..., None, :], x[..., _PLACES, :]], dim=-2)
    for wrist, elbow, joints in _ARM_JOINTS:
        hand = x[..., joints, :]
        use = _use(x, wrist)
        rays = hand[..., 1:, :3] - hand[..., :1, :3]
        size = _length(rays).mean(dim=-1, keepdim=True).clamp(min=_SMALLEST)
        fingers = (rays / size[..., None]).clamp(-_FARTHEST, _FARTHEST).flatten(-2) * hand[..., 0, 3:]
        turned = torch.cat([_bones(hand[..., :3]).flatten(-2), _palm(hand)], dim=-1) * hand[..., 0, 3:]
        near = _nearness(hand, places)
        described = [x[..., wrist, :2], _ELBOW_WEIGHT * x[..., elbow, :2], _FINGER_WEIGHT * fingers]
        described += [_DIRECTION_WEIGHT * turned, _NEAR_WEIGHT * near]
        parts += [use, *(use * part for part in described)]
    return torch.cat(parts, dim=-1)


def heading(x: Tensor) -> Tensor:
    """Direction of raised hands' movement, whatever its size.

    Args:
        x: (..., T, 69, 4) landmark features.

    Returns:
        (..., T - 2, HEADING): for each hand the direction from the frame before to the frame after, which fades as the
        hand slows down, and how fast it is, from 0 to 1.
    """
    parts: list[Tensor] = []
    for wrist, _, _ in _ARM_JOINTS:
        step = offset(x[..., 2:, wrist, :], x[..., :-2, wrist, :])[..., :2]
        speed = _length(step)[..., None]
        parts.append(_use(x[..., 1:-1, :, :], wrist) * torch.cat([step, speed], dim=-1) / (speed + _SLOW))
    return _HEADING_WEIGHT * torch.cat(parts, dim=-1)
