"""All thresholds at once against one threshold at a time."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.metrics.detection import DetectionCurve, make_curve

Hits = list[tuple[float, bool, float]]  # score, found a sign, IoU
HITS = st.lists(st.tuples(st.sampled_from([0.1, 0.4, 0.5, 0.9]), st.booleans(), st.floats(0, 1)), max_size=15)


def curve_of(hits: Hits, truths: int, hours: float = 0.5) -> DetectionCurve:
    scores, matched, overlaps = (np.array([hit[n] for hit in hits]) for n in range(3))
    return make_curve(scores, overlaps, matched.astype(bool), truths=truths, hours=hours)


def slow_average_precision(hits: Hits, truths: int) -> float:
    """At every count of signs found: the best precision of any threshold that finds so many, over all signs."""
    points = []
    for threshold in sorted({score for score, _, _ in hits}):
        kept = [found for score, found, _ in hits if score >= threshold]
        points.append((sum(kept), sum(kept) / len(kept)))
    return sum(max((p for n, p in points if n >= wanted), default=0.0) for wanted in range(1, truths + 1)) / truths


@given(HITS, st.integers(0, 4))
def test_average_precision_as_if_by_threshold(hits: Hits, missed: int) -> None:
    truths = sum(found for _, found, _ in hits) + missed
    measured = curve_of(hits, truths).average_precision
    if truths:
        assert measured == pytest.approx(slow_average_precision(hits, truths))
    else:
        assert math.isnan(measured)


@given(HITS, st.integers(0, 4), st.sampled_from([0.0, 0.1, 0.3, 0.4, 0.9, 1.0]))
def test_one_threshold_counted_plainly(hits: Hits, missed: int, threshold: float) -> None:
    truths = sum(found for _, found, _ in hits) + missed
    point = curve_of(hits, truths).at(threshold)
    kept = [hit for hit in hits if hit[0] >= threshold]
    found = [hit for hit in kept if hit[1]]
    assert (point.found, point.false_alarms) == (len(found), len(kept) - len(found))
    assert point.false_alarms_per_hour == (len(kept) - len(found)) / 0.5
    assert math.isnan(point.precision) if not kept else point.precision == len(found) / len(kept)
    assert math.isnan(point.recall) if not truths else point.recall == len(found) / truths
    assert point.overlap == pytest.approx(sum(hit[2] for hit in found))


@given(HITS, st.randoms(use_true_random=False))
def test_the_order_of_spottings_does_not_matter(hits: Hits, random) -> None:
    one, other = curve_of(hits, 20), curve_of(random.sample(hits, len(hits)), 20)
    assert one.overlap.tolist() == other.overlap.tolist()
    assert one.found.tolist() == other.found.tolist()


def test_ties_enter_together() -> None:
    hits = [(0.5, True, 1.0), (0.5, False, 0.0)]
    assert curve_of(hits, 1).average_precision == 0.5
    assert curve_of(hits[::-1], 1).average_precision == 0.5


def test_worked_by_hand() -> None:
    hits = [(0.9, True, 1), (0.8, False, 0), (0.7, True, 1), (0.6, True, 1), (0.5, False, 0)]
    # four signs: precision 1, 1/2, 2/3, 3/4, 3/5, raised from below to 1, 3/4, 3/4, 3/4, 3/5
    assert curve_of(hits, 4).average_precision == pytest.approx((1 + 3 / 4 + 3 / 4) / 4)


def test_perfect_is_exactly_one() -> None:
    assert curve_of([(n / 10, True, 1.0) for n in range(7)], 7).average_precision == 1.0


def test_nothing_at_all() -> None:
    empty = curve_of([], truths=0, hours=0)
    point = empty.at(0.7)
    assert all(math.isnan(number) for number in (point.precision, point.recall))
    assert math.isnan(point.false_alarms_per_hour)
    assert math.isnan(empty.average_precision)


def test_mistakes_are_named() -> None:
    curve = curve_of([(0.5, False, 0.0)], 0)
    with pytest.raises(OptionsError):
        curve.at(math.nan)
