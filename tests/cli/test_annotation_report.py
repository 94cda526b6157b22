"""`signspot annotate-report`, on a store that is written here."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from signspot.annotation.store import open_store
from signspot.formats.formats import read_spottings
from signspot.types import LabelSource, TimeMeaning
from tests.annotation.making import candidate, findings, query
from tests.cli.conftest import Cli


def fill(folder: Path, scores: list[float], offset: float) -> Path:
    queries = [query("v", i, "apple", 100.0 * i + offset, 100.0 * i + offset + 10) for i in range(len(scores))]
    candidates = [candidate("v", i, "apple", 100.0 * i + offset + 5, score) for i, score in enumerate(scores)]
    with open_store(folder, create=True) as store:
        store.add(findings("v", queries, candidates))
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return fill(tmp_path / "run", [0.97, 0.96, 0.95, 0.98, 0.97, 0.96, 0.72, 0.71], 0.0)


@pytest.fixture
def decoys(tmp_path: Path) -> Path:
    return fill(tmp_path / "decoys", [0.7, 0.72, 0.74, 0.71, 0.69, 0.73, 0.7, 0.72], 50.0)


def test_a_run_is_reported(signspot: Cli, run: Path, tmp_path: Path) -> None:
    out, _ = signspot.ok("annotate-report", run, "--thresholds", "0.7,0.9", "--out", tmp_path / "report")
    assert "|" not in out
    assert ["0.9", "1", "6"] in [line.split() for line in out.splitlines()]
    assert "| 0.9 | 1 | 6 |" in (tmp_path / "report" / "yield.md").read_text()
    _, out, _ = signspot("annotate-report", run, "--thresholds", "0.7,0.9", "--out", tmp_path / "report", "--json")
    (table,) = json.loads(out)["tables"]
    assert table["rows"] == [
        {"least score": 0.7, "words": 1, "signs": 8},
        {"least score": 0.9, "words": 1, "signs": 6},
    ]
    assert (tmp_path / "report" / "yield.png").is_file()


def test_what_is_believed_is_written(signspot: Cli, run: Path, decoys: Path, tmp_path: Path) -> None:
    options = ("--decoys", decoys, "--spottings", tmp_path / "accepted.csv", "--out", tmp_path / "report")
    _, err = signspot.ok("annotate-report", run, *options)
    assert "written: 6 spottings" in err
    assert {spotting.score for spotting in read_spottings(tmp_path / "accepted.csv")} == {0.95, 0.96, 0.97, 0.98}
    assert (tmp_path / "report" / "words.csv").read_text().startswith("word,mentions,signed share\napple,8,")


def test_spottings_that_are_mouthed_too_are_reported(signspot: Cli, run: Path, decoys: Path, tmp_path: Path) -> None:
    mentioned = query("v", 0, "apple", 0.0, 10.0)
    mouthed = replace(candidate("v", 0, "apple", 5.5, 0.7), source=LabelSource.MOUTHING, at=TimeMeaning.END)
    with open_store(tmp_path / "lips", create=True) as store:
        store.claim({"source": "M"})
        store.add(findings("v", [mentioned], [mouthed]))
    options = ("--decoys", decoys, "--spottings", tmp_path / "x.csv", "--out", tmp_path / "report")
    out, _ = signspot.ok("annotate-report", run, *options, "--mouthings", tmp_path / "lips")
    assert ["0.71", "1", "7"] in [line.split() for line in out.splitlines()]
    assert [spotting.mouthed for spotting in read_spottings(tmp_path / "x.csv") if spotting.time < 10] == [0.7]
    assert "is not a run by mouthing" in signspot.refused(
        "annotate-report", run, "--mouthings", run, "--out", tmp_path / "report"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--thresholds", "high"), "thresholds are numbers separated by commas"),
        (("--thresholds", "9"), "between 0 and 1; got 9"),
        (("--spottings", "accepted.csv"), "--spottings needs --decoys"),
        (("--spottings", "accepted.doc", "--decoys", "d"), "unknown format '.doc'"),
    ],
)
def test_mistakes_are_one_line(signspot: Cli, run: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in signspot.mistake("annotate-report", run, *arguments)


def test_files_of_several_videos_are_claimed_before_the_report(
    signspot: Cli, run: Path, decoys: Path, tmp_path: Path
) -> None:
    with open_store(run) as store:
        store.add(findings("w", [query("w", 0, "apple", 0.0, 10.0)], [candidate("w", 0, "apple", 5.0, 0.2)]))
    (tmp_path / "accepted-v.eaf").write_text("a person's file")
    options = ("--decoys", decoys, "--spottings", tmp_path / "accepted.eaf", "--out", tmp_path / "report")
    err = signspot.refused("annotate-report", run, *options)
    assert f"cannot write {tmp_path / 'accepted-v.eaf'}: it exists" in err
    assert not (tmp_path / "report").exists()
