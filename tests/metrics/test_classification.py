"""Top-k accuracy against a loop."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.metrics.classification import ClassificationAccuracy


def slow_hit(scores: list[float], right: int, k: int) -> bool:
    """The right class is among the best k, wrong ones first among equals."""
    ordered = sorted(range(len(scores)), key=lambda c: (-scores[c], c == right))
    return right in ordered[:k]


@given(st.integers(0, 10**6), st.integers(1, 20), st.integers(1, 9))
def test_as_if_sorted(seed: int, instances: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, (instances, classes)) / 5
    right = rng.integers(0, classes, instances)
    accuracy = ClassificationAccuracy()
    accuracy.add(scores[:7], right[:7])
    accuracy.add(scores[7:], right[7:].tolist())
    for k, averages in accuracy.value(ks=(1, 5)).items():
        hits = np.array([slow_hit(list(row), c, k) for row, c in zip(scores, right, strict=True)], float)
        assert averages.per_instance == pytest.approx(hits.mean())
        assert averages.per_group == pytest.approx(np.mean([hits[right == c].mean() for c in set(right.tolist())]))


def test_nothing_is_nan() -> None:
    accuracy = ClassificationAccuracy()
    accuracy.add(np.empty((0, 5)), [])
    assert math.isnan(accuracy.value()[1].per_group)


@pytest.mark.parametrize(
    ("scores", "classes"),
    [(np.zeros((2, 3)), [0]), (np.zeros((1, 3)), [3]), (np.zeros((1, 3)), [-1]), (np.zeros((1, 3)), [0.5])],
)
def test_classes_that_do_not_fit(scores: np.ndarray, classes: list[int]) -> None:
    with pytest.raises(OptionsError):
        ClassificationAccuracy().add(scores, classes)


def test_scores_that_are_none() -> None:
    with pytest.raises(OptionsError):
        ClassificationAccuracy().add(np.array([[0.0, math.nan]]), [0])
    with pytest.raises(OptionsError):
        ClassificationAccuracy().value(ks=(0,))
