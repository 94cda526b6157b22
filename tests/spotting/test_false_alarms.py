"""False alarms: rates fall with the score, thresholds keep their promise, every word is read on a scale of its own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.spotting.false_alarms import CurveScale, PeakDistribution, WordFalseAlarms, own_weight, shift_between
from signspot.spotting.matching import strength


def exponential(seed: int, peaks: int = 40_000) -> PeakDistribution:
    """Peaks whose values fall by e for every 0.05, of 200 decoys in half an hour."""
    return PeakDistribution(0.3 + np.random.default_rng(seed).exponential(0.05, peaks), 100.0)


def test_a_rate_is_a_count_over_hours_and_decoys() -> None:
    assert PeakDistribution(np.linspace(0, 1, 100_001), 200.0).rate(0.5) == pytest.approx(50_001 / 200)


@pytest.mark.parametrize("rate", [100.0, 10.0, 1.0])
def test_thresholds_keep_their_promise_beyond_what_decoys_reached(rate: float) -> None:
    """The true rates of an exponential tail are known."""
    for seed in range(5):
        truth = 40_000 * np.exp(-(exponential(seed).threshold(rate) - 0.3) / 0.05) / 100
        assert truth == pytest.approx(rate, rel=0.25)


def test_a_few_decoys_that_are_really_signed_hardly_move_a_threshold() -> None:
    peaks = exponential(0).values
    signed = PeakDistribution(np.concatenate([peaks, np.full(300, 3.0)]), 100.0)  # 3 times per hour and word
    assert signed.threshold(10.0) - exponential(0).threshold(10.0) < 0.05  # one e-fold


@given(seed=st.integers(0, 99), rate=st.floats(0.01, 300))
def test_rate_and_threshold_agree(seed: int, rate: float) -> None:
    peaks = exponential(seed, 4000)
    threshold = peaks.threshold(rate)
    assert peaks.rate(threshold) == pytest.approx(rate, rel=1e-6) or rate > 40
    assert peaks.rate(threshold) <= rate * 1.0001


@given(st.lists(st.floats(0, 1), max_size=60), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_score_never_means_more_alarms(values: list[float], one: float, other: float) -> None:
    peaks = PeakDistribution(np.array(values), 0.1)
    assert peaks.rate(max(one, other)) <= peaks.rate(min(one, other)) + 1e-9


def test_a_word_near_to_much_signing_needs_a_higher_score_for_the_same_rate() -> None:
    random = np.random.default_rng(1)
    scores = [1 / (1 + random.normal(mean, 0.1, 5000).clip(0.01) ** 4) for mean in (0.8, 1.4)]
    near, far = (WordFalseAlarms(exponential(3), scale) for scale in CurveScale.of_curves(np.stack(scores)))
    assert near.threshold(10.0) > far.threshold(10.0) + 0.1
    for word in (near, far):
        assert word.rate(word.threshold(10.0)) == pytest.approx(10, rel=1e-3)


def test_half_a_weight_is_half_a_peak() -> None:
    peaks = exponential(4)
    doubled = PeakDistribution(np.repeat(peaks.values, 2), peaks.searched, np.full(2 * len(peaks.values), 0.5))
    for rate in (100.0, 10.0, 1.0):
        assert doubled.threshold(rate) == pytest.approx(peaks.threshold(rate), abs=1e-3)


@given(st.floats(0.5, 300), st.floats(0, 0.5))
def test_a_little_more_of_a_video_changes_its_weight_little(seconds: float, more: float) -> None:
    assert 0 < own_weight(seconds) <= own_weight(seconds + more) <= 1
    assert own_weight(seconds + more) - own_weight(seconds) < 0.3 * more + 1e-9
    assert own_weight(120.0) == 1


def test_a_word_that_is_signed_now_and_then_is_read_on_the_scale_of_one_that_is_not() -> None:
    """An eighth of the time is taken by the sign itself: it may not stretch the scale on which it is read."""
    other = 1 / (1 + np.random.default_rng(2).normal(1.2, 0.1, 5000).clip(0.01) ** 4)
    signed = other.copy()
    signed[:625] = 0.95
    scales = CurveScale.of_curves(np.stack([signed, other]))
    assert scales[0].spread < 1.4 * scales[1].spread


def test_a_scale_of_a_short_video_leans_on_one_measured_elsewhere() -> None:
    here, there = CurveScale(-0.5, 0.4), CurveScale(-1.0, 0.1)
    mixed, weight = here.shrunk(there, 4.0), own_weight(4.0)
    assert mixed.level == pytest.approx(-0.5 * weight - 1.0 * (1 - weight))
    assert mixed.spread == pytest.approx(0.4**weight * 0.1 ** (1 - weight))
    assert here.shrunk(there, 3600.0).level == here.level
    moved = there.moved(shift_between([here] * 3, [there] * 3))
    assert (moved.level, moved.spread) == (pytest.approx(here.level), pytest.approx(here.spread))


@pytest.mark.parametrize("steps", [1, 2, 77, 4000, 50_021])
def test_a_scale_is_made_of_quantiles_of_strengths(steps: int) -> None:
    scores = np.random.default_rng(steps).beta(2, 5, steps).astype(np.float32)
    low, level, high = np.quantile(strength(scores[:: max(1, steps // 4000)]), (0.4, 0.65, 0.8)).tolist()
    (scale,) = CurveScale.of_curves(scores[None])
    assert (scale.level, scale.spread) == (pytest.approx(level, abs=1e-9), pytest.approx(max(1e-3, high - low)))
