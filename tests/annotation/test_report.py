"""The report of a small run, with and without decoys; its pictures."""

import csv
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from signspot.annotation.report import ReportOptions, accepted, draw_yield, report_yield
from signspot.annotation.statistics import Count, YieldRow
from signspot.annotation.store import Store, open_store
from signspot.errors import OptionsError
from tests.annotation.making import candidate, findings, query

WORDS = ("apple", "pear", "plum")


def fill(folder: Path, best: dict[str, float], seed: int, offset: float = 0.0) -> Path:
    """A store in which words score about as told, at places of their own."""
    rng = np.random.default_rng(seed)
    queries, candidates = [], []
    for subtitle in range(20):
        start = 100.0 * subtitle + offset
        for number, word in enumerate(WORDS):
            score = round(float(np.clip(best[word] + rng.normal(0, 0.02), 0.5, 0.99)), 6)
            queries.append(query("v", subtitle, word, start, start + 10))
            candidates.append(candidate("v", subtitle, word, start + 1 + 3 * number, score))
    with open_store(folder, create=True) as store:
        store.claim({"keep": "0.6"})
        store.add(findings("v", queries, candidates))
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(fill(tmp_path_factory.mktemp("run"), {"apple": 0.95, "pear": 0.95, "plum": 0.72}, 0)) as store:
        yield store


@pytest.fixture(scope="module")
def decoys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(fill(tmp_path_factory.mktemp("decoys"), dict.fromkeys(WORDS, 0.72), 1, offset=50.0)) as store:
        yield store


def test_a_run_alone_tells_its_yield(run: Store, tmp_path: Path) -> None:
    made = report_yield(run, tmp_path, options=ReportOptions((0.6, 0.9)))
    assert made.judged is None
    assert [table.rows for table in made.tables] == [((0.6, 3, 60), (0.9, 2, 40))]
    assert (tmp_path / "yield.md").read_text() == made.as_markdown()
    assert "| 0.9 | 2 | 40 |\n" in made.as_markdown()
    assert (tmp_path / "yield.png").stat().st_size > 1000


def test_thresholds_begin_at_what_the_run_stores(run: Store, tmp_path: Path) -> None:
    assert report_yield(run, tmp_path).tables[0].rows[0][0] == 0.6


def test_decoys_tell_which_words_are_signed(run: Store, decoys: Store, tmp_path: Path) -> None:
    made = report_yield(run, tmp_path, decoys=decoys)
    rows = list(csv.DictReader((tmp_path / "words.csv").read_text().splitlines()))
    assert rows[0]["word"] == "plum"
    assert {row["mentions"] for row in rows} == {"20"}
    assert made.judged is not None
    chosen = list(accepted(run, made.judged, 0.9))
    words = [each.word for each in chosen]
    assert (words.count("apple"), words.count("pear")) == (20, 20)
    assert words.count("plum") <= 2
    assert made.tables[1].rows[2][:3] == (0.9, len(chosen), 60)


def test_options_out_of_range_are_refused() -> None:
    with pytest.raises(OptionsError, match=r"got 7\.0"):
        ReportOptions((7.0,))
    with pytest.raises(OptionsError, match="tolerance"):
        ReportOptions(tolerance=-1)


def ink(path: Path) -> int:
    image = cv2.imread(str(path))
    assert image is not None
    return int((image.min(axis=2) < 200).sum())


def test_yield_is_drawn(tmp_path: Path) -> None:
    rows = [
        YieldRow(0.7, Count(3, 50, 10, 5, None), Count(9, 90, 10, 5, None)),
        YieldRow(0.9, Count(2, 20, 9, 5, None), Count(4, 30, 9, 5, None)),
    ]
    none = Count(0, 0, 0, 0, None)
    empty = draw_yield([YieldRow(0.7, none, none), YieldRow(0.9, none, none)], tmp_path / "empty.png")
    assert ink(draw_yield(rows, tmp_path / "yield.png")) > 1.5 * ink(empty)
