"""The synthetic people: how they are built, how they sign, and the cameras that film them."""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from signspot.errors import OptionsError
from signspot_synthetic.geometry import MEAN, HandBuild, Proportions
from signspot_synthetic.random_streams import named_rng, named_seed


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera that looks at a point near the signer's chest; metres and radians."""

    distance: float = 2.5  # from the point looked at
    height: float = 1.1  # of what is seen at that distance, from the upper to the lower edge
    azimuth: float = 0.0  # moved sideways about the signer; positive to the image's right
    elevation: float = 0.0  # above (positive) or below the signer's shoulders
    roll: float = 0.0
    aim: tuple[float, float] = (0.0, 0.06)  # the point looked at: x and y from between the shoulders

    def __post_init__(self) -> None:
        values = (self.distance, self.height, self.azimuth, self.elevation, self.roll, *self.aim)
        if not all(math.isfinite(value) for value in values):
            raise OptionsError(f"a camera needs finite numbers; got {values}")
        if not (self.distance >= 0.3 and self.height > 0):
            raise OptionsError(
                f"a camera stands at least 0.3 m away and sees more than 0 m; got {self.distance} m, {self.height} m"
            )
        if max(abs(self.azimuth), abs(self.elevation)) > 1.2:
            raise OptionsError(
                f"a camera turns at most 1.2 rad about the signer; got {self.azimuth:.2f}, {self.elevation:.2f}"
            )


def draw_studio(rng: np.random.Generator) -> Camera:
    """A camera on a tripod, as dictionaries and broadcasters use it."""
    height = float(rng.uniform(0.85, 1.45))
    return Camera(
        distance=float(rng.uniform(1.8, 4.0)),
        height=height,
        azimuth=float(np.clip(rng.normal(0, 0.08), -0.35, 0.35)),
        elevation=float(np.clip(rng.normal(0, 0.05), -0.2, 0.2)),
        roll=float(rng.normal(0, 0.01)),
        aim=(float(rng.normal(0, 0.04)), float(0.46 * height - rng.uniform(0.38, 0.48))),
    )


def draw_webcam(rng: np.random.Generator) -> Camera:
    """A laptop or phone: near, often low and looking up, seldom straight."""
    height = float(rng.uniform(0.62, 1.1))
    return Camera(
        distance=float(rng.uniform(0.65, 1.3)),
        height=height,
        azimuth=float(np.clip(rng.normal(0, 0.15), -0.5, 0.5)),
        elevation=float(np.clip(rng.normal(-0.12, 0.14), -0.5, 0.25)),
        roll=float(rng.normal(0, 0.04)),
        aim=(float(rng.normal(0, 0.05)), float(0.46 * height - rng.uniform(0.34, 0.42))),
    )


class Role(StrEnum):
    """Use of a signer; no signer has two roles."""

    DICTIONARY = "dictionary"
    TRAIN = "train"
    TEST = "test"


class Handedness(StrEnum):
    """The strong hand."""

    RIGHT = "right"
    LEFT = "left"


class Rest(StrEnum):
    """Place of the hands when nothing is signed."""

    SIDES = "sides"
    LAP = "lap"
    FRONT = "front"


@dataclass(frozen=True, slots=True)
class Precision:
    """Precision of a signer; standard deviations of the differences from token to token."""

    place: float = 0.012  # metres
    orientation: float = 0.10  # radians
    shape: float = 0.09  # radians a joint
    size: float = 0.15  # of the logarithm of a path's size
    timing: float = 0.15  # of the logarithm of a duration


@dataclass(frozen=True, slots=True)
class Manner:
    """A signer's way of moving."""

    tempo: float = 1.0  # speed against the mean signer
    space: float = 1.0  # size of the signing space
    sway: float = 1.0  # of body and head
    lips: float = 1.0  # how clearly words are mouthed
    hold: float = 1.0  # how long postures are held in a dictionary
    elbows: float = 0.0  # how far the elbows stand out, radians
    rest: Rest = Rest.LAP


@dataclass(frozen=True, slots=True)
class Signer:
    """One person, fully known."""

    id: str
    role: Role
    handedness: Handedness
    proportions: Proportions
    precision: Precision
    manner: Manner
    habits: int  # seed of the personal ways: which variants, which bends
    camera: Camera
    appearance_seed: int

    def variant(self, word: str, count: int, *, strength: float = 1.0) -> int:
        """The variant of a word, of `count`, that this signer uses; with strength 0 everybody uses the first.

        Common variants come first: half of the signers use the first one.
        """
        rng = named_rng(self.habits, "variant", word)
        odds = 0.5 ** np.arange(count)
        chosen = int(rng.choice(count, p=odds / odds.sum()))
        return chosen if rng.random() < strength else 0


def _draw_proportions(rng: np.random.Generator) -> Proportions:
    size = float(np.clip(rng.normal(1.0, 0.06), 0.86, 1.15))
    factors = np.exp(rng.normal(0, 0.045, 9)).tolist()
    return Proportions(
        shoulders=MEAN.shoulders * size * factors[0],
        upper_arm=MEAN.upper_arm * size * factors[1],
        forearm=MEAN.forearm * size * factors[2],
        torso=MEAN.torso * size * factors[3],
        hips=MEAN.hips * size * factors[4],
        neck=float(rng.normal(0, 0.012)),
        head=size**0.5 * factors[5],
        hand=HandBuild(size=size * factors[6], fingers=factors[7], breadth=factors[8]),
    )


def _draw_precision(rng: np.random.Generator) -> Precision:
    care = float(np.exp(rng.normal(0, 0.3)))
    factors = np.exp(rng.normal(0, 0.2, 5)) * care
    place, orientation, shape, size, timing = factors.tolist()
    return Precision(0.012 * place, 0.10 * orientation, 0.09 * shape, 0.15 * size, 0.15 * min(timing, 2.0))


def _draw_manner(rng: np.random.Generator) -> Manner:
    rest = (Rest.LAP, Rest.SIDES, Rest.FRONT)[int(rng.choice(3, p=(0.45, 0.35, 0.2)))]
    tempo, space, sway, lips, hold = np.exp(rng.normal(0, (0.14, 0.1, 0.3, 0.25, 0.5))).tolist()
    return Manner(tempo, space, sway, lips, hold, float(rng.normal(0.0, 0.2)), rest)


def make_signer(identity: str, seed: int, role: Role, *, left_share: float = 0.12, webcam_share: float = 0.3) -> Signer:
    """Make the person that belongs to a name, a seed and a role."""
    if not (0 <= left_share <= 1 and 0 <= webcam_share <= 1):
        raise OptionsError(f"shares of signers lie between 0 and 1; got {left_share} and {webcam_share}")
    rng = named_rng(seed, "signer", role, identity)
    webcam_share = webcam_share if role is not Role.DICTIONARY else webcam_share / 2
    return Signer(
        id=identity,
        role=role,
        handedness=Handedness.LEFT if rng.random() < left_share else Handedness.RIGHT,
        proportions=_draw_proportions(rng),
        precision=_draw_precision(rng),
        manner=_draw_manner(rng),
        habits=named_seed(seed, "habits", role, identity),
        camera=draw_webcam(rng) if rng.random() < webcam_share else draw_studio(rng),
        appearance_seed=named_seed(seed, "appearance", role, identity),
    )


def make_signers(n: int, seed: int, role: Role | str, *, left_share: float = 0.12) -> tuple[Signer, ...]:
    """Make `n` people of one role; the first ones stay the same when `n` grows."""
    if n < 1:
        raise OptionsError(f"at least 1 signer is needed; got {n}")
    if role not in list(Role):
        raise OptionsError(f"a signer's role is one of {', '.join(Role)}; got '{role}'")
    checked_role = Role(role)
    names = [f"{checked_role}-{index + 1:03d}" for index in range(n)]
    return tuple(make_signer(name, seed, checked_role, left_share=left_share) for name in names)
