"""Signers as skeletons: stills and videos of landmark features, which show how somebody signs and not who."""

import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from numpy.typing import NDArray

from signspot.io.html_fragments import image_address
from signspot.landmarks.features import LEFT_HAND, RIGHT_HAND
from signspot.plots.result_page import Clip, file_address
from signspot.video.writer import VideoWriter

Frames = NDArray[np.float32]  # (T, J, C)

MOMENTS = 6  # stills of a strip
_FINGERS = ((0, 1, 2, 3, 4), (0, 5, 6, 7, 8), (5, 9, 10, 11, 12), (9, 13, 14, 15, 16), (13, 17, 18, 19, 20), (0, 17))
_LIMBS = ((1, 2), (1, 3), (3, 5), (2, 4), (4, 6))
_FACE = ((49, 51), (51, 50), (50, 52), (52, 49), (65, 67), (67, 66), (66, 68), (68, 65))  # mouth, head
BONES: tuple[tuple[int, int], ...] = (
    *_LIMBS,
    *_FACE,
    *(
        (hand.start + one, hand.start + two)
        for hand in (LEFT_HAND, RIGHT_HAND)
        for finger in _FINGERS
        for one, two in pairwise(finger)
    ),
)
_LEFT, _RIGHT, _TOP, _BOTTOM = -1.3, 1.3, -1.1, 1.5  # shoulder widths around the middle of the shoulders, at least
_MARGIN, _FARTHEST = 0.1, 3.0  # around hands, and from the shoulders at most: an estimator may see hands anywhere
_OUTLIERS = 0.01  # share of a hand's points that may be outside at either end
_SIDE = 240  # pixels of a video
_PAPER, _INK, _STRONG = (255, 255, 255), (110, 110, 110), (0, 114, 178)  # RGB; hands are drawn strong


Box = tuple[float, float, float, float]  # left, right, top and bottom, in shoulder widths; as wide as it is high


def box_of(*signs: Frames) -> Box:
    """A square that holds all hands that are seen in (T, J, C) signs, and head and shoulders."""
    left, right, top, bottom = _LEFT, _RIGHT, _TOP, _BOTTOM
    for sign in signs:
        hands = sign[:, LEFT_HAND.start : RIGHT_HAND.stop].reshape(-1, sign.shape[-1])
        visible = hands[hands[:, 3] > 0, :2]
        if len(visible):
            low, high = np.quantile(visible, (_OUTLIERS, 1 - _OUTLIERS), axis=0).clip(-_FARTHEST, _FARTHEST).tolist()
            left, right = min(left, low[0] - _MARGIN), max(right, high[0] + _MARGIN)
            top, bottom = min(top, low[1] - _MARGIN), max(bottom, high[1] + _MARGIN)
    half, across = max(right - left, bottom - top) / 2, (left + right) / 2
    return across - half, across + half, bottom - 2 * half, bottom


def draw_skeleton(axes: Axes, frame: Frames, colour: str, *, width: float = 1.4, box: Box | None = None) -> None:
    """Draw one (J, C) frame of landmark features on axes of their own or of others; unseen points are left out."""
    left, right, top, bottom = box or box_of(frame[None])
    bones = [(start, end) for start, end in BONES if frame[start, 3] > 0 and frame[end, 3] > 0]
    lines = [frame[[start, end], :2] for start, end in bones]
    thick = [width if max(bone) >= LEFT_HAND.start else 0.7 * width for bone in bones]
    axes.add_collection(LineCollection(lines, colors=colour, linewidths=thick, capstyle="round"))
    axes.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[], aspect="equal")
    for spine in axes.spines.values():
        spine.set(color="#dddddd")


def draw_strip(axes: Sequence[Any], sign: Frames, colour: str) -> None:
    """Draw a (T, J, C) sign at equal steps of time, one still on each of the axes."""
    box = box_of(sign)
    numbers = np.linspace(0, len(sign) - 1, len(axes)).round().astype(int)
    for axis, number in zip(axes, numbers, strict=True):
        draw_skeleton(axis, sign[number], colour, box=box)


def skeleton_clip(sign: Frames, caption: str) -> Clip:
    """A (T, J, C) sign as a moving skeleton that a page plays."""
    with tempfile.TemporaryDirectory() as folder:
        path, box = Path(folder) / "sign.mp4", box_of(sign)
        with VideoWriter(path, 25.0) as writer:
            for frame in sign:
                writer.add(draw_still(frame, box))
        thumbnail = image_address(draw_still(sign[len(sign) // 2], box), _SIDE)
        return Clip(file_address(path, "video/mp4"), caption, thumbnail)


def draw_still(frame: Frames, box: Box | None = None) -> NDArray[np.uint8]:
    """(H, W, 3) RGB of one (J, C) frame of landmark features."""
    image = np.full((_SIDE, _SIDE, 3), _PAPER, np.uint8)
    left, right, top, _ = box or box_of(frame[None])
    points = ((frame[:, :2] - (left, top)) * (_SIDE / (right - left))).round().astype(int)
    for start, end in BONES:
        if frame[start, 3] > 0 and frame[end, 3] > 0:
            ink = _STRONG if max(start, end) >= LEFT_HAND.start and min(start, end) < RIGHT_HAND.stop else _INK
            ends = tuple(map(int, points[start])), tuple(map(int, points[end]))
            cv2.line(image, *ends, ink, 2, cv2.LINE_AA)
    return image
