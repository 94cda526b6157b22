"""Trunks: recipes of Appendix C.1 with exemplars held out, and both architectures of Table A.4."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.paper import trunks
from experiments.paper.cells import KeptCells
from experiments.paper.page import table_text
from experiments.paper.recognition import LabelledCorpus
from experiments.paper.setup import Setup
from experiments.paper.trunks import RECIPES, hold_out, recipe, table_a4, table_c1
from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.io.progress import Stage, quiet
from signspot.training.rgb import HeldOut
from signspot.training.rgb_clips import RgbConfig
from signspot.training.run_folder import Run
from signspot_synthetic.corpus_plan import CorpusOptions
from tests.fixtures.corpora import TINY

BATCH_NORM = replace(TINY.trunk, model={**TINY.trunk.model, "norm": "batch"})


@pytest.mark.long
def test_recipes_of_the_appendix(tiny: Setup, tmp_path: Path) -> None:
    assert len({str(recipe(changes, BATCH_NORM, 0)) for changes, _ in RECIPES.values()}) == len(RECIPES)
    forget = recipe(next(iter(RECIPES.values()))[0], BATCH_NORM, 0)
    assert (forget.reinitialise, forget.dictionary_from, forget.steps) == (True, 2, 4)
    assert (forget.clips.least.mouthing, forget.clips.surer) == (0.5, 0.8)
    table = table_c1(LabelledCorpus(0, tiny, None), BATCH_NORM, 1)
    cells = KeptCells(tmp_path / "cells.jsonl")
    results = [cells.measure(row.cells[""][0]) for row in table.rows[2:4]]  # domain-specific, consecutive
    assert "(62.73)" in table_text(table, cells)
    trained, tested = hold_out(tiny.corpus.dictionary().exemplars)
    assert tested
    assert not {exemplar.id for exemplar in trained} & {exemplar.id for exemplar in tested}
    left = {(exemplar.word, exemplar.variant) for exemplar in trained}
    assert all((exemplar.word, exemplar.variant) in left for exemplar in tested)  # what is tested could be learnt
    assert all(0 < sum(map(len, result.values["held"].values())) <= len(tested) for result in results)


def test_both_trunks_are_trained_by_every_seed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The training itself has tests of its own; here it only says with what it was called."""
    calls = []

    def train(config: RgbConfig, corpus: Corpus, run: Run, stage: Stage) -> tuple[None, HeldOut]:
        calls.append((config.architecture, config.seed, run.out))
        return None, HeldOut(9, 3, 0.5, 1.0, 0.1 * config.seed)

    small = CorpusOptions(words=3, hours=0.01, dictionary_signers=1, exemplars=2)
    monkeypatch.setattr(trunks, "RENDERED", small)
    monkeypatch.setattr(trunks, "train_rgb_on_corpus", train)
    table, cells = table_a4(2, tmp_path, None, quiet), KeptCells(tmp_path / "cells.jsonl")
    for cell in (*table.cells(), *table.cells()):
        cells.measure(cell)
    assert sorted(call[:2] for call in calls) == [("i3d", 0), ("i3d", 1), ("s3d", 0), ("s3d", 1)]
    assert len({call[2] for call in calls}) == 4
    assert "| I3D | 9 | 50.0 [50.0, 50.0] (75.51) | 100.0 [100.0, 100.0] (88.83) | 5.0 [0.0, 10.0] (52.76) |" in (
        table_text(table, cells)
    )


def test_trunks_that_see_pixels_need_videos(tiny_corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match=tiny_corpus.folder.name):
        table_a4(1, tmp_path, tiny_corpus, quiet)
