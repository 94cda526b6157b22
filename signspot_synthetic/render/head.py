"""Head and hair of a rendered signer; the features of the face are painted on by face.py."""

from dataclasses import dataclass

import numpy as np

from signspot_synthetic.render.appearance import Appearance, Hair
from signspot_synthetic.render.canvas import Canvas, Floats
from signspot_synthetic.render.face import FaceTexture, draw_features
from signspot_synthetic.render.figure import EARS, Figure
from signspot_synthetic.render.paint import Paint

# Hairline of each style: its height, how far it falls at the sides, and the volume around the skull.
_HAIRLINE: dict[Hair, tuple[float, float, float]] = {
    "short": (0.50, 0.62, 1.07),
    "cropped": (0.52, 0.55, 1.03),
    "long": (0.54, 0.95, 1.12),
    "bob": (0.48, 0.95, 1.14),
    "bun": (0.54, 0.65, 1.04),
    "curly": (0.50, 0.62, 1.08),
    "bald": (2.0, 0.0, 1.0),
    "headscarf": (0.56, 1.15, 1.10),
}


@dataclass(frozen=True, slots=True)
class HeadShape:
    """The egg that a head is: its middle and its axes, in working pixels."""

    centre: Floats  # (3,)
    across: Floats  # (2,) unit vector to the signer's left
    up: Floats  # (2,) unit vector to the crown
    width: float  # half of it
    height: float  # half of it, from chin to crown
    turn: float  # how far the nose lies off the middle, in half widths

    def at(self, u: float, v: float, back: float = 0.0) -> Floats:
        """A point by half widths to the left, half heights up and half widths backwards."""
        flat = self.centre[:2] + self.across * (u * self.width) + self.up * (v * self.height)
        return np.array([flat[0], flat[1], self.centre[2] + back * self.width], np.float32)


def find_head(figure: Figure) -> HeadShape | None:
    """Lay the head around the points of the face, or around the ears if the face is not seen."""
    if figure.face is None:
        return _head_by_ears(figure)
    right, left, top, chin, nose = figure.mesh(234, 454, 10, 152, 4)
    middle = (left + right) / 2
    wide = float(np.linalg.norm(left - right))
    across = _unit((left - right)[:2])
    up = np.array([across[1], -across[0]], np.float32)
    tall = max(float((top - chin)[:2] @ up), 0.82 * float(np.linalg.norm(top - chin)))
    height = 0.605 * tall
    rise = float((chin - middle)[:2] @ up) + height
    centre = np.array([*(middle[:2] + up * rise), middle[2]], np.float32)
    turn = float((nose - middle)[:2] @ across) / (0.5 * wide)
    return HeadShape(centre, across, up, 0.525 * wide, height, float(np.clip(turn, -0.9, 0.9)))


def _head_by_ears(figure: Figure) -> HeadShape | None:
    left, right = figure.body[list(EARS)]
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return None
    across = _unit((left - right)[:2])
    up = np.array([across[1], -across[0]], np.float32)
    width = 0.24 * figure.build.shoulders
    return HeadShape(((left + right) / 2).astype(np.float32), across, up, width, 1.45 * width, 0.0)


def _unit(vector: Floats) -> Floats:
    """The vector's direction; to the right if it has none."""
    length = float(np.linalg.norm(vector))
    return vector / length if length > 1e-6 else np.array([1, 0], np.float32)


def draw_head(canvas: Canvas, figure: Figure, appearance: Appearance, paint: Paint, texture: FaceTexture) -> None:
    """Draw hair behind the head, ears, the head itself with its hairline, and the face."""
    head = find_head(figure)
    if head is None:
        return
    _draw_hair_behind(canvas, head, appearance.hair, paint)
    if appearance.hair not in ("headscarf", "bob", "long"):
        for side in (-1.0, 1.0):
            top, low = head.at(side * 0.98, 0.02, 0.25), head.at(side * 0.95, -0.22, 0.25)
            canvas.capsule(top, low, (0.14 * head.width, 0.1 * head.width), paint.skin)
    _draw_skull(canvas, head, figure, appearance, paint, texture)
    if figure.face is not None:
        draw_features(canvas, figure, appearance, paint)


def _draw_hair_behind(canvas: Canvas, head: HeadShape, hair: Hair, paint: Paint) -> None:
    """Draw the hair that is seen beside and above the skull."""
    if hair == "bald":
        return
    volume = _HAIRLINE[hair][2] * head.width
    canvas.capsule(head.at(0, 0.3, 0.6), head.at(0, 0.08, 0.6), (volume, volume), paint.hair)
    if hair == "bun":
        canvas.capsule(head.at(0, 1.08, 0.5), head.at(0, 1.12, 0.5), (0.42 * head.width,) * 2, paint.hair)
    if hair == "curly":
        for angle in np.linspace(-0.75 * np.pi, 0.75 * np.pi, 15):
            curl = head.at(1.02 * np.sin(angle), 0.28 + 0.8 * np.cos(angle) * 0.95, 0.45)
            canvas.capsule(curl, curl + 0.5, (0.3 * head.width,) * 2, paint.hair)
    if hair in ("long", "bob"):
        low = -1.75 if hair == "long" else -0.85
        for side in (-1.0, 1.0):
            canvas.capsule(
                head.at(side * 0.78, 0.1, 0.5),
                head.at(side * 0.84, low, 0.8),
                (0.4 * head.width, 0.32 * head.width),
                paint.hair,
            )
    if hair == "headscarf":
        canvas.capsule(
            head.at(0, -0.75, 0.9), head.at(0, -1.55, 0.6), (0.98 * head.width, 1.15 * head.width), paint.hair
        )


def _draw_skull(
    canvas: Canvas, head: HeadShape, figure: Figure, appearance: Appearance, paint: Paint, texture: FaceTexture
) -> None:
    """The egg, in skin below the hairline and in hair above it."""
    reach = np.float32(max(head.width, head.height) * 1.1)
    patch = canvas.patch(head.centre[:2] - reach, head.centre[:2] + reach)
    if patch is None:
        return
    x, y = canvas.grid(patch)
    x, y = x - head.centre[0], y - head.centre[1]
    u = (x * head.across[0] + y * head.across[1]) / head.width
    v = (x * head.up[0] + y * head.up[1]) / head.height
    jaw = np.clip((-0.05 - v) / 0.95, 0, 1)
    narrow = u / (1 - 0.27 * jaw * jaw)
    inside = 1 - np.abs(narrow) ** 2.2 - np.abs(v) ** 2.2
    front = np.sqrt(np.maximum(inside, 0))
    depth = head.centre[2] - 0.85 * head.width * front
    seen = (inside > 0) & (depth < canvas.depth[patch])
    np.copyto(canvas.depth[patch], depth, where=seen)
    tilt_x = head.across[0] * narrow * 0.8 + head.up[0] * v * 0.6
    tilt_y = head.across[1] * narrow * 0.8 + head.up[1] * v * 0.6
    bright = canvas.shade(tilt_x, tilt_y, front)
    aside = np.abs(u - 0.45 * head.turn)
    height, fall, _ = _HAIRLINE[appearance.hair]
    line = height + 0.09 * np.exp(-(((aside - 0.55) / 0.2) ** 2)) - 1.3 * fall * aside**6
    if appearance.hair == "headscarf":
        line = np.where(aside > 0.8, -1.5, height - 0.45 * aside**3)
    strands = 0.035 * np.sin(24 * np.arctan2(u - 0.3 * head.turn, v + 0.6)) * (appearance.hair != "headscarf")
    relief, beard = texture.warp(figure, patch)
    canvas.put(patch, seen & (v <= line), np.clip(bright + relief, 0, 1), paint.skin)
    canvas.put(patch, seen & (v > line), np.clip(0.92 * bright + strands, 0, 1), paint.hair)
    if appearance.beard > 0:
        texture.put_beard(canvas, patch, seen & (v <= line), beard * appearance.beard, paint)
