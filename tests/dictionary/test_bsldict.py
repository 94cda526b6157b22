import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from signspot.dictionary.bsldict import PUBLIC_ENCODER, read_bsldict
from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.errors import DictionaryError
from signspot.types import Segment

NAMES = ["a_001_000_000_apple.mp4", "a_001_000_001_apple.mp4", "i_002_000_000_ice-cream.mp4", "n_000_000_000_1.mp4"]
WORDS = ["apple", "apple", "ice-cream", "1"]


def layout() -> dict[str, Any]:
    """The public file in small."""
    rng = np.random.default_rng(0)
    return {
        "words": ["apple", "ice-cream", "1", "unused"],
        "words_to_id": {"apple": 0, "ice-cream": 1, "1": 2, "unused": 3},
        "words_normalised": ["apple", "ice cream", "one", "unused"],
        "videos": {
            "name": list(NAMES),
            "word": list(WORDS),
            "word_id": [0, 0, 1, 2],
            "alternative_words": [["fruit"], [], ["Ice cream"], []],
            "letter_db": ["a", "a", "i", "n"],
            "see_also_db": [["ice-cream"], [], [], []],
            "similar_items_db": [[], None, ["/sign/1"], "apple"],
            "video_link_db": ["https://example.org/a b.mp4", "https://example.org/b.mp4", "", None],
            "youtube_identifier_db": [None, None, "abc", None],
            "download_method_db": ["wget", "wget", "youtube-dl", "wget"],
            "source_site_db": ["Signstation", None, "Home", "Home"],
            "bbox": [[0.0, 0.1, 1.0, 0.9], np.array([-0.1, 0, 1.2, 1]), None, [0, 0, 0, 0]],
            "temp_interval": [[10, 34], np.array([0, 0]), [5, 3], None],
            "features": {"i3d": rng.random((4, 1024)), "mlp": rng.random((4, 256)).astype(np.float32) * 5},
            "videos_original": {"T": [50, 50, 50, 50]},
        },
    }


def save(tmp_path: Path, data: Any) -> Path:
    path = tmp_path / "bsldict_v1.pkl"
    path.write_bytes(pickle.dumps(data))
    return path


def test_what_it_holds(tmp_path: Path) -> None:
    data = layout()
    dictionary = open_dictionary(save(tmp_path, data))
    assert list(dictionary) == ["apple", "ice-cream", "1"]
    first, second = dictionary["apple"]
    assert (first.id, first.path, first.source) == ("a_001_000_000_apple", None, "Signstation")
    assert first.bbox == (0.0, 0.1, 1.0, 0.9)
    assert second.bbox == (0, 0, 1, 1)
    assert first.segment == Segment(0.4, 1.4)  # frames 10 to 34, both included, at 25 per second
    assert second.segment == Segment(0, 0.04)
    assert [e.segment for e in dictionary["ice cream"] + dictionary["one"]] == [None, None]
    assert [e.bbox for e in dictionary["ice cream"] + dictionary["one"]] == [None, None]
    assert first.encoder == PUBLIC_ENCODER
    mlp = data["videos"]["features"]["mlp"][0]
    np.testing.assert_allclose(first.embedding, mlp / np.linalg.norm(mlp), rtol=1e-6)
    assert dictionary.contents.links == {
        "a_001_000_000_apple": "https://example.org/a b.mp4",
        "a_001_000_001_apple": "https://example.org/b.mp4",
        "i_002_000_000_ice-cream": "https://www.youtube.com/watch?v=abc",
    }


def test_synonyms_go_both_ways_and_stay_in_the_dictionary(tmp_path: Path) -> None:
    dictionary = Dictionary(read_bsldict(save(tmp_path, layout())))
    assert set(dictionary.synonyms("apple")) == {"ice-cream", "1"}
    assert set(dictionary.synonyms("ice cream")) == {"apple", "1"}
    assert set(dictionary.synonyms("1")) == {"apple", "ice-cream"}


def test_videos_beside_it_are_found(tmp_path: Path, put: Any) -> None:
    folder = put(NAMES[0], f"videos_original/{NAMES[1]}")
    put(NAMES[2], content=b"broken")
    save(folder, layout())
    dictionary = open_dictionary(folder)
    assert [e.path for e in dictionary["apple"]] == [folder / NAMES[0], folder / "videos_original" / NAMES[1]]
    (ice,) = dictionary["ice-cream"]
    assert ice.path is None
    assert ice.embedding is not None
    assert [p.path.name for p in dictionary.problems] == [NAMES[2]]
    assert read_bsldict(folder / "bsldict_v1.pkl", tmp_path).exemplars[0].path is None


@pytest.mark.parametrize(
    "column",
    [
        list,
        tuple,
        lambda values: np.array(values, dtype=object),
        lambda values: dict(enumerate(values)),
        lambda values: dict(zip(NAMES, values, strict=True)),
    ],
    ids=["list", "tuple", "array", "by position", "by name"],
)
def test_columns_of_any_kind(tmp_path: Path, column: Callable[[list[Any]], Any]) -> None:
    expected = read_bsldict(save(tmp_path, layout()))
    data = layout()
    for name, values in data["videos"].items():
        if isinstance(values, list) and (name != "name" or column is not list):
            boxes = np.empty(4, object)
            boxes[:] = [np.asarray(v) if isinstance(v, np.ndarray) else v for v in values]
            data["videos"][name] = column(list(boxes))
    data["videos"]["features"]["mlp"] = column(list(data["videos"]["features"]["mlp"]))
    contents = read_bsldict(save(tmp_path, data))
    assert contents.exemplars == expected.exemplars
    assert (contents.synonyms, contents.links) == (expected.synonyms, expected.links)
    for one, other in zip(contents.exemplars, expected.exemplars, strict=True):
        np.testing.assert_array_equal(one.embedding, other.embedding)


def test_without_features(tmp_path: Path) -> None:
    data = layout()
    del data["videos"]["features"], data["words_normalised"]
    contents = read_bsldict(save(tmp_path, data))
    assert {(e.embedding is None, e.encoder) for e in contents.exemplars} == {(True, "")}


@pytest.mark.parametrize("column", ["word", "bbox", "temp_interval", "video_link_db", "alternative_words"])
def test_lengths_that_disagree_name_the_column(tmp_path: Path, column: str) -> None:
    data = layout()
    data["videos"][column] = data["videos"][column][:-1]
    with pytest.raises(DictionaryError, match=rf"'videos\.{column}'"):
        open_dictionary(save(tmp_path, data))


def change(data: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    for part in path:
        data = data[part]
    data[last] = value


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("videos", None, "not bsldict_v1.pkl: it has no 'videos'"),
        ("videos.word", None, r"'videos\.word' is missing, or not a list"),
        ("videos.name", 3, r"'videos\.name' is missing, or not a list"),
        ("videos.features.mlp", np.ones((3, 256)), r"'videos\.features\.mlp' has 3 values for 4"),
        ("videos.features.mlp", [np.ones(3), np.ones(4), None, None], r"mixes vectors of \[3, 4\] numbers"),
        ("words_normalised", ["apple"], "'words_normalised' has 1 values for 4 words"),
    ],
)
def test_another_layout_is_refused(tmp_path: Path, key: str, value: Any, message: str) -> None:
    data = layout()
    change(data, key, value)
    with pytest.raises(DictionaryError, match=message):
        open_dictionary(save(tmp_path, data))


def test_embeddings_that_cannot_be_used_are_problems(tmp_path: Path) -> None:
    data = layout()
    data["videos"]["features"]["mlp"] = [np.full(256, 1e308), np.zeros(256), np.ones(256), "text"]
    contents = read_bsldict(save(tmp_path, data))
    assert [e.embedding is None for e in contents.exemplars] == [True, True, False, True]
    assert [NAMES[i] in p.message for i, p in zip((0, 1, 3), contents.problems, strict=True)] == [True] * 3


def test_names_never_lead_elsewhere(tmp_path: Path) -> None:
    data = layout()
    data["videos"]["name"][0] = "../../etc/apple.mp4"
    assert read_bsldict(save(tmp_path, data)).exemplars[0].id == "apple"


@pytest.mark.parametrize("data", [[], 3, None, "text"])
def test_other_pickles(tmp_path: Path, data: Any) -> None:
    with pytest.raises(DictionaryError, match="'videos'"):
        open_dictionary(save(tmp_path, data))


@pytest.mark.parametrize("value", [3, "text", None, np.array(3), [b"x"] * 4])
@pytest.mark.parametrize("key", ["words", "words_normalised"])
def test_words_of_another_kind_do_no_harm(tmp_path: Path, key: str, value: Any) -> None:
    dictionary = open_dictionary(save(tmp_path, layout() | {key: value}))
    assert list(dictionary) == ["apple", "ice-cream", "1"]


def test_what_is_no_text_is_no_word(tmp_path: Path) -> None:
    """Halves of characters: Python's own functions fail on them."""
    data = layout()
    data["videos"]["word"][0], data["videos"]["alternative_words"] = "a\ud800", [["\udcff"], [], [], []]
    dictionary = open_dictionary(save(tmp_path, data))
    assert "apple" not in list(dictionary) or all(word.encode() for word in dictionary)
    assert all(text.encode() for text in (*dictionary, *dictionary.contents.normalised.values()))


def test_numbers_that_an_array_calls_characters_are_refused_in_a_line(tmp_path: Path) -> None:
    data = layout()
    foreign = np.array([0x7FFFFFFF, 65], np.uint32).view("<U2")
    data["words_normalised"] = np.concatenate([foreign] * len(data["words"]))
    with pytest.raises(DictionaryError, match="characters"):
        open_dictionary(save(tmp_path, data))


@pytest.mark.parametrize("number", [10**400, 1e308])
def test_numbers_beyond_all_measure_are_none(number: float, tmp_path: Path) -> None:
    data = layout()
    data["videos"]["bbox"] = [[0, 0, 1, 10**400], *data["videos"]["bbox"][1:]]
    data["videos"]["temp_interval"] = [[0, number], *data["videos"]["temp_interval"][1:]]
    first = read_bsldict(save(tmp_path, data)).exemplars[0]
    assert (first.bbox, first.segment) == (None, None)
