"""Face and trunk during signing: lips that say words, brows, blinks, and the sway of body and head."""

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from signspot.types import Segment
from signspot_synthetic.body.body import Sway
from signspot_synthetic.body.face import Expression
from signspot_synthetic.body.signers import Signer
from signspot_synthetic.geometry.rotations import Array
from signspot_synthetic.knobs import named_rng

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
REST = np.array(_SHAPES["rest"][:4])
_MOODS = np.array([0.0009, 0.0002, 0.0013])  # metres: how far smile, skew and jaw usually go
_WORD_LEAD = 0.04  # seconds by which the lips begin before the hands
_VISEME = 0.055  # seconds that a viseme needs at least


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
    """Times and shapes of the mouth for a word.

    Returns:
        (n,) the middles of the n visemes as shares of the word's duration, and (n, 4) their opening, width,
        protrusion and pressing.
    """
    shapes = visemes(word) or ("rest",)
    values = np.array([_SHAPES[shape] for shape in shapes])
    ends = np.cumsum(values[:, 4])
    return (ends - values[:, 4] / 2) / ends[-1], values[:, :4]


def slow_noise(count: int, fps: float, rng: np.random.Generator, channels: int, period: float) -> Array:
    """Smooth random movement (T, channels) of about unit size whose fastest part has the given period in seconds."""
    times = np.arange(count) / fps
    rates = rng.uniform(0.15, 1.0, (5, channels)) / period
    sizes = rng.normal(0, 1, (5, channels)) * np.sqrt(2 / 5)
    phases = rng.uniform(0, 2 * np.pi, (5, channels))
    out = np.zeros((count, channels))
    for rate, size, phase in zip(rates, sizes, phases, strict=True):
        out += size * np.sin(2 * np.pi * times[:, None] * rate + phase)
    return out


def draw_sway(count: int, fps: float, signer: Signer, rng: np.random.Generator) -> Sway:
    """Sway of body and head."""
    sway = signer.manner.sway
    torso = slow_noise(count, fps, rng, 3, 1.6) * [0.018, 0.030, 0.014] * sway
    head = slow_noise(count, fps, rng, 3, 1.1) * [0.06, 0.07, 0.045] * sway
    stance = rng.normal(0, 1, 6) * [0.03, 0.04, 0.012, 0.06, 0.06, 0.03]
    return Sway(torso + stance[:3], head + stance[3:])


def followed(sway: Sway, hand: Array) -> Sway:
    """Let body and head follow the strong hand (T, 3) a little: they turn to it and lean with it."""
    way = hand - np.median(hand, axis=0)
    lean = np.stack([-0.05 * way[:, 1] + 0.06 * way[:, 2], -0.12 * way[:, 0], 0.05 * way[:, 0]], axis=-1)
    return Sway(sway.torso + lean, sway.head + 1.5 * lean)


def _mouth(count: int, fps: float, mouthed: Sequence[tuple[str, Segment]]) -> Array:
    """The lips (T, 4) that say words at their times."""
    keys, values = [-1.0], [REST]
    for word, segment in mouthed:
        middles, shapes = mouth_keys(word)
        seconds = max(segment.duration + _WORD_LEAD, _VISEME * len(middles))
        start = max(segment.end - seconds, keys[-1] + 0.04)
        keys.append(max(keys[-1] + 0.02, start - 0.06))
        values.append(REST)
        span = max(segment.end + 0.04 - start, 0.08)
        keys += (start + middles * span).tolist()
        values += list(shapes)
        keys.append(start + span + 0.10)
        values.append(REST)
    times = np.arange(count) / fps
    table = np.array(values)
    return np.stack([np.interp(times, keys, table[:, c]) for c in range(4)], axis=-1)


def draw_expression(
    count: int,
    fps: float,
    mouthed: Sequence[tuple[str, Segment]],
    signer: Signer,
    rng: np.random.Generator,
    *,
    mouth: Array | None = None,
) -> Expression:
    """The face over `count` frames, saying the words of `mouthed` at their segments, or with the lips (T, 4) given.

    Lips that are given are hard to read, and so is the face around them: it smiles and doubts meanwhile.
    """
    restless = rng.spawn(1)[0] if mouth is not None else None
    if mouth is None:
        mouth = REST + (_mouth(count, fps, mouthed) - REST) * min(signer.manner.lips, 1.3)
    drift = slow_noise(count, fps, rng, 3, 1.2)
    mouth[:, 0] = np.clip(mouth[:, 0] + 0.03 * drift[:, 0], 0, 1.2)
    mouth[:, 1] = mouth[:, 1] + 0.08 * drift[:, 1]
    times = np.arange(count) / fps
    blinks = np.cumsum(rng.exponential(3.0, max(2, int(count / fps))))
    lids = np.exp(-(((times[:, None] - blinks) / 0.06) ** 2)).max(axis=1)
    brows = 0.0035 * drift[:, 2]
    moods = _draw_moods(count, fps, signer, restless) if restless is not None else (None, None, None)
    return Expression(mouth[:, 0], mouth[:, 1], mouth[:, 2], mouth[:, 3], brows, lids, *moods)


def _draw_moods(count: int, fps: float, signer: Signer, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Smiles, skews and sinking of the jaw, each (T,) metres, that have nothing to do with words."""
    size = _MOODS * np.exp(named_rng(signer.habits, "moods").normal(0, 0.4, 3))
    slow, quick = slow_noise(count, fps, rng, 3, 1.0), slow_noise(count, fps, rng, 3, 0.25)
    smile, skew, jaw = (size * (slow + 0.5 * quick)).T
    return smile, skew, jaw
