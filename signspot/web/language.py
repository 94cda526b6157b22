"""The words of the pages: one file per language, chosen by the visitor or by what their browser prefers."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files

DEFAULT = "en"
COOKIE = "signspot-language"


@cache
def languages() -> tuple[str, ...]:
    """Every language that the pages speak, English first."""
    found = [each.name.removesuffix(".json") for each in (files("signspot.web") / "strings").iterdir()]
    return tuple(sorted((name for name in found if not name.startswith("_")), key=lambda name: (name != DEFAULT, name)))


@cache
def strings(language: str) -> Mapping[str, str]:
    """All texts of a language by key."""
    text = (files("signspot.web") / "strings" / f"{language}.json").read_text(encoding="utf-8")
    found: dict[str, str] = json.loads(text)
    return found


def chosen(cookie: str | None, accepted: str) -> str:
    """The language of a visitor: as they chose, as their browser prefers, or English."""
    if cookie in languages():
        return str(cookie)
    for part in accepted.split(","):
        tag = part.partition(";")[0].strip().lower().partition("-")[0]
        if tag in languages():
            return tag
    return DEFAULT


def speaker(language: str) -> Callable[..., str]:
    """The function that templates call: a key and values give the text; an unknown key shows itself."""
    known, english = strings(language), strings(DEFAULT)

    def say(key: str, **values: object) -> str:
        return (known.get(key) or english.get(key) or key).format(**values)

    return say
