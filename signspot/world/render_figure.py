"""A signer in one frame, in the renderer's working pixels, and the sizes that hold for the whole video."""

from dataclasses import dataclass

import numpy as np

from signspot.errors import LandmarksError
from signspot.landmarks.landmarks import FACE_POINTS, Landmarks
from signspot.world.render_canvas import Floats

LEFT, RIGHT = 0, 1  # the signer's own sides
SHOULDERS, ELBOWS, WRISTS, HIPS, KNEES, EARS = (11, 12), (13, 14), (15, 16), (23, 24), (25, 26), (7, 8)

_MESH = {mesh: index for index, mesh in enumerate(FACE_POINTS)}
_AHEAD = 0.10  # shoulder widths by which hands are drawn nearer, so that a touching hand stays in view


@dataclass(frozen=True, slots=True)
class Build:
    """Lengths of a signer in working pixels, the same in every frame."""

    shoulders: float  # from shoulder to shoulder
    girth: float = 1.0  # of trunk and arms, 1 is average


@dataclass(frozen=True, slots=True)
class Figure:
    """One frame: points in working pixels, z on the scale of x; a part that is not seen is None."""

    body: Floats  # (33, 3)
    hands: tuple[Floats | None, Floats | None]  # (21, 3) left, right
    face: Floats | None  # (60, 3)
    build: Build

    def sides_from_behind(self) -> tuple[int, int]:
        """Both sides, the one first whose hand is farther from the camera."""
        left, right = (
            float(self.body[wrist, 2]) if hand is None else float(hand[:, 2].mean())
            for hand, wrist in zip(self.hands, WRISTS, strict=True)
        )
        return (RIGHT, LEFT) if left < right else (LEFT, RIGHT)

    def mesh(self, *points: int) -> Floats:
        """(N, 3) points of the face by their number in the mesh; only where there is a face."""
        assert self.face is not None
        return self.face[[_MESH[point] for point in points]]


def measure_build(landmarks: Landmarks, size: tuple[int, int], girth: float) -> Build:
    """Measure a signer over a whole video (medians, so that single odd frames do not matter).

    Raises:
        LandmarksError: no frame shows both shoulders.
    """
    scale = np.array([size[0], size[1], size[0]], np.float32)
    body = landmarks.body[:, :, :3] * scale
    shoulders = _median_length(body[:, 11] - body[:, 12])
    if shoulders is None:
        raise LandmarksError("cannot draw a signer without shoulders: body points 11 and 12 are never seen")
    return Build(shoulders, girth)


def pose_figure(landmarks: Landmarks, moment: float, size: tuple[int, int], build: Build) -> Figure:
    """The signer at a frame, or between two (`moment` 2.5 is half-way from frame 2 to frame 3)."""
    scale = np.array([size[0], size[1], size[0]], np.float32)
    body = _at(landmarks.body[:, :, :3], moment) * scale
    ahead = _AHEAD * build.shoulders
    hands = tuple(
        _place(_at(hand, moment) * scale, 0, float(body[wrist, 2]) - ahead)
        for hand, wrist in zip((landmarks.left_hand, landmarks.right_hand), WRISTS, strict=True)
    )
    face = _at(landmarks.face, moment) * scale
    ears = [_MESH[234], _MESH[454]]
    return Figure(body, (hands[0], hands[1]), _place(face, ears, float(body[list(EARS), 2].mean())), build)


def _place(points: Floats, origin: int | list[int], depth: float) -> Floats | None:
    """Hand and face carry their own depth; lay their origin at the depth of the body's point."""
    if not np.isfinite(points).all():
        return None
    placed = points.copy()
    if np.isfinite(depth):
        placed[:, 2] += depth - points[origin, 2].mean()
    return placed


def _at(points: Floats, moment: float) -> Floats:
    """Points (T, N, C) at a moment; where one of the two frames is not seen, the other holds."""
    before = min(int(moment), len(points) - 1)
    share = np.float32(moment - before)
    if share <= 0 or before + 1 >= len(points):
        still: Floats = points[before]
        return still
    one: Floats = points[before]
    two: Floats = points[before + 1]
    between: Floats = one + (two - one) * share
    held: Floats = np.where(np.isfinite(between), between, np.where(np.isfinite(one), one, two))
    return held


def _median_length(vectors: Floats) -> float | None:
    """The median length of vectors (T, 3), or None if none is finite."""
    lengths = np.linalg.norm(vectors, axis=-1)
    lengths = lengths[np.isfinite(lengths)]
    return float(np.median(lengths)) if len(lengths) else None
