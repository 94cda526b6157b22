"""A language from a seed: words, their variants, their synonyms and their minimal pairs."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from signspot.errors import OptionsError, UnknownWordError
from signspot_synthetic.data import read_table
from signspot_synthetic.geometry import MEAN, ArmBuild, Array, elbow_of, frame, possible_hand, reachable
from signspot_synthetic.language.phonology import (
    BASE_SHAPES,
    HANDSHAPES,
    PLACES,
    VECTORS,
    Contact,
    Detail,
    Direction,
    HandOrientation,
    HandPath,
    Hands,
    Local,
    PathKind,
    Place,
    Region,
    Sign,
    Symmetry,
)
from signspot_synthetic.random_streams import named_rng

Choice = TypeVar("Choice")
Weighted = Sequence[tuple[Choice, float]]

_BASE = np.array([0.02, 0.155, -0.27])  # where a base hand is
_PALM = np.array([0.0, 0.07, 0.015])  # the palm's middle in the hand's frame
_HANDS: Weighted[Hands] = [(Hands[name], weight) for name, weight in read_table("hands")]
_PATHS: Weighted[PathKind] = [(PathKind[name], weight) for name, weight in read_table("paths")]
_DIRECTIONS: Weighted[Direction] = [(Direction[name], weight) for name, weight in read_table("directions")]
_AXES: Weighted[Direction] = [(Direction[name], weight) for name, weight in read_table("axes")]
_LOCALS: Weighted[Local] = [(Local[name], weight) for name, weight in read_table("locals")]


def _orientations(name: str) -> Weighted[HandOrientation]:
    return [
        (HandOrientation(Direction[palm], Direction[fingers]), weight) for palm, fingers, weight in read_table(name)
    ]


_IN_SPACE, _ON_HEAD, _ON_BODY, _BASES = map(_orientations, ("in space", "on head", "on body", "base hands"))
_BY_REGION = {Region.HEAD: _ON_HEAD, Region.BODY: _ON_BODY, Region.ARM: _ON_BODY, Region.SPACE: _IN_SPACE}
_CHANGES: list[tuple[str, str]] = [(first, last) for first, last in read_table("changes")]
_WIGGLERS: list[str] = read_table("wigglers")
_SIDES = {
    Contact.PALM: ((0, 0, 1), 0.25),
    Contact.TIPS: ((0, 1, 0), 0.15),
    Contact.THUMB_SIDE: ((1, 0, 0), 0.0),
    Contact.EDGE: ((-1, 0, 0), 0.0),
    Contact.BACK: ((0, 0, -1), -0.1),
}
_BASE_ODDS = (0.45, 0.1, 0.15, 0.06, 0.14, 0.06, 0.04)


def turned(orientation: HandOrientation) -> Array:
    """The (3, 3) frame of a strong hand that is held so: columns thumb side, fingers, palm."""
    return frame(np.array(VECTORS[orientation.fingers], float), np.array(VECTORS[orientation.palm], float))


@cache
def strain(place: str, orientation: HandOrientation) -> float:
    """By how much, in radians, the mean adult's strong hand fails to be held so at a place."""
    at = PLACES[place]
    rotation = turned(orientation)[None]
    point = _BASE if at.region is Region.WEAK else at.point
    shoulder = np.array([[-MEAN.shoulders / 2, 0.0, 0.0]])
    arm = ArmBuild(MEAN.upper_arm, MEAN.forearm)
    wrist = reachable(shoulder, point - rotation @ _PALM, arm)
    elbow = elbow_of(shoulder, wrist, rotation[..., 1], arm)
    held = possible_hand(elbow, wrist, shoulder, rotation)
    cosine = (np.einsum("tij,tij->t", rotation, held) - 1) / 2
    return float(np.arccos(np.clip(cosine, -1, 1))[0])


def ease(place: str, orientation: HandOrientation) -> float:
    """Ease of holding a hand so at a place: 1 without strain, near 0 where it cannot be done."""
    return float(np.exp(-((strain(place, orientation) / 0.45) ** 2)))


def pick(rng: np.random.Generator, choices: Weighted[Choice]) -> Choice:
    """Draw one of the weighted choices."""
    total = sum(weight for _, weight in choices)
    left = rng.random() * total
    for choice, weight in choices:
        left -= weight
        if left < 0:
            return choice
    return choices[-1][0]


def contact_side(orientation: HandOrientation, outward: Array) -> Contact:
    """The part of a hand that faces a surface whose outward direction is given, (3,)."""
    hand = turned(orientation)
    scores = {side: float(-(hand @ np.array(axis, float)) @ outward) + bias for side, (axis, bias) in _SIDES.items()}
    return max(scores, key=lambda side: scores[side])


def place_outward(place: Place, base: HandOrientation) -> Array:
    """The outward direction of a place, (3,), in space: on the weak hand it turns with that hand."""
    if place.region is not Region.WEAK or place.at[1] < 0:  # a forearm does not turn with its hand
        return place.outward
    mirror = np.array([-1.0, 1.0, 1.0])
    hand = frame(np.array(VECTORS[base.fingers], float) * mirror, np.array(VECTORS[base.palm], float) * mirror)
    return np.asarray((hand @ place.outward) * mirror)


def _draw_shapes(rng: np.random.Generator, local: Local) -> tuple[str, str]:
    if local is Local.WIGGLE:
        shape = _WIGGLERS[int(rng.integers(len(_WIGGLERS)))]
        return shape, shape
    if local is Local.OPEN_CLOSE or (local is Local.NONE and rng.random() < 0.22):
        return _CHANGES[int(rng.integers(len(_CHANGES)))]
    shape = pick(rng, [(s.name, s.weight) for s in HANDSHAPES.values()])
    return shape, shape


def _draw_place(rng: np.random.Generator, hands: Hands) -> Place:
    if hands is Hands.BASE:
        allowed = {Region.WEAK}
    elif hands is Hands.SYMMETRIC:
        allowed = {Region.SPACE} if rng.random() < 0.75 else {Region.HEAD, Region.BODY}
    else:
        allowed = {Region.SPACE, Region.HEAD, Region.BODY, Region.ARM}
    places = [place for place in PLACES.values() if place.region in allowed]
    if hands is Hands.SYMMETRIC:  # two equal hands take only places of the strong side or the middle
        places = [place for place in places if not place.name.startswith("weak")]
    return pick(rng, [(place, place.weight) for place in places])


def _draw_orientation(rng: np.random.Generator, place: Place, base: HandOrientation) -> tuple[HandOrientation, Contact]:
    usual = _BY_REGION.get(place.region, _IN_SPACE)
    orientation = pick(rng, [(o, weight * ease(place.name, o)) for o, weight in usual])
    if place.region is Region.SPACE:
        return orientation, Contact.PALM
    return orientation, contact_side(orientation, place_outward(place, base))


def draw_path(rng: np.random.Generator) -> HandPath:
    """Draw a movement of the whole hand."""
    kind = pick(rng, _PATHS)
    if kind in (PathKind.NONE, PathKind.TO_BODY, PathKind.FROM_BODY):
        return HandPath(kind)
    return HandPath(kind, pick(rng, _AXES if kind is PathKind.CIRCLE else _DIRECTIONS))


def draw_detail(rng: np.random.Generator, sign: Sign) -> Detail:
    """Draw the continuous values of a sign."""
    on_head = PLACES[sign.place].region in (Region.HEAD, Region.WEAK)
    middle, most = (0.105, 0.18) if on_head else (0.20, 0.32)
    size = min(middle * float(np.exp(rng.normal(0, 0.3))), most)
    if sign.path.kind is PathKind.CIRCLE:
        size *= 0.7
    lean, tilt = rng.normal(0, 0.18, 3), rng.normal(0, 0.16, 3)
    shift = rng.normal(0, 0.012 if on_head else 0.022, 3)
    return Detail(
        size=size,
        lean=(float(lean[0]), float(lean[1]), float(lean[2])),
        shift=(float(shift[0]), float(shift[1]), float(shift[2])),
        tilt=(float(tilt[0]), float(tilt[1]), float(tilt[2])),
        flex=tuple(rng.normal(0, 0.13, 5).tolist()),
        fan=float(rng.normal(0, 0.06)),
        bulge=float(rng.uniform(0.25, 0.6)),
        gap=float(rng.uniform(0.035, 0.13)),
        weight=float(np.exp(rng.normal(0, 0.12))),
    )


def draw_sign(rng: np.random.Generator) -> Sign:
    """Draw a random sign: everything that a natural sign could be, nothing that stands still for no reason."""
    hands, local, path = pick(rng, _HANDS), pick(rng, _LOCALS), draw_path(rng)
    shape, end_shape = _draw_shapes(rng, local)
    place = _draw_place(rng, hands)
    base = pick(rng, _BASES) if hands is Hands.BASE else Sign().base_orientation
    orientation, contact = _draw_orientation(rng, place, base)
    still = path.kind is PathKind.NONE and local is Local.NONE and shape == end_shape
    if still and rng.random() < 0.8:  # a tap; the rest are held postures
        path = HandPath(PathKind.TO_BODY)
    repeats = pick(rng, [(1, 50), (2, 36), (3, 14)])
    sign = Sign(
        hands=hands,
        shape=shape,
        end_shape=end_shape,
        place=place.name,
        orientation=orientation,
        contact=contact,
        path=path,
        local=local,
        repetition=1 if still and path.kind is PathKind.NONE else repeats,
        symmetry=_draw_symmetry(rng, repeats) if hands is Hands.SYMMETRIC else Symmetry.MIRRORED,
        base_shape=BASE_SHAPES[int(rng.choice(7, p=_BASE_ODDS))] if hands is Hands.BASE else "B",
        base_orientation=base,
    )
    return replace(sign, detail=draw_detail(rng, sign))


def _draw_symmetry(rng: np.random.Generator, repeats: int) -> Symmetry:
    if repeats > 1 and rng.random() < 0.35:
        return Symmetry.ALTERNATING
    return Symmetry.PARALLEL if rng.random() < 0.1 else Symmetry.MIRRORED


LETTERS = MappingProxyType(
    {
        letter: (shape, HandOrientation(Direction[palm], Direction[fingers]))
        for letter, shape, palm, fingers in read_table("letters")
    }
)
_MAX_VARIANTS = 4


def spellable(word: str) -> str:
    """Keep the letters of a word that the alphabet has, in lower case, accents removed."""
    plain = unicodedata.normalize("NFKD", word).lower()
    return "".join(letter for letter in plain if letter in LETTERS)


@dataclass(frozen=True, slots=True)
class LexiconOptions:
    """Options of a lexicon; the shares are of all words."""

    words: Sequence[str] | int = 1000  # the words, or how many to invent
    seed: int = 0
    minimal_pair_share: float = 0.2  # words that have a partner differing in one parameter
    synonym_share: float = 0.05  # words that use another word's sign
    fingerspelled_share: float = 0.04
    variant_shares: tuple[float, ...] = (0.55, 0.28, 0.12, 0.05)  # words with 1, 2, 3 and 4 variants

    def __post_init__(self) -> None:
        count = self.words if isinstance(self.words, int) else len(self.words)
        if count < 1:
            raise OptionsError(f"a lexicon needs at least 1 word; got {count}")
        if not isinstance(self.words, int) and len(set(self.words)) < count:
            twice = next(w for i, w in enumerate(self.words) if w in self.words[:i])
            raise OptionsError(f"the word '{twice}' is given twice; every word of a lexicon is given once")
        for name in ("minimal_pair_share", "synonym_share", "fingerspelled_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise OptionsError(f"{name} must lie between 0 and 1; got {getattr(self, name)}")
        if self.minimal_pair_share + self.synonym_share + self.fingerspelled_share > 1:
            raise OptionsError("the shares of minimal pairs, synonyms and fingerspelled words add up to more than 1")
        shares = self.variant_shares
        if not 1 <= len(shares) <= _MAX_VARIANTS or min(shares) < 0 or abs(sum(shares) - 1) > 1e-6:
            raise OptionsError(f"variant_shares are 1 to 4 shares that add up to 1; got {shares}")


@dataclass(frozen=True, slots=True)
class Entry:
    """A word and the signs that are used for it."""

    word: str
    variants: tuple[Sign, ...]
    fingerspelled: bool = False
    synonym_of: str | None = None  # the word whose sign this one shares
    minimal_pair_of: str | None = None  # the word whose sign differs in one parameter


class Lexicon(Mapping[str, Entry]):
    """All words of one language, in the order they were given."""

    def __init__(self, entries: Sequence[Entry]):
        self._entries = {entry.word: entry for entry in entries}

    def __getitem__(self, word: str) -> Entry:
        if word not in self._entries:
            raise UnknownWordError(word, self._entries)
        return self._entries[word]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class _Maker:
    """Draws signs and remembers them, so that no two are the same by accident."""

    def __init__(self, options: LexiconOptions):
        self.options = options
        self.taken: set[Sign] = set()

    def fresh(self, *names: str | int) -> Sign:
        """A random sign that nothing else uses."""
        rng = named_rng(self.options.seed, "sign", *names)
        while (sign := draw_sign(rng)) in self.taken:
            pass
        self.taken.add(sign)
        return sign

    def neighbour(self, sign: Sign, word: str) -> Sign:
        """A sign that differs from `sign` in one parameter."""
        rng = named_rng(self.options.seed, "pair", word)
        while True:
            other = change_one(sign, rng)
            if other not in self.taken and len(sign.differences(other)) == 1:
                self.taken.add(other)
                return other

    def variants(self, word: str, first: Sign) -> tuple[Sign, ...]:
        """All signs of a word, `first` foremost."""
        rng = named_rng(self.options.seed, "variants", word)
        count = 1 + int(rng.choice(len(self.options.variant_shares), p=self.options.variant_shares))
        return (first, *(self.fresh(word, i) for i in range(1, count)))


def change_one(sign: Sign, rng: np.random.Generator) -> Sign:
    """Change one randomly chosen parameter of a sign."""
    parameter = str(rng.choice(["handshape", "place", "orientation", "path", "local", "repetition"]))
    if parameter == "handshape":
        shape = pick(rng, [(s.name, s.weight) for s in HANDSHAPES.values()])
        same = sign.shape == sign.end_shape
        return replace(sign, shape=shape, end_shape=shape if same else sign.end_shape)
    if parameter == "place":
        region = PLACES[sign.place].region
        allowed = [(p.name, 1.0) for p in PLACES.values() if p.region is region]
        return replace(sign, place=pick(rng, allowed))
    if parameter == "orientation":
        return replace(sign, orientation=_other_orientation(sign.place, sign.orientation, rng))
    if parameter == "path":
        return replace(sign, path=draw_path(rng))
    if parameter == "local":
        local = pick(rng, [(Local.NONE, 1), (Local.TWIST, 1), (Local.NOD, 1)])
        return replace(sign, local=local)
    return replace(sign, repetition=1 if sign.repetition > 1 else 3)


def _other_orientation(place: str, old: HandOrientation, rng: np.random.Generator) -> HandOrientation:
    others = [
        HandOrientation(palm, fingers) for palm in Direction for fingers in (old.fingers, Direction.UP, Direction.FORTH)
    ]
    square = [o for o in others if o != old and abs(np.dot(VECTORS[o.palm], VECTORS[o.fingers])) < 0.1]
    return pick(rng, [(o, ease(place, o)) for o in square])


def invented_words(count: int, seed: int) -> list[str]:
    """Make up `count` different pronounceable words."""
    rng = named_rng(seed, "invented words")
    starts, vowels, ends = list("bdfghklmnprstvw"), [*"aeiou", "oo", "ee"], ["", *"nslm"]
    words: dict[str, None] = {}
    while len(words) < count:
        syllables = 2 + int(rng.integers(2))
        parts = [str(rng.choice(starts)) + str(rng.choice(vowels)) for _ in range(syllables)]
        words["".join(parts) + str(rng.choice(ends))] = None
    return list(words)


def _roles(options: LexiconOptions, words: Sequence[str]) -> dict[str, str]:
    """Say for each special word what it is: fingerspelled, synonym, or second of a minimal pair."""
    order = [words[i] for i in named_rng(options.seed, "roles").permutation(len(words))]
    spelled = [w for w in order if spellable(w)][: round(options.fingerspelled_share * len(words))]
    rest = [w for w in order if w not in set(spelled)]
    synonyms = min(round(options.synonym_share * len(words)), len(rest) // 2)
    pairs = min(round(options.minimal_pair_share * len(words) / 2), (len(rest) - 2 * synonyms) // 2)
    roles = dict.fromkeys(spelled, "fingerspelled")
    roles |= dict.fromkeys(rest[:synonyms], "synonym")
    return roles | dict.fromkeys(rest[synonyms : synonyms + pairs], "pair")


def _spelled_sign(word: str, seed: int) -> Sign:
    """Fingerspelling, at the strong side's shoulder height."""
    sign = Sign(place="high space", letters=spellable(word))
    detail = draw_detail(named_rng(seed, "spelled", word), sign)
    return replace(sign, detail=replace(detail, flex=Detail().flex, fan=0.0))  # letters are letters


def make_lexicon(options: LexiconOptions) -> Lexicon:
    """Make the lexicon that belongs to the options: the same options give the same signs."""
    invent = isinstance(options.words, int)
    words = invented_words(int(options.words), options.seed) if invent else list(options.words)  # type: ignore[arg-type]
    maker, roles = _Maker(options), _roles(options, words)
    plain = [w for w in words if w not in roles]
    entries = {w: Entry(w, maker.variants(w, maker.fresh(w, 0))) for w in plain}
    partners = iter(named_rng(options.seed, "partners").permutation(len(plain)).tolist())
    for word, role in roles.items():
        if role == "fingerspelled":
            entries[word] = Entry(word, (_spelled_sign(word, options.seed),), fingerspelled=True)
            continue
        partner = plain[next(partners)]
        if role == "synonym":
            entries[word] = Entry(word, entries[partner].variants[:1], synonym_of=partner)
        else:
            first = maker.neighbour(entries[partner].variants[0], word)
            entries[word] = Entry(word, maker.variants(word, first), minimal_pair_of=partner)
    return Lexicon([entries[w] for w in words])
