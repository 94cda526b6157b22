"""Without pixels nobody's face is written: neither into reports and plots nor into dictionaries."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from signspot.cli.app import app
from signspot.cli.spot import Plots
from signspot.errors import OptionsError


def test_a_film_is_refused(tmp_path: Path) -> None:
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
def test_verbs_that_would_keep_pictures_refuse(arguments: list[str], reason: str, tmp_path: Path) -> None:
    (tmp_path / "rgb.toml").write_text('kind = "rgb"\n')
    command = [str(tmp_path / "rgb.toml") if argument == "RGB" else argument for argument in arguments]
    result = CliRunner().invoke(app, [*command, "--no-pixels"])
    assert isinstance(result.exception, OptionsError)
    assert str(result.exception).startswith(reason)
