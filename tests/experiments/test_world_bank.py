"""The bank of world signs: made once, drawn from by sign, with minimal_pairs as often as is asked for."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from experiments.isolated.world_bank import BankOptions, WorldBank, open_world_bank

SIGNS = 40


def bank(minimal_pairs: float) -> WorldBank:
    """Forty signs, neighbours differ in one parameter; a frame of a sign holds its number."""
    rows = np.array([(sign, kind, 2 * sign + kind, 1, 0, 1) for sign in range(SIGNS) for kind in (0, 1)])
    frames = np.repeat(np.arange(SIGNS, dtype=np.float16), 2)[:, None, None] * np.ones((1, 69, 4), np.float16)
    return WorldBank(frames, rows, np.arange(SIGNS) ^ 1, minimal_pairs)


def pairs(drawn: list[int]) -> int:
    """The number of signs that come right after their minimal pair."""
    return sum(one ^ 1 == two for one, two in pairwise(drawn))


@pytest.mark.parametrize(("minimal_pairs", "fewest", "most"), [(0.0, 0, 4), (1.0, 10, 10)])
def test_minimal_pairs_come_together_as_often_as_is_asked_for(minimal_pairs: float, fewest: int, most: int) -> None:
    drawn = bank(minimal_pairs).draw(np.random.default_rng(3), 20, 2)
    signs = [int(abs(performances[0].features[0, 0, 1])) for performances in drawn]
    assert len(set(signs)) == 20
    assert fewest <= pairs(signs) <= most


def test_a_bank_is_made_once_and_holds_signs_alone_and_in_sentences(tmp_path: Path) -> None:
    options = BankOptions(signs=4, isolated=2, continuous=1)
    made = open_world_bank(tmp_path, options, workers=1)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = open_world_bank(tmp_path, options, workers=1)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == files
    assert np.array_equal(made.rows, again.rows)
    for first, second, signed in again.draw(np.random.default_rng(0), 4, 3):
        assert first.within is None
        assert second.within is None
        assert signed.within is not None
        start, end = signed.within
        assert 0 <= start < end <= len(signed.features)
        assert first.features.shape[1:] == (69, 4)
