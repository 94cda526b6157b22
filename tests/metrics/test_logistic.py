"""Logistic regression: it finds what made the data, and stays finite where all is told apart."""

import numpy as np
import pytest

from signspot.metrics.logistic import fit_logistic, logistic

RIDGE = np.full(2, 1e-3)


def test_the_weights_that_made_the_data_are_found() -> None:
    random = np.random.default_rng(0)
    feature = random.normal(0, 3, 20_000)
    right = (random.random(20_000) < logistic(0.5 * feature - 1)).astype(float)
    weights = fit_logistic(feature[:, None], right, RIDGE)
    assert weights[0] == pytest.approx(-1.0, abs=0.06)
    assert weights[1] == pytest.approx(0.5, abs=0.03)
    assert logistic(weights[0] + weights[1] * feature).mean() == pytest.approx(right.mean(), abs=1e-6)


def test_what_is_told_apart_has_steep_but_finite_weights() -> None:
    _, gain = fit_logistic(np.array([[-1.0], [1.0]]), np.array([0.0, 1.0]), RIDGE)
    assert 1 < gain < 100


def test_a_belief_of_a_half_counts_on_both_sides() -> None:
    weights = fit_logistic(np.array([[-1.0], [1.0]]), np.array([0.5, 0.5]), RIDGE)
    assert weights == pytest.approx([0.0, 0.0])
