"""Places of words in a text of any language, and the one form in which words are compared."""

import re
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

APOSTROPHES = "'’ʼ＇"
HYPHENS = "-‐‑–"
SYMBOLS = "£$€¥₹%&@+=°½⅓⅔¼¾"
_JOINERS = "\u00ad\u200c\u200d"  # soft hyphen, and what joins or parts letters inside a word
_LAST_MARK = 0x1FFFF  # no script of a living language has marks beyond


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or symbol at its place in a text, folded for comparison."""

    word: str
    start: int
    end: int


@cache
def word_pattern(*, apostrophes: bool) -> str:
    """A regular expression for one word: letters, digits and the marks on them.

    Args:
        apostrophes: whether one may stand inside a word, as in English "don't", or parts two, as in French "l'ami".
    """
    simple = rf"[^\W_](?:[^\W_]|[{_marks()}{_JOINERS}])*"
    return rf"{simple}(?:[{APOSTROPHES}]{simple})*" if apostrophes else simple


@cache
def _marks() -> str:
    """All combining marks, as ranges of a character class; Python's class of word characters leaves them out."""
    ranges: list[list[int]] = []
    for code in range(0x300, min(_LAST_MARK, sys.maxunicode)):
        if unicodedata.category(chr(code))[0] == "M":
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


@cache
def _token_pattern(*, apostrophes: bool) -> re.Pattern[str]:
    number = r"\d+(?:[.,:]\d+){1,6}(?![^\W_])"
    return re.compile(rf"{number}|{word_pattern(apostrophes=apostrophes)}|[{re.escape(SYMBOLS)}]")


def tokens(text: str, *, apostrophes: bool = True) -> Iterator[Token]:
    """The words, numbers and symbols of a text, in order."""
    for match in _token_pattern(apostrophes=apostrophes).finditer(text):
        yield Token(fold(match[0]), match.start(), match.end())


@lru_cache(maxsize=1 << 16)
def fold(word: str) -> str:
    """Make words that differ only in case, kind of apostrophe or way of encoding alike."""
    plain = unicodedata.normalize("NFC", word.replace("\u00ad", "")).casefold()
    for apostrophe in APOSTROPHES[1:]:
        plain = plain.replace(apostrophe, "'")
    return unicodedata.normalize("NFC", plain)


@dataclass(frozen=True, slots=True)
class Atom:
    """Words that one stretch of text stands for; they match together or not at all ("25" is no "five")."""

    words: tuple[str, ...]  # folded
    start: int
    end: int

    def moved(self, by: int) -> "Atom":
        """The same atom in a longer text."""
        return Atom(self.words, self.start + by, self.end + by)


Reading = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class TextUnit:
    """A stretch of text that is normalised as a whole: a word, "£5", "3:30 pm", "don't"."""

    start: int
    end: int
    original: Reading
    readings: tuple[Reading, ...] = ()  # normalised, the likeliest first; none where it is normal already

    def moved(self, by: int) -> "TextUnit":
        """The same unit in a longer text."""
        original = tuple(atom.moved(by) for atom in self.original)
        readings = tuple(tuple(atom.moved(by) for atom in reading) for reading in self.readings)
        return TextUnit(self.start + by, self.end + by, original, readings)
