"""Strings: every language has every text, with the same values, and every text that pages ask for is there."""

import ast
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from string import Formatter

import pytest
from pydantic_core import PydanticKnownError

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
        *(f"stage_{name}" for name in ("subtitles", "videos", "digests", "exemplars")),
    )  # by a variable
    idle = {key for key in texts - keys - {f"js.{key}" for key in chosen} if not key.startswith(tuple(prefixes))}
    assert not idle


@pytest.mark.parametrize(
    ("cookie", "accepted", "spoken"),
    [(None, "", "en"), (None, "de-CH,fr;q=0.5", "de"), ("en", "de", "en"), ("xx", "fr, de", "de"), ("../en", "", "en")],
)
def test_the_visitors_language(cookie: str | None, accepted: str, spoken: str) -> None:
    assert preferred_language(cookie, accepted) == spoken


def test_messages_are_those_of_the_program_and_have_the_same_values() -> None:
    for name in languages()[1:]:
        for kind, shortest in (("errors", 6), ("feedback", 0)):
            raised = re.compile("|".join(sorted(_written_texts(shortest))), re.DOTALL)
            messages = strings(f"_{kind}.{name}")
            assert [english for english in messages if not raised.fullmatch(english)] == []
            for english, text in messages.items():
                assert _values(text) <= _values(english), english


REFUSALS: tuple[tuple[str, dict[str, object]], ...] = (  # of requests, by the library that checks them
    *((kind, {}) for kind in ("missing", "float_type", "finite_number", "int_type", "string_type", "bool_type")),
    *((kind, {}) for kind in ("float_parsing", "int_parsing", "bool_parsing", "list_type", "model_attributes_type")),
    *(("greater_than_equal", {"ge": 7}), ("less_than_equal", {"le": 7}), ("less_than", {"lt": 7})),
    *(("string_too_short", {"min_length": 7}), ("string_too_long", {"max_length": 7})),
    *(("string_pattern_mismatch", {"pattern": "7"}), ("json_invalid", {"error": "7"})),
)


def _written_texts(shortest: int) -> set[str]:
    """Texts of the program, as patterns: values may be anything, and the last full stop may be missing."""
    refusals = (PydanticKnownError(kind, values).message() for kind, values in REFUSALS)  # type: ignore[arg-type]
    patterns = {re.escape(text).replace("7", "(.+)").replace("characters", "characters?") for text in refusals}
    for path in HOME.parent.rglob("*.py"):
        for node in ast.walk(parsed(path.read_text(encoding="utf-8"))):
            pattern = _with_values(node, "(.*)", re.escape)
            if len(pattern.replace("(.*)", "").replace("\\", "")) > shortest and re.search(r"\w", pattern):
                around = "(.*)" if pattern.startswith("\\ ") and pattern.endswith("\\ ") else ""  # it joins others
                patterns.add(around + pattern.removesuffix(r"\.") + r"\.?" + around)
    return patterns


def _with_values(node: ast.AST, value: str, literal: Callable[[str], str] = str) -> str:
    """A text of the program with something in place of its values; empty if it is no text."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    texts = [part.value if isinstance(part, ast.Constant) else None for part in parts]
    if not any(isinstance(text, str) for text in texts):
        return ""
    return "".join(literal(text) if isinstance(text, str) else value for text in texts)


SEEN_BY_VISITORS = (  # where the errors come from that the pages show
    "web/*.py",
    *(f"dictionary/{name}.py" for name in ("opening", "json_file", "csv_file", "bsldict", "dictionary")),
    *("io/checks.py", "io/text.py", "io/xml.py", "video/containers.py", "video/probing.py"),
    *(f"formats/{name}.py" for name in ("elan", "rows", "tables", "via3")),
    *("landmarks/signing.py", "subtitles/reading.py"),
)
NOT_SEEN = (  # by those who start the server, or call a function of the library; or parts of other messages
    *("there is no folder", "cannot serve at", "the package", "was made by another version", "is not an unpacked"),
    *(
        "not a list of words",
        "holds no word",
        "no encoding",
        "there are no landmarks to trim",
        "the end must be after the start",
    ),
    *(
        "the end must be after the start",
        "external controlled vocabulary",
        "no tier '",
        "a .parquet file",
        "7 must be 7; got 7",
        "no 7: 7",
    ),
)


def _keeps_english(english: str, text: str) -> bool:
    """Whether words that follow each other in a message are still there in its translation."""
    plain = re.sub("signspot [a-z ]+", "", english)
    return any(words in text for words in re.findall(r"(?=\b([a-z]+ [a-z]+ [a-z]+)\b)", plain))


def test_every_error_that_pages_show_is_translated() -> None:
    left = set()
    for path in (path for pattern in SEEN_BY_VISITORS for path in HOME.parent.glob(pattern)):
        for node in ast.walk(parsed(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
                continue
            if not node.func.id.endswith("Error") and node.func.id != "HTTPException":
                continue
            english = _with_values(node.args[-1], "7")
            if all(_keeps_english(text, translated(text, "de")) for text in (english, english.removesuffix("7"))):
                left.add(english)
    assert {text for text in left if not any(part in text for part in NOT_SEEN)} == set()


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
    missing = "nothing in d can be used as an exemplar. The first of 3: d/no.mp4: no such file"
    assert translated(missing, "de").endswith("Das erste von 3 Problemen: d/no.mp4: Es gibt keine solche Datei.")
    broken = "d/dictionary.json, word 'a', exemplar 2: 'segment' must be a finite number; got 'x'"
    assert translated(broken, "de").startswith("d/dictionary.json, Wort 'a', Beispiel 2: 'segment' muss eine endliche")
    for part in ("a", "' in this dictionary (", ", exemplar ", ": '"):  # in a moment, whatever a visitor asks for
        assert translated("no word '" + part * 20_000 + "' in this dictionary (1 words). Did you mean", "de")


@pytest.mark.parametrize(
    ("english", "german"),
    [
        (
            "the left hand is lower and more to the right of the signer than the example's",
            "Die linke Hand ist tiefer und weiter rechts (aus Sicht der gebärdenden Person) als im Beispiel.",
        ),
        (
            "the right hand is turned otherwise: it points up, in the example away from the camera",
            "Die rechte Hand ist anders gedreht: Sie zeigt nach oben, im Beispiel von der Kamera weg.",
        ),
        (
            "the right hand has another shape: the little finger is more bent",
            "Die rechte Hand hat eine andere Form: Der kleine Finger ist stärker gebeugt.",
        ),
        ("it is 1.5 times as long", "Die Gebärde dauert 1.5-mal so lange."),
    ],
)
def test_feedback_is_translated_with_all_its_parts(english: str, german: str) -> None:
    assert translated(english, "de", "feedback") == german


def test_a_broken_dictionary_is_explained_in_german(serve: Callable[..., Server], tmp_path: Path) -> None:
    for name, text in (("lines", '{"words": {"a": {"exemplars": [{"file": 3}]}}}'), ("none", "["), ("empty", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "dictionary.json").write_text(text)
    server = serve(folder=tmp_path)
    for name, german in (("lines", "muss Text sein"), ("none", "Zeile 1: kein JSON"), ("empty", "ist leer (0 Bytes)")):
        answer = server.ask("GET", f"/api/dictionaries/{name}/words", accept_language="de")
        assert (answer.status, german in answer.json["error"]) == (422, True), answer.json
        assert str(tmp_path) not in answer.text
    rows = {"word": "a", "video": "v.mp4", "time": 1.0, "start": 0.5, "end": 1.5, "score": 0.9}
    queue = server.ask("POST", "/api/queues", {"name": "q", "dictionary": "", "rows": [rows]}).json["id"]
    answer = server.ask(
        "PUT", f"/api/queues/{queue}/import?name=d.csv&annotator=A", b"a,b\n1,2\n", accept_language="de"
    )
    assert answer.json["error"].startswith("'d.csv', Zeile 1: Die Spalte „word“ fehlt"), answer.json
    wrong = server.ask("PUT", "/api/uploads/film.mp4", b"not a video", accept_language="de").json["error"]
    assert wrong.startswith("'film.mp4' ist kein Video")
    refused = server.ask("GET", "/api/skeleton/video/a?start=x&end=1", accept_language="de").json["error"]
    assert refused == "Die Anfrage passt nicht: query.start: muss eine Zahl sein"
    assert "gibt es nicht" in server.ask("GET", "/api/none", accept_language="de").json["error"]


def test_an_error_is_a_page_for_people_and_a_line_for_programs(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve(folder=tmp_path)
    page = server.ask("GET", "/verify/none", accept="text/html", accept_language="de")
    assert (page.status, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "Es gibt keine Liste" in page.text
    assert 'href="/library"' in page.text
    line = server.ask("GET", "/verify/none")
    assert (line.status, line.text) == (404, "there is no queue 'none'")


def test_the_server_answers_in_the_visitors_language(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve(folder=tmp_path)
    for path, german in (("/api/captions/none", "gibt es kein Video"), ("/verify/1", "keine Liste")):
        assert german in server.ask("GET", path, accept_language="de").text
        assert german in server.ask("GET", path, cookie="signspot-language=de").text
        assert "there is no" in server.ask("GET", path).text
    refused = server.ask("POST", "/api/jobs/clear", X_Signspot="", accept_language="de")
    assert (refused.status, "signspot" in refused.text) == (403, True)
