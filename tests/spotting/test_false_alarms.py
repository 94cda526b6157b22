"""False alarms: rates fall with the score, thresholds keep their promise, every word is read on a scale of its own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.spotting.false_alarms import (
    CurveScale,
    PeakDistribution,
    WordFalseAlarms,
    cautious_words,
    shift_between,
)
from signspot.spotting.matching import strength

UNIT = CurveScale(-1.0, 0.1)  # a normalised score of z is a strength of z / 10 - 1


def exponential(seed: int, peaks: int = 40_000) -> PeakDistribution:
    """Peaks whose values fall by e for every 0.05, of 200 decoys in half an hour."""
    return PeakDistribution(0.3 + np.random.default_rng(seed).exponential(0.05, peaks), 0.5, 200)


def both(decoys: PeakDistribution, words: PeakDistribution | None = None, scale: CurveScale = UNIT) -> WordFalseAlarms:
    return WordFalseAlarms(decoys, cautious_words(decoys, words), scale)


def test_a_rate_is_a_count_over_hours_and_decoys() -> None:
    assert PeakDistribution(np.linspace(0, 1, 100_001), 2.0, 100).rate(0.5) == pytest.approx(50_001 / 200)


@pytest.mark.parametrize("rate", [100.0, 10.0, 1.0])
def test_thresholds_keep_their_promise_beyond_what_decoys_reached(rate: float) -> None:
    """The true rates of an exponential tail are known."""
    for seed in range(5):
        truth = 40_000 * np.exp(-(exponential(seed).threshold(rate) - 0.3) / 0.05) / 100
        assert truth == pytest.approx(rate, rel=0.25)


def test_a_few_decoys_that_are_really_signed_hardly_move_a_threshold() -> None:
    peaks = exponential(0).values
    signed = PeakDistribution(np.concatenate([peaks, np.full(300, 3.0)]), 0.5, 200)  # 3 times per hour and word
    assert signed.threshold(10.0) - exponential(0).threshold(10.0) < 0.05  # one e-fold


@given(seed=st.integers(0, 99), rate=st.floats(0.01, 300))
def test_rate_and_threshold_agree(seed: int, rate: float) -> None:
    peaks = exponential(seed, 4000)
    threshold = peaks.threshold(rate)
    assert peaks.rate(threshold) <= rate * 1.0001
    assert peaks.rate(threshold - 0.02) > rate * 0.9 or rate > 40


@given(st.lists(st.floats(0, 1), max_size=60), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_score_never_means_more_alarms(values: list[float], one: float, other: float) -> None:
    peaks = PeakDistribution(np.array(values), 0.01, 10)
    assert peaks.rate(max(one, other)) <= peaks.rate(min(one, other)) + 1e-9


def test_a_word_near_to_much_signing_needs_a_higher_score_for_the_same_rate() -> None:
    random = np.random.default_rng(1)
    scores = [1 / (1 + random.normal(mean, 0.1, 5000).clip(0.01) ** 4) for mean in (0.8, 1.4)]
    near, far = (both(exponential(3), scale=scale) for scale in CurveScale.of_curves(np.stack(scores)))
    assert near.threshold(10.0) > far.threshold(10.0) + 0.1
    for word in (near, far):
        assert word.rate(word.threshold(10.0)) == pytest.approx(10, rel=1e-3)


def test_words_with_near_doubles_in_the_video_make_rates_cautious() -> None:
    """Other words of the dictionary come higher than decoys: they count. Ones that are signed there do not."""
    decoys = exponential(4)
    twice = PeakDistribution(decoys.values + 0.05 * np.log(2), 0.5, 200)
    lower = PeakDistribution(0.8 * decoys.values, 0.5, 200)
    signed = PeakDistribution(np.concatenate([decoys.values, np.full(20_000, 9.0)]), 0.5, 200)  # 200 times per hour
    for rate in (100.0, 10.0, 1.0):
        alone = both(decoys).threshold(rate)
        higher = UNIT.score(decoys.threshold(rate) + 0.05 * np.log(2))
        assert both(decoys, twice).threshold(rate) == pytest.approx(higher, abs=2e-4)
        assert both(decoys, lower).threshold(rate) == alone
        assert both(decoys, signed).threshold(rate) == alone
        for words in (twice, lower, signed):
            model = both(decoys, words)
            assert model.rate(model.threshold(rate)) == pytest.approx(rate, rel=0.02)


def test_words_mean_a_few_times_as_many_alarms_as_decoys_at_the_most() -> None:
    """A tail far heavier than that of decoys: four times as many alarms at ten per hour, ever more beyond."""
    decoys = exponential(4)
    model = both(decoys, PeakDistribution(np.concatenate([decoys.values, np.full(3_000, 9.0)]), 0.5, 200))
    assert model.threshold(1.0) == UNIT.score(decoys.threshold(1 / 5.5))
    assert model.rate(UNIT.score(decoys.threshold(0.01))) == pytest.approx(0.055, rel=1e-3)


def test_a_word_that_is_signed_now_and_then_is_read_on_the_scale_of_one_that_is_not() -> None:
    """An eighth of the time is taken by the sign itself: it may not stretch the scale on which it is read."""
    other = 1 / (1 + np.random.default_rng(2).normal(1.2, 0.1, 5000).clip(0.01) ** 4)
    signed = other.copy()
    signed[:625] = 0.95
    scales = CurveScale.of_curves(np.stack([signed, other]))
    assert scales[0].spread < 1.4 * scales[1].spread


def test_a_scale_of_a_short_video_leans_on_one_measured_elsewhere() -> None:
    here, there = CurveScale(-0.5, 0.4), CurveScale(-1.0, 0.1)
    half = here.shrunk(there, 4.0)
    assert (half.level, half.spread) == (pytest.approx(-0.75), pytest.approx(0.2))
    assert here.shrunk(there, 3600.0).level == pytest.approx(here.level, abs=1e-3)
    moved = there.moved(shift_between([here] * 3, [there] * 3))
    assert (moved.level, moved.spread) == (pytest.approx(here.level), pytest.approx(here.spread))


@pytest.mark.parametrize("steps", [1, 2, 77, 4000, 50_021])
def test_a_scale_is_made_of_quantiles_of_strengths(steps: int) -> None:
    scores = np.random.default_rng(steps).beta(2, 5, steps).astype(np.float32)
    low, level, high = np.quantile(strength(scores[:: max(1, steps // 4000)]), (0.4, 0.65, 0.8)).tolist()
    (scale,) = CurveScale.of_curves(scores[None])
    assert (scale.level, scale.spread) == (pytest.approx(level, abs=1e-9), pytest.approx(max(1e-3, high - low)))
