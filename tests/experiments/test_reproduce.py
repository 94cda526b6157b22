"""From a name to a table: written with its plot, taken up again, mistakes named before anything is made."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.paper import reproduce as module
from experiments.paper.reproduce import FULL, QUICK, SMALL, TABLES, Sizes, reproduce
from experiments.paper.setup import Setup
from signspot.errors import OptionsError


def test_the_whole_way(tiny: Setup) -> None:
    (done,) = reproduce(["table2"], tiny.out, Sizes(tiny.size), tiny.corpus)
    assert (done.title, done.path) == (TABLES["table2"].title, tiny.out / "table2.md")
    assert done.path.read_text() == done.text
    assert (tiny.out / "table2.png").read_bytes()[:4] == b"\x89PNG"
    assert len(done.text.splitlines()) == 2 + 7 + 2
    longer = replace(tiny.size, embedding=replace(tiny.size.embedding, epochs=2))
    (other,) = reproduce(["table3"], tiny.out, Sizes(longer), tiny.corpus)  # other trainings share the folder
    assert "all words" in other.text
    assert next(reproduce(["table2"], tiny.out, Sizes(tiny.size), tiny.corpus)) == done


def test_all_are_measured_one_after_the_other(tiny: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NAMES", ("table3", "table5"))
    done = list(reproduce(["all"], tiny.out, Sizes(tiny.size), tiny.corpus))
    assert [each.path.name for each in done] == ["table3.md", "table5.md"]


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match=r"no table 'table9'\. There are: table2, .*, all"):
        reproduce(["table2", "table9"], tmp_path, SMALL)
    assert not list(tmp_path.iterdir())


def test_a_quick_corpus_is_a_small_one() -> None:
    assert QUICK.corpus.hours < FULL.corpus.hours
    assert QUICK.seeds < FULL.seeds
