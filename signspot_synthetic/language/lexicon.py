"""A language from a seed: words, their variants, their synonyms and their minimal pairs."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from signspot.errors import OptionsError, UnknownWordError
from signspot_synthetic.knobs import named_rng
from signspot_synthetic.language.handshapes import HANDSHAPES
from signspot_synthetic.language.phonology import VECTORS, Detail, Direction, HandOrientation, Local, Sign
from signspot_synthetic.language.places import PLACES
from signspot_synthetic.language.sign_sampler import draw_detail, draw_path, draw_sign, ease, pick

_FORTH = HandOrientation(Direction.FORTH, Direction.UP)
_SIDEWAYS = HandOrientation(Direction.BACK, Direction.WEAK)
_DOWN = HandOrientation(Direction.DOWN, Direction.FORTH)
_SIDE = HandOrientation(Direction.WEAK, Direction.UP)

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
    """All words of one world, in the order they were given."""

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
    what = str(rng.choice(["handshape", "place", "orientation", "path", "local", "repetition"]))
    if what == "handshape":
        shape = pick(rng, [(s.name, s.weight) for s in HANDSHAPES.values()])
        same = sign.shape == sign.end_shape
        return replace(sign, shape=shape, end_shape=shape if same else sign.end_shape)
    if what == "place":
        region = PLACES[sign.place].region
        allowed = [(p.name, 1.0) for p in PLACES.values() if p.region is region]
        return replace(sign, place=pick(rng, allowed))
    if what == "orientation":
        return replace(sign, orientation=_other_orientation(sign.place, sign.orientation, rng))
    if what == "path":
        return replace(sign, path=draw_path(rng))
    if what == "local":
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
    made = {w: Entry(w, maker.variants(w, maker.fresh(w, 0))) for w in plain}
    partners = iter(named_rng(options.seed, "partners").permutation(len(plain)).tolist())
    for word, role in roles.items():
        if role == "fingerspelled":
            made[word] = Entry(word, (_spelled_sign(word, options.seed),), fingerspelled=True)
            continue
        partner = plain[next(partners)]
        if role == "synonym":
            made[word] = Entry(word, made[partner].variants[:1], synonym_of=partner)
        else:
            first = maker.neighbour(made[partner].variants[0], word)
            made[word] = Entry(word, maker.variants(word, first), minimal_pair_of=partner)
    return Lexicon([made[w] for w in words])
