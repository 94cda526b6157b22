"""What the lips do for a word: its letters become visemes, visemes become movements of the mouth."""

import unicodedata

import numpy as np
from numpy.typing import NDArray

# opening, width, protrusion, pressing; how long against the mean
_SHAPES: dict[str, tuple[float, float, float, float, float]] = {
    "rest": (0.05, 0.0, 0.0, 0.1, 1.0),
    "closed": (0.0, 0.0, 0.05, 1.0, 0.9),  # p b m
    "teeth": (0.12, 0.1, 0.0, 0.7, 0.9),  # f v
    "tongue": (0.28, 0.1, 0.0, 0.0, 0.8),  # t d n l
    "between": (0.25, 0.2, 0.0, 0.0, 0.9),  # th
    "hiss": (0.12, 0.5, 0.0, 0.0, 0.9),  # s z
    "hush": (0.22, -0.5, 0.8, 0.0, 1.0),  # sh ch j
    "throat": (0.35, 0.1, 0.0, 0.0, 0.7),  # k g h
    "r": (0.25, -0.4, 0.5, 0.0, 0.8),
    "w": (0.10, -0.9, 1.0, 0.0, 0.9),
    "a": (0.95, 0.2, 0.0, 0.0, 1.3),
    "e": (0.55, 0.6, 0.0, 0.0, 1.2),
    "i": (0.30, 1.0, 0.0, 0.0, 1.2),
    "o": (0.60, -0.7, 0.7, 0.0, 1.3),
    "u": (0.22, -1.0, 1.0, 0.0, 1.2),
}
_GROUPS = (
    ("tion", ("hush", "tongue")), ("ough", ("o",)), ("igh", ("a", "i")), ("tch", ("hush",)), ("sch", ("hush",)),
    ("th", ("between",)), ("sh", ("hush",)), ("ch", ("hush",)), ("ph", ("teeth",)), ("wh", ("w",)),
    ("qu", ("throat", "w")),
    ("ck", ("throat",)), ("ng", ("throat",)), ("gh", ()), ("kn", ("tongue",)), ("wr", ("r",)),
    ("oo", ("u",)), ("ee", ("i",)), ("ea", ("i",)), ("ie", ("i",)), ("ou", ("a", "u")), ("ow", ("a", "u")),
    ("oa", ("o",)),
    ("ai", ("e", "i")), ("ay", ("e", "i")), ("oi", ("o", "i")), ("oy", ("o", "i")), ("au", ("o",)), ("aw", ("o",)),
)  # fmt: skip
_LETTERS = {
    **dict.fromkeys("pbm", "closed"),
    **dict.fromkeys("fv", "teeth"),
    **dict.fromkeys("tdnl", "tongue"),
    **dict.fromkeys("szcx", "hiss"),
    **dict.fromkeys("kghq", "throat"),
    **dict.fromkeys("iy", "i"),
    **{"j": "hush", "r": "r", "w": "w", "a": "a", "e": "e", "o": "o", "u": "u"},
}
_VOWELS = frozenset("aeiou")


def visemes(word: str) -> tuple[str, ...]:
    """The mouth shapes of a word, by English spelling; neighbours that look the same are one."""
    text = "".join(c for c in unicodedata.normalize("NFKD", word).lower() if c.isascii() and (c.isalpha() or c == " "))
    found: list[str] = []
    for part in text.split():
        found += _of_part(part)
    merged = [shape for i, shape in enumerate(found) if i == 0 or shape != found[i - 1]]
    return tuple(merged)


def _of_part(part: str) -> list[str]:
    mute = part.endswith("e") and part[-2:-1] not in _VOWELS and bool(_VOWELS & set(part[:-1]))
    found: list[str] = []
    place = 0
    while place < len(part):
        group = next(((g, shapes) for g, shapes in _GROUPS if part.startswith(g, place)), None)
        if group is not None:
            found += group[1]
            place += len(group[0])
        else:
            letter = part[place]
            if mute and place == len(part) - 1:
                break
            hard = letter == "c" and part[place + 1 : place + 2] not in ("e", "i", "y")
            found.append("throat" if hard else _LETTERS.get(letter, "rest"))
            place += 1
    return found


def mouth_keys(word: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """When and how the mouth moves for a word.

    Returns:
        (n,) the middles of the n visemes as shares of the word's duration, and (n, 4) their opening, width,
        protrusion and pressing.
    """
    shapes = visemes(word) or ("rest",)
    values = np.array([_SHAPES[shape] for shape in shapes])
    ends = np.cumsum(values[:, 4])
    return (ends - values[:, 4] / 2) / ends[-1], values[:, :4]


REST = np.array(_SHAPES["rest"][:4])
