"""The served folder: what is listed, and what the command says when something is missing."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from signspot.cli.serve import serve
from signspot.errors import MissingExtraError, OptionsError
from signspot.web.folder import ServedFolder


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "signspot.web.server", None)
    with pytest.raises(MissingExtraError, match=r"signspot\[serve\]"):
        serve(tmp_path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="there is no folder"):
        ServedFolder(tmp_path / "none")


def test_a_folder_is_listed_without_what_is_not_footage(tmp_path: Path) -> None:
    for name in (
        "a.mp4",
        "a.en.vtt",
        "b.pose",
        "deep/er/c.webm",
        "signs/apple/1.mp4",
        ".signspot/x.mp4",
        "truth/t.mp4",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    listing = ServedFolder(tmp_path).listing()
    assert list(listing.videos) == ["a.mp4", "b.pose", "deep/er/c.webm"]
    assert listing.videos["a.mp4"].subtitles == tmp_path / "a.en.vtt"
    assert list(listing.dictionaries) == ["signs"]


def test_what_is_removed_while_a_folder_is_listed_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "below").mkdir()
    for name in ("stays.mp4", "goes.mp4"):
        (tmp_path / name).write_bytes(b"x")
    scandir = os.scandir

    @contextmanager
    def scan_then_remove(path: Path) -> Iterator[list["os.DirEntry[str]"]]:
        with scandir(path) as entries:
            listed = list(entries)
        if (tmp_path / "goes.mp4").exists():
            (tmp_path / "goes.mp4").unlink()
            (tmp_path / "below").rmdir()
        yield listed

    monkeypatch.setattr("signspot.web.folder.os.scandir", scan_then_remove)
    assert list(ServedFolder(tmp_path).listing().videos) == ["stays.mp4"]
