"""The page: paired differences and answers worked by hand; what is missing is said."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.paper.cells import Cell, KeptCells, Result
from experiments.paper.page import MISSING, Claim, Column, Row, Table, difference, judge, page_text, table_text

COLUMN = Column("seen", "mAP", "seen mAP")


def cell(name: str, values: dict[str, list[float]], corpus: int = 0, seed: int = 0) -> Cell:
    return Cell(
        corpus, seed, {"name": name, "corpus": corpus, "seed": seed}, lambda: Result({"mAP": values}, {"items": 9})
    )


def table(good: list[Cell], poor: list[Cell], relation: str = "above") -> Table:
    rows = (Row(("good",), {"seen": good}, {"seen mAP": 47.93}), Row(("poor",), {"seen": poor}, {"seen mAP": 44.7}))
    claim = Claim("good is above poor", "seen mAP", 0, 1, relation, "Because.")  # type: ignore[arg-type]
    return Table("table2", "Table 2", ("what",), (COLUMN,), rows, (claim,), ("items",))


def measured(cells_file: KeptCells, *new: Cell) -> None:
    for cell in new:
        cells_file.measure(cell)


def test_differences_are_paired_by_word_over_corpora_and_seeds() -> None:
    one = [(cell("a", {}, c, s), Result({"mAP": {"x": [0.5 + 0.1 * s], "y": [1.0]}})) for c in (0, 1) for s in (0, 1)]
    other = [(cell("b", {}, c, 0), Result({"mAP": {"x": [0.25], "z": [1.0]}})) for c in (0, 1)]
    gaps = difference(one, other, COLUMN)  # seed 1 has not been measured in the other row, y and z in one only
    assert gaps == {(0, "x"): 0.25, (1, "x"): 0.25}


@pytest.mark.parametrize(
    ("good", "poor", "relation", "answer"),
    [
        ([0.6, 0.8], [0.5, 0.6], "above", "holds"),
        ([0.5, 0.6], [0.6, 0.8], "above", "does not hold"),
        ([0.6, 0.5], [0.5, 0.6], "above", "undecided"),
        ([0.51, 0.49], [0.5, 0.5], "alike", "holds"),
        ([0.6, 0.8], [0.5, 0.6], "alike", "does not hold"),
        ([0.6, 0.5], [0.5, 0.6], "alike", "undecided"),
    ],
)
def test_answers_follow_the_interval(
    tmp_path: Path, good: list[float], poor: list[float], relation: str, answer: str
) -> None:
    cells = KeptCells(tmp_path / "cells.jsonl")
    one, other = (cell(n, {"x": [v[0]], "y": [v[1]]}) for n, v in (("good", good), ("poor", poor)))
    tabulated = table([one], [other], relation)
    assert judge(tabulated.claims[0], tabulated, cells).answer == MISSING
    measured(cells, one, other)
    judged = judge(tabulated.claims[0], tabulated, cells)
    assert judged.answer == answer
    assert ("Because." in judged.why) == (answer != "holds")
    gap = 100 * sum(a - b for a, b in zip(good, poor, strict=True)) / 2
    assert judged.ours.startswith(f"{gap:+.1f} [")
    assert "; 2 words; 1 corpus; 1 seed" in judged.why


def test_the_page_is_made_of_kept_cells_and_says_what_is_missing(tmp_path: Path) -> None:
    cells = KeptCells(tmp_path / "cells.jsonl")
    one, other = cell("good", {"x": [0.5], "y": [0.7]}), cell("poor", {"x": [0.25], "y": [0.45]})
    tabulated = table([one], [other])
    measured(cells, one)
    text = table_text(tabulated, cells)
    assert "| good | 9 | 60.0 [50.0, 70.0] (47.93) |" in text
    assert f"| poor | – | {MISSING} (44.7) |" in text
    assert "`table2`: 1 of 2 cells are measured." in text
    assert f"{MISSING}: 1" in page_text([tabulated], cells, "# Page")
    measured(cells, other)
    page = page_text([tabulated], cells, "# Page")
    assert page.startswith("# Page\n\n## Claims\n\nholds: 1, does not hold: 0, undecided: 0")
    claim = (
        "| table2 | good is above poor | seen mAP | 47.93, 44.7 | +25.0 [+25.0, +25.0] (60.0 and 35.0) | **holds** | "
    )
    assert claim in page
    control = replace(tabulated, rows=(tabulated.rows[0], replace(tabulated.rows[1], paper={})))
    assert judge(control.claims[0], control, cells).paper == "–"


def test_a_claim_shows_what_its_difference_is_of(tmp_path: Path) -> None:
    """A seed that one row alone has been measured with is in the table, and in no claim."""
    cells = KeptCells(tmp_path / "cells.jsonl")
    good = [cell("good", {"x": [0.5]}), cell("good", {"x": [0.9]}, seed=1)]
    poor = [cell("poor", {"x": [0.25]}), cell("poor", {"x": [0.25]}, seed=1)]
    tabulated = table(good, poor)
    measured(cells, *good, poor[0])
    assert "| good | 9 | 70.0 [" in table_text(tabulated, cells)
    judged = judge(tabulated.claims[0], tabulated, cells)
    assert judged.ours == "+25.0 [+25.0, +25.0] (50.0 and 25.0)"
    assert judged.why == "above 0; 1 words; 1 corpus; 1 seed"


def test_the_difference_stands_beside_for_each_corpus_and_seed(tmp_path: Path) -> None:
    cells = KeptCells(tmp_path / "cells.jsonl")
    places = [(corpus, seed) for corpus in (0, 1) for seed in (0, 1)]
    good = [cell("good", {"x": [0.5 + 0.2 * corpus + 0.1 * seed]}, corpus, seed) for corpus, seed in places]
    poor = [cell("poor", {"x": [0.5]}, corpus, seed) for corpus, seed in places]
    result = table(good, poor)
    measured(cells, *good, *poor)
    assert judge(result.claims[0], result, cells).why.endswith("2 words; by corpus +5.0, +25.0; by seed +10.0, +20.0")
