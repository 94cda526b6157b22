"""Dictionaries of any kind, opened; folders of videos as dictionaries."""

from pathlib import Path
from typing import Any

import pytest

from signspot.dictionary.json_file import save_dictionary
from signspot.dictionary.open_dictionary import open_dictionary, read_folder, word_of
from signspot.errors import DictionaryError


def test_a_folder_of_videos_and_poses(put: Any) -> None:
    dictionary = open_dictionary(put("apple.mp4", "apple_2.pose", "tree/1.mp4"))
    assert {word: len(exemplars) for word, exemplars in dictionary.items()} == {"apple": 2, "tree": 1}
    assert dictionary.problems == ()


def test_unreadable_files_are_reported_and_the_rest_is_kept(put: Any, video: bytes) -> None:
    folder = put("apple.mp4", "tree.pose")
    put("empty.mp4", content=b"")
    put("text.mp4", content=b"<html>no</html>")
    put("cut.mp4", content=video[:20])
    put("words.pose", content=b"no pose at all")
    put("short.pose", content=b"ab")
    (folder / "gone.mp4").symlink_to(folder / "nowhere")
    dictionary = open_dictionary(folder)
    assert list(dictionary) == ["apple", "tree"]
    problems = {problem.path.name: problem.message for problem in dictionary.problems}
    assert problems.keys() == {"empty.mp4", "text.mp4", "cut.mp4", "words.pose", "short.pose", "gone.mp4"}
    assert problems["empty.mp4"] == "the file is empty"
    assert problems["gone.mp4"] == "no such file"
    assert "not a video" in problems["text.mp4"]
    assert "not a .pose file" in problems["words.pose"]


def test_sound_only(put: Any, tmp_path: Path) -> None:
    import av
    import numpy as np

    folder = put("apple.mp4")
    with av.open(str(folder / "sound.mp4"), "w") as container:
        stream = container.add_stream("aac", rate=16000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.rate = 16000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    dictionary = open_dictionary(folder)
    assert [problem.message for problem in dictionary.problems] == ["audio only: it holds sound and no picture"]


def test_nothing_readable_is_an_error_that_names_the_first(put: Any) -> None:
    folder = put("a.mp4", "b.mp4", content=b"no")
    with pytest.raises(DictionaryError, match=r"a\.mp4"):
        open_dictionary(folder)


def test_a_table_in_a_folder_goes_before_names(put: Any) -> None:
    folder = put("1.mp4", "2.mp4")
    put("list.csv", content=b"file;word;licence\n1.mp4;apple;CC0\n9.mp4;pear;\n")
    dictionary = open_dictionary(folder)
    assert [(e.word, e.licence) for e in dictionary.exemplars] == [("apple", "CC0")]
    assert [problem.message for problem in dictionary.problems] == ["no such file"]
    assert open_dictionary(folder / "list.csv").exemplars == dictionary.exemplars


def test_a_saved_folder_opens_equal(put: Any) -> None:
    folder = put("apple/1.mp4", "tree.pose")
    before = open_dictionary(folder)
    assert save_dictionary(before, folder) == folder / "dictionary.json"
    put("later.mp4")  # not in the file, so not in the dictionary
    for path in (folder, folder / "dictionary.json"):
        after = open_dictionary(path)
        assert after.exemplars == before.exemplars
        assert after.path == folder


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing", "there is no such file or folder"),
        ("missing.csv", "there is no such file or folder"),
        ("empty", "no video or .pose file in"),
        ("apple.mp4", "is one video, not a dictionary"),
        ("notes.txt", "is not a dictionary. Give a folder"),
        ("other.json", "not JSON"),
        ("other.pkl", "not a readable pickle"),
        ("table", "line 1: no column 'file'"),
    ],
)
def test_what_is_no_dictionary(put: Any, name: str, message: str) -> None:
    folder = put("notes.txt", "other.json", "other.pkl", "table/x.csv", content=b"hello")
    put("apple.mp4")
    (folder / "empty").mkdir()
    with pytest.raises(DictionaryError, match=message):
        open_dictionary(folder / name)


def test_a_video_that_a_table_names_many_times_is_looked_at_once(put: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[Path | None] = []
    monkeypatch.setattr("signspot.dictionary.open_dictionary.file_problem", lambda path: checked.append(path))
    folder = put("a.mp4", "b.mp4")
    lines = [f"{name}.mp4,word {number}\n" for number in range(50) for name in "ab"]
    (folder / "signs.csv").write_text("file,word\n" + "".join(lines))
    assert len(open_dictionary(folder).exemplars) == 100
    assert sorted(path.name for path in checked if path) == ["a.mp4", "b.mp4"]


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
    exemplars = read_folder(folder).exemplars
    assert [(e.word, e.id) for e in exemplars] == [
        ("apple", "apple"),
        ("apple", "apple_2"),
        ("apple", "apple_10"),
        ("tree", "tree/a"),
        ("tree", "tree/b"),
        ("zoo", "zoo"),
    ]
    assert exemplars[3].path == folder / "tree" / "a.MOV"


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
    with pytest.raises(DictionaryError, match=r"word_2\.mp4"):
        read_folder(tmp_path)
