"""BOBSL spottings: JSON by split and word, and pickles by column."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from signspot.errors import FormatError, UnsafeFileError
from signspot.formats.formats import read_spottings, write
from signspot.types import LabelSource, Spotting
from tests.fixtures.pickles import Touch


def read(content: object, tmp_path: Path, name: str = "t.bobsl.json") -> list[Spotting]:
    (tmp_path / name).write_text(json.dumps(content))
    return read_spottings(tmp_path / name)


def test_the_corpus_format_is_there_for_other_tools(tmp_path: Path) -> None:
    hits = [Spotting("b", "v1", 1.5, 1, 2, 0.5), Spotting("a", "v2", 2.5, 2, 3, 0.6), Spotting("b", "v2", 9, 8, 10, 1)]
    write(hits, tmp_path / "t.bobsl.json")
    lists = json.loads((tmp_path / "t.bobsl.json").read_text())["all"]["b"]
    assert {name: lists[name] for name in ("names", "global_times", "probs")} == {
        "names": ["v1", "v2"],
        "global_times": [1.12, 8.62],
        "probs": [0.5, 1.0],
    }


def test_a_file_of_the_corpus_takes_its_usual_windows(tmp_path: Path) -> None:
    content = {
        "train": {"apple": {"names": ["e1"], "global_times": [10], "probs": [0.9]}},
        "val": {"pear": {"names": ["e2"], "global_times": [0.04], "probs": [0.8]}},
    }
    apple, pear = read(content, tmp_path)
    assert (apple.word, apple.video, apple.time, apple.score, apple.source) == ("apple", "e1", 10.38, 0.9, "D")
    assert (apple.start, apple.end) == pytest.approx((9.88, 10.88))
    assert (pear.start, pear.end) == pytest.approx((0.0, 0.92))
    (mouthing, _) = read(content, tmp_path, "mouthing_spottings.json")
    assert mouthing.source is LabelSource.MOUTHING
    assert (mouthing.start, mouthing.end) == pytest.approx((9.4, 10.16))


@pytest.mark.parametrize("source", [LabelSource.DICTIONARY, LabelSource.MOUTHING])
def test_a_reader_of_the_published_lists_alone_finds_the_sign_where_it_is(source: LabelSource, tmp_path: Path) -> None:
    """Others cut 3 frames before to 22 after the recorded time of a D: the middle of that is the middle of our sign."""
    written = Spotting("apple", "v", 10.38, 10.08, 10.68, 0.9, source=source)
    write([written], tmp_path / "t.bobsl.json")
    lists = json.loads((tmp_path / "t.bobsl.json").read_text())["all"]["apple"]
    published = {name: lists[name] for name in ("names", "global_times", "probs")}
    name = "mouthing.bobsl.json" if source is LabelSource.MOUTHING else "dict.bobsl.json"
    (spotting,) = read({"all": {"apple": published}}, tmp_path, name)
    assert (spotting.time, spotting.source) == (pytest.approx(10.38), source)
    if source is LabelSource.DICTIONARY:
        assert lists["global_times"] == [10.0]
        assert (spotting.start + spotting.end) / 2 == pytest.approx(10.38)
    assert read_spottings(tmp_path / "t.bobsl.json") == [written]


def test_files_with_spans_and_one_list_of_times_keep_that_time(tmp_path: Path) -> None:
    """Written before: the recorded time was the middle."""
    lists = {"names": ["v"], "global_times": [10.38], "probs": [0.9], "starts": [10.08], "ends": [10.68]}
    (spotting,) = read({"all": {"apple": lists}}, tmp_path)
    assert (spotting.time, spotting.start, spotting.end) == (10.38, 10.08, 10.68)


@pytest.mark.parametrize("nested", [False, True])
def test_columns_of_version_two(nested: bool, tmp_path: Path) -> None:
    columns = {
        "episode_name": ["e1", "e1", "e2"],
        "annot_word": ["a", "b", "a"],
        "annot_time": [1.0, 2, 3.0],
        "annot_prob": [0.5, 0.6, 0.7],
        "annot_type": ["M", "D", "A"],
    }
    spottings = read({"train": columns} if nested else columns, tmp_path)
    assert [(x.word, x.video, x.time, x.score) for x in spottings] == [
        ("a", "e1", 1.0, 0.5),
        ("b", "e1", 2.38, 0.6),
        ("a", "e2", 3.38, 0.7),
    ]
    assert [x.source for x in spottings] == ["M", "D", "D"]
    del columns["annot_type"], columns["annot_prob"]
    assert [x.score for x in read(columns, tmp_path)] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1], "expected splits of words; got list"),
        ({"train": [1]}, "split 'train' must hold words; got list"),
        ({"train": {"a": [1]}}, "split 'train', word 'a': expected names, global_times and probs; got list"),
        ({"train": {"a": {"names": ["e"]}}}, "word 'a': no list for recorded time"),
        ({"t": {"a": {"names": ["e"], "global_times": [1, 2]}}}, "equally long; got video 1, recorded time 2"),
        ({"t": {"a": {"names": "e", "global_times": [1]}}}, "equally long"),
        ({"t": {"a": {"names": ["e"], "global_times": ["x"]}}}, "word 'a', item 1: time must be a finite number"),
        ({"t": {"a": {"names": [7], "global_times": [1]}}}, "word 'a', item 1: video must be text; got 7"),
        ({"t": {"a": {"names": ["e"], "global_times": [1], "indices": ["x"]}}}, "index must be a whole number"),
        ({"annot_word": ["a"], "annot_time": [1]}, "no list for video"),
    ],
)
def test_each_mistake_names_its_place(content: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        read(content, tmp_path)


@pytest.mark.parametrize("sources", [[["M"]], [{"a": 1}], [7]])
def test_a_source_that_is_no_text_is_reported(sources: list[object], tmp_path: Path) -> None:
    lists = {"names": ["a"], "global_times": [1.0], "probs": [0.5], "sources": sources}
    (tmp_path / "x.bobsl.json").write_text(json.dumps({"all": {"apple": lists}}))
    with pytest.raises(FormatError, match="item 1"):
        read_spottings(tmp_path / "x.bobsl.json")


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
    (tmp_path / "evil.pkl").write_bytes(pickle.dumps({"annot_word": Touch(tmp_path / "ran")}))
    with pytest.raises(UnsafeFileError):
        read_spottings(tmp_path / "evil.pkl")
    assert not (tmp_path / "ran").exists()


def test_what_is_no_pickle_is_said(tmp_path: Path) -> None:
    (tmp_path / "text.pkl").write_text("hello")
    with pytest.raises(FormatError):
        read_spottings(tmp_path / "text.pkl")
