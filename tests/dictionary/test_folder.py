from pathlib import Path
from typing import Any

import pytest

from signspot.dictionary.opening import read_folder, word_of
from signspot.errors import DictionaryError


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("apple.mp4", "apple"),
        ("apple_2.mp4", "apple"),
        ("apple_002.webm", "apple"),
        ("ice_cream.mp4", "ice cream"),
        ("ice_cream_3.mp4", "ice cream"),
        ("ice-cream_3.mp4", "ice-cream"),
        ("t-shirt.pose", "t-shirt"),
        ("catch-22.mp4", "catch-22"),
        ("catch 22/a.mp4", "catch 22"),
        ("route_66/a_1.mp4", "route 66"),
        ("2.mp4", "2"),
        ("_2.mp4", "2"),
        ("How are you?.mp4", "How are you?"),
        ("cafe\u0301.mp4", "café"),
        ("apple/anna/1.mp4", "apple"),
        ("St. John_2.mp4", "St. John"),
    ],
)
def test_words_from_names(name: str, word: str) -> None:
    assert word_of(name) == word


def test_both_layouts_at_once_in_natural_order(put: Any) -> None:
    folder = put("tree/b.mp4", "tree/a.MOV", "apple_10.mp4", "apple_2.webm", "apple.mp4", "zoo.pose")
    found = read_folder(folder).exemplars
    assert [(e.word, e.id) for e in found] == [
        ("apple", "apple"),
        ("apple", "apple_2"),
        ("apple", "apple_10"),
        ("tree", "tree/a"),
        ("tree", "tree/b"),
        ("zoo", "zoo"),
    ]
    assert found[3].path == folder / "tree" / "a.MOV"


def test_what_is_passed_over(put: Any) -> None:
    folder = put("a.mp4", "._a.mp4", ".cache/b.mp4", "__MACOSX/c.mp4", "d.txt", "inner/media/e.mp4")
    put("inner/dictionary.json", content=b"{}")
    assert [e.word for e in read_folder(folder).exemplars] == ["a"]


def test_landmarks_beside_their_video_are_no_second_exemplar(put: Any) -> None:
    folder = put("a.mp4", "a.pose", "b.pose", "c/a.pose")
    assert [e.id for e in read_folder(folder).exemplars] == ["a", "b", "c/a"]
    assert str(read_folder(folder).exemplars[0].path).endswith("a.mp4")


def test_a_folder_that_links_to_itself_ends(put: Any) -> None:
    folder = put("apple/a.mp4")
    (folder / "apple" / "again").symlink_to(folder / "apple")
    (folder / "apple" / "up").symlink_to(folder)
    assert [e.id for e in read_folder(folder).exemplars] == ["apple/a"]


def test_a_linked_folder_of_ones_own_is_followed(put: Any, tmp_path: Path) -> None:
    folder = put("apple/a.mp4")
    put("x.mp4", folder="elsewhere")
    (folder / "pear").symlink_to(tmp_path / "elsewhere")
    assert [e.word for e in read_folder(folder).exemplars] == ["apple", "pear"]


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(DictionaryError, match=r"no video or \.pose file in .*word_2\.mp4"):
        read_folder(tmp_path)
