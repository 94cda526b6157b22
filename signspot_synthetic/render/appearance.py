"""Appearance of a rendered signer: skin, clothes, hair, background and light, all drawn from one seed."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot_synthetic.data import read_table

Colour = tuple[int, int, int]  # RGB, 0-255
Hair = Literal["short", "cropped", "long", "bob", "bun", "curly", "bald", "headscarf"]
Sleeves = Literal["long", "elbow", "short"]
Backdrop = Literal["plain", "gradient", "panel", "window"]
_HAIR: tuple[Hair, ...] = get_args(Hair)
_SLEEVES: tuple[Sleeves, ...] = get_args(Sleeves)
_BACKDROPS: tuple[Backdrop, ...] = get_args(Backdrop)


def _colours(name: str) -> tuple[Colour, ...]:
    return tuple((red, green, blue) for red, green, blue in read_table(name))


# Ten skin tones in even light, from light to dark, spread over the range of human skin.
SKIN_TONES: tuple[Colour, ...] = _colours("skin tones")
HAIR_COLOURS: tuple[Colour, ...] = _colours("hair colours")
CLOTHES_COLOURS: tuple[Colour, ...] = _colours("clothes colours")
BACKDROP_COLOURS: tuple[Colour, ...] = _colours("backdrop colours")

# Colours that MediaPipe confuses with skin that is not light: hands in front of them were lost by half.
_SKIN_LIKE = ((128, 36, 52), (176, 62, 48))
_LIGHT_SKINS = 4  # the first so many tones may wear them

# Distances in CIE Lab. The clothes are chosen so that hands stand out; every skin tone stays.
LEAST_SKIN_TO_CLOTHES = 42.0
LEAST_SKIN_TO_BACKDROP = 26.0
LEAST_CLOTHES_TO_BACKDROP = 18.0


@dataclass(frozen=True, slots=True)
class Appearance:
    """Looks of a signer and the scene, besides the movement."""

    skin: Colour  # in even light
    clothes: Colour
    sleeves: Sleeves
    hair: Hair
    hair_colour: Colour  # of the headscarf, if one is worn
    eyes: Colour
    beard: float  # 0 shaven to 1 full
    glasses: bool
    backdrop: Backdrop
    backdrop_colour: Colour
    light: tuple[float, float, float]  # unit vector towards the light: x right, y down, z away from the camera
    brightness: float  # 1 is an evenly lit studio
    warmth: float  # -1 bluish to 1 yellowish
    build: float  # girth of trunk and arms, 1 is average
    seed: int  # for the texture of cloth and hair, and for the noise of the camera


def make_appearance(seed: int, *, skin: int | None = None) -> Appearance:
    """Draw one appearance; the same seed gives the same one.

    Args:
        seed: any number from 0.
        skin: an index into SKIN_TONES, light to dark; drawn like all the rest if not given.

    Raises:
        OptionsError: the seed is negative, or there is no such skin tone.
    """
    if seed < 0:
        raise OptionsError(f"the seed of an appearance must be 0 or more; got {seed}")
    if skin is not None and not 0 <= skin < len(SKIN_TONES):
        raise OptionsError(f"skin tones are numbered 0 to {len(SKIN_TONES) - 1}, light to dark; got {skin}")
    rng = np.random.default_rng([seed, 0xA99EA2])
    drawn = int(rng.integers(len(SKIN_TONES)))
    tone = SKIN_TONES[drawn if skin is None else skin]
    clothes = _pick(rng, wearable(tone))
    walls = _far_from(tone, BACKDROP_COLOURS, LEAST_SKIN_TO_BACKDROP)
    wall = _pick(rng, _far_from(clothes, walls, LEAST_CLOTHES_TO_BACKDROP))
    hair = _HAIR[int(rng.choice(8, p=(0.22, 0.12, 0.2, 0.14, 0.1, 0.12, 0.04, 0.06)))]
    return Appearance(
        skin=tone,
        clothes=clothes,
        sleeves=_SLEEVES[int(rng.choice(3, p=(0.5, 0.25, 0.25)))],
        hair=hair,
        hair_colour=_draw_hair_colour(rng, hair, tone, clothes),
        eyes=_pick(rng, ((70, 46, 30), (52, 36, 28), (92, 106, 72), (86, 116, 140))),
        beard=_draw_beard(rng, hair),
        glasses=bool(rng.random() < 0.15),
        backdrop=_BACKDROPS[int(rng.choice(4, p=(0.25, 0.35, 0.2, 0.2)))],
        backdrop_colour=wall,
        light=_draw_light(rng),
        brightness=float(rng.uniform(0.9, 1.08)),
        warmth=float(rng.uniform(-0.5, 0.7)),
        build=float(rng.uniform(0.9, 1.15)),
        seed=seed,
    )


def wearable(skin: Colour) -> tuple[Colour, ...]:
    """The clothes in front of which hands of a skin tone stand out."""
    choices = CLOTHES_COLOURS
    if skin not in SKIN_TONES[:_LIGHT_SKINS]:
        choices = tuple(colour for colour in choices if colour not in _SKIN_LIKE)
    return _far_from(skin, choices, LEAST_SKIN_TO_CLOTHES)


def colour_distance(one: Colour, other: Colour) -> float:
    """Visible difference of two colours: the Euclidean distance in CIE Lab (about 2 is just seen)."""
    return float(np.linalg.norm(_lab(one) - _lab(other)))


def _lab(colour: Colour) -> NDArray[np.float64]:
    """CIE Lab (D65) of an sRGB colour."""
    rgb = np.asarray(colour, np.float64) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ linear / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def _far_from(colour: Colour, choices: tuple[Colour, ...], least: float) -> tuple[Colour, ...]:
    """The choices that stand out against a colour; the one that stands out most if none is far enough."""
    far = tuple(choice for choice in choices if colour_distance(colour, choice) >= least)
    return far or (max(choices, key=lambda choice: colour_distance(colour, choice)),)


def _pick(rng: np.random.Generator, choices: tuple[Colour, ...]) -> Colour:
    return choices[int(rng.integers(len(choices)))]


def _draw_hair_colour(rng: np.random.Generator, hair: Hair, skin: Colour, clothes: Colour) -> Colour:
    """Hair that differs from the face enough to be seen; a headscarf is cloth of another colour."""
    if hair == "headscarf":
        scarves = tuple(colour for colour in _far_from(skin, CLOTHES_COLOURS, 45.0) if colour != clothes)
        return _pick(rng, scarves)
    natural = HAIR_COLOURS if skin in SKIN_TONES[:6] else HAIR_COLOURS[:2] + HAIR_COLOURS[-2:-1]
    return _pick(rng, _far_from(skin, natural, 12.0))


def _draw_beard(rng: np.random.Generator, hair: Hair) -> float:
    """Mostly none; never with the styles that are mostly worn without one."""
    bearded = rng.random() < 0.35
    length = float(rng.uniform(0.35, 1.0))
    return length if bearded and hair in ("short", "cropped", "curly", "bald") else 0.0


def _draw_light(rng: np.random.Generator) -> tuple[float, float, float]:
    """A lamp above the camera, to the left or to the right of it."""
    side, height = rng.uniform(-0.65, 0.65), rng.uniform(-0.8, -0.35)
    vector = np.array([side, height, -0.9])
    x, y, z = (vector / np.linalg.norm(vector)).tolist()
    return float(x), float(y), float(z)
