"""`signspot evaluate corpus`."""

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from signspot.corpus.corpus import open_corpus
from signspot.models.registry import build
from signspot.recognition.recogniser import Recogniser, save_recogniser
from tests.cli.conftest import Cli
from tests.fixtures.corpora import corpus_once
from tests.fixtures.signing import SMALL


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus_once(tmp_path_factory, words=12, hours=0.02, seed=3, video_seconds=36.0, dictionary_signers=3).folder


def test_a_corpus_is_measured_as_a_table_and_as_json(signspot: Cli, corpus: Path, inputs: Path, tmp_path: Path) -> None:
    encoder = ("--encoder", inputs / "encoder.safetensors")
    common = ("evaluate", "corpus", corpus, *encoder, "--words")
    out, _ = signspot.ok(*common, "all")
    assert [line.split("  ")[0] for line in out.splitlines()[1:]] == [
        "retrieval mAP",
        "retrieval R@5",
        "localisation, word known",
        "spotting mAP",
        "precision",
        "recall",
        "false alarms per hour and word",
        "IoU of spans",
    ]
    out, _ = signspot.ok(*common, "all", "--json")
    result = json.loads(out)
    assert result["words"] == 12
    assert set(result["mean_average_precision"]) == {"value", "low", "high"}
    assert result["spotting"]["signs"] > 0


def test_recognisers_are_measured_beside_the_nearest_exemplar(
    signspot: Cli, corpus: Path, inputs: Path, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    module, words = build("landmark", **SMALL), list(open_corpus(corpus).dictionary())
    head = nn.Linear(module.trunk.dimension, len(words))
    weights = save_recogniser(Recogniser("small", tuple(words), module, head), tmp_path / "small.safetensors")
    encoder = ("--encoder", inputs / "encoder.safetensors")
    out, _ = signspot.ok("evaluate", "corpus", corpus, "--recogniser", weights, *encoder, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert {row["classifier"] for row in rows} > {"small"}
    assert signspot("evaluate", "corpus", corpus, "--recogniser", weights, "--words", "all")[0] == 2
