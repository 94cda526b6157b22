"""The paints of a rendered signer: every surface's colours from shadow to light, mixed once an appearance."""

import math
from dataclasses import dataclass

import cv2
import numpy as np

from signspot_synthetic.render.appearance import Appearance, Colour
from signspot_synthetic.render.canvas import ColourRamp, Floats, Light

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
    nail: Colour
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
        nail=lit(mix(skin, (250, 214, 206), 0.35)),
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
