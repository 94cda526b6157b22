"""Landmarks become pictures: a shaded signer, frame after frame, for the pipeline from video to spotting.

The picture is drawn larger than asked for and shrunk, so that edges are smooth; then come the blur of
movement, a little softness and the noise of a sensor. Memory does not grow with the length of the video.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from signspot.errors import LandmarksError, OptionsError
from signspot.landmarks.landmarks import FACE_POINTS, Landmarks
from signspot.video.writer import VideoWriter
from signspot_synthetic.render.appearance import Appearance
from signspot_synthetic.render.canvas import Canvas, Floats, Image, Paint, mix_paint
from signspot_synthetic.render.face import FaceTexture, draw_head
from signspot_synthetic.render.figure import Build, draw_arm, draw_trunk, measure_build, pose_figure

_MOST_MOMENTS = 8  # pictures averaged for the blur of movement in one frame
_NOISE = 2.2  # of the sensor, in grey levels
_SHADOW = 0.45  # how dark the shadow of arms and hands is


def draw_backdrop(appearance: Appearance, size: tuple[int, int]) -> Image:
    """The picture (H, W, 4) RGBA behind the signer."""
    width, height = size
    rng = np.random.default_rng([appearance.seed, 0xBAC])
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    x, y = x / width, y / height
    bright = 1 + 0.10 * (0.5 - y) + 0.12 * (x - 0.5) * np.sign(appearance.light[0])
    if appearance.backdrop == "gradient":
        bright += 0.22 * np.exp(-((x - 0.5) ** 2 + (y - 0.35) ** 2) / 0.12) - 0.12
    if appearance.backdrop == "panel":  # at the sides, as in a studio
        share = float(rng.uniform(0.18, 0.3))
        bright *= np.where((x < share) | (x > 1 - share), 0.9, 1.0)
    wall = np.asarray(appearance.backdrop_colour, np.float32) * bright[..., None]
    if appearance.backdrop == "window":
        wall = _with_window(wall, x, y, float(rng.choice([0.08, 0.72])))
    mottle = cv2.resize(
        rng.standard_normal((12, 12)).astype(np.float32), (width, height), interpolation=cv2.INTER_CUBIC
    )
    wall = wall * appearance.brightness + 1.6 * mottle[..., None]
    soft = np.clip(cv2.GaussianBlur(wall, (0, 0), 0.008 * width), 0, 255).astype(np.uint8)
    return np.dstack([soft, np.full((height, width), 255, np.uint8)])


def _with_window(wall: Floats, x: Floats, y: Floats, left: float) -> Floats:
    """A bright window, out of focus, beside the signer."""
    soft = 1 / (1 + np.exp(-60 * np.minimum(np.minimum(x - left, left + 0.2 - x), np.minimum(y - 0.06, 0.5 - y))))
    pane: Floats = wall + (np.array([232, 238, 244], np.float32) - wall) * (0.75 * soft[..., None])
    return pane


@dataclass(frozen=True, slots=True)
class _Stage:
    """Parts of the picture that stay the same in a video."""

    appearance: Appearance
    paint: Paint
    texture: FaceTexture
    backdrop: Image  # in working size
    build: Build
    size: tuple[int, int]  # of the pictures
    working: tuple[int, int]  # of the drawing, larger


def render(
    landmarks: Landmarks,
    appearance: Appearance,
    size: tuple[int, int] = (256, 256),
    *,
    blur: float = 0.25,
    rng: np.random.Generator | None = None,
) -> Iterator[NDArray[np.uint8]]:
    """Draw a signer; one picture (H, W, 3) RGB for every frame of the landmarks.

    Args:
        landmarks: exact, image-normalised, with depth. Parts that are NaN are not drawn.
        appearance: what the signer looks like.
        size: width and height of the pictures, in the proportion of the landmarks' image.
        blur: for how much of the time between two frames the shutter is open, 0 to 1. More makes moving hands
            fainter, and an estimator drops them, as it does on real footage.
        rng: for the noise of the camera; from the appearance's seed if not given.

    Raises:
        OptionsError: the size or the blur is out of range.
        LandmarksError: there is no frame, no shoulder, or another set of face points than FACE_POINTS.
    """
    _check(landmarks, size, blur)
    stage = _set_stage(landmarks, appearance, size)
    grain = _Grain(size, rng or np.random.default_rng([appearance.seed, 0x6EA]))
    return _frames(landmarks, stage, blur, grain)


def render_video(
    landmarks: Landmarks,
    appearance: Appearance,
    path: str | os.PathLike[str],
    size: tuple[int, int] = (256, 256),
    fps: float = 25.0,
) -> Path:
    """Draw a signer into an H.264 video, frame by frame.

    Raises:
        OptionsError, LandmarksError: see `render`.
        OutputError: the file cannot be written.
    """
    pictures = render(landmarks, appearance, size)
    with VideoWriter(Path(path), fps, size) as writer:
        for picture in pictures:
            writer.add(picture)
    return Path(path)


def _check(landmarks: Landmarks, size: tuple[int, int], blur: float) -> None:
    if min(size) < 64 or max(size) > 4096:
        raise OptionsError(f"a rendered video is 64 to 4096 pixels wide and high; got {size[0]} x {size[1]}")
    if landmarks.size and abs(landmarks.aspect * size[1] / size[0] - 1) > 0.03:
        size_of_landmarks = f"{landmarks.size[0]} x {landmarks.size[1]}"
        raise OptionsError(
            f"landmarks of a {size_of_landmarks} image cannot fill {size[0]} x {size[1]}: keep width to height"
        )
    if not 0 <= blur <= 1:
        raise OptionsError(f"blur is the share of time that the shutter is open, 0 to 1; got {blur}")
    if len(landmarks) == 0:
        raise LandmarksError("cannot render landmarks without a frame")
    if landmarks.face_points != FACE_POINTS:
        raise LandmarksError(f"rendering needs the {len(FACE_POINTS)} face points of FACE_POINTS, in their order")


def _set_stage(landmarks: Landmarks, appearance: Appearance, size: tuple[int, int]) -> _Stage:
    larger = 2.0 if max(size) <= 320 else 1.5 if max(size) <= 640 else 1.0
    working = (round(size[0] * larger), round(size[1] * larger))
    return _Stage(
        appearance=appearance,
        paint=mix_paint(appearance),
        texture=FaceTexture(appearance),
        backdrop=draw_backdrop(appearance, working),
        build=measure_build(landmarks, working, appearance.build),
        size=size,
        working=working,
    )


def _frames(landmarks: Landmarks, stage: _Stage, blur: float, grain: "_Grain") -> Iterator[NDArray[np.uint8]]:
    for index in range(len(landmarks)):
        moments = _open_moments(landmarks, index, stage.size, blur)
        base = _draw_still(landmarks, moments[len(moments) // 2], stage)
        shots = [_draw_moving(landmarks, moment, stage, base) for moment in moments]
        picture = shots[0] if len(shots) == 1 else np.asarray(np.mean(shots, axis=0), np.float32)
        yield grain.add(picture)


def _open_moments(landmarks: Landmarks, index: int, size: tuple[int, int], blur: float) -> list[float]:
    """The moments while the shutter is open: more of them the farther the hands move meanwhile."""
    after = min(index + 1, len(landmarks) - 1)
    if blur == 0 or after == index:
        return [float(index)]
    hands = [landmarks.left_hand, landmarks.right_hand]
    moved = np.concatenate([hand[after, :, :2] - hand[index, :, :2] for hand in hands]) * np.array(size, np.float32)
    farthest = np.nan_to_num(np.abs(moved)).max()
    count = int(np.clip(np.ceil(farthest * blur / 1.8), 1, _MOST_MOMENTS))
    return [index + (moment + 0.5) / count * blur for moment in range(count)]


def _draw_still(landmarks: Landmarks, moment: float, stage: _Stage) -> Canvas:
    """Backdrop, trunk and head: what hardly moves while the shutter is open."""
    canvas = Canvas(stage.backdrop.copy(), stage.paint.light)
    figure = pose_figure(landmarks, moment, stage.working, stage.build)
    draw_trunk(canvas, figure, stage.paint)
    draw_head(canvas, figure, stage.appearance, stage.paint, stage.texture)
    return canvas


def _draw_moving(landmarks: Landmarks, moment: float, stage: _Stage, base: Canvas) -> Image:
    """Arms and hands over the rest, with their shadow, in the size asked for."""
    canvas = base.copy()
    figure = pose_figure(landmarks, moment, stage.working, stage.build)
    for side in figure.sides_from_behind():
        before = canvas.depth.copy()
        draw_arm(canvas, figure, side, stage.appearance, stage.paint)
        _cast_shadow(canvas, before, stage)
    return np.asarray(cv2.resize(canvas.colour, stage.size, interpolation=cv2.INTER_AREA)[..., :3], np.uint8)


def _cast_shadow(canvas: Canvas, before: Floats, stage: _Stage) -> None:
    """Darken what lies around an arm just drawn, so that a hand stands out from face, chest and other hand."""
    over = canvas.depth != before
    small = cv2.resize(over.astype(np.float32), None, fx=0.25, fy=0.25, interpolation=cv2.INTER_AREA)
    unit = stage.build.shoulders / 4
    x, y, _ = stage.paint.light.direction
    shift = np.array([[1, 0, -0.08 * unit * x], [0, 1, -0.08 * unit * y]], np.float32)
    soft = cv2.warpAffine(cv2.GaussianBlur(small, (0, 0), 0.05 * unit), shift, small.shape[::-1])
    soft = cv2.resize(soft, canvas.depth.shape[::-1], interpolation=cv2.INTER_LINEAR)
    rows, columns = np.flatnonzero(soft.any(1)), np.flatnonzero(soft.any(0))
    if len(rows):
        part = slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)
        behind = np.isfinite(canvas.depth[part]) & ~over[part]
        dim = 256 - np.round(256 * _SHADOW * soft[part] * behind).astype(np.uint16)
        canvas.colour[part] = (canvas.colour[part] * dim[..., None]) >> 8


class _Grain:
    """The softness and the noise of a camera; the noise is drawn once and laid at a new place each frame."""

    def __init__(self, size: tuple[int, int], rng: np.random.Generator):
        self._rng = rng
        self._size = size
        shape = (size[1] + 64, size[0] + 64, 3)
        colour = rng.standard_normal(shape).astype(np.float32)
        self._noise: Floats = _NOISE * (0.8 * colour.mean(2, keepdims=True) * 1.7 + 0.4 * colour)

    def add(self, picture: NDArray[np.uint8] | Floats) -> NDArray[np.uint8]:
        soft = cv2.GaussianBlur(picture.astype(np.float32), (3, 3), 0.45)
        top, left = self._rng.integers(0, 64, 2)
        noise = self._noise[top : top + self._size[1], left : left + self._size[0]]
        return np.asarray(np.clip(soft + noise + 0.5, 0, 255), np.uint8)
