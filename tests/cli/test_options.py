"""Options that are derived from a dataclass, and the help that fits on one screen."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

import pytest
import typer
from typer.testing import CliRunner

from signspot.cli.options import Fields, derive_options
from tests.cli.conftest import Cli


@dataclass(frozen=True, slots=True)
class Example:
    top: int | None = field(default=None, metadata={"help": "The best N.", "min": 1})
    match: Literal["auto", "embedding"] = field(default="auto", metadata={"help": "How."})
    mirror: bool = field(default=True, metadata={"help": "Mirrored, too."})
    refine: bool = field(default=False, metadata={"help": "Twice.", "option": "--again"})
    margin: float = 0.1  # no help text: no option


def run(*arguments: str, fields: Fields | None = None) -> tuple[int, str]:
    app, kind = typer.Typer(rich_markup_mode=None), Example if fields is None else Annotated[Example, fields]

    def command(video: str, options: Example, json: bool = False) -> None:
        print(video, options, json)

    command.__annotations__["options"] = kind
    app.command()(derive_options(command))
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.output.strip()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), Example()),
        (("--top", "3", "--again", "--no-mirror"), Example(3, mirror=False, refine=True)),
        (("--match", "embedding"), Example(match="embedding")),
    ],
)
def test_fields_become_options(arguments: tuple[str, ...], expected: Example) -> None:
    assert run("a.mp4", *arguments, "--json") == (0, f"a.mp4 {expected} True")


@pytest.mark.parametrize(
    "wrong", [("--top", "0"), ("--match", "both"), ("--margin", "0.2"), ("--no-again",)], ids=lambda pair: pair[0]
)
def test_other_values_and_names_are_refused(wrong: tuple[str, ...]) -> None:
    assert run("a.mp4", *wrong)[0] == 2


def test_a_command_may_take_some_of_the_fields() -> None:
    assert run("a.mp4", "--top", "2", fields=Fields.of("top")) == (0, f"a.mp4 {Example(2)} False")
    assert run("a.mp4", "--no-mirror", fields=Fields.of("top"))[0] == 2


def test_help_fits_on_one_screen_and_begins_with_what_newcomers_need(signspot: Cli) -> None:
    lines = signspot("--help")[1].splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    commands = [line[13:].split()[0] for line in lines if line[13:].strip()]
    assert commands[2:5] == ["demo", "spot", "serve"]
    assert not any("…" in line or "..." in line for line in lines[3:-8])
