"""Truth and splits of a corpus, as they are written and read."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.corpus.truth import (
    ExemplarTruth,
    MentionTruth,
    SignTruth,
    Splits,
    WordSplit,
    read_records,
    read_splits,
    split_words,
    write_records,
    write_splits,
)
from signspot.errors import FormatError
from signspot.types import Label, LabelSource
from signspot_synthetic.language.english import vocabulary
from signspot_synthetic.random_streams import named_rng

RECORDS = [
    SignTruth("v", 0, "ice cream", 1.0, 1.4, "2", "s", ("ice-cream-1",), True, False, True, None),
    MentionTruth("v", 3, "five", 4, 6, (1, 2), 0.5, 2.25),
    ExemplarTruth("a-1", "a", 0.5, 1.5, "1", "d", "one hand: B · × 1", False),
    Label("apple", "v", 1.25, 0.75, LabelSource.MOUTHING),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_round_trip(tmp_path, record):
    path = write_records([record, record], tmp_path / "records.jsonl")
    assert list(read_records(type(record), path)) == [record, record]


def test_times_are_written_to_a_tenth_of_a_millisecond(tmp_path):
    path = write_records([Label("a", "v", 1 / 3, 0.5)], tmp_path / "l.jsonl")
    assert '"time": 0.3333' in path.read_text()


def label(**values):
    return json.dumps({"word": "a", "video": "v", "time": 1} | values)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("{}", "Label"),
        ("[1]", "a list of 1"),
        ("not json", ""),
        ("[" * 100_000, ""),
        (label(source="Z"), "source .*'Z'"),
        (label(time=-5), "time"),
        (label(time=float("nan")), "time .*nan"),
        (label(time=10**400), "400"),
        ('{"word": "a", "video": "v", "time": ' + "9" * 5000 + "}", ""),
        (label(confidence=99), "confidence"),
        (label(start=2, end=1), "Label"),
        (label(word=["a"]), "word .*a list of 1"),
        (label(word="\ud800"), "word"),
    ],
)
def test_a_broken_line_is_named(tmp_path, line, value):
    path = tmp_path / "l.jsonl"
    path.write_text(f'{{"word": "a", "video": "v", "time": 1}}\n{line}\n')
    with pytest.raises(FormatError, match=f"line 2: .*{value}"):
        list(read_records(Label, path))


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


def test_splits_round_trip(tmp_path):
    splits = Splits(("a", "b"), ("c",), split_words(WORDS[:10], {}, named_rng(1, "x")))
    assert read_splits(write_splits(splits, tmp_path / "splits.json")) == splits


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "splits.json").write_text("{}")
    with pytest.raises(FormatError, match=r"splits\.json"):
        read_splits(tmp_path / "splits.json")


def test_words_need_not_be_split(tmp_path) -> None:
    (tmp_path / "splits.json").write_text('{"train": ["monday"], "test": ["friday"]}')
    assert read_splits(tmp_path / "splits.json") == Splits(("monday",), ("friday",), WordSplit())
    (tmp_path / "splits.json").write_text('{"train": ["monday"], "test": ["friday"], "words": {"all": []}}')
    with pytest.raises(FormatError, match="'train'"):
        read_splits(tmp_path / "splits.json")
