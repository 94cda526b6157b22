"""`python -m experiments.paper` on a tiny corpus: cells are kept, a run goes on, options are honoured or refused."""

import logging
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.paper import __main__ as command
from experiments.paper.cells import KeptCells
from experiments.paper.page import MISSING
from experiments.paper.plan import Plan, Sizes
from experiments.paper.setup import Setup
from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.models.checkpoints import load_encoder
from tests.fixtures.corpora import TINY

SIZES = Sizes(corpora=1, seeds=1, retrieval=TINY)


def test_the_command_writes_a_page_and_goes_on_where_it_was_stopped(
    tiny_corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(command, "Sizes", lambda: SIZES)
    page = tmp_path / "paper.md"
    options: dict[str, Any] = {"seeds": 1, "corpus": tiny_corpus.folder, "out": tmp_path}
    command.main(["table3"], page_only=True, **options)
    assert f"| all words | {MISSING} (15.82) |" in page.read_text()
    with caplog.at_level(logging.INFO, logger="experiments"):
        command.main(["table3"], **options)
    assert "table3: 4 of 4" in caplog.text
    text = page.read_text()
    assert "4 of 4 cells are measured" in text
    assert MISSING not in text.partition("## Tables")[2]
    assert "| table3 | Reading helps: all words are above the same with permuted subtitles | unseen mAP | – | " in text
    content = (tmp_path / "paper-cells.jsonl").read_bytes()
    command.main(["table3"], **{**options, "out": tmp_path / "elsewhere", "results": tmp_path})
    assert (tmp_path / "paper-cells.jsonl").read_bytes() == content
    assert page.read_text() == text


def test_a_cell_that_fails_leaves_the_others(tiny: Setup, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    plan = Plan(SIZES, tmp_path, KeptCells(tmp_path / "cells.jsonl"), tiny.corpus)
    (table,) = plan.chosen(["table3"])
    first, *others = table.cells()

    def fail() -> None:
        raise OptionsError("no WordNet")

    broken = replace(table.rows[0], cells={"unseen": [replace(first, compute=fail)]})  # type: ignore[arg-type]
    written: list[str] = []
    plan.run([replace(table, rows=(broken, *table.rows[1:]))], lambda: written.append(plan.page([table])))
    assert "no WordNet" in caplog.text
    assert plan.kept.read(first) is None
    assert all(plan.kept.read(cell) is not None for cell in others)
    assert "3 of 4 cells are measured" in written[-1]


def test_unknown_and_impossible_tables_are_refused_before_anything_is_made(
    tiny_corpus: Corpus, encoder_file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cells = KeptCells(tmp_path / "cells.jsonl")
    with pytest.raises(OptionsError, match="'table9'"):
        Plan(SIZES, tmp_path, cells).chosen(["table2", "table9"])
    of_encoder = Plan(SIZES, tmp_path, cells, tiny_corpus, load_encoder(encoder_file), str(encoder_file))
    for name in ("table2", "story", "story-retrieval", "table-c1", "table-a4"):
        with pytest.raises(OptionsError, match=f"^{name} takes no --encoder"):
            of_encoder.chosen([name])
    assert not list(tmp_path.iterdir())
    names = [table.name for table in of_encoder.chosen()]
    assert names[0] == "table3"
    assert {"table6", "table8", "spotting-benchmark", "figure5"} <= set(names)
    assert "table2 is left out: it compares trunks that it trains" in caplog.text
    with pytest.raises(OptionsError, match="landmarks"):
        Plan(SIZES, tmp_path, cells, tiny_corpus).chosen(["table-a4"])  # it sees pixels


def test_a_given_encoder_is_the_trunk_finds_labels_and_is_benchmarked(
    tiny_corpus: Corpus, encoder_file: Path, tmp_path: Path
) -> None:
    encoder, cells = load_encoder(encoder_file), KeptCells(tmp_path / "cells.jsonl")
    plan = Plan(SIZES, tmp_path, cells, tiny_corpus, encoder, str(encoder_file))
    by_name = {table.name: table for table in plan.chosen(["table3", "table6", "spotting-benchmark"])}
    assert by_name["table3"].cells()[0].key["trunk"] == encoder.hash
    assert by_name["table6"].cells()[0].key["corpus"]["encoder"] == encoder.hash
    assert [row.titles for row in by_name["spotting-benchmark"].rows] == [(encoder.name,)]
    assert not by_name["spotting-benchmark"].claims


def test_a_corpus_without_truth_is_measured_by_its_sure_mouthings(tiny_copy: Corpus, tmp_path: Path) -> None:
    cells = KeptCells(tmp_path / "cells.jsonl")
    shutil.rmtree(tiny_copy.folder / "truth")
    (table,) = Plan(SIZES, tmp_path, cells, tiny_copy).chosen(["table4"])
    assert {column.measure for column in table.columns} == {"mouthings mAP", "mouthings R@5"}


def test_corpora_are_rendered_for_a_recogniser_that_sees_pixels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[Sizes] = []
    monkeypatch.setattr(command, "Plan", lambda sizes, *_: planned.append(sizes) or Plan(sizes, *_))  # type: ignore[func-returns-value]
    for recogniser in (None, Path("configs/rgb-small.toml")):
        command.main(["table6"], out=tmp_path, page_only=True, seeds=1, corpora=2, recogniser=recogniser)
    plain, pixels = (Plan(sizes, tmp_path, KeptCells(tmp_path / "no.jsonl")).chosen(["table6"])[0] for sizes in planned)
    for table, is_rendered in ((plain, False), (pixels, True)):
        assert {cell.corpus for cell in table.cells()} == {0, 1}
        assert {cell.key["corpus"]["corpus"]["options"].get("render", False) for cell in table.cells()} == {is_rendered}
