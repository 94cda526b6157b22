import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.corpus.truth import Splits, WordSplit, read_splits, split_words, write_splits
from signspot.errors import FormatError
from signspot_synthetic.knobs import named_rng
from signspot_synthetic.language.english import vocabulary

WORDS = [word.word for word in vocabulary(1064)]


def test_the_papers_numbers():
    split = split_words(WORDS, {}, named_rng(7, "words"))
    assert (len(split.all), len(split.train), len(split.test)) == (1064, 800, 264)


def test_test_words_are_as_common_as_the_others():
    split = split_words(WORDS, {}, named_rng(7, "words"))
    ranks = [WORDS.index(word) for word in split.test]
    assert abs(np.mean(ranks) - 532) < 10
    assert max(np.diff(sorted(ranks))) < 10


@given(st.integers(1, 200), st.integers(0, 1000))
def test_train_and_test_words_part_the_vocabulary(count, seed):
    words = WORDS[:count]
    pairs = {w: frozenset(words[i // 2 * 2 : i // 2 * 2 + 2]) for i, w in enumerate(words)}
    split = split_words(words, pairs, named_rng(seed, "words"))
    assert sorted(split.train + split.test) == sorted(words)
    assert abs(len(split.test) - count * 264 / 1064) <= 1.5
    for word in split.test:
        assert pairs[word] <= set(split.test)


def test_round_trip(tmp_path):
    splits = Splits(("a", "b"), ("c",), split_words(WORDS[:10], {}, named_rng(1, "x")))
    assert read_splits(write_splits(splits, tmp_path / "splits.json")) == splits


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "splits.json").write_text("{}")
    with pytest.raises(FormatError, match=r"splits\.json holds no splits"):
        read_splits(tmp_path / "splits.json")


def test_words_need_not_be_split(tmp_path) -> None:
    (tmp_path / "splits.json").write_text('{"train": ["monday"], "test": ["friday"]}')
    assert read_splits(tmp_path / "splits.json") == Splits(("monday",), ("friday",), WordSplit())
    (tmp_path / "splits.json").write_text('{"train": ["monday"], "test": ["friday"], "words": {"all": []}}')
    with pytest.raises(FormatError, match=r"holds no splits: KeyError\('train'\)"):
        read_splits(tmp_path / "splits.json")
