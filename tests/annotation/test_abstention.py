"""Abstention on candidates whose truth is drawn first: better than the score alone, and its confidence is honest."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from signspot.annotation.abstention import Contrast, judge
from signspot.errors import OptionsError

WORDS = 40


def drawn(seed: int = 0, count: int = 6000) -> tuple[Contrast, NDArray[np.bool_], NDArray[np.float64]]:
    """Candidates and decoys, which candidates are right, and the share of each word's mentions that are signed."""
    rng = np.random.default_rng(seed)
    shares = rng.choice([0.15, 0.95], WORDS)
    chance = rng.normal(0, 0.5, WORDS)  # some words look like anything
    words = rng.integers(WORDS, size=2 * count)
    decoy = np.arange(2 * count) >= count
    right = ~decoy & (rng.random(2 * count) < shares[words])
    height = 2.0 + np.where(right, rng.normal(1.2, 0.6, 2 * count), chance[words] + rng.normal(0, 0.5, 2 * count))
    rival = np.where(right, rng.normal(1.2, 0.5, 2 * count), rng.normal(2.4, 0.7, 2 * count))
    unknown = np.full(2 * count, np.nan)
    names = tuple(f"word-{word:02d}" for word in words)
    found = Contrast(names, decoy, 1 - np.exp(-height), 1 - np.exp(-np.maximum(rival, 0.01)), unknown, unknown)
    return found, right[:count], shares


def precision_at_half(values: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    return float(right[np.argsort(-values)[: len(values) // 2]].mean())


def test_confidence_orders_better_than_the_score() -> None:
    found, right, _ = drawn()
    assert precision_at_half(judge(found).asked, right) > precision_at_half(found.score[found.asked], right) + 0.04


def test_confidence_is_honest() -> None:
    """Of candidates believed with p, a share p is right."""
    found, right, _ = drawn()
    confidence = judge(found).asked
    for low in (0.0, 0.25, 0.5, 0.75):
        chosen = (confidence >= low) & (confidence < low + 0.25)
        assert right[chosen].mean() == pytest.approx(confidence[chosen].mean(), abs=0.08)


def test_words_that_are_seldom_signed_are_known() -> None:
    found, right, shares = drawn()
    judged = judge(found)
    assert judged.share == pytest.approx(right.mean(), abs=0.05)
    told = np.array([judged.word_shares[f"word-{word:02d}"] for word in range(WORDS)])
    assert told[shares < 0.5].max() < 0.5 < told[shares > 0.5].min()


def test_decoys_promise_the_precision() -> None:
    found, right, _ = drawn()
    judged = judge(found)
    for cut in (0.5, 0.9):
        promised = judged.promised_precision(judged.confidence, cut)
        assert promised == pytest.approx(right[judged.asked >= cut].mean(), abs=0.03)
    assert np.isnan(judged.promised_precision(judged.confidence, 1.1))


def test_the_order_of_rows_does_not_matter() -> None:
    found, _, _ = drawn(count=300)
    order = np.random.default_rng(1).permutation(len(found))
    mixed = Contrast(
        tuple(found.words[index] for index in order),
        *(column[order] for column in (found.decoy, found.score, found.rival, found.negative, found.second)),
    )
    assert np.allclose(judge(mixed).confidence, judge(found).confidence[order], atol=1e-6)


def test_candidates_without_decoys_are_refused() -> None:
    found, _, _ = drawn(count=50)
    with pytest.raises(OptionsError, match="100"):
        judge(replace(found, decoy=np.zeros(100, bool)))
