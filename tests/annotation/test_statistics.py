"""Fig. 9 on a handful of spottings, counted by hand."""

import pytest

from signspot.annotation.statistics import Mouthings, as_markdown, count_yield, spread_thresholds
from signspot.errors import OptionsError
from signspot.types import Label, LabelSource
from tests.annotation.making import candidate, query

LABELS = [
    Label("apple", "v", 5.4, 0.9),
    Label("pear", "v", 1.0, 0.9),
    Label("plum", "v", 5.0, 0.5),  # not sure enough
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
    assert (low.full.words, low.full.places, low.full.in_window, low.full.near, low.full.right) == (3, 4, 2, 1, 3)
    assert (low.mouthed.words, low.mouthed.places, low.mouthed.new, low.mouthed.right) == (2, 3, 1, 2)
    assert (high.full.words, high.full.places, high.full.new, high.full.precision) == (2, 2, 0, 0.5)


def test_without_truth_there_is_no_precision() -> None:
    (row,) = count_yield(EVIDENCE, [0.5], Mouthings(LABELS))
    assert row.full.right is None
    assert row.full.precision is None
    assert "precision" not in as_markdown([row])


def test_nothing_found_is_counted_too() -> None:
    (row,) = count_yield([], [0.5], Mouthings([]), lambda each: True)
    assert (row.full.words, row.full.places, row.full.precision) == (0, 0, None)


def test_the_tolerance_decides_what_is_near() -> None:
    assert Mouthings(LABELS, tolerance=0.4).near("v", "apple", 5.0)
    assert not Mouthings(LABELS, tolerance=0.3).near("v", "apple", 5.0)


def test_markdown_has_a_line_a_threshold() -> None:
    rows = count_yield(EVIDENCE, [0.6, 0.8, 0.95], Mouthings(LABELS), lambda each: True)
    lines = as_markdown(rows, [0.5, 0.6, float("nan")]).splitlines()
    assert len(lines) == 5
    assert lines[2] == "| 0.6 | 2 | 3 | 3 | 1 | 4 | 2 | 1 | 100.0 % | 50.0 % |"
    assert lines[4].endswith("| – | – |")
    assert len({line.count("|") for line in lines}) == 1


def test_thresholds_rise_from_what_is_kept() -> None:
    thresholds = spread_thresholds(0.5)
    assert thresholds[0] == 0.5
    assert thresholds[-1] == 0.98
    assert thresholds == sorted(set(thresholds))
    with pytest.raises(OptionsError, match=r"got 1\.2"):
        spread_thresholds(1.2)
