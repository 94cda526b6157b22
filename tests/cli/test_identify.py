"""`signspot identify`: by a dictionary, in a part of footage, and by a recogniser."""

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from signspot.dictionary.open_dictionary import open_dictionary
from signspot.models.registry import build
from signspot.recognition.recogniser import Recogniser, save_recogniser
from signspot.spotting.spotter import load
from signspot.types import Segment
from tests.cli.conftest import Cli
from tests.fixtures.signing import SMALL


@pytest.fixture
def recogniser(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    module = build("landmark", **SMALL)
    head = nn.Linear(module.trunk.dimension, 3)
    return save_recogniser(Recogniser("small", ("apple", "friend", "name"), module, head), tmp_path / "r.safetensors")


def test_a_sign_in_footage_is_looked_up(signspot: Cli, inputs: Path) -> None:
    encoder, footage = inputs / "encoder.safetensors", inputs / "footage.pose"
    part = ("--from", "1.0", "--to", "2.0")
    out, _ = signspot.ok("identify", footage, inputs / "signs", *part, "--json", "--encoder", encoder)
    spotter = load(encoder)
    gallery = spotter.gallery(open_dictionary(inputs / "signs"))
    matches = spotter.identify(footage, gallery, segment=Segment(1.0, 2.0))
    assert [json.loads(line)["score"] for line in out.splitlines()] == [match.score for match in matches]
    assert matches != spotter.identify(footage, gallery)


def test_a_recogniser_says_which_of_its_words_a_clip_shows(signspot: Cli, inputs: Path, recogniser: Path) -> None:
    command = ("identify", inputs / "signs" / "apple.pose", recogniser, "--json")
    out, _ = signspot.ok(*command)
    rows = [json.loads(line) for line in out.splitlines()]
    assert {row["word"] for row in rows} == {"apple", "friend", "name"}
    assert sum(row["probability"] for row in rows) == pytest.approx(1, abs=1e-5)
    assert len(signspot(*command, "--top", "1")[1].splitlines()) == 1
    part = signspot("identify", inputs / "footage.pose", recogniser, "--from", "1", "--to", "2")
    assert (part[0], len(part[1].splitlines())) == (0, 4)


@pytest.mark.parametrize(
    "more", [("--plot", "a.png"), ("--encoder", "warping"), ("--from", "1")], ids=lambda pair: pair[0]
)
def test_what_a_recogniser_has_not_is_refused(
    signspot: Cli, inputs: Path, recogniser: Path, more: tuple[str, str]
) -> None:
    err = signspot.refused("identify", inputs / "signs" / "apple.pose", recogniser, *more)
    assert more[0] in err
