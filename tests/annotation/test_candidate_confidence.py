"""Confidences: what is read of a run and its decoys, and what is learned of it; the truth is drawn first."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from signspot.annotation.candidate_confidence import Contrast, contrast, judge
from signspot.annotation.store import Store, open_store
from signspot.errors import OptionsError, StoreError
from tests.annotation.making import candidate, findings, query

WORDS = 40


def simulated_contrast(seed: int = 0, count: int = 6000) -> tuple[Contrast, NDArray[np.bool_], NDArray[np.float64]]:
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
    candidates = Contrast(names, decoy, 1 - np.exp(-height), 1 - np.exp(-np.maximum(rival, 0.01)), unknown, unknown)
    return candidates, right[:count], shares


def precision_at_half(values: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    return float(right[np.argsort(-values)[: len(values) // 2]].mean())


def test_confidence_orders_better_than_the_score() -> None:
    pool, right, _ = simulated_contrast()
    assert precision_at_half(judge(pool).asked, right) > precision_at_half(pool.score[pool.asked], right) + 0.04


def test_confidence_is_honest() -> None:
    """Of candidates believed with p, a share p is right."""
    candidates, right, _ = simulated_contrast()
    confidence = judge(candidates).asked
    for low in (0.0, 0.25, 0.5, 0.75):
        chosen = (confidence >= low) & (confidence < low + 0.25)
        assert right[chosen].mean() == pytest.approx(confidence[chosen].mean(), abs=0.08)


def test_words_that_are_seldom_signed_are_known() -> None:
    candidates, right, shares = simulated_contrast()
    judged = judge(candidates)
    assert judged.share == pytest.approx(right.mean(), abs=0.05)
    estimated = np.array([judged.word_shares[f"word-{word:02d}"] for word in range(WORDS)])
    assert estimated[shares < 0.5].max() < 0.5 < estimated[shares > 0.5].min()


def test_decoys_promise_the_precision() -> None:
    candidates, right, _ = simulated_contrast()
    judged = judge(candidates)
    for cut in (0.5, 0.9):
        promised = judged.promised_precision(judged.confidence, cut)
        assert promised == pytest.approx(right[judged.asked >= cut].mean(), abs=0.03)
    assert np.isnan(judged.promised_precision(judged.confidence, 1.1))


def test_the_order_of_rows_does_not_matter() -> None:
    pool, _, _ = simulated_contrast(count=300)
    order = np.random.default_rng(1).permutation(len(pool))
    mixed = Contrast(
        tuple(pool.words[index] for index in order),
        *(column[order] for column in (pool.decoy, pool.score, pool.rival, pool.negative, pool.second)),
    )
    assert np.allclose(judge(mixed).confidence, judge(pool).confidence[order], atol=1e-6)


def test_candidates_without_decoys_are_refused() -> None:
    candidates, _, _ = simulated_contrast(count=50)
    with pytest.raises(OptionsError, match="100"):
        judge(replace(candidates, decoy=np.zeros(100, bool)))


@pytest.fixture
def run(tmp_path: Path) -> Store:
    store = open_store(tmp_path / "run", create=True)
    queries = [query("v", 0, "apple"), query("v", 0, "pear"), query("v", 1, "plum", 50.0, 60.0)]
    candidates = [
        candidate("v", 0, "apple", 5.0, 0.95),
        candidate("v", 0, "apple", 5.1, 0.6, rank=2),
        candidate("v", 0, "pear", 5.15, 0.9, second=None),
        candidate("v", 1, "plum", 55.0, 0.8),
    ]
    store.add(findings("v", queries, candidates))
    return store


@pytest.fixture
def decoys(tmp_path: Path) -> Store:
    store = open_store(tmp_path / "decoys", create=True)
    queries = [query("v", 0, "plum"), query("v", 1, "apple", 50.0, 60.0), query("v", 1, "pear", 9.0, 19.0)]
    candidates = [
        candidate("v", 0, "plum", 5.05, 0.7),
        candidate("v", 1, "apple", 57.0, 0.75),
        candidate("v", 1, "pear", 12.0, 0.99),  # a true subtitle asks for it from 0 to 10 s: no decoy
    ]
    store.add(findings("v", queries, candidates))
    return store


def test_rows_of_the_run_come_first_in_its_order(run: Store, decoys: Store) -> None:
    rows = contrast(run, decoys)
    assert rows.words == ("apple", "pear", "plum", "plum", "apple")
    assert rows.decoy.tolist() == [False, False, False, True, True]
    assert rows.score.tolist() == [0.95, 0.9, 0.8, 0.7, 0.75]
    assert list(rows.words[:3]) == [candidate.word for candidate in run.candidates(rank=1)]


def test_a_rival_is_another_word_at_the_same_place(run: Store, decoys: Store) -> None:
    """Apple and pear are 0.15 s apart, and the decoy plum lies on both; nobody is near the others."""
    rival = contrast(run, decoys).rival
    assert rival[[0, 1, 3]].tolist() == [0.9, 0.95, 0.95]
    assert np.isnan(rival[[2, 4]]).all()


def test_what_was_not_compared_is_nan(run: Store, decoys: Store) -> None:
    assert np.isnan(contrast(run, decoys).second).tolist() == [False, True, False, False, False]


def test_without_candidates_there_is_nothing_to_compare(run: Store, tmp_path: Path) -> None:
    with open_store(tmp_path / "empty", create=True) as empty:
        with pytest.raises(StoreError):
            contrast(run, empty)
        with pytest.raises(StoreError):
            contrast(empty, run)
