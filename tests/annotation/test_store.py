"""One contract for stores: what goes in comes out, in one order; a unit is stored whole or not at all."""

import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from signspot.annotation.store import FILE, open_store
from signspot.annotation.store_records import Candidate, Findings, SubtitleQuery, VideoRecord
from signspot.errors import OptionsError, OutputError, StoreError
from tests.annotation.making import candidate as plain_candidate
from tests.annotation.making import query as plain_query


def query(video: str, subtitle: int, word: str) -> SubtitleQuery:
    return plain_query(video, subtitle, word)


def candidate(video: str, subtitle: int, word: str, rank: int = 1, score: float = 0.9) -> Candidate:
    return plain_candidate(video, subtitle, word, 2.0, score, rank)


def findings(video: str, *words: str, key: str = "k") -> Findings:
    return Findings(
        VideoRecord(video, "digest", 60.0),
        {word: f"{key}-{word}" for word in words},
        tuple(query(video, 0, word) for word in words),
        tuple(candidate(video, 0, word, rank, 1 - rank / 10) for word in words for rank in (1, 2)),
    )


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "run")
    return request.getfixturevalue("postgres").url


@pytest.fixture
def store(address: str):
    with open_store(address, create=True) as opened:
        yield opened


def test_what_goes_in_comes_out_in_order(store) -> None:
    for video in ("b", "a", "Ä", "B"):
        store.add(findings(video, "zebra", "Apple", "éclair"))
    queries = list(store.queries())
    assert [(q.video, q.word) for q in queries] == [
        (video, word) for video in ("B", "a", "b", "Ä") for word in ("Apple", "zebra", "éclair")
    ]
    assert queries[0] == query("B", 0, "Apple")
    candidates = list(store.candidates())
    assert len(candidates) == 24
    assert candidates[0] == candidate("B", 0, "Apple", 1, 0.9)
    assert [c.rank for c in candidates[:4]] == [1, 2, 1, 2]


def test_candidates_are_chosen_by_score_and_rank(store) -> None:
    store.add(findings("a", "apple", "tree"))
    assert len(list(store.evidence(threshold=0.9))) == 2
    assert len(list(store.evidence(threshold=0.91))) == 0
    assert {c.rank for c in store.candidates(rank=1)} == {1}
    assert {c.word for c in store.candidates(video="a")} == {"apple", "tree"}
    assert not list(store.candidates(video="b"))
    pairs = list(store.evidence(threshold=0.85))
    assert [(q.word, c.word) for q, c in pairs] == [("apple", "apple"), ("tree", "tree")]
    assert pairs[0] == (query("a", 0, "apple"), candidate("a", 0, "apple"))


def test_newer_findings_replace_older_ones_of_the_same_words_only(store) -> None:
    store.add(findings("a", "apple", "tree"))
    newer = findings("a", "apple", key="new")
    store.add(replace(newer, queries=(), candidates=()))
    assert [q.word for q in store.queries()] == ["tree"]
    assert store.keys() == {("a", "apple"): "new-apple", ("a", "tree"): "k-tree"}
    store.forget("a", ["tree"])
    assert store.keys() == {("a", "apple"): "new-apple"}
    assert not list(store.candidates())


def test_a_failed_video_is_recorded_and_keeps_what_it_had(store) -> None:
    store.add(findings("a", "apple"))
    store.fail(VideoRecord("a", "", 0.0, "it is damaged"))
    assert store.videos() == [VideoRecord("a", "", 0.0, "it is damaged")]
    assert len(list(store.queries())) == 1
    store.add(findings("a", "apple"))
    assert store.videos()[0].problem == ""


def test_a_unit_is_stored_whole_or_not_at_all(store) -> None:
    twice = findings("a", "apple")
    broken = replace(twice, candidates=(*twice.candidates, replace(twice.candidates[0], score=None)))  # type: ignore[arg-type]
    with pytest.raises(StoreError):
        store.add(broken)
    assert not list(store.queries())
    assert not store.keys()
    assert not store.videos()


def test_settings_are_claimed_once(store) -> None:
    assert store.settings() == {}
    store.claim({"padding": "4", "encoder": "abc"})
    store.claim({"padding": "4", "encoder": "abc"})
    with pytest.raises(OptionsError, match="padding"):
        store.claim({"padding": "0", "encoder": "abc"})
    with pytest.raises(OptionsError, match="encoder"):
        store.claim({"padding": "4"})


def test_settings_are_checked_without_being_claimed(store) -> None:
    store.check({"padding": "4"})
    assert store.settings() == {}
    store.claim({"padding": "4", "encoder": "abc"})
    store.check({"padding": "4"})
    with pytest.raises(OptionsError, match="padding"):
        store.check({"padding": "0"})


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    open_store(tmp_path, create=True).close()
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("UPDATE settings SET value = '99' WHERE name = 'schema'")
    connection.close()
    with pytest.raises(StoreError, match="99"):
        open_store(tmp_path)


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        open_store(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "text.sqlite").write_text("no database, " * 100)
    with pytest.raises(StoreError):
        open_store(tmp_path / "text.sqlite")
    with sqlite3.connect(tmp_path / "other.sqlite") as connection:
        connection.execute("CREATE TABLE videos (name TEXT)")
    connection.close()
    with pytest.raises(StoreError):
        open_store(tmp_path / "other.sqlite", create=True)
    with pytest.raises(StoreError, match="'mysql'"):
        open_store("mysql://host/name")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        open_store(tmp_path / "file" / "run", create=True)


def test_readers_and_a_writer_at_once(store, address: str) -> None:
    store.add(findings("a", "apple"))
    with open_store(address) as other:
        reading = other.queries()
        assert next(reading).word == "apple"
        store.add(findings("b", "tree"))
        assert [q.word for q in reading] == []
        assert len(list(other.queries())) == 2


@pytest.mark.parametrize(
    ("one", "two"), [("news?1", "news?2"), ("%42", "B"), ("run.db", "run.sqlite"), ("a#b", "a"), ("file:x", "x")]
)
def test_a_folder_of_any_name_has_a_store_of_its_own(one: str, two: str, tmp_path: Path) -> None:
    for name in (one, two):
        (tmp_path / name).mkdir()
        with open_store(tmp_path / name, create=True) as store:
            store.claim({"name": name})
    for name in (one, two):
        assert (tmp_path / name / FILE).is_file()
        with open_store(str(tmp_path / name)) as store:
            assert store.settings() == {"name": name}
    assert {path.name for path in tmp_path.iterdir()} == {one, two}


WITHOUT = """
import sys
sys.modules["psycopg"] = None
sys.modules["psycopg2"] = None
from signspot.annotation.store import open_store
from signspot.errors import MissingExtraError
with open_store(sys.argv[1], create=True) as store:
    assert store.videos() == []
try:
    open_store("postgresql://nobody@127.0.0.1:9/nothing")
except MissingExtraError as error:
    print(error)
"""


def test_without_sqlalchemy_one_line_names_the_extra(tmp_path: Path) -> None:
    run = "import sys; sys.modules['sqlalchemy'] = None; from signspot.__main__ import run; run()"
    command = (sys.executable, "-c", run, "annotate-report", str(tmp_path))
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "signspot[annotate]" in done.stderr
    assert done.stderr.count("\n") == 1


def test_only_a_postgresql_url_asks_for_psycopg(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "signspot[postgres]" in done.stdout
