"""Table 2: numbers beside the paper's, cells measured once, a folder for one setup; the whole way on a tiny world."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from signspot.errors import OptionsError
from signspot.experiments.reproduce import QUICK, Size, reproduce
from signspot.experiments.table2 import ROWS, Outcome, as_markdown, draw, summary
from signspot.models.encoder import Encoder, make_encoder
from signspot.models.registry import build
from signspot.sampling.batches import BatchOptions
from signspot.training.embedding_config import EmbeddingConfig
from signspot.world.corpus import make_corpus
from signspot.world.options import CorpusOptions

TINY = Size(
    CorpusOptions(words=24, hours=0.0125, seed=11, dictionary_signers=3),
    EmbeddingConfig(epochs=1, batch=BatchOptions(items=4, background=3)),
    1,
)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    torch.manual_seed(0)
    small = {"width": 16, "hand_width": 8, "part_width": 8, "last_width": 16, "features": 32}
    return make_encoder("small", build("landmark", **small))


def outcomes(*shares: float) -> list[Outcome]:
    return [
        Outcome(row, setting, seed, share, share / 2, 10, 5)
        for row in ROWS
        for setting in ("seen", "unseen")
        for seed, share in enumerate(shares)
    ]


def test_means_and_deviations_stand_beside_the_papers() -> None:
    assert summary(outcomes(0.2, 0.4), "info_nce", "seen")[0] == pytest.approx((30.0, 14.1421356))
    lines = as_markdown(outcomes(0.2, 0.4)).splitlines()
    assert len(lines) == 2 + len(ROWS)
    assert "| 30.0 ± 14.1 (47.93 ± 0.20) | 15.0 ± 7.1 (60.76 ± 1.45) |" in lines[-1]
    assert "| 20.0 (19.81) |" in as_markdown(outcomes(0.2))


def test_a_plot_is_drawn(tmp_path: Path) -> None:
    assert draw(outcomes(0.2, 0.4), tmp_path / "t.png").read_bytes()[:4] == b"\x89PNG"


def test_the_whole_way_and_once_only(encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_corpus(TINY.corpus, tmp_path / "world")  # in this process: it is found finished
    table = reproduce("table2", encoder, tmp_path, TINY)
    assert table == (tmp_path / "table2.md").read_text()
    assert (tmp_path / "table2.png").is_file()
    cells = sorted((tmp_path / "table2" / "cells").glob("*.json"))
    assert len(cells) == 2 * len(ROWS)
    assert json.loads(cells[0].read_text())["queries"] > 0
    cells[0].unlink()
    made = []
    monkeypatch.setattr("signspot.experiments.table2.retrieve", lambda *_: made.append(1) or pytest.fail("stop"))
    with pytest.raises(pytest.fail.Exception):
        reproduce("table2", encoder, tmp_path, TINY)
    assert len(made) == 1  # the missing cell alone
    monkeypatch.undo()
    assert reproduce("table2", encoder, tmp_path, TINY) == table
    longer = replace(TINY, config=replace(TINY.config, epochs=2))
    with pytest.raises(OptionsError, match="holds results of another config"):
        reproduce("table2", encoder, tmp_path, longer)


def test_mistakes_are_named(encoder: Encoder, tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match=r"no table 'table9'\. There are: table2"):
        reproduce("table9", encoder, tmp_path, QUICK)
    with pytest.raises(OptionsError, match="seeds must be at least 1; got 0"):
        reproduce("table2", encoder, tmp_path, replace(QUICK, seeds=0))
