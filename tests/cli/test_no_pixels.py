"""Without pixels nobody's face is written: neither into reports and plots nor into dictionaries."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from signspot.cli.main import app
from signspot.cli.spot import Plots
from signspot.dictionary.build import build_dictionary
from signspot.errors import OptionsError
from signspot.plots.curves import view_of
from signspot.plots.report import report
from signspot.types import Exemplar
from signspot.video.writer import write_video


@pytest.fixture
def footage(tmp_path: Path) -> Path:
    pictures = (np.full((64, 96, 3), 10 * number, np.uint8) for number in range(10))
    return write_video(tmp_path / "apple.mp4", pictures, 25.0)


def found(footage: Path) -> Any:
    """A result, as far as pictures look at it."""
    gallery = SimpleNamespace(exemplars=(Exemplar("apple", "apple-1", footage),))
    track = SimpleNamespace(video=str(footage))
    times, curve = np.arange(3) / 25, np.full(3, 0.5)
    return SimpleNamespace(
        gallery=gallery,
        track=track,
        times=times,
        curve=lambda _: curve,
        spottings=(),
        duration=0.4,
        thresholds={"apple": 0.7},
    )


def test_a_report_holds_no_picture(footage: Path, tmp_path: Path) -> None:
    shown, hidden = view_of(found(footage)), view_of(found(footage), pixels=False)
    assert shown.video is not None
    assert shown.curves[0].thumbnail is not None
    assert hidden.video is None
    assert hidden.curves[0].thumbnail is None
    report(shown, tmp_path / "a.html")
    report(hidden, tmp_path / "b.html")
    assert "data:video/mp4;base64" in (tmp_path / "a.html").read_text()
    assert "base64" not in (tmp_path / "b.html").read_text()


def test_a_film_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionsError):
        Plots(None, tmp_path / "a.mp4", None, pixels=False)
    faces = CliRunner().invoke(app, ["dictionary", "build", str(tmp_path), "d", "--signers", "--no-pixels"])
    assert isinstance(faces.exception, OptionsError)


def test_a_dictionary_gets_landmarks_instead_of_videos(footage: Path, tmp_path: Path) -> None:
    written: list[Path] = []

    def write(video: Path, target: Path) -> None:
        written.append(video)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"landmarks")

    (tmp_path / "signs").mkdir()
    footage.rename(tmp_path / "signs" / footage.name)
    built = build_dictionary(tmp_path / "signs", tmp_path / "built", write_landmarks=write)
    assert [exemplar.path for exemplar in built.exemplars] == [tmp_path / "built/media/apple/apple.mp4.pose"]
    assert written == [tmp_path / "signs" / footage.name]
    suffixes = {path.suffix for path in (tmp_path / "built").rglob("*") if path.is_file()}
    assert suffixes <= {".pose", ".json", ""}
    assert ".pose" in suffixes


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mine", "apple", ".", "--dictionary", ".", "--clips", "c"], "--clips shows people"),
        (["search", ".", "apple", "--dictionary", ".", "--html", "h.html"], "--html shows people"),
        (["train", "RGB"], "the folder of a training of the kind rgb shows people"),
    ],
)
def test_verbs_that_would_keep_pictures_refuse(arguments: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "rgb.toml").write_text('kind = "rgb"\n')
    asked = [str(tmp_path / "rgb.toml") if each == "RGB" else each for each in arguments]
    result = CliRunner().invoke(app, [*asked, "--no-pixels"])
    assert isinstance(result.exception, OptionsError)
    assert str(result.exception).startswith(said)
