"""From text as it is written to text as it is said: "£5" is "five pounds", "3rd" is "third", "Dr" is "doctor"."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from signspot.text.english_units import ENGLISH_PATTERNS, read_english
from signspot.text.lemmas import primary_language
from signspot.text.numbers import number_words
from signspot.text.tokens import HYPHENS, SYMBOLS, fold, tokens, word_pattern
from signspot.text.units import Atom, Reading, Unit

_GROUPED = r"\d{1,3}(?:[.'’\u00a0\u202f]\d{3}){1,6}(?:,\d+)?|\d+(?:,\d+)?"  # 1.234,5 as outside English
_BETWEEN_HYPHENS = re.compile(rf"(?<=[^\W_])[{HYPHENS}](?=[^\W_])")


def normalise(text: str, language: str = "en") -> str:
    """Write a text as it is said.

    English in full depth: numbers, money, clock times, decades, ordinals, percentages, measures, fractions,
    abbreviations, contractions, possessives, signs and hyphens. Other languages: whole and decimal numbers, in those
    that num2words speaks, and hyphens.

    Args:
        text: whatever is not rewritten keeps its case and its punctuation.
        language: as in "en" or "en-GB".

    Raises:
        OptionsError: the language is unknown.
        MissingExtraError: num2words or simplemma is not installed.
    """
    parts: list[str] = []
    done = 0
    for unit in units(text, primary_language(language)):
        if unit.readings:
            before, after = text[unit.start - 1 : unit.start], text[unit.end : unit.end + 1]
            said = _said(text, unit.readings[0])
            parts += [text[done : unit.start], " " * before.isalnum(), said, " " * after.isalnum()]
            done = unit.end
    return _BETWEEN_HYPHENS.sub(" ", "".join(parts) + text[done:])


def _said(text: str, reading: Reading) -> str:
    """The words of a reading; what is said as it is written keeps its case."""
    written = (text[atom.start : atom.end] for atom in reading)
    pairs = zip(reading, written, strict=True)
    return " ".join(as_is if atom.words == (fold(as_is),) else " ".join(atom.words) for atom, as_is in pairs)


def units(text: str, language: str) -> Iterator[Unit]:
    """Cut a text into units, each with its readings, in order.

    Args:
        text: any text.
        language: a name from `signspot.text.lemmas.languages`.
    """
    for match in _scanner(language).finditer(text):
        yield _unit(match.lastgroup or "", match[0], language).moved(match.start())


@cache
def _scanner(language: str) -> re.Pattern[str]:
    patterns = ENGLISH_PATTERNS if language == "en" else _plain_patterns()
    return re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in patterns.items()))


def _plain_patterns() -> dict[str, str]:
    return {
        "number": rf"(?:{_GROUPED})(?![^\W_]|[.,:/]\d)",
        "word": word_pattern(apostrophes=False),
        "sign": f"[{re.escape(SYMBOLS)}]",
    }


@lru_cache(maxsize=1 << 16)
def _unit(kind: str, surface: str, language: str) -> Unit:
    """A unit at the start of a text; all that it can be depends on its letters alone."""
    apart = tokens(surface, apostrophes=language == "en")
    original = tuple(Atom((token.word,), token.start, token.end) for token in apart)
    readings = read_english(kind, surface) if language == "en" else _plain_readings(kind, surface, language)
    return Unit(0, len(surface), original, tuple(reading for reading in readings if reading != original))


def _plain_readings(kind: str, surface: str, language: str) -> tuple[Reading, ...]:
    if kind != "number":
        return ()
    digits = re.sub(r"[^\d,]", "", surface).replace(",", ".")
    said = [number_words(digits, language)]
    if re.fullmatch(r"1[1-9]\d\d|20\d\d", surface):
        said.insert(0, number_words(digits, language, "year"))
    return tuple((Atom(words, 0, len(surface)),) for words in dict.fromkeys(said) if words)
