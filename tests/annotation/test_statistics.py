"""Spottings of a run, their yield, and which of them are right."""

from dataclasses import replace
from pathlib import Path

import pytest

from signspot.annotation.records import Candidate, Findings, SubtitleQuery, VideoRecord
from signspot.annotation.statistics import (
    Mouthings,
    count_yield,
    is_in_truth,
    merge,
    spottings,
    spread_thresholds,
    tabulate_yield,
)
from signspot.annotation.store import open_store
from signspot.corpus.corpus import Corpus
from signspot.corpus.truth import SignTruth, write_records
from signspot.errors import OptionsError
from signspot.types import Label, LabelSource
from signspot.words.match import Form
from tests.annotation.making import candidate, query

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
    low, high = count_yield(EVIDENCE, [0.6, 0.8], Mouthings(LABELS), lambda each: each.word != "pear")
    assert (low.full.words, low.full.signs, low.full.in_window, low.full.near, low.full.right) == (3, 4, 2, 1, 3)
    assert (low.mouthed.words, low.mouthed.signs, low.mouthed.new, low.mouthed.right) == (2, 3, 1, 2)
    assert (high.full.words, high.full.signs, high.full.new, high.full.precision) == (2, 2, 0, 0.5)


def test_without_truth_there_is_no_precision() -> None:
    (row,) = count_yield(EVIDENCE, [0.5], Mouthings(LABELS))
    assert row.full.right is None
    assert row.full.precision is None
    assert "precision" not in tabulate_yield([row]).columns


def test_nothing_found_is_counted_too() -> None:
    (row,) = count_yield([], [0.5], Mouthings([]), lambda each: True)
    assert (row.full.words, row.full.signs, row.full.precision) == (0, 0, None)


def test_the_tolerance_decides_what_is_near() -> None:
    assert Mouthings(LABELS, tolerance=0.4).near("v", "apple", 5.0)
    assert not Mouthings(LABELS, tolerance=0.3).near("v", "apple", 5.0)


def test_a_table_has_a_row_a_threshold() -> None:
    rows = count_yield(EVIDENCE, [0.6, 0.8, 0.95], Mouthings(LABELS), lambda each: True)
    table = tabulate_yield(rows, [0.5, 0.6, float("nan")])
    assert next(table.cells()) == ["0.6", "3", "4", "2", "1", "2", "3", "1", "100.0 %", "50.0 %"]
    assert list(table.cells())[2][-2:] == ["–", "–"]
    assert table.as_dict()["rows"][2]["precision promised by decoys"] is None
    assert table.as_markdown().count("\n|") == 5


def test_without_mouthings_a_table_has_no_columns_of_them() -> None:
    assert tabulate_yield(count_yield(EVIDENCE, [0.6], Mouthings([]))).columns == ("least score", "words", "signs")


def test_thresholds_rise_from_what_is_kept() -> None:
    thresholds = spread_thresholds(0.5)
    assert thresholds[0] == 0.5
    assert thresholds[-1] == 0.98
    assert thresholds == sorted(set(thresholds))
    with pytest.raises(OptionsError, match=r"got 1\.2"):
        spread_thresholds(1.2)


QUERY = SubtitleQuery("v", 0, "apple", Form.ORIGINAL, 0, 5, 1, "apple", 1.0, 2.0, 0.0, 6.0, 1, 0.9, 0, None, None, 0)
FOUND = Candidate("v", 0, "apple", 1, 3.0, 2.36, 3.64, 0.9, "apple-1", "1", False, 1, 1, None, 0.9, 0, None, None, 0)


def pair(
    subtitle: int, shown: float, time: float, score: float = 0.9, rank: int = 1
) -> tuple[SubtitleQuery, Candidate]:
    query = replace(QUERY, subtitle=subtitle, subtitle_start=shown, subtitle_end=shown + 1)
    span = {"start": time - 0.3, "end": time + 0.3}
    return query, replace(FOUND, subtitle=subtitle, time=time, score=score, rank=rank, **span)


def test_a_peak_that_several_subtitles_find_is_one_spotting_of_the_nearest() -> None:
    (kept,) = merge([pair(0, 0.0, 3.0), pair(1, 2.5, 3.0), pair(2, 4.0, 3.0)], 0.3)
    assert kept.subtitle == 1
    (tied,) = merge([pair(4, 2.0, 3.5), pair(3, 4.0, 3.5)], 0.3)
    assert tied.subtitle == 3


def test_of_overlapping_spans_the_higher_stays() -> None:
    kept = merge([pair(0, 0, 3.0, 0.8), pair(1, 0, 3.2, 0.9), pair(2, 0, 3.5, 0.7), pair(3, 0, 3.7, 0.7)], 0.3)
    assert [(one.time, one.score) for one in kept] == [(3.2, 0.9), (3.7, 0.7)]


def test_threshold_and_rank_choose_and_words_do_not_suppress_each_other(tmp_path: Path) -> None:
    first, second = pair(0, 1.0, 3.0), pair(1, 1.0, 8.0, 0.75)
    lower = replace(first[1], rank=2, time=5.0, start=4.7, end=5.3, score=0.8)
    tree = (replace(QUERY, word="tree"), replace(FOUND, word="tree", time=3.1))
    rows = [first, second, tree]
    with open_store(tmp_path, create=True) as store:
        store.add(
            Findings(
                VideoRecord("v", "d", 60.0),
                {"apple": "k", "tree": "k"},
                tuple(query for query, _ in rows),
                (*(candidate for _, candidate in rows), lower),
            )
        )
        assert [(c.word, c.time) for c in spottings(store, 0.7)] == [("apple", 3.0), ("tree", 3.1), ("apple", 8.0)]
        assert [(c.word, c.time) for c in spottings(store, 0.78)] == [("apple", 3.0), ("tree", 3.1)]
        assert [c.time for c in spottings(store, 0.78, rank=None)] == [3.0, 3.1, 5.0]


def test_a_candidate_leaves_as_a_dictionary_spotting() -> None:
    spotting = FOUND.as_spotting()
    assert (spotting.word, spotting.video, spotting.time, spotting.score) == ("apple", "v", 3.0, 0.9)
    assert (spotting.start, spotting.end, spotting.exemplar) == (2.36, 3.64, "apple-1")
    assert spotting.source is LabelSource.DICTIONARY
    assert FOUND.as_spotting("footage/v.mp4").video == "footage/v.mp4"
    assert FOUND.margin is None
    assert replace(FOUND, negative_best=0.7).margin == pytest.approx(0.2)


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
