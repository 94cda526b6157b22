"""Gains: what they count, worked by hand, and what is decided by them."""

import numpy as np
import pytest

from signspot.metrics.bootstrap import Interval
from signspot.training.adaptation import deciding, is_kept, same_rate
from signspot.training.adaptation_data import Gain, HeldOutScores, Turn, gains, naming_rates


def gain(measure: str, group: str, low: float, high: float, words: int = 20) -> Gain:
    return Gain(measure, group, words, 0.5, 0.6, Interval((low + high) / 2, low, high))


def test_naming_counts_pairs_in_the_right_order() -> None:
    """'apple' is named by segments 0 and 1, which score 0.9 and 0.4; the others score 0.5 and 0.4: 3.5 of 4 pairs.

    (0.9 beats both, 0.4 beats none and equals one: 2 + 0.5 = 2.5 of 4.) 'pear' is named by all: nothing to compare.
    """
    best = np.array([[0.9, 0.1], [0.4, 0.2], [0.5, 0.3], [0.4, 0.4]])
    is_named = np.array([[True, True], [True, True], [False, True], [False, True]])
    assert dict(naming_rates(["apple", "pear"], best, is_named)) == {"apple": pytest.approx(2.5 / 4)}


def test_gains_are_paired_by_word_and_given_by_group_over_all_turns() -> None:
    nothing = np.empty(0)
    before = HeldOutScores({"a": [0.5], "b": [0.6], "c": [0.7]}, {}, nothing)
    after = HeldOutScores({"a": [0.6], "b": [0.7], "c": [0.6]}, {}, nothing)
    by_group = {gain.group: gain for gain in gains([Turn(before, after, frozenset("ab"))])}
    assert by_group["learned words"].difference.value == pytest.approx(0.1)
    assert by_group["learned words"].is_shown
    assert by_group["held-out words"].difference.value == pytest.approx(-0.1)
    assert by_group["all words"].words == 3
    assert not by_group["all words"].is_shown
    other = HeldOutScores({"a": [0.9]}, {}, nothing)  # in another turn "a" is held out, and gains 0.3
    turns = [
        Turn(before, after, frozenset("ab")),
        Turn(HeldOutScores({"a": [0.6]}, {}, nothing), other, frozenset("bc")),
    ]
    by_group = {gain.group: gain for gain in gains(turns)}
    assert by_group["held-out words"].difference.value == pytest.approx((0.3 - 0.1) / 2)
    assert by_group["all words"].difference.value == pytest.approx(((0.1 + 0.3) / 2 + 0.1 - 0.1) / 3)


def test_labels_decide_where_enough_words_have_them() -> None:
    by_name, by_label = gain("naming", "all words", 0.01, 0.1), gain("labelled", "all words", -0.1, 0.1)
    assert deciding((by_name, by_label)) is by_label
    assert deciding((by_name, gain("labelled", "all words", -0.1, 0.1, words=3))) is by_name


@pytest.mark.parametrize(
    ("every", "unseen", "expected"),
    [((0.01, 0.1), (-0.1, 0.1), True), ((-0.01, 0.1), (0.1, 0.2), False), ((0.01, 0.1), (-0.2, -0.1), False)],
)
def test_a_map_is_kept_for_a_shown_gain_without_a_shown_loss(
    every: tuple[float, float], unseen: tuple[float, float], expected: bool
) -> None:
    assert is_kept((gain("naming", "all words", *every), gain("naming", "held-out words", *unseen))) is expected


def test_the_threshold_lets_as_many_pass_as_before() -> None:
    before, after = np.linspace(0, 1, 1001), np.linspace(0, 0.5, 1001)
    assert same_rate(0.9, before, after) == pytest.approx(0.45, abs=1e-3)
    assert same_rate(0.995, before, after) == 0.995, "six scores are too few to set it by"
