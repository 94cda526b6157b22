"""How `.pose` files name and order MediaPipe Holistic's points, for writing and for reading."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from signspot.landmarks.landmarks import LIP_ARCS

BODY = "POSE_LANDMARKS"
FACE = "FACE_LANDMARKS"
LEFT_HAND = "LEFT_HAND_LANDMARKS"
RIGHT_HAND = "RIGHT_HAND_LANDMARKS"

_SIDES = ("LEFT", "RIGHT")
_EYES = tuple(f"{side}_EYE{part}" for side in _SIDES for part in ("_INNER", "", "_OUTER"))
_PAIRED = (
    "SHOULDER",
    "ELBOW",
    "WRIST",
    "PINKY",
    "INDEX",
    "THUMB",
    "HIP",
    "KNEE",
    "ANKLE",
    "HEEL",
    "FOOT_INDEX",
)
BODY_NAMES: tuple[str, ...] = (
    "NOSE",
    *_EYES,
    *("LEFT_EAR", "RIGHT_EAR", "MOUTH_LEFT", "MOUTH_RIGHT"),
    *(f"{side}_{part}" for part in _PAIRED for side in _SIDES),
)
_FINGER_JOINTS = ("MCP", "PIP", "DIP", "TIP")
HAND_NAMES: tuple[str, ...] = (
    "WRIST",
    *(f"THUMB_{joint}" for joint in ("CMC", "MCP", "IP", "TIP")),
    *(f"{finger}_FINGER_{joint}" for finger in ("INDEX", "MIDDLE", "RING") for joint in _FINGER_JOINTS),
    *(f"PINKY_{joint}" for joint in _FINGER_JOINTS),
)

_BODY_CHAINS = (
    *((8, 6, 5, 4, 0, 1, 2, 3, 7), (10, 9)),  # eyes and mouth
    *((12, 11, 13, 15, 17, 19, 15, 21), (12, 14, 16, 18, 20, 16, 22)),  # arms
    *((11, 23, 24, 12), (23, 25, 27, 29, 31, 27), (24, 26, 28, 30, 32, 28)),  # trunk and legs
)
_HAND_CHAINS = (
    (0, 1, 2, 3, 4),
    (0, 5, 6, 7, 8),
    (5, 9, 10, 11, 12),
    (9, 13, 14, 15, 16),
    (13, 17, 18, 19, 20),
    (0, 17),
)
_LIP_CHAINS = (
    LIP_ARCS[0],
    (LIP_ARCS[0][0], *LIP_ARCS[1], LIP_ARCS[0][-1]),
    LIP_ARCS[2],
    (LIP_ARCS[2][0], *LIP_ARCS[3], LIP_ARCS[2][-1]),
)


def holistic_header(size: tuple[int, int], face_points: Sequence[int]) -> Any:
    """Make the header of a file with our points: body, face, left hand, right hand."""
    from pose_format.pose_header import VERSION, PoseHeader, PoseHeaderDimensions

    components = [
        _component(BODY, BODY_NAMES, _limbs(_BODY_CHAINS, range(33)), (255, 0, 0)),
        _component(FACE, [str(point) for point in face_points], _limbs(_LIP_CHAINS, face_points), (128, 0, 0)),
        _component(LEFT_HAND, HAND_NAMES, _limbs(_HAND_CHAINS, range(21)), (0, 128, 0)),
        _component(RIGHT_HAND, HAND_NAMES, _limbs(_HAND_CHAINS, range(21)), (0, 0, 192)),
    ]
    return PoseHeader(VERSION, PoseHeaderDimensions(*size, 0), components)


def _component(name: str, points: Sequence[str], limbs: list[tuple[int, int]], colour: tuple[int, int, int]) -> Any:
    from pose_format.pose_header import PoseHeaderComponent

    return PoseHeaderComponent(name, list(points), limbs, [colour], "XYZC")


def _limbs(chains: Sequence[Sequence[int]], points: Sequence[int]) -> list[tuple[int, int]]:
    """The lines to draw between points, as indices into `points`, where both ends are there."""
    place = {point: index for index, point in enumerate(points)}
    lines = [line for chain in chains for line in pairwise(chain)]
    return [(place[one], place[other]) for one, other in lines if one in place and other in place]
