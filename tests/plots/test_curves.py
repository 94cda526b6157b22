from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.plots.curves import Curve, View, clock, label, lowest_score, panels, summary, telling, thinned
from signspot.types import Segment


def test_words_that_were_found_come_first(view: View) -> None:
    drawn_panels, left_out = panels(view)
    assert [panel.word for panel in drawn_panels] == ["apple", "pear"]
    assert [len(panel.curves) for panel in drawn_panels] == [2, 1]
    assert left_out == []
    assert panels(view, 1)[1] == ["pear"]


def test_only_the_spottings_in_a_span_count(view: View) -> None:
    (apple, _), _ = panels(view, span=Segment(2.0, 4.0))
    assert [spotting.time for spotting in apple.spottings] == [3.0]
    assert [panel.word for panel in panels(view, span=Segment(1.4, 2.0))[0]] == ["pear", "apple"]


def test_an_exemplar_keeps_its_colour(view: View) -> None:
    (apple, _), _ = panels(view)
    assert [apple.colour(name) for name in ("apple-1", "apple-2", "gone")] == ["#0072b2", "#d55e00", "#0072b2"]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=300), st.integers(2, 50))
def test_thinning_keeps_the_peak_the_trough_and_the_ends(scores: list[float], most: int) -> None:
    curve = Curve("w", "e", np.arange(len(scores), dtype=float), np.array(scores))
    times, values = thinned(curve, most)
    assert values.max() == max(scores)
    assert values.min() == min(scores)
    assert (times[0], times[-1]) == (0, len(scores) - 1)
    assert len(times) <= most + 2
    assert (np.diff(times) > 0).all()


def test_a_curve_needs_a_score_a_time() -> None:
    with pytest.raises(OptionsError, match="'e'"):
        Curve("w", "e", np.zeros(2), np.zeros(3))


@pytest.mark.parametrize(
    ("seconds", "digits", "text"),
    [(0, 0, "0:00"), (65.284, 2, "1:05.28"), (59.999, 2, "1:00.00"), (3723, 0, "1:02:03"), (-1, 1, "0:00.0")],
)
def test_times_as_a_player_shows_them(seconds: float, digits: int, text: str) -> None:
    assert clock(seconds, digits) == text


def test_small_things(view: View) -> None:
    assert summary(view) == "2 spottings of 1 word"
    assert label("a\nb") == "a\\u000ab"
    assert label("x" * 60) == "x" * 39 + "…"
    assert lowest_score(view) == pytest.approx(0.3)
    assert lowest_score(replace(view, thresholds={"apple": 0.02})) == 0.0


@pytest.mark.parametrize(
    ("names", "longest", "shortened"),
    [
        (["apple-1", "apple-2"], 10, ["apple-1", "apple-2"]),
        (["apple-signer-1", "apple-signer-2"], 10, ["…1", "…2"]),
        (["a-very-long-name-0001"], 10, ["a-ver…0001"]),
        (["bsl-apple-north", "bsl-apple-southwest-of-leeds"], 12, ["…north", "…south…leeds"]),
        (["same-long-name", "same-long-name"], 8, ["same…ame", "same…ame"]),
        ([], 8, []),
    ],
)
def test_names_keep_their_telling_part(names: list[str], longest: int, shortened: list[str]) -> None:
    assert telling(names, longest) == shortened


@given(st.lists(st.text(max_size=60), max_size=5), st.integers(4, 40))
def test_names_are_never_too_long(names: list[str], longest: int) -> None:
    assert all(len(name) <= longest for name in telling(names, longest))
