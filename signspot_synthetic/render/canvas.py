"""The canvas of the renderer: a colour and a depth buffer, and the rounded solids that bodies are made of.

Everything is in working pixels: x right, y down, z away from the camera (nearer is smaller), as in landmarks.
A solid is shaded pixel by pixel from its surface normal and hides whatever lies deeper.
"""

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from signspot_synthetic.render.appearance import Appearance, Colour

Image = NDArray[np.uint8]
Floats = NDArray[np.float32]
ColourRamp = NDArray[np.uint32]  # (256,) the colour at each brightness, dark to light: RGBA packed in a word

_SHIFT = 4  # sub-pixel bits of OpenCV's drawing functions


@dataclass(frozen=True, slots=True)
class Light:
    """Light from one lamp, from the camera's side and from all around; the three shares sum to one."""

    direction: tuple[float, float, float]  # unit vector towards the lamp
    around: float = 0.22
    lamp: float = 0.48
    camera: float = 0.30


class Canvas:
    """A picture in the making."""

    def __init__(self, colour: Image, light: Light):
        self.colour = colour  # (H, W, 4) RGBA
        self.depth: Floats = np.full(colour.shape[:2], np.inf, np.float32)  # (H, W)
        self.light = light
        self._columns: Floats = np.arange(colour.shape[1], dtype=np.float32)[None, :]
        self._rows: Floats = np.arange(colour.shape[0], dtype=np.float32)[:, None]

    @property
    def _words(self) -> NDArray[np.uint32]:
        """The colours (H, W) as one word a pixel, which copies several times faster than four bytes."""
        return self.colour.view(np.uint32)[..., 0]

    def copy(self) -> "Canvas":
        """The same picture, to be drawn on without changing this one."""
        twin = object.__new__(Canvas)
        twin.colour, twin.depth = self.colour.copy(), self.depth.copy()
        twin.light, twin._columns, twin._rows = self.light, self._columns, self._rows
        return twin

    def patch(self, low: Floats, high: Floats) -> tuple[slice, slice] | None:
        """Rows and columns from corner `low` to corner `high` (x, y), or None if they are off the canvas."""
        height, width = self.depth.shape
        x0, y0 = max(0, int(np.floor(low[0]))), max(0, int(np.floor(low[1])))
        x1, y1 = min(width, int(np.ceil(high[0])) + 1), min(height, int(np.ceil(high[1])) + 1)
        return (slice(y0, y1), slice(x0, x1)) if x0 < x1 and y0 < y1 else None

    def grid(self, patch: tuple[slice, slice]) -> tuple[Floats, Floats]:
        """The x (1, w) and y (h, 1) of the pixels of a patch."""
        return self._columns[:, patch[1]], self._rows[patch[0]]

    def shade(self, normal_x: Floats, normal_y: Floats, normal_z: Floats) -> Floats:
        """Brightness in [0, 1] of a surface whose normal points to the camera by `normal_z` >= 0."""
        x, y, z = self.light.direction
        lamp = np.maximum(normal_x * x + normal_y * y - normal_z * z, 0)
        bright: Floats = self.light.around + self.light.lamp * lamp + self.light.camera * normal_z
        return bright

    def put(self, patch: tuple[slice, slice], mask: NDArray[np.bool_], shade: Floats, material: ColourRamp) -> None:
        """Colour the `mask` pixels of a patch by their brightness."""
        levels = np.minimum(shade * 255, 255).astype(np.uint8)
        np.copyto(self._words[patch], material.take(levels), where=mask)

    def capsule(self, start: Floats, end: Floats, radii: tuple[float, float], material: ColourRamp) -> None:
        """A rounded, tapered rod from `start` to `end` (x, y, z) with a radius at each end."""
        reach = np.array(radii, np.float32)
        ends = np.stack([start, end])[:, :2]
        patch = self.patch((ends - reach[:, None]).min(0), (ends + reach[:, None]).max(0))
        if patch is None:
            return
        axis = end - start
        flat = float(axis[0] ** 2 + axis[1] ** 2) + 1e-6
        x, y = self.grid(patch)
        x, y = x - start[0], y - start[1]
        along = np.clip((x * axis[0] + y * axis[1]) / flat, 0, 1)
        radius = radii[0] + (radii[1] - radii[0]) * along
        x = (x - along * axis[0]) / radius
        y = (y - along * axis[1]) / radius
        beside = x * x + y * y
        front = np.sqrt(np.maximum(1 - beside, 0))
        depth = start[2] + along * axis[2] - radius * front
        mask = (beside < 1) & (depth < self.depth[patch])
        np.copyto(self.depth[patch], depth, where=mask)
        self.put(patch, mask, self._shade_rod(x, y, front, axis, flat), material)

    def _shade_rod(self, x: Floats, y: Floats, front: Floats, axis: Floats, flat: float) -> Floats:
        """Brightness of a rod: where it leans to or from the camera, its upper side leans with it."""
        length = float(np.sqrt(flat + axis[2] ** 2))
        lean = float(axis[2]) / length
        steep = float(np.sqrt(flat)) / length
        tilt = lean / float(np.sqrt(flat))
        return self.shade(x + front * axis[0] * tilt, y + front * axis[1] * tilt, front * (0.75 + 0.25 * steep))

    def polygon(self, points: Floats, depth: float | Floats, shade: float, material: ColourRamp) -> None:
        """A flat patch; `depth` is one number or a plane (a, b, c) with z = a x + b y + c."""
        patch = self.patch(points.min(0), points.max(0))
        if patch is None:
            return
        inside = np.zeros(self.depth[patch].shape, np.uint8)
        corner = np.array([patch[1].start, patch[0].start], np.float32)
        cv2.fillConvexPoly(inside, to_fixed(cv2.convexHull((points - corner).astype(np.float32))[:, 0]), 1, 8, _SHIFT)
        x, y = self.grid(patch)
        plane = depth[0] * x + depth[1] * y + depth[2] if isinstance(depth, np.ndarray) else depth
        mask = (inside > 0) & (plane < self.depth[patch])
        np.copyto(self.depth[patch], np.broadcast_to(np.float32(plane), mask.shape), where=mask)
        self.put(patch, mask, np.broadcast_to(np.float32(shade), mask.shape), material)

    def fill(self, points: Floats, colour: Colour) -> None:
        """Paint a polygon (N, 2) onto whatever is there, with smooth edges; depth stays."""
        cv2.fillPoly(self.colour, [to_fixed(points)], colour, cv2.LINE_AA, _SHIFT)

    def stroke(self, points: Floats, colour: Colour, width: float) -> None:
        """Paint a line through points (N, 2) onto whatever is there, with smooth edges; depth stays."""
        cv2.polylines(self.colour, [to_fixed(points)], False, colour, max(1, round(width)), cv2.LINE_AA, _SHIFT)

    def dot(self, centre: Floats, radius: float, colour: Colour) -> None:
        """Paint a disc onto whatever is there, with smooth edges; depth stays."""
        x, y = to_fixed(centre[None])[0].tolist()
        cv2.circle(self.colour, (x, y), max(1, round(radius * (1 << _SHIFT))), colour, -1, cv2.LINE_AA, _SHIFT)


def point(*coordinates: float) -> Floats:
    """A point or a vector in working pixels."""
    return np.array(coordinates, np.float32)


def to_fixed(points: Floats) -> NDArray[np.int32]:
    """Points in OpenCV's fixed-point form, for sub-pixel drawing."""
    bounded = np.clip(points, -8000, 8000)
    return np.round(bounded * (1 << _SHIFT)).astype(np.int32)


_KEPT = 0.3  # how far lights leave the middle tone as it is, 0 to 1


@dataclass(frozen=True, slots=True)
class Paint:
    """All materials and flat colours that a signer is drawn with."""

    skin: ColourRamp
    palms: tuple[ColourRamp, ...]  # from the back of the hand to its inner side, which is lighter on dark skin
    neck: ColourRamp  # skin in the shadow of the chin
    cloth: ColourRamp
    trousers: ColourRamp
    hair: ColourRamp
    lips: Colour  # the lower one
    upper_lip: Colour  # in the shade
    hollow: Colour  # under the lower lip
    mouth: Colour
    teeth: Colour
    brow: Colour
    lash: Colour
    iris: Colour
    white: Colour  # of the eye
    crease: Colour  # nostrils and other dark lines on skin
    wing: Colour  # of the nose: a fainter line
    folds: Floats  # (128, 128) soft unevenness of cloth, about 0
    light: Light


def mix_paint(appearance: Appearance) -> Paint:
    """Mix the paints of an appearance under its own light."""
    rng = np.random.default_rng([appearance.seed, 0xF01D5])
    tint = np.array([1 + 0.05 * appearance.warmth, 1.0, 1 - 0.07 * appearance.warmth], np.float32)
    tint *= appearance.brightness
    skin = appearance.skin
    dim = 0.6 + 0.4 * appearance.brightness

    def lit(colour: Colour) -> Colour:
        return mix((0, 0, 0), colour, dim)

    return Paint(
        skin=make_skin(skin, tint),
        palms=tuple(
            make_skin(mix(skin, (236, 196, 172), 0.34 * _darkness(skin) * share), tint)
            for share in np.linspace(0, 1, 5).tolist()
        ),
        neck=make_skin(mix(skin, (60, 24, 16), 0.06), tint),
        cloth=make_material(appearance.clothes, tint, dark=0.3),
        trousers=make_material(mix(appearance.clothes, (24, 26, 32), 0.75), tint),
        hair=make_material(appearance.hair_colour, tint, dark=0.35, gloss=0.12),
        lips=lit(mix(skin, (148, 34, 46), 0.66)),
        upper_lip=lit(mix(skin, (112, 24, 34), 0.72)),
        hollow=mix(skin, (60, 24, 16), 0.22),
        mouth=(48, 16, 18),
        teeth=lit((232, 226, 214)),
        brow=_brow_colour(appearance),
        lash=(22, 18, 18),
        iris=appearance.eyes,
        white=lit((240, 238, 234)),
        crease=mix(skin, (44, 14, 10), 0.62),
        wing=mix(skin, (44, 14, 10), 0.3),
        folds=_make_folds(rng),
        light=Light(appearance.light),
    )


def _darkness(colour: Colour) -> float:
    """0 for white to 1 for black."""
    return 1 - (0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2]) / 255


def _brow_colour(appearance: Appearance) -> Colour:
    """Brows darker than the skin whatever the hair, so that they are seen."""
    hair = (40, 30, 26) if appearance.hair == "headscarf" else appearance.hair_colour
    dark = min(hair, mix(appearance.skin, (10, 6, 6), 0.62), key=sum)
    return mix(dark, (12, 8, 8), 0.25)


def _make_folds(rng: np.random.Generator) -> Floats:
    """Soft unevenness, stretched downwards like the folds of cloth."""
    noise = rng.standard_normal((128, 128)).astype(np.float32)
    soft = cv2.GaussianBlur(noise, (0, 0), sigmaX=5, sigmaY=16)
    folds: Floats = (0.07 * soft / (soft.std() + 1e-6)).astype(np.float32)
    return folds


def make_skin(colour: Colour, tint: Floats) -> ColourRamp:
    """Skin: its shadows are reddish, and the darker it is, the more its lights and its gloss stand out.

    Without them hands of dark skin would be flat shapes, and MediaPipe would find a quarter fewer of them.
    """
    deep = max(0.0, _darkness(colour) - 0.3)
    return make_material(colour, tint, bright=1.03 + 1.7 * deep, gloss=0.04 + 0.25 * deep, warm=0.8)


def make_material(
    colour: Colour, tint: Floats, *, dark: float = 0.26, bright: float = 1.03, gloss: float = 0.0, warm: float = 0.0
) -> ColourRamp:
    """The colours of a surface from shadow to light.

    Args:
        colour: how it looks in even light.
        tint: (3,) the colour and brightness of the light, about 1.
        dark: how bright the deepest shadow is.
        bright: how bright the fullest light is.
        gloss: how far the fullest light turns white.
        warm: how far shadows turn red, as they do on skin.
    """
    level = np.linspace(0, 1, 256, dtype=np.float32)[:, None]
    base = np.asarray(colour, np.float32) * tint
    red = 1 + warm * (1 - level) * np.array([0.25, -0.1, -0.2], np.float32)
    lit = base * (dark + (bright - dark) * level ** _steepness(bright - dark)) * red
    white = gloss * 255 * np.clip((level - 0.7) / 0.3, 0, 1) ** 2
    opaque = np.full((256, 1), 255, np.uint8)
    colours = np.hstack([np.asarray(np.clip(lit + white, 0, 255), np.uint8), opaque])
    return np.ascontiguousarray(colours).view(np.uint32)[:, 0]


def _steepness(range_of_light: float) -> float:
    """The power that keeps a surface's middle tone where it is, however bright its lights are."""
    return 1 + _KEPT * max(0.0, math.log(0.77 / range_of_light) / math.log(0.65))


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """A colour between two: `share` of the other."""
    r, g, b = (round(a + (c - a) * share) for a, c in zip(one, other, strict=True))
    return min(255, max(0, r)), min(255, max(0, g)), min(255, max(0, b))
