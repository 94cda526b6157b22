"""English for synthetic signing: common words by class, their inflected forms, and more words on demand."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from signspot.errors import OptionsError

_SMALL = tuple(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "  # noqa: SIM905
    "seventeen eighteen nineteen".split()
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_LARGE = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
VALUES = (
    {word: value for value, word in enumerate(_SMALL, start=1)}
    | {word: 10 * value for value, word in enumerate(_TENS, start=2)}
    | _LARGE
)
VERBS = ("eat", "do", "act", "move", "say", "doing")
_MODIFIERS = ("thing", "place", "animal", "mass", "food", "drink")  # first parts of compounds
_HEADS = ("thing", "idea", "person", "place")  # second parts of compounds
_DOUBLED = {"admit", "control", "forbid", "forget", "prefer", "travel"}  # longer verbs that double their end
_VOWELS = "aeiou"


def number_words(value: int) -> tuple[str, ...]:
    """The signs of a whole number from 1 to 999,999,999: 25 → ('twenty', 'five')."""
    for name, size in reversed(_LARGE.items()):
        if value >= size:
            return (*number_words(value // size), name, *number_words(value % size))
    if value >= 20:
        return (_TENS[value // 10 - 2], *number_words(value % 10))
    return (_SMALL[value - 1],) if value else ()


def year_words(year: int) -> tuple[str, ...]:
    """The signs of a year: 1985 → ('nineteen', 'eighty', 'five'), 2003 → ('two', 'thousand', 'three')."""
    if year % 100 == 0 or 2000 <= year < 2010:
        return number_words(year)
    return number_words(year // 100) + number_words(year % 100)


def spelled(words: Sequence[str]) -> str:
    """A number in letters: ('twenty', 'five') → 'twenty-five', ('three', 'hundred') → 'three hundred'."""
    text = ""
    for before, word in zip(("", *words), words, strict=False):
        text += ("-" if before in _TENS and word in _SMALL else " ") + word
    return text.strip()


def ordinal_digits(word: str) -> str:
    """'third' → '3rd'."""
    value = _ORDINALS.index(word) + 1
    return f"{value}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(value, 'th') }"


@dataclass(frozen=True, slots=True)
class EnglishWord:
    """A word or a phrase: a key of the dictionary, and how English writes and bends it."""

    word: str  # the dictionary key, in lower case
    shown: str  # as English writes it: 'London', 'TV'
    kind: str  # its class, a heading of data/english.txt
    forms: tuple[str, ...] = ()  # irregular forms, in the order that data/english.txt explains


@cache
def english_words() -> tuple[EnglishWord, ...]:
    """All words of the list, common ones first, every class spread evenly over the ranks."""
    ranked = [
        ((place + 0.5) / len(section), order, word)
        for order, section in enumerate(_sections())
        for place, word in enumerate(section)
    ]
    unique: dict[str, EnglishWord] = {}
    for _, _, word in sorted(ranked, key=lambda item: item[:2]):
        unique.setdefault(word.word, word)
    return tuple(unique.values())


def _sections() -> list[list[EnglishWord]]:
    """Read the word list: one list of words per class."""
    text = (files("signspot_synthetic") / "data" / "english.txt").read_text(encoding="utf-8")
    sections: dict[str, list[EnglishWord]] = {}
    kind = ""
    for line in text.splitlines():
        if line.startswith("["):
            kind = line.strip("[]")
        elif line and not line.startswith("#"):
            sections.setdefault(kind, []).extend(_parse(entry, kind) for entry in line.split())
    return list(sections.values())


def _parse(entry: str, kind: str) -> EnglishWord:
    text, *forms = entry.replace("_", " ").split("/")
    return EnglishWord(text.lower(), text, kind, tuple(forms))


def vocabulary(count: int) -> tuple[EnglishWord, ...]:
    """The `count` most common words; past the end of the list, compounds of its words ('school bus').

    Raises:
        OptionsError: `count` is below 1, or more than can be compounded.
    """
    if count < 1:
        raise OptionsError(f"a vocabulary needs at least 1 word; got {count}")
    words = english_words()
    return words[:count] + _compounds(count - len(words)) if count > len(words) else words[:count]


@cache
def _compounds(count: int) -> tuple[EnglishWord, ...]:
    """Make `count` two-part nouns; a shorter list is always the beginning of a longer one."""
    listed = english_words()
    listed_words = {word.word for word in listed}
    first = [word for word in listed if word.kind in _MODIFIERS and " " not in word.word]
    second = [word for word in listed if word.kind in _HEADS and " " not in word.word]
    pairs = len(first) * len(second)
    if count > pairs // 2:
        raise OptionsError(f"at most {len(listed) + pairs // 2:,} words can be made; {len(listed) + count:,} wanted")
    step = next(n for n in range(round(pairs * 0.382), pairs) if math.gcd(n, pairs) == 1)
    compounds: list[EnglishWord] = []
    position = 0
    while len(compounds) < count:
        position = (position + step) % pairs  # visits every pair once, neighbours in the list far apart
        modifier, head = first[position // len(second)], second[position % len(second)]
        name = f"{modifier.word} {head.word}"
        if modifier is not head and name not in listed_words:
            forms = tuple(f"{modifier.word} {form}" for form in head.forms)
            compounds.append(EnglishWord(name, name, head.kind, forms))
    return tuple(compounds)


def as_english(words: Sequence[str]) -> tuple[EnglishWord, ...]:
    """The listed words of these names; a word that is not in the list is taken for a noun.

    Raises:
        OptionsError: a word is empty, or stands there twice.
    """
    english = {word.word: word for word in english_words()}
    chosen = [_normal(word) for word in words]
    for position, word in enumerate(chosen):
        if not re.search(r"\w", word):
            raise OptionsError(f"word {position + 1} of the list, '{words[position]}', is empty; remove it")
        if word in chosen[:position]:
            raise OptionsError(f"'{words[position]}' stands in the list of words twice; remove one")
    return tuple(english.get(word, EnglishWord(word, word, "thing")) for word in chosen)


def _normal(word: str) -> str:
    return " ".join(word.lower().split())


def plural(noun: EnglishWord) -> str:
    """'child' → 'children', 'bus stop' → 'bus stops'."""
    return noun.forms[0] if noun.forms else _with_s(noun.shown)


def present(verb: EnglishWord) -> str:
    """The third person: 'go' → 'goes', 'look after' → 'looks after'."""
    return _first(verb.shown, lambda base: "has" if base == "have" else _with_s(base))


def past(verb: EnglishWord) -> str:
    """'go' → 'went', 'stop' → 'stopped', 'give up' → 'gave up'."""
    return verb.forms[0] if verb.forms else _first(verb.shown, lambda base: _irregular(base, 0) or _with_ed(base))


def participle(verb: EnglishWord) -> str:
    """'go' → 'gone', 'stop' → 'stopped'."""
    return verb.forms[-1] if verb.forms else _first(verb.shown, lambda base: _irregular(base, -1) or _with_ed(base))


def gerund(verb: EnglishWord) -> str:
    """'go' → 'going', 'make' → 'making', 'lie' → 'lying'."""
    return _first(verb.shown, _with_ing)


def comparative(adjective: EnglishWord) -> str:
    """'big' → 'bigger', 'important' → 'more important'."""
    if adjective.forms:
        return adjective.forms[0]
    return _graded(adjective.shown, "er") if _is_short(adjective.shown) else f"more {adjective.shown}"


def superlative(adjective: EnglishWord) -> str:
    """'big' → 'biggest', 'important' → 'most important'."""
    if adjective.forms:
        return adjective.forms[-1]
    return _graded(adjective.shown, "est") if _is_short(adjective.shown) else f"most {adjective.shown}"


def article(following: str) -> str:
    """'a' or 'an', as the next word asks."""
    word = following.lower()
    if word.startswith(("hour", "honest", "8", "11", "18")):
        return "an"
    silent = word.startswith(("uni", "euro", "one", "use", "uk", "usa"))
    return "an" if word[0] in _VOWELS and not silent else "a"


def _first(phrase: str, bend: Callable[[str], str]) -> str:
    base, space, rest = phrase.partition(" ")
    return bend(base) + space + rest


@cache
def _irregular(base: str, form: int) -> str:
    forms = next((w.forms for w in english_words() if w.word == base and w.kind in VERBS), ())
    return forms[form] if forms else ""


def _with_s(base: str) -> str:
    if re.search(r"(s|x|z|ch|sh)$", base) or base in ("go", "do"):
        return base + "es"
    return base[:-1] + "ies" if _ends_in_y(base) else base + "s"


def _with_ed(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    return base[:-1] + "ied" if _ends_in_y(base) else _doubled(base) + "ed"


def _with_ing(base: str) -> str:
    if base.endswith("ie"):
        return base[:-2] + "ying"
    silent_e = base.endswith("e") and not base.endswith(("ee", "oe", "ye")) and base != "be"
    return (base[:-1] if silent_e else _doubled(base)) + "ing"


def _graded(base: str, ending: str) -> str:
    if base.endswith("e"):
        return base + ending[1:]
    return base[:-1] + "i" + ending if _ends_in_y(base) else _doubled(base) + ending


def _doubled(base: str) -> str:
    one_syllable = len(re.findall(r"[aeiouy]+", base.replace("qu", "kw"))) == 1
    closed = re.search(r"[^aeiou][aeiouy][^aeiouwxy]$", base.replace("qu", "kw"))
    return base + base[-1] if closed and (one_syllable or base in _DOUBLED) else base


def _ends_in_y(base: str) -> bool:
    return base.endswith("y") and base[-2:-1] not in _VOWELS


def _is_short(adjective: str) -> bool:
    syllables = len(re.findall(r"[aeiouy]+", re.sub(r"e$", "", adjective)))
    return syllables <= 1 or (syllables == 2 and adjective.endswith("y"))
