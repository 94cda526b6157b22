"""Texts of the pages and messages of errors in the visitor's language."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files

from starlette.requests import HTTPConnection

DEFAULT = "en"
COOKIE = "signspot-language"
_VALUE = re.compile(r"\\{(\w+)\\}")  # a value of a message, as `re.escape` leaves it


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
def _messages(language: str) -> list[tuple[re.Pattern[str], str]]:
    """The messages that are translated: what they look like in English, and the translation with the same values."""
    messages = [] if language == DEFAULT else list(strings(f"_errors.{language}").items())
    return [(re.compile(_VALUE.sub(r"(?P<\1>.+?)", re.escape(english)), re.DOTALL), text) for english, text in messages]


def translated(message: str, language: str) -> str:
    """The message of an error in a language, and the reason that it gives; as it is, where there is no translation."""
    return _translated(message, language, lambda reason: _translated(reason, language, str))


def _translated(message: str, language: str, translate_value: Callable[[str], str]) -> str:
    for english, text in _messages(language):
        values = english.fullmatch(message)
        if values is not None:
            return text.format(**{name: translate_value(value) for name, value in values.groupdict().items()})
    return message
