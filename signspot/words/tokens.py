"""Words of a text of any language: their places, the one form in which they are compared, and their lemmas."""

import logging
import re
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Literal

from signspot.errors import MissingExtraError, OptionsError

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
    """Words that one part of a text stands for; they match together or not at all ("25" is not a "five")."""

    words: tuple[str, ...]  # folded
    start: int
    end: int

    def moved(self, by: int) -> "Atom":
        """The same atom in a longer text."""
        return Atom(self.words, self.start + by, self.end + by)


Reading = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class TextUnit:
    """A part of a text that is normalised as a whole: a word, "£5", "3:30 pm", "don't"."""

    start: int
    end: int
    original: Reading
    readings: tuple[Reading, ...] = ()  # normalised, the likeliest first; none where it is normal already

    def moved(self, by: int) -> "TextUnit":
        """The same unit in a longer text."""
        original = tuple(atom.moved(by) for atom in self.original)
        readings = tuple(tuple(atom.moved(by) for atom in reading) for reading in self.readings)
        return TextUnit(self.start + by, self.end + by, original, readings)


_LONGEST = 60  # letters; what is longer is not a word
Kind = Literal["cardinal", "ordinal", "year"]
_LONGEST_NUMBER = 15  # digits; what is longer is a code and read digit by digit
_OTHER_NAMES = {"nb": "no", "nn": "no", "hbs": "sr"}
_log = logging.getLogger(__name__)


@cache
def _simplemma() -> Any:
    try:
        import simplemma
    except ImportError:
        raise MissingExtraError("simplemma", "text", "lemmatising subtitles") from None
    return simplemma


def primary_language(language: str) -> str:
    """The language that is meant by a tag such as "en-GB", "pt_BR" or "DE".

    Raises:
        OptionsError: no lemma is known in it; the message names the languages.
    """
    name = language.replace("_", "-").partition("-")[0].lower()
    name = {"no": "nb", "sr": "hbs", "hr": "hbs", "bs": "hbs"}.get(name, name)
    if name not in languages():
        raise OptionsError(f"no lemmas for the language '{language}'. Choose one of: {', '.join(languages())}.")
    return name


@cache
def languages() -> tuple[str, ...]:
    """The languages whose words can be lemmatised."""
    _simplemma()
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    return tuple(sorted(SUPPORTED_LANGUAGES))


@lru_cache(maxsize=1 << 17)
def lemmas(word: str, language: str = "en") -> tuple[str, ...]:
    """The dictionary forms of a word, folded, without the word itself; none where it is in that form already.

    A word may have two: as it is written, and as it would be in another case ("Saw" at the head of a sentence).

    Args:
        word: as it stands in the text, its case kept, because in some languages it tells nouns from verbs.
        language: a name from `languages`.
    """
    if len(word) > _LONGEST or "'" in fold(word) or not any(character.isalpha() for character in word):
        return ()  # contractions are normalised, not lemmatised
    shapes = (word, word.lower(), word.capitalize()) if word.isupper() and len(word) > 1 else (word, word.lower())
    forms = dict.fromkeys(fold(_simplemma().lemmatize(shape, lang=language)) for shape in dict.fromkeys(shapes))
    return tuple(lemma for lemma in forms if lemma and lemma != fold(word))


@cache
def _num2words() -> Any:
    try:
        import num2words  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError("num2words", "text", "reading numbers in subtitles") from None
    return num2words


def speaks_numbers(language: str) -> bool:
    """Whether numbers can be said in a language."""
    return _OTHER_NAMES.get(language, language) in _num2words().CONVERTER_CLASSES


@lru_cache(maxsize=1 << 14)
def number_words(digits: str, language: str, kind: Kind = "cardinal") -> tuple[str, ...]:
    """Say a number: "21" is ("twenty", "one").

    Args:
        digits: decimal digits, with a decimal point or without.
        language: as in "en".
        kind: how to say it.

    Returns:
        Folded words; none where the language is not spoken or the number cannot be said.
    """
    if not speaks_numbers(language):
        return ()
    whole = digits.partition(".")[0]
    if (
        len(whole) > _LONGEST_NUMBER
        or len(digits) > 2 * _LONGEST_NUMBER
        or (kind == "cardinal" and len(whole) > 1 and whole.startswith("0"))
    ):
        return _digit_by_digit(digits, language)
    return _say(Decimal(digits) if "." in digits else int(digits), language, kind)


def _digit_by_digit(digits: str, language: str) -> tuple[str, ...]:
    return tuple(word for digit in digits if digit != "." for word in number_words(digit, language))


def _say(number: int | Decimal, language: str, kind: Kind) -> tuple[str, ...]:
    name = _OTHER_NAMES.get(language, language)
    try:
        text = _num2words().num2words(number, lang=name, to=kind)
    except Exception as error:  # its converters fail in as many ways as there are languages
        _log.debug("num2words cannot say %s as %s in %s: %r", number, kind, language, error)
        return ()
    return tuple(fold(word) for word in str(text).replace("-", " ").replace(",", " ").split())
