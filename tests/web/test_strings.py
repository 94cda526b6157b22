"""Strings: every language has every text, with the same values, and every text that pages ask for is there."""

import json
import re
from importlib.resources import files
from pathlib import Path
from string import Formatter

import pytest

from signspot.web.pages import languages, preferred_language, strings

HOME = Path(str(files("signspot.web")))


def test_all_languages_say_the_same_things() -> None:
    assert languages()[0] == "en"
    assert len(languages()) >= 2
    english = strings("en")
    for name in languages():
        texts = strings(name)
        assert texts.keys() == english.keys(), name
        for key, text in texts.items():
            assert _values(text) == _values(english[key]), (name, key)
        assert name == "en" or sum(texts[key] == english[key] for key in texts) < len(texts) / 5, "it is translated"


def _values(text: str) -> set[str]:
    return {field for _, field, _, _ in Formatter().parse(text) if field}


def test_every_text_that_is_asked_for_is_there_and_none_is_idle() -> None:
    asked: set[str] = set()
    prefixes: set[str] = set()
    for path in (HOME / "templates").glob("*.html"):
        text = path.read_text()
        asked |= set(re.findall(r"\bt\('([\w.]+)'[,)]", text))
        prefixes |= set(re.findall(r"\bt\('([\w.]+\.)' ~", text))
    for path in (HOME / "static").glob("*.js"):
        asked |= {f"js.{key}" for key in re.findall(r"\bt\(\"(\w+)\"", path.read_text())}
        asked |= {
            f"js.{key}"
            for pair in re.findall(r"\bt\([\w.]+ \? \"(\w+)\" : \"(\w+)\"", path.read_text())
            for key in pair
        }
    texts = set(strings("en"))
    assert not asked - texts
    chosen = (
        *("waiting", "running", "done", "cancelled", "cancel", "resume", "prepare", "annotate", "adapt"),
        *("start_of", "end_of", "sure", "likely", "check"),
    )  # by a variable
    idle = {key for key in texts - asked - {f"js.{key}" for key in chosen} if not key.startswith(tuple(prefixes))}
    assert not idle


@pytest.mark.parametrize(
    ("cookie", "accepted", "spoken"),
    [(None, "", "en"), (None, "de-CH,fr;q=0.5", "de"), ("en", "de", "en"), ("xx", "fr, de", "de"), ("../en", "", "en")],
)
def test_the_visitors_language(cookie: str | None, accepted: str, spoken: str) -> None:
    assert preferred_language(cookie, accepted) == spoken


def test_files_are_sorted_for_small_changes() -> None:
    for name in languages():
        keys = list(json.loads((HOME / "strings" / f"{name}.json").read_text()))
        assert keys == sorted(keys)
