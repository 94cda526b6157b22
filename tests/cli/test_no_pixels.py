"""`--no-pixels`: no picture of a video in outputs, caches and archives, and what would be one is refused.

All videos have a purple background that nothing else has, so a picture of one is known wherever it lies: as a file, or
in the `data:` address of a page. The same verbs with pixels are the counter-proof.
"""

import base64
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from signspot.cli.app import app
from signspot.cli.spot import Plots
from signspot.errors import OptionsError
from tests.fixtures.purple import purple, purple_video


def test_a_result_video_and_faces_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionsError):
        Plots(None, tmp_path / "a.mp4", None, pixels=False)
    faces = CliRunner().invoke(app, ["dictionary", "build", str(tmp_path), "d", "--signers", "--no-pixels"])
    assert isinstance(faces.exception, OptionsError)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["mine", "apple", ".", "--dictionary", ".", "--clips", "c"], "--clips shows people"),
        (["search", ".", "apple", "--dictionary", ".", "--html", "h.html"], "--html shows people"),
        (["train", "RGB"], "the folder of a training of the kind rgb shows people"),
    ],
)
def test_commands_that_would_keep_images_refuse(arguments: list[str], reason: str, tmp_path: Path) -> None:
    (tmp_path / "rgb.toml").write_text('kind = "rgb"\n')
    command = [str(tmp_path / "rgb.toml") if argument == "RGB" else argument for argument in arguments]
    result = CliRunner().invoke(app, [*command, "--no-pixels"])
    assert isinstance(result.exception, OptionsError)
    assert str(result.exception).startswith(reason)


@pytest.fixture
def home(signing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A video, two dictionaries of videos, and a cache of landmarks alone."""
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    purple_video(tmp_path / "news.mp4", signing.footage, tmp_path / "cache")
    for dictionary in ("signs", "others"):
        for word in ("river", "apple"):
            for take in (1, 2):
                moved = signing.exemplars[word][take:]  # other landmarks, hence another video
                purple_video(tmp_path / dictionary / word / f"{take}.mp4", moved, tmp_path / "cache")
    return tmp_path


def run(home: Path, *arguments: object) -> None:
    command = [str(argument) for argument in arguments]
    done = CliRunner().invoke(app, [*command, "--encoder", "warping"], catch_exceptions=False)
    assert done.exit_code == 0, done.output


VERBS = {
    "spot": ("spot", "news.mp4", "signs", "river", "--html", "OUT/a.html", "--plot", "OUT/a.png", "--out", "OUT/a.eaf"),
    "dictionary variants": (
        *("dictionary", "variants", "river", "signs", "--footage", "news.mp4"),
        *("--html", "OUT/a.html", "--plot", "OUT/a.png"),
    ),
    "faux-amis": ("faux-amis", "signs", "others", "--html", "OUT/a.html"),
    "dictionary build": ("dictionary", "build", "signs", "OUT/built"),
}


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_no_picture_is_written(verb: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    for flags, pictured in ((("--no-pixels",), False), ((), True)):
        out = home / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        run(home, *(part.replace("OUT", "out") for part in VERBS[verb]), *flags)
        assert any(path.is_file() for path in out.rglob("*"))
        assert bool(purple(out)) == pictured, purple(out)
        assert purple(home / "cache") == purple(home / "state") == []


@pytest.mark.slow
def test_neither_mining_nor_an_archive_keeps_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    (home / "out").mkdir()
    run(home, "mine", "river", "news.mp4", "--dictionary", "signs", "--out", "out/a.vtt", "--no-pixels")
    run(home, "search", "out/tracks", "river", "--dictionary", "signs", "--add", "news.mp4", "--no-pixels")
    assert [path.suffix for path in (home / "out" / "tracks").iterdir()] == [".safetensors"]
    assert purple(home / "out") == purple(home / "cache") == []


@pytest.mark.slow
def test_what_looks_for_pictures_finds_them(home: Path) -> None:
    assert purple(home / "signs") == ["apple/1.mp4", "apple/2.mp4", "river/1.mp4", "river/2.mp4"]
    page = b"<img src='data:video/mp4;base64," + base64.b64encode((home / "news.mp4").read_bytes()) + b"'>"
    (home / "page").mkdir()
    (home / "page" / "x.html").write_bytes(page)
    assert purple(home / "page") == ["x.html"]
    assert os.environ["SIGNSPOT_CACHE"].startswith(str(home))
