"""Peaks: all of them above a threshold, near ones suppressed, spans around them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from signspot.spotting.peaks import Peak, find_peaks, half_height_spans, suppress

curves = arrays(np.float64, st.integers(1, 80), elements=st.floats(0, 1, width=16))


def bump(length: int, *middles: int, height: float = 0.9) -> np.ndarray:
    """A curve at 0.4 with triangles of half-width 5 frames."""
    curve = np.full(length, 0.4)
    for middle in middles:
        reach = np.abs(np.arange(length) - middle)
        curve = np.maximum(curve, height - (height - 0.4) * reach / 5)
    return curve


def times_of(curve: np.ndarray) -> np.ndarray:
    return np.arange(len(curve)) / 25


def peaks_of(curve: np.ndarray, threshold: float = 0.7, overlap: float = 0.3) -> list[Peak]:
    times = times_of(curve)
    return find_peaks(
        times,
        curve,
        threshold=threshold,
        overlap=overlap,
        spans=lambda places: half_height_spans(times, curve[None], np.zeros_like(places), places, 1.28),
    )


def test_every_peak_is_found_not_only_the_best() -> None:
    curve = np.maximum(bump(100, 20, 70), bump(100, 45, height=0.8))
    found = peaks_of(curve)
    assert [peak.index for peak in found] == [20, 45, 70]
    assert [round(peak.score, 3) for peak in found] == [0.9, 0.8, 0.9]


def test_a_span_is_where_the_curve_is_above_half_its_height() -> None:
    (peak,) = peaks_of(bump(60, 30))  # half of the height over 0.5 is 0.7: two frames away
    assert (peak.time, peak.start, peak.end) == pytest.approx((30 / 25, 28 / 25, 32 / 25))


def test_of_two_near_peaks_the_higher_stays() -> None:
    curve = np.maximum(bump(60, 20, height=0.8), bump(60, 27))
    assert [peak.index for peak in peaks_of(curve)] == [27]
    assert [peak.index for peak in peaks_of(curve, overlap=0.9)] == [20, 27]


def test_a_slow_sign_is_found_once() -> None:
    """A curve that stays high for a second and trembles is one sign, however many maxima it has."""
    slow = 0.4 + 0.5 * np.exp(-(((np.arange(100) - 50) / 20) ** 2)) + 0.04 * np.cos(np.arange(100) * np.pi / 4)
    assert len(peaks_of(slow)) == 1
    assert len(peaks_of(slow, overlap=1.0)) == 4


def test_a_sign_repeated_at_once_is_found_twice() -> None:
    assert [peak.index for peak in peaks_of(bump(80, 30, 42))] == [30, 42]


def test_a_plateau_is_one_peak_in_its_middle() -> None:
    curve = np.full(40, 0.3)
    curve[10:21] = 0.8
    (peak,) = peaks_of(curve)
    assert peak.index == 15


def test_a_curve_that_never_reaches_the_threshold_has_no_peak() -> None:
    assert peaks_of(bump(50, 25), threshold=0.95) == []


def test_a_span_is_never_longer_than_allowed() -> None:
    slow = 0.4 + 0.5 * np.exp(-(((np.arange(500) - 250) / 100) ** 2))
    (peak,) = peaks_of(slow)
    assert peak.end - peak.start == pytest.approx(1.28)


@given(curve=curves, threshold=st.floats(0, 1), overlap=st.floats(0, 1))
def test_laws(curve: np.ndarray, threshold: float, overlap: float) -> None:
    times = times_of(curve)
    found = peaks_of(curve, threshold, overlap)
    assert [p.time for p in found] == sorted(p.time for p in found)
    for peak in found:
        assert peak.score >= threshold
        assert peak.start <= peak.time <= peak.end
        assert peak.score == curve[peak.index]
    for one, two in pairwise(found):
        shared = max(0.0, min(one.end, two.end) - max(one.start, two.start))
        assert shared <= overlap * max(0.5, min(one.end - one.start, two.end - two.start)) + 1e-9
    if curve.max() >= threshold:
        assert max(p.score for p in found) == curve.max()
    assert len(times) == len(curve)


@given(curve=curves, silence=st.integers(1, 60))
def test_appending_silence_loses_no_peak(curve: np.ndarray, silence: int) -> None:
    """What is far from a peak does not move it."""
    longer = np.concatenate([curve, np.zeros(silence)])
    before = {(p.index, p.score) for p in peaks_of(curve, 0.1)}
    after = {(p.index, p.score) for p in peaks_of(longer, 0.1)}
    assert before == after


@given(
    st.lists(st.tuples(st.floats(0, 6, width=16), st.floats(0.125, 3, width=16)), max_size=40),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
)
def test_suppression_keeps_the_best_and_then_whatever_shares_little_with_what_is_kept(
    spans: list[tuple[float, float]], overlap: float
) -> None:
    """As one would do it by hand, span by span."""
    kept: list[int] = []
    for place, (start, length) in enumerate(spans):
        shares = [
            (min(start + length, other + long) - max(start, other)) / min(length, long)
            for other, long in (spans[index] for index in kept)
        ]
        if all(share <= overlap for share in shares):
            kept.append(place)
    starts = np.array([start for start, _ in spans])
    assert suppress(starts, starts + np.array([length for _, length in spans]), overlap) == kept
