"""Table A.4: both trunks by every seed, each once, shown beside the paper's."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.paper import table_a4
from experiments.paper.setup import ReproductionSize, Setup
from signspot.corpus.corpus import Corpus
from signspot.io.progress import Stage
from signspot.training.rgb import HeldOut
from signspot.training.rgb_clips import RgbConfig
from signspot.training.run_folder import Run
from signspot_synthetic.corpus_writer import make_corpus
from signspot_synthetic.options import CorpusOptions

OUTCOMES = {
    "s3d": [HeldOut(9, 8, 0.5, 1.0, 0.25)],
    "i3d": [HeldOut(9, 8, 0.25, 0.5, 0.5), HeldOut(9, 8, 0.75, 0.5, 0.5)],
}


def test_ours_beside_the_papers() -> None:
    lines = table_a4.as_markdown(OUTCOMES).splitlines()
    assert lines[2] == "| S3D | 50.0 (64.76) | 100.0 (81.88) | 25.0 (46.27) |"
    assert lines[3] == "| I3D | 50.0 ± 35.4 (75.51) | 50.0 ± 0.0 (88.83) | 50.0 ± 0.0 (52.76) |"
    assert lines[-1].startswith("9 clips of 8 words")


def test_a_plot_is_drawn(tmp_path: Path) -> None:
    assert table_a4.draw(OUTCOMES, tmp_path / "t.png").read_bytes()[:4] == b"\x89PNG"


def test_both_trunks_are_trained_by_every_seed_once(
    size: ReproductionSize, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The training itself has tests of its own; here it only says with what it was called."""
    asked = []

    def train(config: RgbConfig, corpus: Corpus, run: Run, stage: Stage) -> tuple[None, HeldOut]:
        asked.append((config.architecture, config.seed, run.out))
        return None, HeldOut(9, 3, 0.5, 1.0, 0.1 * config.seed)

    monkeypatch.setattr(table_a4, "CORPUS", CorpusOptions(words=3, hours=0.01, dictionary_signers=1, exemplars=2))
    monkeypatch.setattr(table_a4, "make_corpus", lambda *given, workers: make_corpus(*given))  # in this process
    monkeypatch.setattr(table_a4, "train_rgb_on_corpus", train)
    setup = Setup(replace(size, seeds=2), tmp_path)
    first = table_a4.measure(setup)
    assert [each[:2] for each in asked] == [("s3d", 0), ("i3d", 0), ("s3d", 1), ("i3d", 1)]
    assert len({each[2] for each in asked}) == 4
    assert [outcome.top_1_by_word for outcome in first["i3d"]] == [0.0, 0.1]
    assert table_a4.measure(setup) == first
    assert len(asked) == 4
