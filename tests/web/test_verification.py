"""Queues, decisions and what they say, in SQLite and in a real PostgreSQL."""

import csv
import io
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from signspot.annotation.store import Database
from signspot.errors import FormatError, OptionsError, StoreError
from signspot.formats.formats import read_spottings
from signspot.types import LabelSource, Spotting
from signspot.web import exports, verification
from signspot.web.database_tables import open_database
from signspot.web.jobs import Jobs
from signspot.web.verification import Decision, Queues, Share, cohens_kappa, measure, verified
from signspot.web.worker import JobSettings


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    url = None if request.param == "sqlite" else request.getfixturevalue("postgres").url
    opened = open_database(url, tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Queues]:
    opened = open_database(None, tmp_path)
    yield Queues(opened)
    opened.close()


def spottings(count: int, word: str = "apple") -> list[Spotting]:
    return [Spotting(word, "news.mp4", k + 0.5, k + 0.2, k + 0.8, 0.5 + k / 1e5, "a/1", "one") for k in range(count)]


def decision(queue: str, item: int, who: str = "Ada", answer: Any = "yes", **values: Any) -> Decision:
    usual = {"id": f"{who}-{item}-{answer}-{queue}", "word": "", "start": item + 0.2, "end": item + 0.8, "seconds": 1.5}
    return Decision(**{"queue": queue, "item": item, "annotator": who, "answer": answer, **usual, **values})


def test_items_are_handed_out_once(database: Database) -> None:
    """Six people ask at the same moment, again and again: nobody gets what another holds, and nothing is left."""
    queues = Queues(database)
    queue = queues.add("q", spottings(60), share=0.0)

    def work(who: str) -> list[int]:
        numbers = []
        while items := queues.hand_out(queue, who, 3):
            for item in items:
                queues.decide(decision(queue, item.item, who))
                numbers.append(item.item)
        return numbers

    with ThreadPoolExecutor(6) as people:
        handed = list(people.map(work, [f"person {k}" for k in range(6)]))
    assert sorted(item for numbers in handed for item in numbers) == list(range(60))
    standing = queues.decisions(queue)
    assert sorted(decided.item for decided in standing) == list(range(60))
    assert queues.all()[0]["decided"] == 60


def test_some_items_are_seen_twice_by_two_people(database: Database) -> None:
    queues = Queues(database)
    queue = queues.add("q", spottings(20), share=1.0)
    for who in ("Ada", "Ben", "Cem"):
        while items := queues.hand_out(queue, who, 50):
            for item in items:
                queues.decide(decision(queue, item.item, who))
    by_item: dict[int, list[str]] = {}
    for decided in queues.decisions(queue):
        by_item.setdefault(decided.item, []).append(decided.annotator)
    assert all(len(people) == len(set(people)) == 2 for people in by_item.values())
    assert len(by_item) == 20


def test_a_decision_sent_twice_counts_once_and_a_later_one_replaces(database: Database) -> None:
    queues = Queues(database)
    queue = queues.add("q", spottings(2))
    first = decision(queue, 0)
    queues.decide(first)
    queues.decide(first)
    assert len(queues.decisions(queue)) == 1
    queues.decide(decision(queue, 0, answer="no"))
    assert [decided.answer for decided in queues.decisions(queue)] == ["no"]
    assert [decided.answer for decided in queues.decisions(queue, withdrawn=True)] == ["yes", "no"], "nothing is lost"


def test_the_answer_says_what_stands(sqlite: Queues) -> None:
    """An id that was used for something else is refused; one that was undone does not come back by being sent again."""
    queue = sqlite.add("q", spottings(2))
    first = decision(queue, 0)
    standing = sqlite.decide(first)
    assert standing is not None
    with pytest.raises(OptionsError, match=first.id):
        sqlite.decide(decision(queue, 1, answer="no", id=first.id))
    later = sqlite.decide(decision(queue, 0, answer="no"))
    assert later is not None
    assert sqlite.decide(first) == later, "sent again: the later one stands"
    sqlite.undo(queue, "Ada")
    assert sqlite.decide(first) is None, "none stands"
    assert [item.item for item in sqlite.hand_out(queue, "Ada", 2)] == [0, 1]


def test_every_import_counts(sqlite: Queues, tmp_path: Path) -> None:
    """Yes, no, yes: yes stands; undone and read again: it stands again; read twice: nothing changes."""
    queue = sqlite.add("q", spottings(1))
    [item] = sqlite.items(queue)

    def read(answer: str) -> list[str]:
        file = exports.export([replace(item.spotting, decision=answer, source=LabelSource.VERIFIED)], "q", ".jsonl")  # type: ignore[arg-type]
        (tmp_path / "q.jsonl").write_bytes(file.content)
        for imported in exports.read_back(tmp_path / "q.jsonl", [item], "Ada"):
            sqlite.decide(imported, if_new=True)
        return [imported.answer for imported in sqlite.decisions(queue)]

    assert [read(answer) for answer in ("yes", "no", "yes", "yes")] == [["yes"], ["no"], ["yes"], ["yes"]]
    assert len(sqlite.decisions(queue, withdrawn=True)) == 3
    sqlite.undo(queue, "Ada")
    assert read("yes") == ["yes"]


def test_a_database_that_is_removed_is_noticed(tmp_path: Path) -> None:
    with closing(open_database(None, tmp_path)) as opened:
        queues = Queues(opened)
        queue = queues.add("q", spottings(1))
        shutil.move(tmp_path / "workbench.sqlite", tmp_path / "away")
        with pytest.raises(StoreError):
            queues.decide(decision(queue, 0))
        shutil.move(tmp_path / "away", tmp_path / "workbench.sqlite")
        assert queues.decide(decision(queue, 0)) is not None, "it was put back"


def test_two_windows_of_one_person_leave_one_standing_decision(database: Database) -> None:
    queues = Queues(database)
    queue = queues.add("q", spottings(1))
    answers = ("yes", "no", "unsure", "yes", "no", "unsure")
    sent = [decision(queue, 0, answer=answer, id=f"window-{k:04d}") for k, answer in enumerate(answers)]
    with ThreadPoolExecutor(6) as windows:
        list(windows.map(queues.decide, sent))
    assert len(queues.decisions(queue)) == 1
    assert len(queues.decisions(queue, withdrawn=True)) == 6


def test_undo_gives_the_item_back_and_keeps_the_decision(database: Database) -> None:
    queues = Queues(database)
    queue = queues.add("q", spottings(3))
    assert queues.undo(queue, "Ada") is None
    for item in queues.hand_out(queue, "Ada", 2):
        queues.decide(decision(queue, item.item))
    undone = queues.undo(queue, "Ada")
    assert undone is not None
    assert undone.item == 1
    assert [decided.item for decided in queues.decisions(queue)] == [0]
    assert [decided.withdrawn is None for decided in queues.decisions(queue, withdrawn=True)] == [True, False]
    assert queues.hand_out(queue, "Ada", 1)[0].item == 1
    assert queues.undo(queue, "Ben") is None, "another's decision stays"


def test_what_somebody_holds_too_long_goes_to_the_next(sqlite: Queues, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = sqlite.add("q", spottings(1), share=0.0)
    assert sqlite.hand_out(queue, "Ada")
    assert not sqlite.hand_out(queue, "Ben")
    monkeypatch.setattr(verification, "LEASE", -1.0)
    assert sqlite.hand_out(queue, "Ben")
    sqlite.decide(decision(queue, 0, "Ada"))
    assert [decided.annotator for decided in sqlite.decisions(queue)] == ["Ada"], "a late decision is kept, too"


def test_misuse_is_refused(sqlite: Queues) -> None:
    queue = sqlite.add("q", spottings(1))
    with pytest.raises(FormatError, match="no item 7"):
        sqlite.decide(decision(queue, 7))
    with pytest.raises(OptionsError):
        decision(queue, 0, answer="word")
    with pytest.raises(OptionsError):
        sqlite.hand_out(queue, "  ")
    with pytest.raises(OptionsError):
        decision(queue, 0, answer="maybe")
    with pytest.raises(OptionsError):
        sqlite.add("q", [])
    with pytest.raises(FormatError):
        sqlite.get("none")


def test_measures_by_hand(sqlite: Queues) -> None:
    queue = sqlite.add("q", [*spottings(4), *spottings(1, "pear")], share=1.0)
    answers = {"Ada": ["yes", "yes", "no", "unsure", "variant"], "Ben": ["yes", "no", "no", "unsure", "yes"]}
    for who, answers_of_one in answers.items():
        for item, answer in enumerate(answers_of_one):
            sqlite.decide(decision(queue, item, who, answer, start=0.1, end=0.9))
    measures = measure(list(sqlite.items(queue)), sqlite.decisions(queue))
    assert (measures.items, measures.decided) == (5, 5)
    assert measures.words["apple"] == Share(1, 1, 2), "where people disagree nobody is sure"
    assert measures.words["pear"] == Share(1, 0, 0), "another variant of the word is the word"
    pair = measures.agreement[0]
    assert (pair.one, pair.other, pair.items, pair.observed) == ("Ada", "Ben", 5, 0.8)
    chance = (3 * 2 + 1 * 2 + 1 * 1) / 25  # yes 3 and 2, no 1 and 2, unsure 1 and 1
    assert pair.kappa == pytest.approx((0.8 - chance) / (1 - chance))
    assert {person.name: person.decisions for person in measures.people} == {"Ada": 5, "Ben": 5}


def test_wilson_and_kappa_at_known_values() -> None:
    low, high = Share(8, 2).interval
    assert (low, high) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))
    assert Share(0, 0).value is None
    assert Share(0, 0).interval == (0.0, 1.0)
    assert Share(5, 0).interval[1] == 1.0
    assert cohens_kappa([("yes", "yes"), ("no", "no")]) == 1
    assert cohens_kappa([("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")]) == 0
    assert cohens_kappa([("yes", "yes")]) is None
    assert cohens_kappa([]) is None


@pytest.fixture
def answered(sqlite: Queues) -> tuple[Queues, str]:
    queue = sqlite.add("my queue", spottings(5))
    for item, answer in enumerate(("yes", "no", "unsure", "word")):
        word = "pear" if answer == "word" else ""
        sqlite.decide(decision(queue, item, answer=answer, word=word, start=item + 0.1, end=item + 0.9))
    return sqlite, queue


def test_no_and_unsure_are_never_lost(answered: tuple[Queues, str]) -> None:
    queues, queue = answered
    spottings_after = [spotting for _, _, spotting in verified(queues.items(queue), queues.decisions(queue))]
    decided = [(s.word, s.decision, s.source) for s in spottings_after]
    v, d = LabelSource.VERIFIED, LabelSource.DICTIONARY
    assert decided == [
        ("apple", "yes", v), ("apple", "no", v), ("apple", "unsure", d), ("apple", "no", v), ("pear", "yes", v),
        ("apple", "", d),
    ]  # fmt: skip
    assert (spottings_after[0].start, spottings_after[0].end) == (0.1, 0.9), "a person's boundaries win"


@pytest.mark.parametrize("suffix", [".via.json", ".eaf", ".csv", ".jsonl"])
def test_round_trips_keep_every_decision(answered: tuple[Queues, str], suffix: str, tmp_path: Path) -> None:
    queues, queue = answered
    spottings_after = [spotting for _, _, spotting in verified(queues.items(queue), queues.decisions(queue))]
    file = exports.export(spottings_after, "my queue", suffix)
    path = tmp_path / file.name
    path.write_bytes(file.content)
    assert sorted((s.word, s.decision, s.source) for s in read_spottings(path)) == sorted(
        (s.word, s.decision, s.source) for s in spottings_after
    )
    fresh = queues.add("again", spottings(5))
    for imported in exports.read_back(path, list(queues.items(fresh)), "Ben"):
        queues.decide(imported)
    again = {imported.item: (imported.answer, imported.word) for imported in queues.decisions(fresh)}
    assert again == {0: ("yes", ""), 1: ("no", ""), 2: ("unsure", ""), 3: ("word", "pear")}


@pytest.mark.parametrize("suffix", [".via.json", ".eaf", ".csv", ".jsonl"])
@pytest.mark.parametrize("name", ["", "north"])
def test_round_trips_keep_other_variants(sqlite: Queues, suffix: str, name: str, tmp_path: Path) -> None:
    queue = sqlite.add("q", spottings(2))
    sqlite.decide(decision(queue, 0, answer="variant", word=name))
    sqlite.decide(decision(queue, 1, answer="yes"))
    spottings_after = [spotting for _, _, spotting in verified(sqlite.items(queue), sqlite.decisions(queue))]
    assert [spotting.variant for spotting in spottings_after] == [name or "other", "one"]
    file = exports.export(spottings_after, "q", suffix)
    (tmp_path / file.name).write_bytes(file.content)
    back = exports.read_back(tmp_path / file.name, list(sqlite.items(queue)), "Ben")
    assert sorted((mark.item, mark.answer, mark.word) for mark in back) == [(0, "variant", name), (1, "yes", "")]


def test_history_and_labels(answered: tuple[Queues, str]) -> None:
    queues, queue = answered
    queues.undo(queue, "Ada")
    rows = list(
        csv.DictReader(
            io.StringIO(_text(exports.decisions(queues.decisions(queue, withdrawn=True), queues.items(queue), "q")))
        )
    )
    assert [(row["annotator"], row["answer"], row["seconds"], bool(row["withdrawn"])) for row in rows] == [
        ("Ada", "yes", "1.5", False), ("Ada", "no", "1.5", False), ("Ada", "unsure", "1.5", False),
        ("Ada", "word", "1.5", True),
    ]  # fmt: skip
    spottings_after = [spotting for _, _, spotting in verified(queues.items(queue), queues.decisions(queue))]
    labels = _text(exports.export(spottings_after, "q", exports.LABELS)).splitlines()
    assert [('"V"' in line, '"confidence": 0.0' in line) for line in labels[:2]] == [(True, False), (True, True)]
    hostile = exports.decisions([decision(queue, 0, "=HYPERLINK(1)")], queues.items(queue), "../../x")
    assert "'=HYPERLINK" in _text(hostile)
    assert "/" not in hostile.name


def _text(file: exports.Export) -> str:
    return file.content.decode()


@pytest.mark.parametrize(
    "damage",
    [
        "update workbench_items set rest = '[]'",
        "update workbench_items set rest = '{'",
        "update workbench_items set score = 99",
        "update workbench_items set source = 'x'",
        "update workbench_items set start = 1e308",
        "update workbench_decisions set word = x'ff', answer = 'word'",
        "update workbench_decisions set answer = 'perhaps'",
        "update workbench_jobs set spec = '{'",
        "update workbench_settings set value = 'soon'",
    ],
)
def test_damaged_rows_are_refused(damage: str, tmp_path: Path) -> None:
    """A served folder with its database may come from somebody else."""
    with closing(open_database(None, tmp_path)) as database:
        queue = Queues(database).add("q", spottings(2))
        Queues(database).decide(decision(queue, 0))
        Jobs(database, JobSettings("x", None, None)).add("prepare", "a", {"video": "a.mp4"})
        database.run(lambda connection: connection.exec_driver_sql(damage))
    with pytest.raises((FormatError, StoreError)), closing(open_database(None, tmp_path)) as opened:
        list(verified(Queues(opened).items(queue), Queues(opened).decisions(queue)))
        Jobs(opened, JobSettings("x", None, None)).all()


def test_confirmed_signs_are_those_that_all_agree_about(database: Database) -> None:
    """Each once, with the borders and the name that people gave; of the queues of one dictionary."""
    queues = Queues(database)
    first = queues.add("one", spottings(6), dictionary="signs")
    second = queues.add("two", spottings(1), dictionary="signs")
    other = queues.add("other", spottings(1), dictionary="other signs")
    for queue in (first, second, other):
        queues.decide(decision(queue, 0))
    queues.decide(decision(first, 1, answer="no"))
    queues.decide(decision(first, 2))
    queues.decide(decision(first, 2, who="Bob", answer="no"))
    queues.decide(decision(first, 3, answer="word", word="pear"))
    queues.decide(decision(first, 4, answer="variant", word="two hands", start=4.0))
    queues.decide(decision(first, 5, who="Cleo"))
    queues.undo(first, "Cleo")
    confirmed = [(sign.word, sign.start, sign.variant) for sign in queues.confirmed("signs")]
    assert confirmed == [("apple", 0.2, "one"), ("pear", 3.2, ""), ("apple", 4.0, "two hands")]
    assert len(queues.confirmed("other signs")) == 1
    assert queues.confirmed("no such") == []
