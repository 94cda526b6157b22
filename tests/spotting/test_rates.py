"""Rates: they fall with the height, thresholds keep what they promise, and every word is read on a scale of its own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.spotting.matching import strength
from signspot.spotting.rates import CurveScale, PeakRates, SafeRates, WordAlarms, shift_between


def exponential(seed: int, peaks: int = 40_000) -> PeakRates:
    """Peaks whose heights fall by e for every 0.05, of 200 decoys in half an hour."""
    return PeakRates(0.3 + np.random.default_rng(seed).exponential(0.05, peaks), 0.5, 200)


def test_a_rate_is_a_count_over_hours_and_decoys() -> None:
    rates = PeakRates(np.linspace(0, 1, 100_001), 2.0, 100)
    assert rates.per_hour(0.5) == pytest.approx(50_001 / 200)


@pytest.mark.parametrize("rate", [100.0, 10.0, 1.0])
def test_thresholds_keep_their_promise_beyond_what_decoys_reached(rate: float) -> None:
    """The true rates of an exponential tail are known."""
    for seed in range(5):
        threshold = exponential(seed).threshold(rate)
        truth = 40_000 * np.exp(-(threshold - 0.3) / 0.05) / 100
        assert truth == pytest.approx(rate, rel=0.25)


def test_a_few_decoys_that_are_really_signed_hardly_move_a_threshold() -> None:
    peaks = exponential(0).heights
    signed = PeakRates(np.concatenate([peaks, np.full(300, 3.0)]), 0.5, 200)  # 3 times per hour and word
    assert signed.threshold(10.0) - exponential(0).threshold(10.0) < 0.05  # one e-fold


@given(seed=st.integers(0, 99), rate=st.floats(0.01, 300))
def test_rate_and_threshold_agree(seed: int, rate: float) -> None:
    rates = exponential(seed, 4000)
    threshold = rates.threshold(rate)
    assert rates.per_hour(threshold) <= rate * 1.0001
    assert rates.per_hour(threshold - 0.02) > rate * 0.9 or rate > 40


@given(st.lists(st.floats(0, 1), max_size=60), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_score_never_means_more_alarms(heights: list[float], one: float, other: float) -> None:
    rates = PeakRates(np.array(heights), 0.01, 10)
    low, high = sorted([one, other])
    assert rates.per_hour(high) <= rates.per_hour(low) + 1e-9


def test_words_of_different_likeness_are_read_alike() -> None:
    """A word that is near to much signing needs a higher score for the same rate than one that is near to nothing."""
    random = np.random.default_rng(1)
    near, far = (1 / (1 + random.normal(mean, 0.1, 5000).clip(0.01) ** 4) for mean in (0.8, 1.4))
    rates = SafeRates(exponential(3))
    thresholds = [WordAlarms(rates, CurveScale.of(curve)).threshold(10.0) for curve in (near, far)]
    assert thresholds[0] > thresholds[1] + 0.1
    for curve, threshold in zip((near, far), thresholds, strict=True):
        assert WordAlarms(rates, CurveScale.of(curve)).per_hour(threshold) == pytest.approx(10, rel=1e-3)


def test_words_with_near_doubles_in_the_video_make_rates_cautious() -> None:
    """Other words of the dictionary come higher than decoys: they tell. Ones that are signed there do not."""
    decoys = exponential(4)
    twice, lower = PeakRates(decoys.heights + 0.05 * np.log(2), 0.5, 200), PeakRates(0.8 * decoys.heights, 0.5, 200)
    signed = PeakRates(np.concatenate([decoys.heights, np.full(20_000, 9.0)]), 0.5, 200)  # 200 times per hour and word
    for rate in (100.0, 10.0, 1.0):
        alone = SafeRates(decoys).threshold(rate)
        assert SafeRates(decoys, twice).threshold(rate) == pytest.approx(alone + 0.05 * np.log(2), abs=2e-3)
        assert SafeRates(decoys, lower).threshold(rate) == alone
        assert SafeRates(decoys, signed).threshold(rate) == alone
        for words in (twice, lower, signed):
            both = SafeRates(decoys, words)
            assert both.per_hour(both.threshold(rate)) == pytest.approx(rate, rel=0.02)


def test_words_tell_of_a_few_times_as_many_alarms_as_decoys_at_the_most() -> None:
    """A tail far heavier than that of decoys: four times as many alarms at ten per hour, ever more beyond."""
    decoys = exponential(4)
    heavy = PeakRates(np.concatenate([decoys.heights, np.full(3_000, 9.0)]), 0.5, 200)  # 30 times per hour and word
    assert SafeRates(decoys, heavy).threshold(1.0) == decoys.threshold(1 / 5.5)
    assert SafeRates(decoys, heavy).per_hour(decoys.threshold(0.01)) == pytest.approx(0.055)


def test_a_word_that_is_signed_now_and_then_is_read_on_the_scale_of_one_that_is_not() -> None:
    """An eighth of the time is taken by the sign itself: it may not stretch the scale on which it is read."""
    other = 1 / (1 + np.random.default_rng(2).normal(1.2, 0.1, 5000).clip(0.01) ** 4)
    signed = other.copy()
    signed[:625] = 0.95
    assert CurveScale.of(signed).spread < 1.4 * CurveScale.of(other).spread


@given(st.floats(-2, -0.2), st.floats(0.01, 0.5), st.floats(0.05, 0.95))
def test_height_and_score_are_inverse(level: float, spread: float, score: float) -> None:
    scale = CurveScale(level, spread)
    assert scale.score(scale.height(score)) == pytest.approx(score, rel=1e-6)


def test_a_scale_of_a_short_video_leans_on_what_is_known_without_it() -> None:
    own, known = CurveScale(-0.5, 0.4), CurveScale(-1.0, 0.1)
    half = own.shrunk(known, 4.0)
    assert (half.level, half.spread) == (pytest.approx(-0.75), pytest.approx(0.2))
    assert own.shrunk(known, 3600.0).level == pytest.approx(own.level, abs=1e-3)
    moved = known.moved(*shift_between([own, own, own], [known, known, known]))
    assert (moved.level, moved.spread) == (pytest.approx(own.level), pytest.approx(own.spread))


@pytest.mark.parametrize("moments", [1, 2, 77, 4000, 50_021])
def test_a_scale_is_made_of_quantiles_of_strengths(moments: int) -> None:
    scores = np.random.default_rng(moments).beta(2, 5, moments).astype(np.float32)
    low, level, high = np.quantile(strength(scores[:: max(1, moments // 4000)]), (0.4, 0.65, 0.8)).tolist()
    assert CurveScale.of(scores) == CurveScale(level, max(1e-3, high - low))
