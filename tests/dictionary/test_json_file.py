import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signspot.dictionary.dictionary import Contents, Dictionary
from signspot.dictionary.json_file import read_json, save_dictionary
from signspot.errors import DictionaryError
from signspot.types import Exemplar, Segment

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = st.from_regex(r"[a-zà-ü0-9 _-]{1,12}\.(mp4|pose)", fullmatch=True).filter(lambda n: n.strip() == n)
unit = st.floats(0, 0.5)
boxes = st.builds(lambda y, x, h, w: (y, x, y + h + 0.1, x + w + 0.1), unit, unit, st.floats(0, 0.4), st.floats(0, 0.4))
segments = st.builds(lambda start, length: Segment(start, start + length), st.floats(0, 100), st.floats(0.01, 10))


def write(tmp_path: Path, exemplar: Any = None, **top: Any) -> Path:
    path = tmp_path / "dictionary.json"
    words = {"apple": {"exemplars": [exemplar or {"file": "a.mp4"}]}}
    path.write_text(json.dumps({"format": "signspot-dictionary", "version": 1, "words": words} | top))
    return path


@st.composite
def contents(draw: st.DrawFn) -> Contents:
    files = draw(st.lists(names, unique=True, min_size=1, max_size=5))
    exemplars = []
    for number, file in enumerate(files):
        embedded = draw(st.booleans())
        exemplars.append(
            Exemplar(
                word=draw(st.sampled_from(["apple", "ice cream", "é\n'"])),
                id=f"{number}{draw(texts)}",
                path=Path("home") / "media" / file if draw(st.booleans()) else None,
                signer=draw(texts),
                source=draw(texts),
                licence=draw(texts),
                variant=draw(texts),
                bbox=draw(st.none() | boxes),
                segment=draw(st.none() | segments),
                embedding=np.full(4, number / 10, np.float32) if embedded else None,
                encoder=draw(st.sampled_from(["", "abc", "def"])) if embedded else "",
            )
        )
    order = [exemplar.word for exemplar in exemplars]
    exemplars.sort(key=lambda exemplar: order.index(exemplar.word))  # the file keeps words together
    links = {exemplars[0].id: "https://example.org/a.mp4"}
    return Contents(tuple(exemplars), (), {exemplars[0].word: ("other",)}, {exemplars[0].word: "n"}, links)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=contents())
def test_what_is_written_is_read(written: Contents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    read = read_json(save_dictionary(Dictionary(written), Path("home")))
    assert read.exemplars == written.exemplars
    assert (read.synonyms, read.normalised, read.links) == (written.synonyms, written.normalised, written.links)
    for one, other in zip(read.exemplars, written.exemplars, strict=True):
        assert one.encoder == other.encoder
        assert (one.embedding is None) == (other.embedding is None)
        if one.embedding is not None:
            np.testing.assert_array_equal(one.embedding, other.embedding)
    assert len(list(Path("home").glob("embeddings-*"))) <= 1


def test_a_minimal_file(tmp_path: Path) -> None:
    path = tmp_path / "dictionary.json"
    path.write_text('\ufeff{"words": {"apple": {"exemplars": [{"file": "sub/a.b.mp4"}]}}}', encoding="utf-8")
    assert read_json(path).exemplars == (Exemplar("apple", "sub/a.b", tmp_path / "sub" / "a.b.mp4"),)


class TestStayingInside:
    def test_links_that_lead_out(self, tmp_path: Path) -> None:
        home = tmp_path / "home"
        home.mkdir()
        (tmp_path / "secret.mp4").touch()
        (home / "a.mp4").symlink_to(tmp_path / "secret.mp4")
        (home / "media").symlink_to(tmp_path)
        for name in ("a.mp4", "media/secret.mp4"):
            with pytest.raises(DictionaryError):
                read_json(write(home, {"file": name}))

    def test_the_embeddings_too(self, tmp_path: Path) -> None:
        with pytest.raises(DictionaryError, match="refused"):
            read_json(write(tmp_path, embeddings="../e.safetensors"))

    def test_media_elsewhere_are_not_written(self, tmp_path: Path) -> None:
        with pytest.raises(DictionaryError):
            save_dictionary(Dictionary([Exemplar("a", "a", tmp_path / "a.mp4")]), tmp_path / "home")
        assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("exemplar", "message"),
    [
        ({"signer": "x"}, "neither a 'file' nor an 'id'"),
        ({"file": 3}, "word 'apple', exemplar 1: 'file' must be text; got 3"),
        ("a.mp4", "must be an object"),
        ({"file": "a.mp4", "bbox": [0, 0, 1]}, "'bbox' must be 4 numbers"),
        ({"file": "a.mp4", "bbox": [0, 0.5, 1, 0.5]}, "'bbox' must be y0, x0, y1, x1 between 0 and 1"),
        ({"file": "a.mp4", "bbox": [0, 0, 1, True]}, "'bbox' must be a finite number; got True"),
        ({"file": "a.mp4", "segment": [2, 1]}, "'segment' must be start and end"),
        ({"file": "a.mp4", "segment": "1-2"}, "'segment' must be 2 numbers"),
        ({"file": "a.mp4", "embedding": 3}, r"'embedding' must be \[encoder, row\]"),
        ({"file": "a.mp4", "embedding": ["abc", 0]}, "no embedding 0 of encoder 'abc'"),
        ({"file": "a.mp4", "cut_from": [{"contents": ["abc"]}]}, "cut_from: needs 'contents' and 'segment'"),
        ({"file": "a.mp4", "cut_from": ["abc"]}, "cut_from: 'contents' must be a list"),
        ({"file": "../a.mp4"}, "refused"),
        ({"file": "/etc/passwd"}, "refused"),
    ],
)
def test_wrong_exemplars_are_named(tmp_path: Path, exemplar: Any, message: str) -> None:
    with pytest.raises(DictionaryError, match=message):
        read_json(write(tmp_path, exemplar))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"is empty \(0 bytes\)"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "not a signspot dictionary"),
        ('{"format": "other", "words": {}}', "not a signspot dictionary"),
        ("{}", "it has no 'words'"),
        ('{"words": {"a": []}}', "word 'a': 'exemplars' must be a list"),
        ('{"version": 2, "words": {}}', "version 2; this signspot reads up to 1. Update"),
        ('{"version": "x", "words": {}}', "version 'x'"),
        ('{"words": {"a": {"exemplars": [{"file": "a", "segment": [0, NaN]}]}}}', "must be a finite number; got nan"),
        ('{"words": {"a": {"exemplars": [{"file": "a"}, {"file": "a"}]}}}', "id 'a' is used twice"),
        ('{"words": {}, "embeddings": "none.safetensors"}', "embeddings .* cannot be read"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "dictionary.json"
    path.write_text(text)
    with pytest.raises(DictionaryError, match=message):
        read_json(path)


def test_broken_embeddings(tmp_path: Path) -> None:
    (tmp_path / "e.safetensors").write_bytes(b"not at all")
    with pytest.raises(DictionaryError, match=r"e\.safetensors"):
        read_json(write(tmp_path, embeddings="e.safetensors"))
