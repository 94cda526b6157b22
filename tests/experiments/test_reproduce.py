"""From a name to a table: written with its plot, taken up again, mistakes named before anything is made."""

from dataclasses import replace
from pathlib import Path

import pytest

from signspot.errors import OptionsError
from signspot.experiments import reproduce as module
from signspot.experiments.reproduce import FULL, QUICK, TABLES, reproduce
from signspot.experiments.setup import Setup


def test_the_whole_way(tiny: Setup) -> None:
    ((table, text),) = reproduce("table2", tiny.out, tiny.size, tiny.corpus)
    assert table is TABLES["table2"]
    assert (tiny.out / "table2.md").read_text() == text
    assert (tiny.out / "table2.png").read_bytes()[:4] == b"\x89PNG"
    assert len(text.splitlines()) == 2 + 7 + 2
    longer = replace(tiny.size, embedding=replace(tiny.size.embedding, epochs=2))
    ((_, other),) = reproduce("table3", tiny.out, longer, tiny.corpus)  # other trainings share the folder
    assert "all words" in other
    ((_, again),) = reproduce("table2", tiny.out, tiny.size, tiny.corpus)
    assert again == text


def test_all_are_measured_one_after_the_other(tiny: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: TABLES[name] for name in ("table3", "table5")}
    monkeypatch.setattr(module, "TABLES", few)
    assert [table.name for table, _ in reproduce("all", tiny.out, tiny.size, tiny.corpus)] == ["table3", "table5"]


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match=r"no table 'table9'\. There are: table2, .*, all"):
        reproduce("table9", tmp_path, QUICK)
    assert not list(tmp_path.iterdir())


def test_a_quick_world_is_a_small_one() -> None:
    assert QUICK.corpus.hours < FULL.corpus.hours
    assert QUICK.seeds < FULL.seeds
