"""Numbers as subtitles write them ('20', '£5', '1990s', '3rd') and as signers count them ('twenty')."""

from collections.abc import Sequence

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
