"""Texts of the pages and messages of errors in the visitor's language."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files

from starlette.requests import HTTPConnection

DEFAULT = "en"
COOKIE = "signspot-language"
_DEEPEST = 4  # messages within messages: a refusal, its reason, the entry of a file, the file
_VALUE = re.compile(r"\{(\w+)\}")  # a value of a message


@cache
def languages() -> tuple[str, ...]:
    """Every language of the pages, English first."""
    names = [file.name.removesuffix(".json") for file in (files("signspot.web") / "strings").iterdir()]
    return tuple(sorted((name for name in names if not name.startswith("_")), key=lambda name: (name != DEFAULT, name)))


@cache
def strings(language: str) -> Mapping[str, str]:
    """All texts of a language by key."""
    text = (files("signspot.web") / "strings" / f"{language}.json").read_text(encoding="utf-8")
    texts: dict[str, str] = json.loads(text)
    return texts


def language_of(request: HTTPConnection) -> str:
    """The language of a visitor: as they chose, as their browser prefers, or English."""
    return preferred_language(request.cookies.get(COOKIE), request.headers.get("accept-language", ""))


def preferred_language(cookie: str | None, accepted: str) -> str:
    """As `language_of`, of a cookie and of the header of languages that a browser accepts."""
    if cookie in languages():
        return str(cookie)
    for part in accepted.split(","):
        tag = part.partition(";")[0].strip().lower().partition("-")[0]
        if tag in languages():
            return tag
    return DEFAULT


def translator(language: str) -> Callable[..., str]:
    """The function that templates call: a key and values give the text; an unknown key shows itself."""
    texts, english = strings(language), strings(DEFAULT)

    def say(key: str, **values: object) -> str:
        return (texts.get(key) or english.get(key) or key).format(**values)

    return say


@cache
def _messages(kind: str, language: str) -> list[tuple[tuple[str, ...], tuple[str, ...], str]]:
    """Of each message that is translated: its parts between values, the names of these, and the translation.

    Those that say most come first: they are tried before others that are more general.
    """
    if language == DEFAULT:
        return []
    messages = []
    for english, text in strings(f"_{kind}.{language}").items():
        parts = _VALUE.split(english.removesuffix("."))
        messages.append((tuple(parts[::2]), tuple(parts[1::2]), text))
    return sorted(messages, key=lambda message: -sum(map(len, message[0])))


def translated(message: str, language: str, kind: str = "errors") -> str:
    """A message in a language, and the reasons that it gives; as it is, where there is no translation.

    Args:
        message: in English, as the program makes it.
        language: of the visitor.
        kind: of message: "errors", or "feedback" to a learner.
    """
    return _translated(message, (kind, language), _DEEPEST)


def _translated(message: str, table: tuple[str, str], deepest: int) -> str:
    plain = message.removesuffix(".")
    for parts, names, text in _messages(*table) if deepest else ():
        values = _values(plain, parts)
        if values is not None:
            reasons = [_translated(value, table, deepest - 1) for value in values]
            return text.format(**dict(zip(names, reasons, strict=True)))
    where, colon, reason = plain.partition(": ")
    if colon and deepest:  # a file and what is wrong with it
        parted = f"{_translated(where, table, deepest - 1)}: {_translated(reason, table, deepest - 1)}"
        return message if parted == plain else parted
    return message


def _values(message: str, parts: tuple[str, ...]) -> list[str] | None:
    """What stands between the parts of a message, each as short as can be; None: it is another message.

    Each part is looked for once, since whoever sends a request chooses words of its message, thousands if they like.
    """
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return [] if message == first else None
    if not message.startswith(first) or not message.endswith(last):
        return None
    values, at, end = [], len(first), len(message) - len(last)
    for part in parts[1:-1]:
        begin = message.find(part, at + 1, end)
        if begin < 0:
            return None
        values.append(message[at:begin])
        at = begin + len(part)
    return [*values, message[at:end]] if at < end else None
