"""Tables: means and deviations beside the paper's, drawn; jobs in an order that gives whole tables early."""

from pathlib import Path

import pytest

from experiments.paper.cells import CellRecipe, Cells, Outcome
from experiments.paper.reproduce import TABLES
from experiments.paper.setup import Setting, Setup
from experiments.paper.table import Table, TableRow, as_markdown, draw, measurable, measure, published, summary
from signspot.words.synonyms import WordNet


def outcomes(table: Table, *shares: float) -> dict[tuple[int, Setting], list[Outcome]]:
    return {
        (row, setting): [Outcome(share, share / 2, 1.5 * share, 1234, 56, 789) for share in shares]
        for row in range(len(table.rows))
        for setting in table.settings
    }


def test_means_and_deviations_stand_beside_the_papers() -> None:
    table = TABLES["table2"]
    found = outcomes(table, 0.2, 0.4)
    assert summary(found[0, "seen"])[0] == pytest.approx((30.0, 14.1421356))
    lines = as_markdown(table, found).splitlines()
    assert lines[0].startswith("| embedding | learned by | seen mAP | seen R@5 | seen variant mAP | unseen mAP |")
    assert "| 30.0 ± 14.1 (47.93 ± 0.20) | 15.0 ± 7.1 (60.76 ± 1.45) | 45.0 ± 21.2 |" in lines[1 + len(table.rows)]
    assert lines[-1] == "1,234 queries of 56 words; per cent, mean ± deviation over 2 seeds; the paper's in brackets."
    assert "| 20.0 (19.81) |" in as_markdown(table, outcomes(table, 0.2))


def test_a_table_may_tell_how_much_was_trained_on() -> None:
    assert "| 0.9 | 789 | 20.0 (37.55) |" in as_markdown(TABLES["table4"], outcomes(TABLES["table4"], 0.2))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_can_be_drawn(name: str, tmp_path: Path) -> None:
    table = TABLES[name]
    assert draw(table, outcomes(table, 0.2, 0.4), tmp_path / "t.png").read_bytes()[:4] == b"\x89PNG"
    assert all(len(row.titles) == len(table.headings) for row in table.rows)


def test_progress_counts_hundredths_of_cells(tiny: Setup) -> None:
    rows = (TableRow(("trunk",), CellRecipe(learn=None)), TableRow(("nce",), CellRecipe(learn={"loss": "info_nce"})))
    told: list[tuple[int, int | None]] = []
    found = measure(Table("t", "T", ("what",), rows), Cells(tiny), 2, lambda done, total: told.append((done, total)))
    assert told[0] == (0, 300)  # nothing learned needs one seed, the other row two
    assert told[-1] == (300, 300)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert [len(found[0, "seen"]), len(found[1, "seen"])] == [1, 2]


def test_a_row_that_needs_what_is_missing_is_left_out(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    rows = (TableRow(("one",), CellRecipe()), TableRow(("two",), CellRecipe(), needs=lambda: WordNet(tmp_path)))
    table = measurable(Table("t", "T", ("what",), rows))
    assert [row.titles for row in table.rows] == [("one",)]
    assert "t: the row 'two' is left out. English synonyms need WordNet" in caplog.text


def test_what_the_paper_reports() -> None:
    assert published(1.0, 2.0) == ((1.0, None), (2.0, None))
    assert published(1.0, 2.0, (0.1, 0.2)) == ((1.0, 0.1), (2.0, 0.2))
