import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.dictionary.build import build_dictionary, file_name, media_names
from signspot.dictionary.cutting import MARGIN, videos_to_estimate
from signspot.dictionary.dictionary import UNFINISHED, Dictionary
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.errors import DictionaryError, OutputError
from signspot.io.files import temporary_name
from signspot.types import Exemplar, Segment
from signspot.video.reader import open_video


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_media_are_copied_and_the_source_stays(put: Any, tmp_path: Path) -> None:
    source = put("ice cream/1.mp4", "ice cream/2.pose", "why?/1.MP4")
    put("broken.mp4", content=b"no")
    before = tree(source)
    steps: list[tuple[int, int | None]] = []
    built = build_dictionary(source, tmp_path / "out", lambda done, total: steps.append((done, total)))
    assert tree(source) == before
    assert set(tree(tmp_path / "out")) == {
        "dictionary.json",
        "media/ice cream/1.mp4",
        "media/ice cream/2.pose",
        "media/why_/1.mp4",
    }
    opened = open_dictionary(tmp_path / "out")
    assert opened.exemplars == built.exemplars
    assert list(opened) == ["ice cream", "why?"]
    assert [p.path.name for p in built.problems] == ["broken.mp4"]
    assert steps == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_a_build_of_a_build_is_the_same(put: Any, tmp_path: Path) -> None:
    embedded = replace(open_dictionary(put("a.mp4")).exemplars[0], embedding=np.ones(4, np.float32), encoder="abc")
    one = build_dictionary(Dictionary([embedded, Exemplar("b", "b", embedding=np.ones(4) / 2)]), tmp_path / "one")
    build_dictionary(tmp_path / "one", tmp_path / "two")
    two = open_dictionary(tmp_path / "two")
    assert [e.id for e in two.exemplars] == [e.id for e in one.exemplars] == ["a", "b"]
    assert two["a"][0].encoder == "abc"
    np.testing.assert_array_equal(two["b"][0].embedding, np.ones(4, np.float32) / 2)
    assert two["b"][0].path is None


def test_a_video_is_estimated_whole_where_most_of_it_is_exemplars(put: Any, tmp_path: Path) -> None:
    footage = put("footage.mp4") / "footage.mp4"
    with open_video(footage) as video:
        duration = video.info.duration
    short = Exemplar("a", "a", footage, segment=Segment(0, 0.01))
    broken = Exemplar("b", "b", tmp_path / "gone.mp4", segment=Segment(0, 1))
    many = [short] * (1 + int(duration / (2 * MARGIN)))
    assert videos_to_estimate([*many, broken], tmp_path) == [footage]
    assert videos_to_estimate([Exemplar("a", "a", footage)], tmp_path) == []
    assert videos_to_estimate(many[: int(duration / (0.01 + 2 * MARGIN))], tmp_path) == []


class TestGoingOn:
    def test_a_run_that_was_killed_at_its_first_file_is_no_other_content(self, put: Any, tmp_path: Path) -> None:
        (tmp_path / "built").mkdir()
        dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
        name = temporary_name(tmp_path / "built" / UNFINISHED).replace(f"-{os.getpid()}-", f"-{int(dead.stdout)}-")
        (tmp_path / "built" / name).write_bytes(b"")
        assert list(build_dictionary(put("apple.mp4"), tmp_path / "built")) == ["apple"]
        assert not (tmp_path / "built" / name).exists()

    def test_after_an_interruption_nothing_is_copied_twice(self, put: Any, tmp_path: Path) -> None:
        source, out = put("a.mp4", "b.mp4", "c.mp4"), tmp_path / "out"

        def stop(done: int, total: int | None) -> None:
            if done == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            build_dictionary(source, out, stop)
        assert {path.name for path in out.rglob("*.mp4")} == {"a.mp4", "b.mp4"}
        assert not (out / "dictionary.json").exists()
        with pytest.raises(DictionaryError):
            open_dictionary(out)
        first = (out / "media/a/a.mp4").stat().st_ino
        build_dictionary(source, out)
        assert (out / "media/a/a.mp4").stat().st_ino == first
        assert list(open_dictionary(out)) == ["a", "b", "c"]
        assert {path.name for path in out.iterdir()} == {"dictionary.json", "media"}

    def test_again_with_more(self, put: Any, tmp_path: Path) -> None:
        build_dictionary(put("a.mp4"), tmp_path / "out")
        build_dictionary(put("b.mp4"), tmp_path / "out")
        assert list(open_dictionary(tmp_path / "out")) == ["a", "b"]

    def test_a_damaged_copy_is_made_again(self, put: Any, tmp_path: Path) -> None:
        source, copy = put("a.mp4"), tmp_path / "out/media/a/a.mp4"
        build_dictionary(source, tmp_path / "out")
        before = copy.stat()
        copy.write_bytes(bytes(before.st_size))
        os.utime(copy, ns=(before.st_atime_ns, before.st_mtime_ns))
        build_dictionary(source, tmp_path / "out")
        assert copy.read_bytes() == (source / "a.mp4").read_bytes()

    def test_a_file_that_has_changed_is_copied_anew(self, put: Any, tmp_path: Path, video: bytes) -> None:
        source = put("a.mp4")
        build_dictionary(source, tmp_path / "out")
        (source / "a.mp4").write_bytes(video + b"\0\0\0\x08free")
        os.utime(source / "a.mp4", (1, 1))
        build_dictionary(source, tmp_path / "out")
        assert (tmp_path / "out/media/a/a.mp4").stat().st_size == len(video) + 8


class TestNothingIsLost:
    def test_other_files_are_not_mixed_with(self, put: Any, tmp_path: Path) -> None:
        mine = put("letter.txt", folder="mine", content=b"dear")
        with pytest.raises(OutputError):
            build_dictionary(put("a.mp4"), mine)
        assert set(tree(mine)) == {"letter.txt"}

    def test_another_dictionary_is_not_replaced(self, put: Any, tmp_path: Path) -> None:
        build_dictionary(put("a.mp4"), tmp_path / "out")
        before = tree(tmp_path / "out")
        with pytest.raises(OutputError):
            build_dictionary(put("b.mp4", folder="other"), tmp_path / "out")
        assert tree(tmp_path / "out") == before

    def test_not_into_the_source_nor_onto_a_file(self, put: Any, tmp_path: Path) -> None:
        source = put("a.mp4")
        with pytest.raises(OutputError):
            build_dictionary(source, tmp_path / "signs" / "." / "")
        with pytest.raises(OutputError):
            build_dictionary(source, source / "a.mp4")

    def test_inside_the_source_it_is_not_found_as_a_word(self, put: Any) -> None:
        source = put("a.mp4")
        build_dictionary(source, source / "built")
        assert list(open_dictionary(source)) == ["a"]


class TestNames:
    @given(st.text(max_size=200))
    def test_every_file_system_takes_them(self, text: str) -> None:
        name = file_name(text)
        assert 0 < len(name.encode("utf-8", "surrogatepass")) <= 81
        assert not set(name) & set('/\\:*?"<>|\0')
        assert name not in (".", "..")
        assert name == name.strip()

    @pytest.mark.parametrize(("text", "name"), [("con", "_con"), ("COM1.x", "_COM1.x"), ("..", "_"), ("a/b", "a_b")])
    def test_special_ones(self, text: str, name: str) -> None:
        assert file_name(text) == name

    def test_no_two_are_equal_even_without_case(self) -> None:
        same = [Exemplar("a", f"{n}", Path(f"{n}/x.mp4")) for n in range(3)] + [Exemplar("A", "z", Path("X.mp4"))]
        names = media_names(same)
        assert names == ["media/a/x.mp4", "media/a/x-2.mp4", "media/a/x-3.mp4", "media/A/X-4.mp4"]
