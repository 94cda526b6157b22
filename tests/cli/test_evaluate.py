"""`signspot evaluate corpus`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from signspot_synthetic.corpus_plan import CorpusOptions
from tests.fixtures.corpora import corpus_once

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = CorpusOptions(words=12, hours=0.02, seed=3, video_seconds=36.0, dictionary_signers=3)
    return corpus_once(options, tmp_path_factory).folder


def test_a_corpus_is_measured_as_a_table_and_as_json(signspot: Call, made: Path, corner: Path, tmp_path: Path) -> None:
    encoder = ("--encoder", corner / "encoder.safetensors")
    common = ("evaluate", "corpus", made, *encoder, "--words")
    code, out, err = signspot(*common, "all")
    assert code == 0, err
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
    code, out, err = signspot(*common, "all", "--json")
    assert code == 0, err
    said = json.loads(out)
    assert said["words"] == 12
    assert set(said["mean_average_precision"]) == {"value", "low", "high"}
    assert said["spotting"]["signs"] > 0


def test_a_folder_that_is_no_corpus_is_one_line(signspot: Call, tmp_path: Path) -> None:
    code, _, err = signspot("evaluate", "corpus", tmp_path)
    assert code == 1
    assert "is no corpus: it holds no video" in err
    assert err.count("\n") == 1
