"""Ranks and average precision against a ranking made one answer at a time; values by group."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.metrics.ranking import Averages, GroupedValues, RankedQueries, average_precision, ranks_of

COARSE = st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0, -math.inf])  # few values: many ties
ANSWERS = st.lists(st.tuples(COARSE, st.booleans()), min_size=1, max_size=30)


def slow_ranks(answers: list[tuple[float, bool]]) -> list[int]:
    """Best first, wrong before right among equals, counted from 1."""
    ordered = sorted(answers, key=lambda answer: (-answer[0], answer[1]))
    return [rank for rank, (_, right) in enumerate(ordered, start=1) if right]


def slow_average_precision(answers: list[tuple[float, bool]], relevant: int) -> float:
    ordered = sorted(answers, key=lambda answer: (-answer[0], answer[1]))
    total = 0.0
    for rank in range(1, len(ordered) + 1):
        if ordered[rank - 1][1]:
            total += sum(right for _, right in ordered[:rank]) / rank
    return total / relevant


@given(ANSWERS)
def test_ranks_as_if_sorted(answers: list[tuple[float, bool]]) -> None:
    similarity = np.array([value for value, _ in answers])
    correct = np.flatnonzero([right for _, right in answers])
    assert ranks_of(similarity, correct).tolist() == slow_ranks(answers)


@given(ANSWERS, st.integers(0, 3))
def test_average_precision_as_if_counted(answers: list[tuple[float, bool]], missed: int) -> None:
    relevant = sum(right for _, right in answers) + missed
    measured = average_precision(np.array(slow_ranks(answers), np.int64), relevant)
    if relevant == 0:
        assert math.isnan(measured)
    else:
        assert measured == pytest.approx(slow_average_precision(answers, relevant))


def test_equal_similarities_gain_nothing() -> None:
    assert ranks_of(np.zeros(10), np.array([3])).tolist() == [10]


def test_worked_by_hand() -> None:
    queries = RankedQueries()
    queries.add("apple", np.array([1, 4]), 2)  # AP (1/1 + 2/4) / 2 = 0.75
    queries.add("apple", np.array([], np.int64), 2)  # AP 0, no right answer
    queries.add("bread", np.array([6]), 1)  # AP 1/6
    assert {word: pytest.approx(values) for word, values in queries.average_precisions.items()} == {
        "apple": [0.75, 0.0],
        "bread": [1 / 6],
    }
    assert queries.best_ranks == {"apple": [1.0, math.inf], "bread": [6.0]}
    assert (queries.hits(1).value().per_group, queries.hits(6).value().per_group) == (0.25, 0.75)


def test_the_first_none_are_refused() -> None:
    with pytest.raises(OptionsError):
        RankedQueries().hits(0)


PAIRS = st.lists(st.tuples(st.sampled_from("abcd"), st.floats(-1e6, 1e6)), max_size=30)


def collect(pairs: list[tuple[str, float]]) -> GroupedValues:
    values = GroupedValues()
    for group, value in pairs:
        values.add(group, value)
    return values


def test_every_group_counts_the_same_or_every_value_does() -> None:
    assert collect([("a", 1), ("a", 1), ("a", 1), ("b", 0)]).value() == Averages(per_group=0.5, per_instance=0.75)


def test_nothing_has_no_mean() -> None:
    empty = GroupedValues().value()
    assert math.isnan(empty.per_group)
    assert math.isnan(empty.per_instance)


@given(PAIRS.filter(len), st.randoms(use_true_random=False))
def test_the_order_of_values_changes_no_bit(pairs: list[tuple[str, float]], random) -> None:
    assert collect(random.sample(pairs, len(pairs))).value() == collect(pairs).value()
