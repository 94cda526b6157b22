"""The bank of world signs: made once, with signs alone and in sentences."""

from pathlib import Path

import numpy as np

from experiments.isolated.world_bank import BankOptions, open_world_bank


def test_a_bank_is_made_once_and_holds_signs_alone_and_in_sentences(tmp_path: Path) -> None:
    options = BankOptions(signs=4, isolated=2, continuous=1)
    made = open_world_bank(tmp_path, options, workers=1)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = open_world_bank(tmp_path, options, workers=1)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == files
    assert np.array_equal(made.rows, again.rows)
    assert np.array_equal(made.frames, again.frames)
    for row, (_, is_continuous, _, frames, start, end) in enumerate(again.rows):
        assert 0 <= start < end <= frames, row
        assert is_continuous or (start, end) == (0, frames), row
    assert np.bincount(again.rows[:, 0]).tolist() == [3, 3, 3, 3]
