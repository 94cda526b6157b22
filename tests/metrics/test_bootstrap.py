"""Bootstrap intervals: seeded, order-free, equal to drawing by hand, and as wide as theory says."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.metrics import bootstrap
from signspot.metrics.bootstrap import CONFIDENCE, Interval, bootstrap_mean, bootstrap_ratio

GROUPS = st.dictionaries(st.text("abc", max_size=3), st.lists(st.floats(-10, 10), max_size=5), max_size=8)


def slow_ratio(top: list[float], bottom: list[float]) -> Interval:
    """Draw group by group, in a loop, from the same random numbers."""
    random = np.random.default_rng(0)
    ratios = []
    for _ in range(bootstrap.DRAWS):
        chosen = [int(i) for i in random.integers(len(top), size=len(top))]
        if sum(bottom[i] for i in chosen) > 0:
            ratios.append(sum(top[i] for i in chosen) / sum(bottom[i] for i in chosen))
    tail = (1 - CONFIDENCE) / 2
    return Interval(sum(top) / sum(bottom), np.quantile(ratios, tail), np.quantile(ratios, 1 - tail))


@settings(max_examples=20)
@given(GROUPS, st.sampled_from(["group", "instance"]))
def test_as_if_drawn_by_hand(groups: dict[str, list[float]], weighting) -> None:
    measured = bootstrap_mean(groups, weighting=weighting)
    full = [groups[name] for name in sorted(groups) if groups[name]]
    if not full:
        assert math.isnan(measured.value)
        assert math.isnan(measured.low)
        return
    top = [sum(values) for values in full] if weighting == "instance" else [sum(v) / len(v) for v in full]
    bottom = [float(len(values)) for values in full] if weighting == "instance" else [1.0] * len(full)
    expected = slow_ratio(top, bottom)
    for name in ("value", "low", "high"):
        assert getattr(measured, name) == pytest.approx(getattr(expected, name), abs=1e-9)


def test_the_order_of_groups_does_not_matter() -> None:
    groups = {str(n): [float(n), n / 2] for n in range(12)}
    backwards = dict(reversed(groups.items()))
    assert bootstrap_mean(groups) == bootstrap_mean(backwards)


def test_as_wide_as_theory_says() -> None:
    values = np.random.default_rng(0).standard_normal(400)
    interval = bootstrap_ratio(values, np.ones(400))
    half = 1.96 * values.std() / 20
    assert interval.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_blocks_do_not_change_how_many_draws_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = bootstrap_ratio(np.arange(9.0), np.ones(9))
    monkeypatch.setattr(bootstrap, "_BLOCK", 70)
    assert bootstrap_ratio(np.arange(9.0), np.ones(9)) == expected


def test_one_group_knows_no_doubt_and_none_knows_nothing() -> None:
    assert bootstrap_mean({"a": [0.25, 0.75]}) == Interval(0.5, 0.5, 0.5)
    assert str(bootstrap_mean({})) == "nan [nan, nan]"
    assert math.isnan(bootstrap_ratio(np.array([1.0]), np.array([0.0])).value)


def test_draws_without_a_denominator_are_left_out() -> None:
    interval = bootstrap_ratio(np.array([2.0, 0.0]), np.array([1.0, 0.0]))
    assert interval == Interval(2.0, 2.0, 2.0)


def test_mistakes_are_named() -> None:
    with pytest.raises(OptionsError):
        bootstrap_mean({"a": [math.inf]})
    with pytest.raises(OptionsError):
        bootstrap_ratio(np.zeros(2), np.zeros(3))
    with pytest.raises(OptionsError):
        bootstrap_ratio(np.zeros(2), np.array([1.0, -1.0]))
