"""Numbers as words, in every language that num2words speaks."""

import logging
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Literal

from signspot.errors import MissingExtraError
from signspot.text.tokens import fold

Kind = Literal["cardinal", "ordinal", "year"]
_LONGEST = 15  # digits; what is longer is a code and read digit by digit
_OTHER_NAMES = {"nb": "no", "nn": "no", "hbs": "sr"}
_log = logging.getLogger(__name__)


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
        len(whole) > _LONGEST
        or len(digits) > 2 * _LONGEST
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
