"""The served folder: what is listed, and what the command says when something is missing."""

import sys
from pathlib import Path

import pytest

from signspot.cli.serve import serve
from signspot.errors import MissingExtraError, OptionsError
from signspot.web.folder import ServedFolder


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "signspot.web.app", None)
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
