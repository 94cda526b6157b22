"""Cells: a recipe's changes, measured once, trainings shared, the control of permuted subtitles."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.paper import cells as module
from experiments.paper.cells import Cell, CellRecipe, Embeddings, KeptCells, Result, changed, permute_subtitles
from experiments.paper.setup import Setup
from signspot.corpus.corpus import Corpus, open_corpus
from signspot.corpus.truth import write_records
from signspot.models.checkpoints import load_encoder
from signspot.training.corpus_subset import Item
from signspot.training.item_batches import EmbeddingConfig
from signspot.types import Label, Segment
from tests.fixtures.corpora import TINY

WATCH_LOOKUP = CellRecipe(learn={"loss": "watch_lookup"})


def test_changes_reach_into_parts() -> None:
    config = changed(EmbeddingConfig(), {"batch.items": 64, "temperature": 0.2, "items.least.mouthing": 0.9})
    assert (config.batch.items, config.batch.background, config.temperature) == (64, 10, 0.2)
    assert config.items.least.mouthing == 0.9
    with pytest.raises(AttributeError):
        changed(EmbeddingConfig(), {"no_such": 1})


def test_a_cell_is_measured_once(tiny: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells, embeddings = KeptCells(tmp_path / "cells.jsonl"), Embeddings(tiny)
    cell = embeddings.cell(WATCH_LOOKUP, "seen", 0)
    assert cells.read(cell) is None
    first = cells.measure(cell)
    assert first.counts["items"] > 0
    assert first.counts["truth queries"] == sum(map(len, first.values["truth mAP"].values())) > 0
    monkeypatch.setattr(module, "retrieve", lambda *_: pytest.fail("measured again"))
    assert KeptCells(tmp_path / "cells.jsonl").measure(Embeddings(tiny).cell(WATCH_LOOKUP, "seen", 0)) == first
    with pytest.raises(pytest.fail.Exception):
        cells.measure(embeddings.cell(WATCH_LOOKUP, "seen", 1))


def test_settings_tell_cells_apart(tiny: Setup, encoder_file: Path) -> None:
    alone, embeddings = CellRecipe(learn=None), Embeddings(tiny)
    keys = [embeddings.cell(recipe, "seen", seed).key for recipe in (alone, WATCH_LOOKUP) for seed in (0, 1)]
    keys += [embeddings.cell(replace(WATCH_LOOKUP, permuted=True), "seen", 0).key]
    assert len({str(key) for key in keys}) == len(keys)
    of_encoder = Embeddings(Setup(tiny.size, tiny.out, tiny.corpus, load_encoder(encoder_file)))
    assert of_encoder.cell(alone, "seen", 0).key == of_encoder.cell(alone, "seen", 1).key


def test_kept_cells_survive_a_killed_run_and_changes_of_the_protocol(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"mAP": {"apple": [0.25, 0.5, 1 / 3], "pear": []}, "R@5": {"apple": [1.0, 0.0, 1.0], "fig": [0.0]}}
    cell = Cell(0, 0, {"kind": "some"}, lambda: Result(values, {"items": 3}))
    file = tmp_path / "results" / "cells.jsonl"
    result = KeptCells(file).measure(cell)
    assert result == KeptCells(file).read(cell)
    assert result.values == {"mAP": {"apple": 3 * [0.361]}, "R@5": {"apple": 3 * [0.667], "fig": [0.0]}}
    assert result.counts == {"items": 3}
    with file.open("a") as stream:
        stream.write('{"cell": "12')  # killed in the middle of a line
    KeptCells(file).measure(replace(cell, key={"kind": "other"}))
    assert all(KeptCells(file).read(replace(cell, key={"kind": kind})) for kind in ("some", "other"))
    monkeypatch.setattr(module, "PROTOCOL", module.PROTOCOL + 1)
    assert KeptCells(file).read(cell) is None


def test_permuted_subtitles_keep_signs_and_mix_what_is_read() -> None:
    span = Segment(0.0, 4.0)
    items = [Item(Label(f"w{n}", "v", 1.0), span, (f"b{n}", f"w{(n + 1) % 9}")) for n in range(9)]
    mixed = permute_subtitles(items, 0)
    assert [item.label for item in mixed] == [item.label for item in items]
    assert all(item.word not in item.background for item in mixed)
    assert sorted(w for item in mixed for w in item.background if w[0] == "b") == [f"b{n}" for n in range(9)]
    assert sum(mine.background != theirs.background for mine, theirs in zip(mixed, items, strict=True)) >= 6
    assert permute_subtitles(items, 0) == mixed != permute_subtitles(items, 1)


def test_without_truth_the_papers_protocol_gives_the_same_numbers(tiny_corpus: Corpus, tmp_path: Path) -> None:
    """The truth is taken away: what mouthings of 0.9 or more test stays as it was."""
    sure = [replace(label, confidence=0.95) for label in tiny_corpus.labels()]
    shutil.copytree(tiny_corpus.folder, tmp_path / "known")
    labels = tmp_path / "known" / "labels"
    shutil.rmtree(labels)
    labels.mkdir()
    write_records(sure, labels / "M.jsonl")
    shutil.copytree(tmp_path / "known", tmp_path / "unknown")
    shutil.rmtree(tmp_path / "unknown" / "truth")
    results = []
    for name in ("known", "unknown"):
        setup = Setup(TINY, tmp_path / f"out-{name}", open_corpus(tmp_path / name))
        results.append(Embeddings(setup).cell(WATCH_LOOKUP, "unseen", 0).compute())
    with_truth, without = results
    assert set(with_truth.counts) - set(without.counts) == {"truth queries"}
    assert without.values["mouthings mAP"] == with_truth.values["mouthings mAP"]
    assert not [name for name in without.values if name.startswith("truth")]
