"""The parts of a sign: handshapes as tables of joint angles, and one typed, printable bundle of all parameters."""

from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot_synthetic.data import read_table

ANGLES = 20
"""Angles of a hand: thumb (radial, palmar, knuckle, tip), then for each finger (spread, knuckle, middle, tip)."""
# sideways angle of index, middle, ring and little finger, degrees towards the thumb
_SPREAD = {"": (3, 0, -3, -6), "+": (14, 3, -9, -22), "-": (-1, 0, 1, 1), "x": (-9, 9, 0, 0), "v": (12, -9, -4, -6)}
BASE_SHAPES = ("B", "5", "S", "A", "1", "C", "O")
"""What a base hand may be (the unmarked shapes)."""


# Bending of a finger at knuckle, middle and last joint, degrees; by its letter in the table of handshapes.
_BENDING = {
    "s": (2, 3, 2),  # straight
    "c": (82, 102, 66),  # closed into the palm
    "b": (80, 8, 4),  # flat, bent at the knuckle only
    "h": (12, 82, 50),  # hooked: straight at the knuckle, bent beyond it
    "o": (38, 42, 26),  # curved, as about a glass
    "f": (62, 26, 10),  # towards the thumb's tip with flat fingers
    "p": (52, 58, 24),  # the tip meets the thumb's tip in a ring
    "l": (22, 28, 14),  # relaxed
    "d": (42, 10, 6),  # bent forward half-way at the knuckle
}
# Radial, palmar, knuckle and tip of a thumb, degrees; by its name in that table.
_THUMB = {
    "out": (50, 10, -2, -4),  # away from the hand, in its plane
    "along": (20, 8, 6, 4),  # beside the index finger
    "across": (24, 50, 44, 48),  # over the closed fingers
    "in palm": (10, 38, 46, 42),  # folded into the palm
    "opposed": (32, 58, 8, 12),  # facing the fingers, open
    "meeting": (28, 30, 27, 31),  # its tip meets round fingers, the index first
    "meeting flat": (10, 38, 8, 9),  # its tip meets flat fingers
    "meeting far": (11, 35, 29, 31),  # its tip meets the middle or ring finger
    "up": (38, 6, -6, -12),  # away from a fist
    "tucked": (16, 34, 26, 22),  # between or under the closed fingers
    "loose": (36, 24, 14, 14),
}


@dataclass(frozen=True, slots=True)
class Handshape:
    """A handshape by name; its angles are in degrees."""

    name: str
    fingers: str  # four letters: index, middle, ring, little
    thumb: str
    spread: str = ""  # "" relaxed, "+" fanned, "-" together, "x" crossed, "v" index from middle
    weight: float = 1.0  # how common it is in the lexicon

    def angles(self) -> NDArray[np.float64]:
        """The (20,) joint angles in radians."""
        rows: list[float] = list(_THUMB[self.thumb])
        for letter, sideways in zip(self.fingers, _SPREAD[self.spread], strict=True):
            rows += [sideways, *_BENDING[letter]]
        return np.radians(np.array(rows, dtype=np.float64))


HANDSHAPES = MappingProxyType({shape.name: shape for shape in (Handshape(*row) for row in read_table("handshapes"))})


def joint_angles(name: str) -> NDArray[np.float64]:
    """Give the (20,) joint angles, in radians, of the handshape called `name`."""
    if name not in HANDSHAPES:
        few = ", ".join(list(HANDSHAPES)[:6])
        raise OptionsError(f"no handshape '{name}'; there are {len(HANDSHAPES)}, such as {few}")
    return HANDSHAPES[name].angles()


class Region(StrEnum):
    """The part of the signing space that a place belongs to."""

    HEAD = "head"
    BODY = "body"
    ARM = "arm"  # of the weak side, hanging
    WEAK = "weak hand"  # the weak hand or forearm, held up as a base
    SPACE = "space"


@dataclass(frozen=True, slots=True)
class Place:
    """A place, seen by a right-handed signer: x to the weak side, y down, z away from the camera.

    `at` is in metres from the point between the shoulders of a mean adult, or, on the weak hand, in the hand's own
    frame from its wrist (thumb side, fingers, palm; behind the wrist y runs along the forearm). `normal` points away
    from the skin.
    """

    name: str
    region: Region
    at: tuple[float, float, float]
    normal: tuple[float, float, float] = (0, 0, -1)
    weight: float = 1.0  # how common it is in the lexicon

    @property
    def point(self) -> NDArray[np.float64]:
        """The place itself, (3,)."""
        return np.array(self.at, dtype=np.float64)

    @property
    def outward(self) -> NDArray[np.float64]:
        """The unit direction away from the skin, (3,)."""
        normal = np.array(self.normal, dtype=np.float64)
        return np.asarray(normal / np.linalg.norm(normal))


_PLACE_TABLE = (
    Place(name, Region(region), (x, y, z), (across, down, back), weight)
    for name, region, (x, y, z), (across, down, back), weight in read_table("places")
)
PLACES = MappingProxyType({place.name: place for place in _PLACE_TABLE})


PARAMETERS = {
    "hands": ("hands",),
    "handshape": ("shape", "end_shape"),
    "place": ("place",),
    "orientation": ("orientation", "contact"),
    "path": ("path",),
    "local": ("local",),
    "repetition": ("repetition",),
    "symmetry": ("symmetry",),
    "base": ("base_shape", "base_orientation"),
    "letters": ("letters",),
}
"""The parameters of a sign, each with the fields that express it."""


class Hands(StrEnum):
    """Hands that make the sign."""

    ONE = "one hand"
    SYMMETRIC = "two hands"  # both do the same
    BASE = "hand on base"  # the weak hand is the place


class Symmetry(StrEnum):
    """Symmetry of two equal hands."""

    MIRRORED = "mirrored"
    PARALLEL = "parallel"  # both go the same way
    ALTERNATING = "alternating"  # one goes while the other comes


class Contact(StrEnum):
    """The part of the hand that is at the place."""

    PALM = "palm"
    TIPS = "fingertips"
    THUMB_SIDE = "thumb side"
    EDGE = "edge"  # the little finger's side
    BACK = "back"


class Direction(StrEnum):
    """Directions as a right-handed signer has them; `weak` is towards the weak side."""

    UP = "up"
    DOWN = "down"
    STRONG = "to the strong side"
    WEAK = "to the weak side"
    FORTH = "forth"
    BACK = "back"
    UP_WEAK = "up to the weak side"
    UP_FORTH = "up and forth"
    DOWN_FORTH = "down and forth"
    DOWN_STRONG = "down to the strong side"
    FORTH_WEAK = "forth to the weak side"
    FORTH_STRONG = "forth to the strong side"


VECTORS: dict[Direction, tuple[float, float, float]] = {
    Direction.UP: (0, -1, 0),
    Direction.DOWN: (0, 1, 0),
    Direction.STRONG: (-1, 0, 0),
    Direction.WEAK: (1, 0, 0),
    Direction.FORTH: (0, 0, -1),
    Direction.BACK: (0, 0, 1),
    Direction.UP_WEAK: (0.7, -0.7, 0),
    Direction.UP_FORTH: (0, -0.7, -0.7),
    Direction.DOWN_FORTH: (0, 0.7, -0.7),
    Direction.DOWN_STRONG: (-0.7, 0.7, 0),
    Direction.FORTH_WEAK: (0.7, 0, -0.7),
    Direction.FORTH_STRONG: (-0.7, 0, -0.7),
}


class PathKind(StrEnum):
    """The movement of the whole hand."""

    NONE = "no path"
    STRAIGHT = "straight"
    ARC = "arc"
    CIRCLE = "circle"
    ZIGZAG = "zigzag"
    TO_BODY = "to the place"
    FROM_BODY = "from the place"


class Local(StrEnum):
    """The movement within the hand or wrist."""

    NONE = "no local movement"
    WIGGLE = "wiggle"
    OPEN_CLOSE = "open and close"
    TWIST = "twist"
    NOD = "nod"


@dataclass(frozen=True, slots=True)
class HandOrientation:
    """Directions of the palm and of the hand's long axis."""

    palm: Direction
    fingers: Direction

    def __str__(self) -> str:
        return f"palm {self.palm}, fingers {self.fingers}"


@dataclass(frozen=True, slots=True)
class HandPath:
    """A movement of the whole hand; `direction` says where to, or for a circle which axis it turns about."""

    kind: PathKind = PathKind.NONE
    direction: Direction = Direction.DOWN

    def __str__(self) -> str:
        if self.kind is PathKind.CIRCLE:
            return f"circle about the axis {self.direction}"
        if self.kind in (PathKind.NONE, PathKind.TO_BODY, PathKind.FROM_BODY):
            return str(self.kind)
        return f"{self.kind} {self.direction}"


@dataclass(frozen=True, slots=True)
class Detail:
    """Continuous values beside the categories, which make a sign this sign (metres and radians)."""

    size: float = 0.12  # length of the path, diameter of a circle
    lean: tuple[float, float, float] = (0.0, 0.0, 0.0)  # turns the path away from its named direction
    shift: tuple[float, float, float] = (0.0, 0.0, 0.0)  # moves the place
    tilt: tuple[float, float, float] = (0.0, 0.0, 0.0)  # turns the hand away from its named orientation
    flex: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0)  # bends thumb and fingers more than the handshape says
    fan: float = 0.0  # spreads the fingers more
    bulge: float = 0.4  # depth of an arc, or of the teeth of a zigzag, as a share of the size
    gap: float = 0.07  # half the distance of two equal hands
    weight: float = 1.0  # how slow and held the sign is


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign of the synthetic language: everything that its signers agree on."""

    hands: Hands = Hands.ONE
    shape: str = "B"
    end_shape: str = "B"
    place: str = "middle space"
    orientation: HandOrientation = HandOrientation(Direction.WEAK, Direction.UP_FORTH)
    contact: Contact = Contact.PALM
    path: HandPath = HandPath()
    local: Local = Local.NONE
    repetition: int = 1  # how often the movement is made
    symmetry: Symmetry = Symmetry.MIRRORED  # of two equal hands
    base_shape: str = "B"  # of the base hand
    base_orientation: HandOrientation = HandOrientation(Direction.UP, Direction.FORTH_STRONG)
    letters: str = ""  # a fingerspelled word; then the rest says only where the hand is
    detail: Detail = field(default=Detail(), compare=False)

    def __post_init__(self) -> None:
        for shape in (self.shape, self.end_shape, self.base_shape):
            if shape not in HANDSHAPES:
                raise OptionsError(f"no handshape '{shape}'; the {len(HANDSHAPES)} handshapes are in HANDSHAPES")
        if self.place not in PLACES:
            raise OptionsError(f"no place '{self.place}'; the {len(PLACES)} places are in PLACES")
        if (PLACES[self.place].region is Region.WEAK) is not (self.hands is Hands.BASE):
            raise OptionsError(
                f"a sign by {self.hands} cannot be at '{self.place}': a base hand is a place, and only it"
            )
        if self.hands is Hands.BASE and self.base_shape not in BASE_SHAPES:
            raise OptionsError(f"a base hand is one of {', '.join(BASE_SHAPES)}; got '{self.base_shape}'")
        if not 1 <= self.repetition <= 4:
            raise OptionsError(f"a movement is made 1 to 4 times; got {self.repetition}")

    @property
    def moves(self) -> bool:
        """Whether anything moves or changes within the sign."""
        changes = self.shape != self.end_shape or self.local is not Local.NONE
        return bool(self.letters) or changes or self.path.kind is not PathKind.NONE

    def differences(self, other: "Sign") -> tuple[str, ...]:
        """Name the parameters in which two signs differ; one name makes them a minimal pair."""
        return tuple(
            parameter
            for parameter, names in PARAMETERS.items()
            if any(getattr(self, name) != getattr(other, name) for name in names)
        )

    def __str__(self) -> str:
        if self.letters:
            return f"fingerspelled {'-'.join(self.letters)}"
        shape = self.shape if self.shape == self.end_shape else f"{self.shape} to {self.end_shape}"
        parts = [f"{self.hands}: {shape}"]
        if self.hands is Hands.BASE:
            parts.append(f"base {self.base_shape} ({self.base_orientation})")
        parts += [f"{self.contact} at {self.place}", str(self.orientation), str(self.path)]
        if self.hands is Hands.SYMMETRIC:
            parts.append(str(self.symmetry))
        if self.local is not Local.NONE:
            parts.append(str(self.local))
        return " · ".join([*parts, f"× {self.repetition}"])
