"""The face of a rendered signer: relief, beard, eyes, brows, nose and lips, laid on the points of the mesh.

The lips follow all forty of their points, so that mouthing is seen; the brows follow theirs.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from signspot.landmarks.landmarks import LIP_ARCS
from signspot_synthetic.data import read_table
from signspot_synthetic.render.appearance import Appearance, Hair
from signspot_synthetic.render.canvas import Canvas, Floats, Paint, mix, point
from signspot_synthetic.render.figure import EARS, Figure

_SIZE = 96  # of the relief's texture; eyes and mouth lie at the three points below
_ANCHORS = np.array([[0.31, 0.42], [0.69, 0.42], [0.5, 0.76]], np.float32)
# Soft lights and shadows of a face: x, y, width, height in the texture, and how much lighter.
_RELIEF = read_table("face relief")
_LOWER_RIM, _UPPER_RIM, _LOWER_INNER, _UPPER_INNER = LIP_ARCS
_OUTER = (*_LOWER_RIM, *reversed(_UPPER_RIM))
_INNER = (*_LOWER_INNER, *reversed(_UPPER_INNER))
_UPPER_LIP = (_OUTER[0], *_UPPER_RIM, _LOWER_RIM[-1], _LOWER_INNER[-1], *reversed(_UPPER_INNER), _INNER[0])
_BELOW = (181, 84, 17, 314, 405)  # the rim of the lower lip, its middle part
_LOWER_EDGE = (178, 87, 14, 317, 402)  # the edge of the lower lip above it
_UPPER_TEETH = (80, 81, 82, 13, 312, 311, 310)
_EYES = ((33, 159, 133, 145), (362, 386, 263, 374))  # corner, lid, corner, lower lid
_BROWS = ((70, 105, 107), (300, 334, 336))  # outer end, middle, inner end


class FaceTexture:
    """Relief and beard of a face, made once and warped onto every frame."""

    def __init__(self, appearance: Appearance):
        y, x = np.mgrid[0:_SIZE, 0:_SIZE].astype(np.float32) / _SIZE
        relief = np.zeros((_SIZE, _SIZE), np.float32)
        for px, py, width, height, lighter in _RELIEF:
            away = (1 + 0.9 * np.sign(px - 0.5) * -appearance.light[0]) if lighter < 0 else 1.0
            relief += lighter * away * np.exp(-(((x - px) / width) ** 2) - ((y - py) / height) ** 2)
        rng = np.random.default_rng([appearance.seed, 0xFACE])
        mottle = cv2.GaussianBlur(rng.standard_normal((_SIZE, _SIZE)).astype(np.float32), (0, 0), 2.5)
        relief += 0.012 * mottle / mottle.std()
        cheek = np.clip((y - 0.60 - 0.25 * np.exp(-(((x - 0.5) / 0.24) ** 2))) * 14, 0, 1)
        moustache = np.exp(-(((x - 0.5) / 0.16) ** 4) - ((y - 0.69) / 0.03) ** 2)
        self._texture = np.dstack(
            [relief, np.clip(cheek * np.exp(-(((x - 0.5) / 0.44) ** 6)) + moustache, 0, 1)]
        ).astype(np.float32)

    def warp(self, figure: Figure, patch: tuple[slice, slice]) -> tuple[Floats, Floats]:
        """Relief and beard (h, w) over a patch; flat where there is no face."""
        shape = (patch[0].stop - patch[0].start, patch[1].stop - patch[1].start)
        if figure.face is None:
            return np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        corner = np.array([patch[1].start, patch[0].start], np.float32)
        eyes = [figure.mesh(*eye)[:, :2].mean(0) for eye in _EYES]
        anchors = np.stack([*eyes, figure.mesh(61, 291)[:, :2].mean(0)]) - corner
        place = cv2.getAffineTransform(_ANCHORS * _SIZE, anchors.astype(np.float32))
        warped = cv2.warpAffine(self._texture, place, shape[::-1], borderMode=cv2.BORDER_CONSTANT)
        return warped[..., 0], warped[..., 1]

    @staticmethod
    def put_beard(
        canvas: Canvas, patch: tuple[slice, slice], mask: NDArray[np.bool_], beard: Floats, paint: Paint
    ) -> None:
        """Blend the beard's colour into the skin where it grows."""
        share = (np.minimum(beard, 0.85) * mask)[..., None]
        here = canvas.colour[patch][..., :3]
        here[...] = (here * (1 - share) + np.array(paint.brow, np.float32) * share).astype(np.uint8)


def draw_features(canvas: Canvas, figure: Figure, appearance: Appearance, paint: Paint) -> None:
    """Paint eyes, brows, nose and lips; hands drawn later hide them."""
    width = float(np.linalg.norm(figure.mesh(454)[0] - figure.mesh(234)[0]))
    for eye, brow in zip(_EYES, _BROWS, strict=True):
        _draw_eye(canvas, figure.mesh(*eye)[:, :2], width, paint)
        _draw_brow(canvas, figure.mesh(*brow)[:, :2], width, paint)
    _draw_nose(canvas, figure, width, paint)
    _draw_lips(canvas, figure, width, paint)
    if appearance.glasses:
        _draw_glasses(canvas, figure, width)


def _draw_eye(canvas: Canvas, corners: Floats, width: float, paint: Paint) -> None:
    """White, iris and pupil within the lids, and the dark line of the upper lashes."""
    inner, lid, outer, low = corners
    upper, lower = _arc(inner, lid, outer), _arc(outer, low, inner)
    almond = np.concatenate([upper, lower])
    canvas.fill(almond, paint.white)
    middle = (inner + outer) / 2 + (lid + low - inner - outer) * np.float32(0.25)
    radius = 0.235 * float(np.linalg.norm(outer - inner))
    open_lids = float(np.linalg.norm(lid - low))
    if open_lids > 0.15 * radius:
        canvas.fill(_within_lids(_circle(middle, radius), upper, lower[::-1]), paint.iris)
        canvas.fill(_within_lids(_circle(middle, 0.5 * radius), upper, lower[::-1]), paint.lash)
        canvas.dot(middle + point(-0.3, -0.25) * min(radius, open_lids), 0.2 * radius, paint.white)
    canvas.stroke(upper, paint.lash, 0.022 * width)
    canvas.stroke(lower, paint.crease, 0.008 * width)


def _circle(centre: Floats, radius: float) -> Floats:
    turn = np.linspace(0, 2 * np.pi, 17, dtype=np.float32)
    circle: Floats = (centre + radius * np.stack([np.cos(turn), np.sin(turn)], 1)).astype(np.float32)
    return circle


def _within_lids(points: Floats, upper: Floats, lower: Floats) -> Floats:
    """Points moved to the lids where they lie beyond them; both lids run from the same corner."""
    along = upper[-1] - upper[0]
    along = along / (np.linalg.norm(along) + 1e-6)
    down = np.array([-along[1], along[0]], np.float32) * np.sign((lower[4] - upper[4]) @ [-along[1], along[0]])
    origin = upper[0]
    x = (points - origin) @ along
    top = np.interp(x, (upper - origin) @ along, (upper - origin) @ down)
    low = np.interp(x, (lower - origin) @ along, (lower - origin) @ down)
    y = np.clip((points - origin) @ down, top, np.maximum(low, top))
    within: Floats = (origin + x[:, None] * along + y[:, None] * down).astype(np.float32)
    return within


def _draw_brow(canvas: Canvas, points: Floats, width: float, paint: Paint) -> None:
    """A tapered arch just below its three points, which lie on the brow's upper edge."""
    outer, middle, inner = points
    upper = _arc(outer, middle, inner)
    aside = inner - outer
    down = np.array([-aside[1], aside[0]], np.float32)
    down *= np.sign(down[1]) * 0.05 * width / (float(np.linalg.norm(down)) + 1e-6)
    share = np.linspace(0.35, 1.0, len(upper), dtype=np.float32)[:, None]
    canvas.fill(np.concatenate([upper, (upper + down * share)[::-1]]), paint.brow)


def _draw_nose(canvas: Canvas, figure: Figure, width: float, paint: Paint) -> None:
    """Nostrils and the wings of the nose, below its tip."""
    tip = figure.mesh(1)[0, :2]
    across = (figure.mesh(454)[0, :2] - figure.mesh(234)[0, :2]) / width
    mouth = figure.mesh(0)[0, :2]
    base = tip + (mouth - tip) * np.float32(0.38)
    for side in (-1.0, 1.0):
        canvas.dot(base + across * np.float32(side * 0.048 * width), 0.019 * width, paint.crease)
        wing = base + across * np.float32(side * 0.118 * width)
        rise = (tip - mouth) * np.float32(0.42)
        bend = wing + rise * np.float32(0.55) + across * np.float32(side * 0.022 * width)
        canvas.stroke(
            _arc(wing - across * np.float32(side * 0.03 * width), bend, wing + rise),
            paint.wing,
            0.008 * width,
        )


def _draw_lips(canvas: Canvas, figure: Figure, width: float, paint: Paint) -> None:
    """Both lips with their relief, the line between them to the corners, and, as far as they are open, mouth and teeth.

    An estimator reads the width of a mouth off its corners and how far lips are pushed out off their light and shade:
    without these it guesses both.
    """
    outer, inner = figure.mesh(*_OUTER)[:, :2], figure.mesh(*_INNER)[:, :2]
    _draw_lip_shadow(canvas, figure, width, paint)
    canvas.fill(outer, paint.lips)
    canvas.fill(figure.mesh(*_UPPER_LIP)[:, :2], paint.upper_lip)
    _draw_lip_light(canvas, figure, width, paint)
    opening = float(np.linalg.norm(figure.mesh(13)[0, :2] - figure.mesh(14)[0, :2]))
    canvas.fill(inner, paint.mouth)
    if opening > 0.03 * width:
        edge = figure.mesh(*_UPPER_TEETH)[:, :2]
        low = figure.mesh(14)[0, :2] - figure.mesh(13)[0, :2]
        canvas.fill(np.concatenate([edge, (edge + low * np.float32(0.32))[::-1]]), paint.teeth)
    line = np.concatenate([outer[10:11], inner[10:], inner[:1], outer[:1]])
    canvas.stroke(line, paint.mouth, 0.012 * width)
    for corner in (outer[0], outer[10]):
        canvas.dot(corner, 0.011 * width, paint.mouth)


def _draw_lip_shadow(canvas: Canvas, figure: Figure, width: float, paint: Paint) -> None:
    """The hollow under the lower lip, and the rim of both, a little darker than skin."""
    outer = figure.mesh(*_OUTER)[:, :2]
    middle = outer.mean(0)
    canvas.fill(middle + (outer - middle) * np.float32(1.10), paint.wing)
    below, down = figure.mesh(*_BELOW)[:, :2], figure.mesh(17)[0, :2] - figure.mesh(0)[0, :2]
    down = down / (float(np.linalg.norm(down)) + 1e-6)
    canvas.fill(np.concatenate([below, (below + down * np.float32(0.055 * width))[::-1]]), paint.hollow)


def _draw_lip_light(canvas: Canvas, figure: Figure, width: float, paint: Paint) -> None:
    """The light on the lower lip: the further both are pushed out before their corners, the brighter."""
    out = float(figure.mesh(61, 291)[:, 2].mean() - figure.mesh(0, 13, 14, 17)[:, 2].mean()) / width
    rim, edge = figure.mesh(*_BELOW)[:, :2], figure.mesh(*_LOWER_EDGE)[:, :2]
    upper, lower = edge + (rim - edge) * np.float32(0.25), edge + (rim - edge) * np.float32(0.6)
    share = float(np.clip(1.6 * (out - 0.05), 0.05, 0.35))
    canvas.fill(np.concatenate([upper, lower[::-1]]), mix(paint.lips, paint.white, share))


def _draw_glasses(canvas: Canvas, figure: Figure, width: float) -> None:
    """Thin frames around both eyes."""
    centres = [figure.mesh(*eye)[:, :2].mean(0) for eye in _EYES]
    turn = np.linspace(0, 2 * np.pi, 25, dtype=np.float32)
    ring = np.stack([np.cos(turn) * 0.17, np.sin(turn) * 0.125], 1) * width
    for centre in centres:
        canvas.stroke(ring + centre, (44, 40, 40), 0.014 * width)
    bridge = (centres[1] - centres[0]) * np.float32(
        0.17 * width / (float(np.linalg.norm(centres[1] - centres[0])) + 1e-6)
    )
    canvas.stroke(np.stack([centres[0] + bridge, centres[1] - bridge]), (44, 40, 40), 0.014 * width)


def _arc(start: Floats, through: Floats, end: Floats, count: int = 9) -> Floats:
    """A smooth curve (count, 2) from `start` through `through`, at its middle, to `end`."""
    t = np.linspace(0, 1, count, dtype=np.float32)[:, None]
    control = 2 * through - (start + end) / 2
    curve: Floats = (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end
    return curve


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
    mask = (inside > 0) & (depth < canvas.depth[patch])
    np.copyto(canvas.depth[patch], depth, where=mask)
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
    canvas.put(patch, mask & (v <= line), np.clip(bright + relief, 0, 1), paint.skin)
    canvas.put(patch, mask & (v > line), np.clip(0.92 * bright + strands, 0, 1), paint.hair)
    if appearance.beard > 0:
        texture.put_beard(canvas, patch, mask & (v <= line), beard * appearance.beard, paint)
