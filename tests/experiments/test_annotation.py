"""Two tiny worlds, made, annotated and measured; what is measured is read back as it was."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.annotated_worlds.abstaining import EVERYTHING, SCORE, TAUGHT
from experiments.annotated_worlds.measure import BELIEVED, PROBED, THRESHOLDS, Measured, measure_worlds
from experiments.annotated_worlds.tables import PAPER, promises, write_report
from experiments.annotated_worlds.worlds import WorldsSize, world_options
from signspot.errors import OptionsError

SIZE = WorldsSize(2, 8, 0.014)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("annotated")


@pytest.fixture(scope="module")
def worlds(out: Path) -> list[Measured]:
    return measure_worlds(SIZE, out)


def test_worlds_differ_in_words_and_seed() -> None:
    first, second = world_options(SIZE, 0), world_options(SIZE, 1)
    assert first.words != second.words
    assert first.seed != second.seed
    assert world_options(SIZE, 0) == first
    with pytest.raises(OptionsError, match="at least 1 world"):
        WorldsSize(0, 5, 1.0)


def test_everything_is_measured(worlds: list[Measured]) -> None:
    first, second = worlds
    assert [row.threshold for row in first.rows] == list(THRESHOLDS)
    assert 0.3 < first.right < 1
    assert first.rows[0].full.places <= first.queries
    assert {SCORE, EVERYTHING} <= set(first.orders)
    assert TAUGHT not in first.orders
    assert TAUGHT in second.orders
    places = [row.full.places for row in first.rows]
    assert places == sorted(places, reverse=True)
    believed = next(promise for promise in first.promises if promise.confidence == BELIEVED)
    wrong = (1 - believed.precision) * believed.answered * first.queries
    assert sum(first.mistakes.values()) == pytest.approx(wrong, abs=1e-6)


def test_padding_finds_more(worlds: list[Measured]) -> None:
    padded, unpadded = (
        next(s for s in worlds[0].sets if s.title == f"D, score ≥ {PROBED[-1]:g}{end}") for end in ("", ", no padding")
    )
    assert padded.accuracy.labels > unpadded.accuracy.labels
    assert set(PAPER) <= {s.title for s in worlds[0].sets}
    assert not worlds[1].sets


def test_what_is_done_is_read_back(worlds: list[Measured], out: Path) -> None:
    assert measure_worlds(SIZE, out) == worlds


def test_the_report_has_all_tables_and_pictures(worlds: list[Measured], out: Path) -> None:
    text = write_report(worlds, out)
    assert (out / "annotation.md").read_text() == text
    assert text.count("## ") == 6
    for name in (SCORE, EVERYTHING, TAUGHT, *PAPER):
        assert f"| {name} |" in text
    assert all((out / f"annotation-{name}.png").stat().st_size > 5000 for name in ("yield", "precision"))


def test_where_nothing_is_answered_there_is_no_precision(worlds: list[Measured]) -> None:
    """In no world, or in one of two: the mean is over the others."""
    nan = float("nan")
    silent = [replace(w, promises=tuple(replace(p, precision=nan, answered=0.0) for p in w.promises)) for w in worlds]
    assert "| ≥ 0.9 | 0.0 ± 0.0 | – |" in promises(silent)
    sure = replace(worlds[1], promises=tuple(replace(p, precision=0.75) for p in worlds[1].promises))
    assert promises([silent[0], sure]).count("| 75.0 |") == len(sure.promises)


def test_damaged_measurements_are_told(worlds: list[Measured], out: Path) -> None:
    (path,) = (out / "world-2").glob("measured-*.json")
    kept = path.read_text()
    path.write_text("{}")
    with pytest.raises(OptionsError, match="Remove it"):
        measure_worlds(SIZE, out)
    path.write_text(kept)
