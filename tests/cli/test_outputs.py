"""Nobody's files are destroyed: the commands that once did so, and the way to replace a file on purpose."""

import os
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest

from signspot.formats.formats import read_spottings
from signspot.video.writer import write_video
from tests.cli.conftest import Cli


@pytest.fixture
def desk(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own, and in it the work: footage, signs, an encoder, a video."""
    folder = tmp_path / "desk"
    shutil.copytree(inputs, folder)
    write_video(folder / "x.mp4", (np.full((64, 64, 3), 90, np.uint8) for _ in range(20)), 25)
    shutil.copy(folder / "x.mp4", folder / "signs" / "w.mp4")
    monkeypatch.chdir(folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("spot x.mp4 signs apple --video-out x.mp4", "it is the input x.mp4 itself"),
        ("spot x.mp4 signs apple --video-out ./signs/../X.MP4", "it is the input"),
        ("spot footage.pose signs apple --video-out signs/w.mp4", "it is a file of the input signs"),
        ("spot footage.pose signs apple --video-out signs/w.mp4 --force", "it is a file of the input signs"),
        ("spot footage.pose signs apple --out a.csv --out a.csv", "twice in one run"),
        ("spot footage.pose signs apple --out notes.vtt", "--force"),
        ("spot footage.pose signs apple --plot link.png", "it is a link to"),
        ("embed x.mp4 --out x.mp4", "x.mp4"),
        ("embed footage.pose --out encoder.safetensors", "it is the input encoder.safetensors itself"),
        ("embed footage.pose --out other.safetensors", "--force"),
        ("embed a/x.mp4 --landmarks --out a", "--force"),
        ("convert mine.csv mine.csv", "it is the input mine.csv itself"),
        ("convert mine.csv MINE.csv --force", "it is the input mine.csv itself"),
        ("convert mine.csv notes.vtt", "--force"),
        ("dictionary build signs built --no-embed", "--force"),
        ("annotate a --dictionary signs --out run --export notes.vtt", "--force"),
        ("annotate a --dictionary signs --out run --export a/x.vtt", "it is a file of the input a"),
        ("annotate a --dictionary signs --out run --labels labels.jsonl", "--force"),
        ("synthetic show apple --out report/sentences.html", "--force"),
        ("demo --out report", "--force"),
        ("mouth footage.pose --subtitles notes.vtt --labels labels.jsonl", "--force"),
        ("mouth footage.pose --subtitles notes.vtt --out notes.vtt", "it is the input notes.vtt itself"),
        ("evaluate mouthing a --out report/annotation.md", "--force"),
        ("train train.toml --out report", "--force"),
        ("identify footage.pose signs --plot target.png", "--force"),
        ("feedback footage.pose apple signs --plot target.png", "--force"),
        ("dictionary variants apple signs --plot target.png", "--force"),
        ("faux-amis signs built --html report/sentences.html", "--force"),
        ("spot footage.pose signs --subtitles notes.vtt --plot target.png", "--force"),
        ("mine apple footage.pose --dictionary signs --out labels.jsonl", "--force"),
        ("wake footage.pose --sign footage.pose --plot target.png", "--force"),
    ],
)
def test_files_that_would_be_lost_stay(signspot: Cli, desk: Path, command: str, reason: str) -> None:
    for name in (
        *("notes.vtt", "other.safetensors", "target.png", "labels.jsonl", "built/dictionary.json"),
        *("a/x.mp4", "a/x.pose", "a/x.vtt", "run/run.sqlite"),
        *("report/yield.md", "report/sentences.html", "report/annotation.md"),
        *("report/spottings.eaf", "report/mine.json"),
    ):
        (desk / name).parent.mkdir(exist_ok=True)
        (desk / name).write_text(f"a person's {name}")
    (desk / "mine.csv").write_text("word,video,time,start,end,score,exemplar\napple,a.mp4,1,0.5,1.5,0.9,e\n")
    (desk / "train.toml").write_text('kind = "embedding"\nname = "mine"\n')
    (desk / "link.png").symlink_to("target.png")
    before = contents(desk)
    verb, *words = command.split()
    encoder = ("--encoder", "encoder.safetensors") if verb in {"spot", "embed"} and "--landmarks" not in words else ()
    assert reason in signspot.refused(verb, *words, *encoder)
    assert contents(desk) == before


def spot(signspot: Cli, *arguments: object) -> tuple[int, str, str]:
    options = ("--encoder", "encoder.safetensors", "--threshold", "0.5")
    return signspot("spot", "footage.pose", "signs", "apple", *options, *arguments)


def test_an_edited_elan_file_is_kept_or_backed_up(signspot: Cli, desk: Path) -> None:
    (desk / "signs" / "w.mp4").unlink()
    assert spot(signspot, "--out", "a.eaf")[0] == 0
    assert spot(signspot, "--out", "a.eaf")[0] == 0, "what signspot wrote, it may write again"
    edited = (desk / "a.eaf").read_text().replace("apple", "apple tree")
    (desk / "a.eaf").write_text(edited)
    code, _, err = spot(signspot, "--out", "a.eaf")
    assert code == 2
    assert "changed since" in err
    assert (desk / "a.eaf").read_text() == edited
    assert spot(signspot, "--out", "a.eaf", "--force")[0] == 0
    assert (desk / "a.eaf.bak").read_text() == edited
    assert {spotting.word for spotting in read_spottings(desk / "a.eaf")} == {"apple"}


def test_pictures_of_videos_with_equal_names_are_kept_apart(signspot: Cli, desk: Path) -> None:
    (desk / "signs" / "w.mp4").unlink()
    for day in ("mon", "tue"):
        (desk / day).mkdir()
        shutil.copy(desk / "footage.pose", desk / day / "a.pose")
    options = ("--encoder", "encoder.safetensors", "--threshold", "0.5", "--plot", "p.png")
    signspot.ok("spot", "mon", "tue", "signs", "apple", *options)
    assert sorted(path.name for path in desk.glob("*.png")) == ["p-mon-a.png", "p-tue-a.png"]


SUFFIXES = (".csv", ".jsonl", ".parquet", ".vtt", ".eaf", ".via.json", ".bobsl.json")


@pytest.mark.parametrize("verb", ["spot", "embed"])
def test_the_same_command_twice_gives_the_same_bytes(signspot: Cli, inputs: Path, tmp_path: Path, verb: str) -> None:
    before = os.umask(0o027)
    try:
        for turn in ("one", "two"):
            out = tmp_path / turn
            out.mkdir()
            results = [part for suffix in SUFFIXES for part in ("--out", out / f"x{suffix}")]
            more = {
                "spot": (inputs / "signs", "--threshold", "0", *results, "--plot", out / "x.svg"),
                "embed": ("--out", out / "x.safetensors"),
            }
            encoder = ("--encoder", inputs / "encoder.safetensors")
            signspot.ok(verb, inputs / "footage.pose", *more[verb], *encoder)
    finally:
        os.umask(before)
    one, two = ({path.name: path for path in (tmp_path / turn).iterdir()} for turn in ("one", "two"))
    assert sorted(one) == sorted(two) != []
    for name, path in one.items():
        assert path.read_bytes() == two[name].read_bytes(), name
        assert stat.S_IMODE(path.stat().st_mode) == 0o640, name


@pytest.mark.parametrize(
    "arguments",
    [
        ("spot", "words.txt", "signs"),
        ("spot", "footage.pose", "words.txt", "apple"),
        ("spot", "footage.pose", "signs", "--subtitles", "words.txt"),
        ("spot", "footage.pose", "signs", "--confirmed", "words.txt"),
        ("identify", "words.txt", "signs"),
        ("feedback", "words.txt", "apple", "signs"),
        ("mine", "apple", "words.txt", "--dictionary", "signs"),
        ("dictionary", "variants", "apple", "signs", "--footage", "words.txt"),
        ("search", "archive", "--clip", "words.txt", "--add", "footage.pose"),
        ("search", "archive", "--add", "words.txt"),
        ("search", "words.txt", "--add", "footage.pose"),
        ("search", "archive", "aple", "--dictionary", "signs", "--add", "footage.pose"),
        ("search", "archive", "apple", "--dictionary", "signs", "--add", "footage.pose", "--out", "found.words.txt"),
    ],
)
def test_a_file_of_another_kind_is_named_before_an_encoder_is_loaded(
    arguments: tuple[str, ...], signspot: Cli, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("footage.pose", "signs"):
        (tmp_path / name).symlink_to(inputs / name)
    (tmp_path / "words.txt").write_text("apple\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code, _, err = signspot(*arguments, "--encoder", "gone.safetensors")
    assert code in (1, 2)
    assert "gone.safetensors" not in err
    assert "aple" in err if "aple" in arguments else "words.txt" in err
    assert not (tmp_path / "archive").exists()
