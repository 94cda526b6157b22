"""BOBSL v2 and BSL-1K publish pickles: read as data, never run."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from signspot.errors import FormatError, UnsafeFileError
from signspot.formats.formats import read_spottings
from signspot.types import LabelSource

COLUMNS = {
    "episode_name": ["5085344787448740525", "6"],
    "annot_word": ["apple", "tree"],
    "annot_time": np.array([10.0, 2.5]),
    "annot_prob": np.array([0.9, 0.75], np.float32),
    "annot_type": ["M", "D"],
}


@pytest.mark.parametrize("content", [COLUMNS, {"train": COLUMNS}])
def test_columns_become_spottings(tmp_path: Path, content: object) -> None:
    (tmp_path / "spottings.pkl").write_bytes(pickle.dumps(content))
    one, two = read_spottings(tmp_path / "spottings.pkl")
    assert (one.word, one.video, one.time, one.source) == ("apple", "5085344787448740525", 10.0, LabelSource.MOUTHING)
    assert (one.start, one.end) == pytest.approx((10 - 15 / 25, 10 + 4 / 25))
    assert (two.word, two.source) == ("tree", LabelSource.DICTIONARY)
    assert two.score == pytest.approx(0.75)


def test_a_malicious_pickle_is_refused_and_nothing_runs(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[Path]]:
            return Path.touch, (tmp_path / "ran",)

    (tmp_path / "evil.pkl").write_bytes(pickle.dumps({"annot_word": Evil()}))
    with pytest.raises(UnsafeFileError):
        read_spottings(tmp_path / "evil.pkl")
    assert not (tmp_path / "ran").exists()


def test_what_is_no_pickle_is_said(tmp_path: Path) -> None:
    (tmp_path / "text.pkl").write_text("hello")
    with pytest.raises(FormatError, match="no readable pickle"):
        read_spottings(tmp_path / "text.pkl")
