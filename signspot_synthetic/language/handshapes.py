"""The handshapes of the synthetic lexicon: each one a table of joint angles, from which limbs.py builds the hand."""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot_synthetic.tables import read_table

ANGLES = 20
"""Angles of a hand: thumb (radial, palmar, knuckle, tip), then for each finger (spread, knuckle, middle, tip)."""
# sideways angle of index, middle, ring and little finger, degrees towards the thumb
_SPREAD = {"": (3, 0, -3, -6), "+": (14, 3, -9, -22), "-": (-1, 0, 1, 1), "x": (-9, 9, 0, 0), "v": (12, -9, -4, -6)}
BASE_SHAPES = ("B", "5", "S", "A", "1", "C", "O")
"""What a base hand may be (the unmarked shapes)."""


class Finger(StrEnum):
    """Posture of one finger; the letter is its short form in the table."""

    STRAIGHT = "s"
    CLOSED = "c"  # into the palm
    BENT = "b"  # flat, bent at the knuckle only
    HOOKED = "h"  # straight at the knuckle, bent beyond it
    ROUND = "o"  # curved, as about a glass
    FLAT_ROUND = "f"  # towards the thumb's tip with flat fingers
    PINCHED = "p"  # the tip meets the thumb's tip in a ring
    LOOSE = "l"  # relaxed
    DIPPED = "d"  # bent forward half-way at the knuckle


class Thumb(StrEnum):
    """Posture of the thumb."""

    OUT = "out"  # away from the hand, in its plane
    ALONG = "along"  # beside the index finger
    ACROSS = "across"  # over the closed fingers
    IN_PALM = "in palm"  # folded into the palm
    OPPOSED = "opposed"  # facing the fingers, open
    MEETING = "meeting"  # its tip meets round fingers, the index first
    MEETING_FLAT = "meeting flat"  # its tip meets flat fingers
    MEETING_FAR = "meeting far"  # its tip meets the middle or ring finger
    UP = "up"  # away from a fist
    TUCKED = "tucked"  # between or under the closed fingers
    LOOSE = "loose"


# knuckle, middle joint, last joint; degrees of bending
_BENDING = {
    Finger.STRAIGHT: (2, 3, 2),
    Finger.CLOSED: (82, 102, 66),
    Finger.BENT: (80, 8, 4),
    Finger.HOOKED: (12, 82, 50),
    Finger.ROUND: (38, 42, 26),
    Finger.FLAT_ROUND: (62, 26, 10),
    Finger.PINCHED: (52, 58, 24),
    Finger.LOOSE: (22, 28, 14),
    Finger.DIPPED: (42, 10, 6),
}
# radial, palmar, knuckle, tip; degrees
_THUMB = {
    Thumb.OUT: (50, 10, -2, -4),
    Thumb.ALONG: (20, 8, 6, 4),
    Thumb.ACROSS: (24, 50, 44, 48),
    Thumb.IN_PALM: (10, 38, 46, 42),
    Thumb.OPPOSED: (32, 58, 8, 12),
    Thumb.MEETING: (28, 30, 27, 31),
    Thumb.MEETING_FLAT: (10, 38, 8, 9),
    Thumb.MEETING_FAR: (11, 35, 29, 31),
    Thumb.UP: (38, 6, -6, -12),
    Thumb.TUCKED: (16, 34, 26, 22),
    Thumb.LOOSE: (36, 24, 14, 14),
}


@dataclass(frozen=True, slots=True)
class Handshape:
    """A handshape by name; its angles are in degrees."""

    name: str
    fingers: str  # four letters of Finger: index, middle, ring, little
    thumb: Thumb
    spread: str = ""  # "" relaxed, "+" fanned, "-" together, "x" crossed, "v" index from middle
    weight: float = 1.0  # how common it is in the lexicon

    def angles(self) -> NDArray[np.float64]:
        """The (20,) joint angles in radians."""
        rows: list[float] = list(_THUMB[self.thumb])
        for letter, sideways in zip(self.fingers, _SPREAD[self.spread], strict=True):
            rows += [sideways, *_BENDING[Finger(letter)]]
        return np.radians(np.array(rows, dtype=np.float64))


_TABLE = [
    Handshape(name, fingers, Thumb(thumb), spread, weight)
    for name, fingers, thumb, spread, weight in read_table("handshapes")
]
HANDSHAPES = MappingProxyType({shape.name: shape for shape in _TABLE})

_MATRIX = np.stack([shape.angles() for shape in _TABLE])
_ROW = {shape.name: row for row, shape in enumerate(_TABLE)}


def joint_angles(name: str) -> NDArray[np.float64]:
    """Give the (20,) joint angles, in radians, of the handshape called `name`."""
    if name not in _ROW:
        raise OptionsError(f"no handshape '{name}'; there are {len(_ROW)}, such as {', '.join(list(_ROW)[:6])}")
    return np.array(_MATRIX[_ROW[name]])
