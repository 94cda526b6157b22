"""English text that is read otherwise than it is written: abbreviations, contractions, symbols and measures."""

import json
import re
from collections.abc import Callable, Iterable
from importlib.resources import files
from itertools import product

from signspot.words.tokens import APOSTROPHES, SYMBOLS, Atom, Reading, fold, number_words, word_pattern

_DATA = json.loads((files("signspot.words") / "data" / "english.json").read_text(encoding="utf-8"))
ABBREVIATIONS: dict[str, list[str]] = _DATA["abbreviations"]
NEEDS_CAPITAL = frozenset(_DATA["needs_capital"])  # words of their own unless capitalised or followed by a full stop
NEEDS_DOTS = frozenset(_DATA["needs_dots"])  # only with full stops inside
CONTRACTIONS: dict[str, list[tuple[str, str]]] = _DATA["contractions"]  # in pieces: as written, as said
ENDINGS: dict[str, list[str]] = _DATA["endings"]
IS_AFTER = frozenset(_DATA["is_after"])  # after these, 's is "is"; after anything else it marks whose something is
SIGNS: dict[str, list[str]] = _DATA["signs"]
MONEY: dict[str, tuple[str, str]] = _DATA["money"]  # one, several; as coins and measures
COINS: dict[str, tuple[str, str]] = _DATA["coins"]
SCALES: dict[str, str] = _DATA["scales"]
MEASURES: dict[str, tuple[str, str]] = _DATA["measures"]  # as written after a number

_NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,6}|\d+)(?:\.\d+)?"  # bounded, so that no text makes it try in vain for long
_ALONE = r"(?![^\W_]|[.,:/]\d)"  # nothing goes on behind it
_HALF = r"[AaPp](?:\.[Mm]\.?|[Mm](?![^\W_]))"
_SCALE = r"(?:[kmKM]|mn|bn|tn|thousand|million|billion|trillion)(?![^\W_])"
_MEASURE = "|".join(sorted(map(re.escape, MEASURES), key=len, reverse=True))
_SHORT = "|".join(sorted((set(ABBREVIATIONS) - NEEDS_DOTS), key=len, reverse=True))
_TENS = ("", "tens", "twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")
_QUOTE = f"[{APOSTROPHES}]"

# The kinds of unit, tried in this order at every place of a text.
ENGLISH_PATTERNS: dict[str, str] = {
    "money": rf"[{''.join(MONEY)}]\s?{_NUMBER}(?:\s?{_SCALE}|{_ALONE})",
    "clock": rf"(?:[01]?\d|2[0-3])(?::[0-5]\d(?:\s?{_HALF}|(?![^\W_]|:\d))|\.[0-5]\d\s?{_HALF}|\s?{_HALF})",
    "decade": rf"{_QUOTE}?(?:1\d|20)?\d0{_QUOTE}?s(?![^\W_])",
    "ordinal": r"(?:\d{1,3}(?:,\d{3}){1,6}|\d{1,12})(?:st|nd|rd|th|ST|ND|RD|TH)(?![^\W_])",
    "percent": rf"{_NUMBER}\s?%",
    "measure": rf"{_NUMBER}(?:\s?°[CcFf]?|(?:{_MEASURE}))(?![^\W_])",
    "fraction": r"\d{0,6}[½⅓⅔¼¾]|\d{1,3}/\d{1,3}(?![^\W_]|/)",
    "negative": rf"(?<![^\s(])[-−]{_NUMBER}{_ALONE}",
    "number": rf"(?<!\d[.,:/]){_NUMBER}{_ALONE}",
    "dotted": r"(?:[A-Za-z]\.)+[A-Za-z](?![^\W_])\.?|(?:[A-Za-z]\.){2,}",
    "short": rf"(?i:{_SHORT})(?![^\W_]|{_QUOTE}[^\W_])\.?",
    "word": rf"{_QUOTE}(?i:em|cause)(?![^\W_])|{word_pattern(apostrophes=True)}",
    "sign": f"[{re.escape(SYMBOLS)}]",
}


def read_english(kind: str, surface: str) -> tuple[Reading, ...]:
    """The ways to say a unit, likeliest first; spans count from its own start."""
    return tuple(dict.fromkeys(reading for reading in _READERS[kind](surface) if reading))


def _whole(surface: str, *sayings: Iterable[str]) -> list[Reading]:
    """Readings in which all words stand for all of the unit."""
    return [(Atom(words, 0, len(surface)),) for saying in sayings if (words := tuple(saying))]


def _sayings(digits: str) -> list[tuple[str, ...]]:
    """A number as people say it: with "and" and without, years as years, a bare "hundred"."""
    plain = digits.replace(",", "")
    sayings = [number_words(plain, "en")]
    if re.fullmatch(r"1[1-9]\d\d|20[1-9]\d", digits):
        sayings.insert(0, number_words(plain, "en", "year"))
    sayings += [tuple(word for word in words if word != "and") for words in sayings if "and" in words]
    sayings += [words[1:] for words in sayings if len(words) == 2 and words[0] == "one"]
    return [words for words in dict.fromkeys(sayings) if words]


def _money(surface: str) -> list[Reading]:
    match = re.fullmatch(rf"(.)(\s?)({_NUMBER})(?:\s?({_SCALE}))?", surface)
    if match is None:
        return []
    sign, amount, scale = match[1], match[3], match[4]
    whole, _, part = amount.partition(".")
    name = MONEY[sign][0 if whole == "1" and len(part) != 1 and not scale else 1]
    digits = (match.start(3), match.end(3))
    if len(part) == 2 and sign in COINS and not scale and int(part):
        coins = number_words(str(int(part)), "en")
        long = (*number_words(whole.replace(",", ""), "en"), name, *coins)
        coin = COINS[sign][0 if int(part) == 1 else 1]
        return _whole(surface, (*long, coin), long)
    amounts = _sayings(whole if part.strip("0") == "" else amount)
    tail = (Atom((SCALES[scale.lower()],), match.start(4), match.end(4)),) if scale else ()
    return [(Atom(words, *digits), *tail, Atom((name,), 0, 1)) for words in amounts]


def _clock(surface: str) -> list[Reading]:
    match = re.fullmatch(rf"(\d+)(?:[:.](\d\d))?\s?({_HALF})?", surface)
    if match is None:
        return []
    hour, minute, half = match.groups()
    spoken = list(number_words(str(int(hour)), "en"))
    if minute is not None and minute != "00":
        spoken += ["oh"] * (minute[0] == "0") + list(number_words(str(int(minute)), "en"))
    elif minute and not half:
        spoken += ["o'clock"] if 0 < int(hour) < 13 else ["hundred"]
    end = match.start(3) if half else len(surface)
    number = Atom(tuple(spoken), 0, len(surface[:end].rstrip()))
    return [(number, Atom((half[0].lower() + "m",), end, len(surface)))] if half else [(number,)]


def _decade(surface: str) -> list[Reading]:
    digits = re.sub(r"\D", "", surface)
    tens = _TENS[int(digits[-2])]
    if len(digits) == 2:
        return _whole(surface, (tens,)) if tens else []
    if digits == "2000":
        return _whole(surface, ("two", "thousands"), ("noughties",))
    century = number_words(digits[:2], "en")
    return _whole(surface, (*century, tens or "hundreds"), (tens,) if tens else ())


def _percent(surface: str) -> list[Reading]:
    digits = surface[:-1].rstrip()
    sign = len(surface) - 1
    names = [tuple(name.split()) for name in SIGNS["%"]]
    return [
        (Atom(words, 0, len(digits)), Atom(name, sign, sign + 1))
        for words, name in product(_sayings(digits)[:2], names)
    ]


def _measure(surface: str) -> list[Reading]:
    match = re.fullmatch(rf"({_NUMBER})\s?(\D+)", surface)
    if match is None:
        return []
    name = MEASURES[match[2].lower()][0 if match[1] in ("1", "1.0") else 1]
    unit = Atom(tuple(name.split()), match.start(2), match.end(2))
    return [(Atom(words, 0, match.end(1)), unit) for words in _sayings(match[1])]


def _fraction(surface: str) -> list[Reading]:
    if "/" in surface:
        above, below = surface.split("/")
        return _whole(surface, _simple_fraction(int(above), int(below)))
    part = tuple(SIGNS[surface[-1]][0].split())
    if len(surface) == 1:
        return _whole(surface, part, ("a", *part) if len(part) == 1 else ())
    article = ("a",) if len(part) == 1 else ()
    return _whole(surface, (*number_words(surface[:-1], "en"), "and", *article, *part))


def _simple_fraction(above: int, below: int) -> tuple[str, ...]:
    if not 0 < above < below or below > 20:
        return ()
    named = {2: ("half",), 4: ("quarter",)}.get(below) or number_words(str(below), "en", "ordinal")
    many = (*named[:-1], "halves" if below == 2 else named[-1] + "s")
    return (*number_words(str(above), "en"), *(named if above == 1 else many))


def _dotted(surface: str) -> list[Reading]:
    letters = surface.replace(".", "").lower()
    return _whole(surface, *(name.split() for name in ABBREVIATIONS.get(letters, ())), (letters,))


def _short(surface: str) -> list[Reading]:
    key = surface.rstrip(".").lower()
    if key in NEEDS_CAPITAL and surface[0].islower() and not surface.endswith("."):
        return []
    return _whole(surface, *(name.split() for name in ABBREVIATIONS[key]))


def _word(surface: str) -> list[Reading]:
    word = fold(surface)
    if "'" not in word and word not in CONTRACTIONS:
        return _whole(surface, *_sayings(word)) if word.isascii() and word.isdecimal() else []
    if len(word) != len(surface):
        return []  # folding changed its length, so that no place in it is known
    if word in CONTRACTIONS:
        return [_pieces(CONTRACTIONS[word])]
    for ending, sayings in ENDINGS.items():
        if word.endswith(ending):
            stem = word[: -len(ending)]
            stems = ((stem, stem),) if stem else ()
            unmarked = _whole(surface, (word.replace("'", ""),)) if ending == "n't" else []  # "dont", as some write
            return [_pieces((*stems, (ending, saying))) for saying in sayings] + unmarked
    return _possessive(word)


def _possessive(word: str) -> list[Reading]:
    stem = word.removesuffix("'s")
    if stem == word or not stem:
        return []
    if stem in IS_AFTER:
        return [_pieces(((stem, stem), ("'s", "is")))]
    return [(Atom((stem,), 0, len(stem)),)]


def _pieces(pieces: Iterable[tuple[str, str]]) -> Reading:
    atoms: list[Atom] = []
    start = 0
    for written, spoken in pieces:
        atoms.append(Atom(tuple(spoken.split()), start, start + len(written)))
        start += len(written)
    return tuple(atoms)


_READERS: dict[str, Callable[[str], list[Reading]]] = {
    "money": _money,
    "clock": _clock,
    "decade": _decade,
    "ordinal": lambda surface: _whole(surface, number_words(re.sub(r"\D", "", surface), "en", "ordinal")),
    "percent": _percent,
    "measure": _measure,
    "fraction": _fraction,
    "negative": lambda surface: [
        (Atom(("minus",), 0, 1), Atom(words, 1, len(surface))) for words in _sayings(surface[1:])
    ],
    "number": lambda surface: _whole(surface, *_sayings(surface)),
    "dotted": _dotted,
    "short": _short,
    "word": _word,
    "sign": lambda surface: _whole(surface, *(name.split() for name in SIGNS[surface])),
}
