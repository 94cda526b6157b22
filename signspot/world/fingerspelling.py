"""A one-handed alphabet: every letter is a handshape with an orientation."""

import unicodedata
from types import MappingProxyType

from signspot.world.phonology import Direction, Orientation

_FORTH = Orientation(Direction.FORTH, Direction.UP)
_SIDEWAYS = Orientation(Direction.BACK, Direction.WEAK)
_DOWN = Orientation(Direction.DOWN, Direction.FORTH)
_SIDE = Orientation(Direction.WEAK, Direction.UP)

LETTERS = MappingProxyType(
    {
        "a": ("A", _FORTH),
        "b": ("B-thumb-in", _FORTH),
        "c": ("C", _SIDE),
        "d": ("D", _FORTH),
        "e": ("E", _FORTH),
        "f": ("F", _FORTH),
        "g": ("G", _SIDEWAYS),
        "h": ("U", _SIDEWAYS),
        "i": ("I", _FORTH),
        "j": ("I", _SIDE),
        "k": ("K", _FORTH),
        "l": ("L", _FORTH),
        "m": ("M", _FORTH),
        "n": ("bent-U", _FORTH),
        "o": ("O", _SIDE),
        "p": ("K", _DOWN),
        "q": ("G", _DOWN),
        "r": ("R", _FORTH),
        "s": ("S", _FORTH),
        "t": ("T", _FORTH),
        "u": ("U", _FORTH),
        "v": ("V", _FORTH),
        "w": ("W", _FORTH),
        "x": ("X", _FORTH),
        "y": ("Y", _FORTH),
        "z": ("1", _FORTH),
    }
)


def spellable(word: str) -> str:
    """Keep the letters of a word that the alphabet has, in lower case, accents removed."""
    plain = unicodedata.normalize("NFKD", word).lower()
    return "".join(letter for letter in plain if letter in LETTERS)
