"""Words back to their dictionary form ("children" to "child"), in every language that simplemma knows."""

import logging
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Literal

from signspot.errors import MissingExtraError, OptionsError
from signspot.words.tokens import fold

_LONGEST = 60  # letters; what is longer is no word
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
    found = dict.fromkeys(fold(_simplemma().lemmatize(shape, lang=language)) for shape in dict.fromkeys(shapes))
    return tuple(lemma for lemma in found if lemma and lemma != fold(word))


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
        said = _num2words().num2words(number, lang=name, to=kind)
    except Exception as error:  # its converters fail in as many ways as there are languages
        _log.debug("num2words cannot say %s as %s in %s: %r", number, kind, language, error)
        return ()
    return tuple(fold(word) for word in str(said).replace("-", " ").replace(",", " ").split())
