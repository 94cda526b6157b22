"""Floor 0: files are written whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from signspot.errors import OutputError
from signspot.files import cache_folder, content_digest, explain_write_failure, text_digest, write_beside


def test_a_file_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "result.txt"
    with write_beside(target) as beside:
        beside.write_text("all of it")
        assert not target.exists()
        assert beside.suffix == ".txt"
    assert target.read_text() == "all of it"
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_what_was_there(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "result.txt"
    target.write_text("old")
    with pytest.raises(error), write_beside(target) as beside:
        beside.write_text("half")
        raise error
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="it is a folder"), write_beside(tmp_path):
        pass


def test_a_full_disk_is_said_in_one_line() -> None:
    with Path("/dev/full").open("w") as full, pytest.raises(OSError, match="No space") as caught:
        full.write("x" * 10_000)
        full.flush()
    line = explain_write_failure(Path("out.eaf"), caught.value)
    assert line == "cannot write out.eaf: the disk is full. Free some space, or write elsewhere."


def test_a_parent_that_is_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(OutputError, match="a part of the path is a file"),
        write_beside(tmp_path / "file" / "x.csv"),
    ):
        pass


def test_a_file_is_named_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    (tmp_path / "b").write_bytes(b"x" * 3_000_000)
    (tmp_path / "c").write_bytes(b"x" * 2_999_999)
    assert content_digest(tmp_path / "a") == content_digest(tmp_path / "b") != content_digest(tmp_path / "c")
    assert len(text_digest("how")) == 8


def test_the_cache_goes_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("SIGNSPOT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "signspot"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder().parts[-2:] == (".cache", "signspot")
    assert os.fspath(cache_folder()).startswith(os.path.expanduser("~"))  # noqa: PTH111


def test_a_disk_that_fills_up_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "result.txt"
    target.write_text("old")
    with pytest.raises(OutputError, match="the disk is full"), write_beside(target) as beside:
        beside.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
