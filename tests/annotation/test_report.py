"""The yield of a run, counted by hand; the report of a small run, with and without decoys; its plots."""

import csv
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from signspot.annotation.report import (
    Count,
    Mouthings,
    YieldRow,
    accepted,
    count_yield,
    draw_yield,
    is_in_truth,
    report_yield,
    spread_thresholds,
    tabulate_yield,
)
from signspot.annotation.store import Store, open_store
from signspot.corpus.corpus import Corpus
from signspot.corpus.truth import SignTruth, write_records
from signspot.errors import OptionsError
from signspot.types import Label, LabelSource
from tests.annotation.making import candidate, findings, query

LABELS = [
    Label("apple", "v", 5.4, 0.9),
    Label("pear", "v", 1.0, 0.5),  # just sure enough, as in the paper
    Label("plum", "v", 5.0, 0.49),  # not sure enough
    Label("plum", "v", 5.0, 0.9, LabelSource.VERIFIED),  # no mouthing
    Label("apple", "w", 5.0, 0.9),
]
EVIDENCE = [
    (query("v", 0, "apple"), candidate("v", 0, "apple", 5.0, 0.9)),  # mouthed near
    (query("v", 0, "pear"), candidate("v", 0, "pear", 7.0, 0.8)),  # mouthed in the window, not near
    (query("v", 0, "plum"), candidate("v", 0, "plum", 5.0, 0.7)),  # never mouthed
    (query("v", 1, "apple", 4.0, 14.0), candidate("v", 1, "apple", 5.0, 0.9)),  # the same place again
    (query("v", 2, "apple", 20.0, 30.0), candidate("v", 2, "apple", 25.0, 0.6)),  # new
]


def test_counts_by_hand() -> None:
    low, high = count_yield(EVIDENCE, [0.6, 0.8], Mouthings(LABELS), lambda spotting: spotting.word != "pear")
    assert (low.full.words, low.full.signs, low.full.in_window, low.full.near, low.full.right) == (3, 4, 2, 1, 3)
    assert (low.mouthed.words, low.mouthed.signs, low.mouthed.new, low.mouthed.right) == (2, 3, 1, 2)
    assert (high.full.words, high.full.signs, high.full.new, high.full.precision) == (2, 2, 0, 0.5)


def test_without_truth_there_is_no_precision() -> None:
    (row,) = count_yield(EVIDENCE, [0.5], Mouthings(LABELS))
    assert row.full.right is None
    assert row.full.precision is None
    assert "precision" not in tabulate_yield([row]).columns


def test_nothing_found_is_counted_too() -> None:
    (row,) = count_yield([], [0.5], Mouthings([]), lambda spotting: True)
    assert (row.full.words, row.full.signs, row.full.precision) == (0, 0, None)


@pytest.mark.parametrize(("time", "is_near"), [(4.4, True), (6.4, True), (4.3, False), (6.5, False)])
def test_a_mouthing_is_near_within_a_second(time: float, is_near: bool) -> None:
    assert Mouthings(LABELS).near("v", "apple", time) is is_near


def test_a_table_has_a_row_a_threshold() -> None:
    rows = count_yield(EVIDENCE, [0.6, 0.8, 0.95], Mouthings(LABELS), lambda spotting: True)
    table = tabulate_yield(rows, [0.5, 0.6, float("nan")])
    assert next(table.cells()) == ["0.6", "3", "4", "2", "1", "2", "3", "1", "100.0 %", "50.0 %"]
    assert list(table.cells())[2][-2:] == ["–", "–"]
    assert table.as_dict()["rows"][2]["precision promised by decoys"] is None
    assert table.as_markdown().count("\n|") == 5
    assert table.as_markdown().endswith(f"\n{table.note}\n"), "what the columns of mouthings count"


def test_without_mouthings_a_table_has_no_columns_of_them() -> None:
    table = tabulate_yield(count_yield(EVIDENCE, [0.6], Mouthings([])))
    assert (table.columns, table.note) == (("least score", "words", "signs"), "")


def test_thresholds_rise_from_what_is_kept() -> None:
    thresholds = spread_thresholds(0.5)
    assert thresholds[0] == 0.5
    assert thresholds[-1] == 0.98
    assert thresholds == sorted(set(thresholds))
    with pytest.raises(OptionsError, match=r"got 1\.2"):
        spread_thresholds(1.2)


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
    report = report_yield(run, tmp_path, thresholds=(0.6, 0.9))
    assert report.judged is None
    assert [table.rows for table in report.tables] == [((0.6, 3, 60), (0.9, 2, 40))]
    assert (tmp_path / "yield.md").read_text() == report.as_markdown()
    assert "| 0.9 | 2 | 40 |\n" in report.as_markdown()
    assert (tmp_path / "yield.png").stat().st_size > 1000


def test_thresholds_begin_at_what_the_run_stores(run: Store, tmp_path: Path) -> None:
    assert report_yield(run, tmp_path).tables[0].rows[0][0] == 0.6


def test_decoys_tell_which_words_are_signed(run: Store, decoys: Store, tmp_path: Path) -> None:
    report = report_yield(run, tmp_path, decoys=decoys)
    rows = list(csv.DictReader((tmp_path / "words.csv").read_text().splitlines()))
    assert rows[0]["word"] == "plum"
    assert {row["mentions"] for row in rows} == {"20"}
    assert report.judged is not None
    chosen = list(accepted(run, report.judged, 0.9))
    words = [spotting.word for spotting in chosen]
    assert (words.count("apple"), words.count("pear")) == (20, 20)
    assert words.count("plum") <= 2
    assert report.tables[1].rows[2][:3] == (0.9, len(chosen), 60)


def test_thresholds_out_of_range_are_refused(run: Store, tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match=r"got 7\.0"):
        report_yield(run, tmp_path, thresholds=(7.0,))


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


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    corpus = Corpus(tmp_path, {}, {})
    sign = SignTruth("v", 0, "apple", 2.0, 3.0, "1", "anna", ("apple-1", "fruit-1"), True, False, True, 0)
    write_records([sign], corpus.layout.truth("signs", "v"))
    return corpus


@pytest.mark.parametrize(
    ("word", "time", "right"),
    [("apple", 2.5, True), ("apple", 3.15, True), ("apple", 3.25, False), ("fruit", 2.5, True), ("pear", 2.5, False)],
)
def test_right_or_wrong(corpus: Corpus, word: str, time: float, right: bool) -> None:
    assert is_in_truth(corpus, candidate("v", 0, word, time, 0.9)) is right
