"""`signspot adapt`: from footage and a dictionary to an answer; every mistake is one line."""

import json
from pathlib import Path

import pytest

from signspot_synthetic.corpus_plan import CorpusOptions
from tests.cli.conftest import Cli
from tests.fixtures.corpora import corpus_once


@pytest.fixture(scope="module")
def footage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    easy = CorpusOptions(
        words=12, hours=0.045, seed=5, video_seconds=22.5, dictionary_signers=2, exemplars=1.0, variants=1
    )
    return corpus_once(tmp_path_factory, easy).folder


def test_where_there_is_no_gain_it_says_so_and_writes_no_encoder(signspot: Cli, footage: Path, tmp_path: Path) -> None:
    """One step is too little to learn anything. The same command again goes on from there, and says the same."""
    folder = tmp_path / "mine"
    command = f"adapt {footage} --out {folder} --encoder landmark-synthetic --steps 1"
    out, err = signspot.ok(*command.split())
    assert "no gain on held-out footage: keep 'landmark-synthetic'" in out
    assert "held-out words" in out
    assert "subtitled segments" in err
    assert not list(folder.glob("*.safetensors"))
    out, _ = signspot.ok(*command.split(), "--json")
    result = json.loads(out)
    assert result["encoder"] is None
    assert {gain["group"] for gain in result["gains"]["alignment"]} == {"all words", "learned words", "held-out words"}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--steps 0", "steps must be at least 1"),
        ("--encoder nowhere", "no weights at 'nowhere'"),
        ("--dictionary nowhere", "nowhere"),
    ],
)
def test_mistakes_are_one_line(signspot: Cli, footage: Path, tmp_path: Path, options: str, reason: str) -> None:
    code, out, err = signspot("adapt", str(footage), "--out", str(tmp_path / "mine"), *options.split())
    assert code in (1, 2)
    assert not out
    assert reason in err
    assert len(err.strip().splitlines()) == 1
