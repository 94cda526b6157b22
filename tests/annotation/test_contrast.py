"""A run beside its decoys: rivals at the same place, decoys that are none left out."""

from pathlib import Path

import numpy as np
import pytest

from signspot.annotation.abstention import contrast
from signspot.annotation.store import Store, open_store
from signspot.errors import StoreError
from tests.annotation.making import candidate, findings, query


@pytest.fixture
def run(tmp_path: Path) -> Store:
    store = open_store(tmp_path / "run", create=True)
    asked = [query("v", 0, "apple"), query("v", 0, "pear"), query("v", 1, "plum", 50.0, 60.0)]
    found = [
        candidate("v", 0, "apple", 5.0, 0.95),
        candidate("v", 0, "apple", 5.1, 0.6, rank=2),
        candidate("v", 0, "pear", 5.15, 0.9, second=None),
        candidate("v", 1, "plum", 55.0, 0.8),
    ]
    store.add(findings("v", asked, found))
    return store


@pytest.fixture
def decoys(tmp_path: Path) -> Store:
    store = open_store(tmp_path / "decoys", create=True)
    asked = [query("v", 0, "plum"), query("v", 1, "apple", 50.0, 60.0), query("v", 1, "pear", 9.0, 19.0)]
    found = [
        candidate("v", 0, "plum", 5.05, 0.7),
        candidate("v", 1, "apple", 57.0, 0.75),
        candidate("v", 1, "pear", 12.0, 0.99),  # a true subtitle asks for it from 0 to 10 s: no decoy
    ]
    store.add(findings("v", asked, found))
    return store


def test_rows_of_the_run_come_first_in_its_order(run: Store, decoys: Store) -> None:
    found = contrast(run, decoys)
    assert found.words == ("apple", "pear", "plum", "plum", "apple")
    assert found.decoy.tolist() == [False, False, False, True, True]
    assert found.score.tolist() == [0.95, 0.9, 0.8, 0.7, 0.75]
    assert list(found.words[:3]) == [each.word for each in run.candidates(rank=1)]


def test_a_rival_is_another_word_at_the_same_place(run: Store, decoys: Store) -> None:
    """Apple and pear are 0.15 s apart, and the decoy plum lies on both; nobody is near the others."""
    rival = contrast(run, decoys).rival
    assert rival[[0, 1, 3]].tolist() == [0.9, 0.95, 0.95]
    assert np.isnan(rival[[2, 4]]).all()


def test_what_was_not_compared_is_nan(run: Store, decoys: Store) -> None:
    assert np.isnan(contrast(run, decoys).second).tolist() == [False, True, False, False, False]


def test_without_candidates_there_is_nothing_to_compare(run: Store, tmp_path: Path) -> None:
    with open_store(tmp_path / "empty", create=True) as empty:
        with pytest.raises(StoreError, match="decoys hold no candidate"):
            contrast(run, empty)
        with pytest.raises(StoreError, match="run holds no candidate"):
            contrast(empty, run)
