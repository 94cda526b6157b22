"""Orders of candidates, worked out by hand; and the confidence against the score where the truth is known."""

import numpy as np
import pytest

from experiments.annotated_worlds.abstaining import (
    EVERYTHING,
    METHODS,
    PIECES,
    SCORE,
    TAUGHT,
    calibration,
    compare,
    half_by_group,
    order,
    share_correlation,
    taught,
)
from signspot.annotation.abstention import Contrast


def test_precision_and_yield_by_hand() -> None:
    """Ten queries, eight candidates: right, right, wrong, right, … in order of value."""
    right = np.array([True, True, False, True, False, False, False, False])
    ordered = order(np.linspace(1, 0, 8), right, 10)
    assert ordered.precisions[:4] == pytest.approx((1, 1, 2 / 3, 3 / 4))
    assert ordered.yield_at == pytest.approx(0.2)
    assert len(ordered.curve) == 80
    assert ordered.curve[-1] == pytest.approx(3 / 8)


def test_nothing_right_answers_nothing() -> None:
    assert order(np.array([0.5, 0.4]), np.array([False, False]), 2).yield_at == 0


def test_half_is_shared_among_groups() -> None:
    values = np.array([0.9, 0.8, 0.7, 0.1])
    counts = half_by_group(values, np.array([True, False, True, True]), np.array(["a", "b", "a", "b"]), 6)
    assert (counts["a"].queries, counts["a"].answered, counts["a"].right) == (2, 2, 2)
    assert (counts["b"].queries, counts["b"].answered, counts["b"].right) == (2, 1, 0)


def test_calibration_by_hand() -> None:
    bins = calibration(np.array([0.05, 0.15, 0.95, 1.0]), np.array([False, True, True, True]))
    assert bins == [(pytest.approx(0.1), 0.5, 2), (pytest.approx(0.975), 1.0, 2)]


def test_shares_follow_the_truth_or_do_not() -> None:
    mentions = {"a": [True] * 10, "b": [True, False] * 5, "c": [False] * 10, "rare": [True]}
    assert share_correlation({"a": 0.9, "b": 0.5, "c": 0.1, "rare": 0.0}, mentions) == pytest.approx(1.0)
    assert share_correlation({"a": 0.1, "b": 0.5, "c": 0.9}, mentions) == pytest.approx(-1.0)
    assert np.isnan(share_correlation({"a": 0.1}, mentions))


def drawn(seed: int, count: int = 1500) -> tuple[Contrast, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Candidates and decoys; those that are wrong have rivals that are better."""
    rng = np.random.default_rng(seed)
    decoy = np.arange(2 * count) >= count
    right = ~decoy & (rng.random(2 * count) < 0.6)
    height = 2 + np.where(right, 1.0, 0.0) + rng.normal(0, 0.6, 2 * count)
    rival = np.where(right, 1.0, 2.5) + rng.normal(0, 0.5, 2 * count)
    words = tuple(f"word {number}" for number in rng.integers(20, size=2 * count))
    score, other = (1 - np.exp(-np.maximum(values, 0.01)) for values in (height, rival))
    return Contrast(words, decoy, score, other, np.full(2 * count, np.nan), np.full(2 * count, np.nan)), right[:count]


def test_all_ways_are_compared() -> None:
    found, right = drawn(0)
    orders, judged = compare(found, right, len(right), drawn(1))
    assert set(orders) == {SCORE, TAUGHT, *METHODS, *PIECES}
    assert orders[EVERYTHING].precisions[4] > orders[SCORE].precisions[4] + 0.05
    assert orders[TAUGHT].precisions[4] > orders[SCORE].precisions[4] + 0.05
    assert len(judged.asked) == len(right)
    rivals, impostors = (orders[name].precisions for name in PIECES)
    assert rivals == orders["+ margin"].precisions  # there are no impostors here
    assert impostors == orders[SCORE].precisions


def test_what_is_taught_is_taught_by_the_truth() -> None:
    """Taught that right is wrong, it orders the other way round."""
    known, right = drawn(1)
    found, _ = drawn(0)
    assert np.corrcoef(taught(known, right, found), taught(known, ~right, found))[0, 1] < -0.99
