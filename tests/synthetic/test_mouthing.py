from itertools import pairwise

import numpy as np
import pytest

from signspot.corpus.truth import MentionTruth, SignTruth
from signspot.types import Label, Subtitle
from signspot_synthetic.performance import SimulatedMouthingSpotter, is_right, mouthing_rate
from signspot_synthetic.random_streams import named_rng

COUNT = 6_000


def sign(index: int, word: str, start: float, *, mouthed: bool) -> SignTruth:
    return SignTruth("v", index, word, start, start + 0.4, "1", "s", (), True, False, mouthed, index)


def mention(index: int, word: str, signs: tuple[int, ...]) -> MentionTruth:
    return MentionTruth("v", index, word, 0, 3, signs, 2.0 * index, 2.0 * index + 1)


@pytest.fixture(scope="module")
def footage():
    """A sign every 2 s; one third mouthed, one third not, one third not signed at all although it is written."""
    signs = [sign(i, f"w{i % 50}" if i % 3 else "other", 2.0 * i, mouthed=i % 3 == 1) for i in range(COUNT)]
    subtitles = [Subtitle(2.0 * i, 2.0 * i + 1, "x") for i in range(COUNT)]
    mentions = [mention(i, f"w{i % 50}", (i,) if i % 3 else ()) for i in range(COUNT)]
    return signs, subtitles, mentions


def labels_of(footage, knob: float) -> list[Label]:
    signs, subtitles, mentions = footage
    return SimulatedMouthingSpotter(subtitles, signs, 2.0 * COUNT, {}, knob).labels(mentions, named_rng(4, "labels"))


@pytest.fixture(scope="module")
def labels(footage):
    return labels_of(footage, 1.0)


def right_labels(labels, footage):
    signs = footage[0]
    return np.array([is_right(label, signs[max(0, int(label.time / 2) - 2) :][:5], {}) for label in labels])


def test_reliability_grows_with_confidence(labels, footage):
    right, sure = right_labels(labels, footage), np.array([label.confidence for label in labels])
    assert sure.min() >= 0.5
    assert sure.max() <= 1.0
    edges = [0.5, 0.6, 0.7, 0.8, 1.01]
    shares = [right[(sure >= low) & (sure < high)].mean() for low, high in pairwise(edges)]
    assert all(a < b for a, b in pairwise(shares)), shares
    assert shares[0] < 0.85
    assert shares[-1] > 0.93


def test_right_labels_mark_the_end_of_their_sign(labels, footage):
    ends = np.array([sign.end for sign in footage[0]])
    right = right_labels(labels, footage)
    late = [
        label.time - ends[np.abs(ends - label.time).argmin()] for label, good in zip(labels, right, strict=True) if good
    ]
    assert abs(np.mean(late)) < 0.02
    assert 0.02 < np.std(late) < 0.15


def test_wrong_labels_exist_and_some_mouthings_are_missed(labels, footage):
    right = right_labels(labels, footage)
    assert 0.6 < right.mean() < 0.85
    assert 0.6 < right.sum() / (COUNT / 3) < 0.9


def test_with_the_knob_at_zero_every_label_is_right_and_exact(footage):
    exact = labels_of(footage, 0.0)
    assert right_labels(exact, footage).all()
    assert len(exact) == COUNT / 3


def test_words_have_habits():
    rates = [mouthing_rate(f"word{i}", 1, 1.0) for i in range(200)]
    assert 0.5 < np.mean(rates) < 0.66
    assert np.std(rates) > 0.1
    assert {mouthing_rate(f"word{i}", 1, 0.0) for i in range(5)} == {1.0}
    assert mouthing_rate("a", 1, 1.0) == mouthing_rate("a", 1, 1.0) != mouthing_rate("a", 2, 1.0)


def test_a_word_that_shares_the_sign_makes_a_label_right():
    label = Label("big", "v", 1.4, 0.9)
    signs = [sign(0, "large", 1.0, mouthed=True)]
    assert not is_right(label, signs, {})
    assert is_right(label, signs, {"big": frozenset(["big", "large"])})
