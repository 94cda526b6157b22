"""Decoys: rates fall with the score, thresholds keep what they promise, also beyond what decoys reached."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.spotting.decoys import DecoyRates


def exponential(seed: int, peaks: int = 4000) -> DecoyRates:
    """Peaks whose scores above 0.3 fall by e for every 0.05, of 200 decoys in half an hour."""
    return DecoyRates(0.3 + np.random.default_rng(seed).exponential(0.05, peaks), 0.5, 200)


def test_a_rate_is_a_count_over_hours_and_decoys() -> None:
    rates = DecoyRates(np.linspace(0, 1, 1001), 2.0, 100)
    assert rates.per_hour(0.5) == pytest.approx(501 / 200)
    assert rates.per_hour(0.5, exemplars=3) == pytest.approx(3 * 501 / 200)


@pytest.mark.parametrize("rate", [10.0, 1.0, 0.1, 0.01])
def test_thresholds_keep_their_promise_beyond_what_decoys_reached(rate: float) -> None:
    """One set of peaks promises, another counts: true rates of an exponential tail are known."""
    for seed in range(5):
        threshold = exponential(seed).threshold(rate)
        truth = 4000 * np.exp(-(threshold - 0.3) / 0.05) / 100
        assert truth == pytest.approx(rate, rel=0.6)


@given(seed=st.integers(0, 99), rate=st.floats(0.01, 30), exemplars=st.integers(1, 5))
def test_rate_and_threshold_agree(seed: int, rate: float, exemplars: int) -> None:
    rates = exponential(seed)
    threshold = rates.threshold(rate, exemplars)
    assert rates.per_hour(threshold, exemplars) <= rate * 1.0001
    assert rates.per_hour(threshold - 0.02, exemplars) > rate * 0.9


@given(st.lists(st.floats(0, 1), max_size=60), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_score_never_means_more_alarms(scores: list[float], one: float, other: float) -> None:
    rates = DecoyRates(np.array(scores), 0.01, 10)
    low, high = sorted([one, other])
    assert rates.per_hour(high) <= rates.per_hour(low) + 1e-9
