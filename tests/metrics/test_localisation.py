"""A peak is right from 20 frames before to 5 frames after a label, or inside a segment and its margin."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.metrics.localisation import Tolerance
from signspot.types import Segment


@given(st.integers(0, 2000), st.integers(-40, 40), st.floats(0, 1e4))
def test_frames_on_the_border_count(label: int, offset: int, origin: float) -> None:
    peak = origin + (label + offset) / 25
    assert bool(Tolerance().accepts(peak, origin + label / 25)) == (-20 <= offset <= 5)


@given(st.integers(0, 200), st.integers(0, 50), st.integers(0, 300))
def test_segments_and_their_margin(start: int, length: int, peak: int) -> None:
    segment = Segment(start / 25, (start + length) / 25)
    right = Tolerance(margin=0.12).accepts(peak / 25, segment)
    assert bool(right) == (start - 3 <= peak <= start + length + 3)


@given(st.lists(st.floats(0, 20), min_size=1, max_size=5), st.lists(st.floats(0, 20), min_size=1, max_size=8))
def test_any_of_several_truths_will_do(labels: list[float], peaks: list[float]) -> None:
    tolerance = Tolerance()
    expected = [any(bool(tolerance.accepts(peak, label)) for label in labels) for peak in peaks]
    assert tolerance.accepts(np.array(peaks), labels).tolist() == expected
    assert tolerance.accepts(np.array(peaks), np.array(labels)).tolist() == expected


@pytest.mark.parametrize(("peak", "truth"), [(math.nan, 1.0), (1.0, math.inf), (1.0, [])])
def test_times_that_are_none(peak: float, truth: float) -> None:
    with pytest.raises(OptionsError):
        Tolerance().accepts(peak, truth)


def test_a_negative_tolerance_is_refused() -> None:
    with pytest.raises(OptionsError):
        Tolerance(before=-1)
