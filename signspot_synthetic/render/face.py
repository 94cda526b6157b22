"""The face of a rendered signer: relief, beard, eyes, brows, nose and lips, laid on the points of the mesh.

The lips follow all forty of their points, so that mouthing is seen; the brows follow theirs.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from signspot_synthetic.render.appearance import Appearance
from signspot_synthetic.render.canvas import Canvas, Floats, point
from signspot_synthetic.render.figure import Figure
from signspot_synthetic.render.paint import Paint, mix

_SIZE = 96  # of the relief's texture; eyes and mouth lie at the three points below
_ANCHORS = np.array([[0.31, 0.42], [0.69, 0.42], [0.5, 0.76]], np.float32)
# Soft lights and shadows of a face: x, y, width, height in the texture, and how much lighter.
_RELIEF = (
    (0.31, 0.40, 0.10, 0.050, -0.13),
    (0.69, 0.40, 0.10, 0.050, -0.13),
    (0.50, 0.50, 0.028, 0.100, 0.07),
    (0.50, 0.60, 0.045, 0.040, 0.09),
    (0.425, 0.57, 0.028, 0.060, -0.09),
    (0.575, 0.57, 0.028, 0.060, -0.09),
    (0.50, 0.672, 0.060, 0.020, -0.12),
    (0.24, 0.60, 0.090, 0.070, 0.05),
    (0.76, 0.60, 0.090, 0.070, 0.05),
    (0.50, 0.865, 0.070, 0.022, -0.09),
    (0.50, 0.94, 0.070, 0.040, 0.05),
    (0.50, 0.22, 0.200, 0.080, 0.04),
)
_OUTER = (61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291, 409, 270, 269, 267, 0, 37, 39, 40, 185)
_INNER = (78, 95, 88, 178, 87, 14, 317, 402, 318, 324, 308, 415, 310, 311, 312, 13, 82, 81, 80, 191)
_UPPER_LIP = (
    61,
    185,
    40,
    39,
    37,
    0,
    267,
    269,
    270,
    409,
    291,
    308,
    415,
    310,
    311,
    312,
    13,
    82,
    81,
    80,
    191,
    78,
)
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
        canvas: Canvas, patch: tuple[slice, slice], seen: NDArray[np.bool_], beard: Floats, paint: Paint
    ) -> None:
        """Blend the beard's colour into the skin where it grows."""
        share = (np.minimum(beard, 0.85) * seen)[..., None]
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
    one, lid, two, low = corners
    upper, lower = _arc(one, lid, two), _arc(two, low, one)
    almond = np.concatenate([upper, lower])
    canvas.fill(almond, paint.white)
    middle = (one + two) / 2 + (lid + low - one - two) * np.float32(0.25)
    radius = 0.235 * float(np.linalg.norm(two - one))
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
