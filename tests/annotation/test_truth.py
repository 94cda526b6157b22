"""Right is the word at its time, or another word with the very sign of the exemplar."""

from pathlib import Path

import pytest

from signspot.annotation.statistics import Truth
from signspot.corpus.corpus import Corpus
from signspot.corpus.truth import SignTruth, write_records
from tests.annotation.making import candidate


@pytest.fixture
def truth(tmp_path: Path) -> Truth:
    corpus = Corpus(tmp_path, {}, {})
    sign = SignTruth("v", 0, "apple", 2.0, 3.0, "1", "anna", ("apple-1", "fruit-1"), True, False, True, 0)
    write_records([sign], corpus.layout.truth("signs", "v"))
    return Truth(corpus)


@pytest.mark.parametrize(
    ("word", "time", "right"),
    [("apple", 2.5, True), ("apple", 3.15, True), ("apple", 3.25, False), ("fruit", 2.5, True), ("pear", 2.5, False)],
)
def test_right_or_wrong(truth: Truth, word: str, time: float, right: bool) -> None:
    assert truth.is_right(candidate("v", 0, word, time, 0.9)) is right
