"""Cells: a recipe's changes, measured once, trainings shared."""

import pytest

from experiments.paper.cells import CellRecipe, Cells, changed
from experiments.paper.setup import Setup
from signspot.training.item_batches import EmbeddingConfig


def test_changes_reach_into_parts() -> None:
    config = changed(EmbeddingConfig(), {"batch.items": 64, "temperature": 0.2, "items.least.mouthing": 0.9})
    assert (config.batch.items, config.batch.background, config.temperature) == (64, 10, 0.2)
    assert config.items.least.mouthing == 0.9
    with pytest.raises(AttributeError):
        changed(EmbeddingConfig(), {"no_such": 1})


def test_a_cell_is_measured_once(tiny: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    cells, recipe = Cells(tiny), CellRecipe(learn={"loss": "watch_lookup"})
    first = cells.measure(recipe, "seen", 0)
    assert first.queries > 0
    assert first.items > 0
    monkeypatch.setattr("experiments.paper.cells.retrieve", lambda *_: pytest.fail("measured again"))
    assert Cells(tiny).measure(recipe, "seen", 0) == first
    with pytest.raises(pytest.fail.Exception):
        cells.measure(recipe, "seen", 1)
