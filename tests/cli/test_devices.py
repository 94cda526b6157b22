"""`--device`: on every verb that runs a network, and refused in one line where the device is missing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
import typer
from typer.core import TyperGroup

from signspot.cli.main import app

Call = Callable[..., tuple[int, str, str]]

VERBS = {
    "adapt FOLDER --out OUT",
    "annotate FOLDER --dictionary SIGNS --out OUT",
    "calibrate ENCODER",
    "demo --out OUT",
    "densify FOOTAGE FOOTAGE SIGNS",
    "dictionary build SIGNS OUT",
    "embed FOOTAGE --out OUT",
    "evaluate annotation --quick --out OUT",
    "evaluate corpus FOLDER",
    "evaluate lsa64 FOLDER",
    "evaluate one-shot FOLDER",
    "evaluate streams FOLDER",
    "faux-amis SIGNS SIGNS",
    "feedback FOOTAGE WORD SIGNS",
    "identify FOOTAGE SIGNS",
    "learn FOLDER --dictionary SIGNS --out OUT",
    "mine WORD FOLDER --dictionary SIGNS",
    "reproduce table2 --quick --out OUT",
    "search FOLDER WORD",
    "serve FOLDER",
    "spot FOOTAGE SIGNS",
    "train CONFIG --out OUT",
    "variants WORD SIGNS",
    "wake FOOTAGE --sign FOOTAGE",
}


def commands() -> Iterator[tuple[str, set[str]]]:
    """Every verb, and the names of its options."""
    for name, command in typer.main.get_group(app).commands.items():
        below = command.commands if isinstance(command, TyperGroup) else {"": command}
        for second, each in below.items():
            yield f"{name} {second}".strip(), {option for param in each.params for option in param.opts}


def test_every_verb_with_an_encoder_takes_a_device() -> None:
    takes = {name for name, options in commands() if "--device" in options}
    assert {name for name, options in commands() if "--encoder" in options} <= takes
    assert takes == {
        " ".join(word for word in verb.split() if word.islower() and not word.startswith(("-", "table")))
        for verb in VERBS
    }


@pytest.mark.skipif(torch.cuda.is_available(), reason="this computer has the device")
@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_device_that_is_missing_is_told_before_anything_is_done(
    signspot: Call, corner: Path, tmp_path: Path, verb: str
) -> None:
    places = {"FOOTAGE": corner / "footage.pose", "SIGNS": corner / "signs", "FOLDER": corner, "OUT": tmp_path / "out"}
    places |= {"ENCODER": corner / "encoder.safetensors", "CONFIG": tmp_path / "nowhere.toml"}
    for device, said in (("cuda", "no device 'cuda' on this computer"), ("tpu", "no device 'tpu'")):
        code, out, err = signspot(*(places.get(word, word) for word in verb.split()), "--device", device)
        assert (code, out) == (2, "")
        assert err.startswith(f"signspot: {said}")
        assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_device_that_is_there_gives_what_the_processor_gives(signspot: Call, corner: Path) -> None:
    road = ("spot", corner / "footage.pose", corner / "signs", "apple", "--encoder", corner / "encoder.safetensors")
    plain = signspot(*road, "--threshold", "0.5", "--json", "--no-cache")
    assert plain[0] == 0
    assert signspot(*road, "--threshold", "0.5", "--json", "--no-cache", "--device", "cpu") == plain
