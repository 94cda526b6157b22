"""Strings: every language has every text, with the same values, and every text that pages ask for is there."""

import ast
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from string import Formatter

import pytest

from signspot.web.texts import languages, preferred_language, strings, translated
from tests.fixtures.source import parsed

from .conftest import Server

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
    keys: set[str] = set()
    prefixes: set[str] = set()
    for path in (HOME / "templates").glob("*.html"):
        text = path.read_text()
        keys |= set(re.findall(r"\bt\('([\w.]+)'[,)]", text))
        prefixes |= set(re.findall(r"\bt\('([\w.]+\.)' ~", text))
    for path in (HOME / "static").glob("*.js"):
        keys |= {f"js.{key}" for key in re.findall(r"\bt\(\"(\w+)\"", path.read_text())}
        keys |= {
            f"js.{key}"
            for pair in re.findall(r"\bt\([\w.]+ \? \"(\w+)\" : \"(\w+)\"", path.read_text())
            for key in pair
        }
    texts = set(strings("en"))
    assert not keys - texts
    chosen = (
        *("waiting", "running", "done", "cancelled", "cancel", "resume", "prepare", "annotate", "adapt"),
        *("start_of", "end_of", "sure", "likely", "check"),
    )  # by a variable
    idle = {key for key in texts - keys - {f"js.{key}" for key in chosen} if not key.startswith(tuple(prefixes))}
    assert not idle


@pytest.mark.parametrize(
    ("cookie", "accepted", "spoken"),
    [(None, "", "en"), (None, "de-CH,fr;q=0.5", "de"), ("en", "de", "en"), ("xx", "fr, de", "de"), ("../en", "", "en")],
)
def test_the_visitors_language(cookie: str | None, accepted: str, spoken: str) -> None:
    assert preferred_language(cookie, accepted) == spoken


def test_messages_of_errors_are_those_that_the_program_raises_and_have_the_same_values() -> None:
    raised = re.compile("|".join(sorted(_written_texts())), re.DOTALL)
    for name in languages()[1:]:
        messages = strings(f"_errors.{name}")
        assert [english for english in messages if not raised.fullmatch(english)] == []
        for english, text in messages.items():
            assert _values(text) <= _values(english), english


def _written_texts() -> set[str]:
    """Every text of the program, as a pattern: values may be anything."""
    patterns = set()
    for path in HOME.parent.rglob("*.py"):
        for node in ast.walk(parsed(path.read_text(encoding="utf-8"))):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            texts = [part.value if isinstance(part, ast.Constant) else None for part in parts]
            if len("".join(text for text in texts if isinstance(text, str))) > 10:
                patterns.add("".join(re.escape(text) if isinstance(text, str) else "(.+)" for text in texts))
    return patterns


def test_messages_are_translated_with_their_values_and_others_stay() -> None:
    nested = "'a.mp4' is refused: a.mp4 is empty (0 bytes). Copy or download it again."
    assert translated("there is no video 'a' in the folder", "de") == "In diesem Ordner gibt es kein Video „a“."
    assert translated(nested, "de").startswith("„a.mp4“ wird abgelehnt: a.mp4 ist leer (0 Bytes).")
    sound = (
        "a.mp4 is audio only: it holds sound and no picture. Give a video file such as .mp4, .mov, .webm, .mkv or .avi."
    )
    assert translated(sound, "de").endswith(
        "kein Bild. Geben Sie eine Videodatei wie .mp4, .mov, .webm, .mkv oder .avi an."
    )
    assert translated("there is no video 'a' in the folder", "en") == "there is no video 'a' in the folder"
    assert translated("a new message", "de") == "a new message"
    hostile = "no word '" + "a" * 20_000 + "' in this dictionary (1 words). Did you mean"
    assert translated(hostile, "de") == hostile


def test_the_server_answers_in_the_visitors_language(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve(folder=tmp_path)
    for path, german in (("/api/captions/none", "gibt es kein Video"), ("/verify/1", "keine Liste")):
        assert german in server.ask("GET", path, accept_language="de").text
        assert german in server.ask("GET", path, cookie="signspot-language=de").text
        assert "there is no" in server.ask("GET", path).text
    refused = server.ask("POST", "/api/jobs/clear", X_Signspot="", accept_language="de")
    assert (refused.status, "signspot" in refused.text) == (403, True)
