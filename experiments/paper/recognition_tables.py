"""Tables 6 to 8: what recognisers learn from labels M, D and both; beside the paper's, and whether its orders hold."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from experiments.paper.labelled_corpora import (
    LOOSE,
    MIDDLE,
    STRICT,
    BobslCorpus,
    LabelledCorpus,
    RecognitionSize,
    as_bobsl,
    make_labelled_corpus,
)
from experiments.paper.recognition_cells import CellOutcome, LabelChoice, RecognitionCells
from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.io.files import atomic_write, text_digest
from signspot.io.progress import Stage
from signspot.metrics.bootstrap import Interval, bootstrap_mean
from signspot.metrics.ranking import Group
from signspot.plots.curves import plural
from signspot.recognition.scoring import ALL, MOUTHED

NEAREST = "warping"  # the training-free encoder whose nearest exemplar stands beside
_METRICS = ("top-1", "top-5", "words' top-1", "words' top-5")
_COLOURS = {MOUTHED: "#0072b2", ALL: "#e69f00"}


@dataclass(frozen=True, slots=True)
class RecognitionRow:
    """One row: which labels, and what the paper reports by set of test signs."""

    title: str
    choice: LabelChoice
    paper: Mapping[str, tuple[float, float, float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecognitionTable:
    """A table, and the orders of rows that the paper found: the first above the second."""

    name: str
    title: str
    rows: tuple[RecognitionRow, ...]
    sets: tuple[str, ...]
    orders: tuple[tuple[int, int], ...]  # pairs of rows
    bobsl: bool = False  # the labels go through files of BOBSL's form


_M5, _M8 = LabelChoice(mouthing=0.5), LabelChoice(mouthing=0.8)
_D = {least: LabelChoice(dictionary=least) for least in (STRICT, MIDDLE, LOOSE)}
_BOTH = LabelChoice(0.5, LOOSE)

TABLE_6 = RecognitionTable(
    "table6",
    "Table 6: a recogniser on M, on D and on both",
    (
        RecognitionRow("M ≥ 0.5", _M5, {MOUTHED: (76.6, 89.2, 54.6, 71.8), ALL: (26.4, 41.3, 19.4, 33.2)}),
        RecognitionRow("M ≥ 0.8", _M8),
        RecognitionRow(f"D ≥ {LOOSE:g}", _D[LOOSE], {MOUTHED: (70.8, 84.9, 52.7, 68.1), ALL: (60.9, 80.3, 34.7, 53.5)}),
        RecognitionRow(
            f"M ≥ 0.5 + D ≥ {LOOSE:g}", _BOTH, {MOUTHED: (80.8, 92.1, 60.5, 79.9), ALL: (62.3, 81.3, 40.2, 60.1)}
        ),
    ),
    (MOUTHED, ALL),
    ((3, 0), (3, 2), (2, 0)),
)
TABLE_7 = RecognitionTable(
    "table7",
    "Table 7: threshold, padding and vocabulary of D",
    (
        RecognitionRow(f"D ≥ {STRICT:g}", _D[STRICT], {ALL: (28.4, 44.8, 15.8, 28.8)}),
        RecognitionRow(f"D ≥ {MIDDLE:g}", _D[MIDDLE], {ALL: (60.6, 78.0, 35.6, 52.6)}),
        RecognitionRow(f"D ≥ {LOOSE:g}", _D[LOOSE], {ALL: (60.9, 80.3, 34.7, 53.5)}),
        RecognitionRow(
            f"D ≥ {LOOSE:g}, no padding", LabelChoice(dictionary=LOOSE, padded=False), {ALL: (56.5, 75.9, 28.7, 45.4)}
        ),
        RecognitionRow(f"D ≥ {LOOSE:g}, all words", LabelChoice(dictionary=LOOSE, vocabulary="full")),
    ),
    (ALL,),
    ((2, 0), (1, 0), (2, 1), (2, 3)),
)
TABLE_8 = RecognitionTable(
    "table8",
    "Table 8: labels out of files as BOBSL publishes them",
    (
        RecognitionRow("M ≥ 0.8", _M8, {ALL: (39.0, 55.1, 43.0, 66.3)}),
        RecognitionRow("M ≥ 0.5", _M5, {ALL: (39.6, 55.2, 44.3, 66.3)}),
        RecognitionRow(f"D ≥ {STRICT:g}", _D[STRICT], {ALL: (24.0, 39.5, 4.5, 9.6)}),
        RecognitionRow(f"D ≥ {MIDDLE:g}", _D[MIDDLE], {ALL: (63.2, 79.0, 25.7, 41.2)}),
        RecognitionRow(f"D ≥ {LOOSE:g}", _D[LOOSE], {ALL: (64.8, 80.8, 29.1, 44.7)}),
        RecognitionRow(f"M ≥ 0.8 + D ≥ {MIDDLE:g}", LabelChoice(0.8, MIDDLE), {ALL: (75.8, 92.4, 50.5, 77.6)}),
        RecognitionRow(f"M ≥ 0.5 + D ≥ {LOOSE:g}", _BOTH, {ALL: (75.8, 92.5, 51.1, 77.1)}),
    ),
    (ALL,),
    ((5, 0), (5, 3), (6, 1), (6, 4), (4, 3), (3, 2)),
    bobsl=True,
)
TABLES = {table.name: table for table in (TABLE_6, TABLE_7, TABLE_8)}
Outcomes = Mapping[int, Sequence[tuple[int, CellOutcome]]]  # row → labelled and outcome, by labelled and seed


def measure(
    table: RecognitionTable, size: RecognitionSize, out: Path, corpus: Corpus | None, stage: Stage
) -> tuple[Outcomes, list[tuple[int, CellOutcome]]]:
    """Measure all cells of a table, seed by seed, so that a run that is stopped has whole tables.

    Args:
        table: which.
        size: of the synthetic corpora and trainings.
        out: folder; what is there already is not made again.
        corpus: in place of the synthetic corpora, for a table whose labels come out of files: those are its own.
        stage: shows progress.

    Returns:
        The outcomes of every row, and those of the nearest exemplar.
    """
    corpora = _corpora(table, size, out, corpus, stage)
    cells = RecognitionCells(out, size.training, size.device)
    jobs = [(seed, n, row) for seed in range(size.seeds) for n in range(len(corpora)) for row in range(len(table.rows))]
    found: dict[int, list[tuple[int, CellOutcome]]] = {}
    with stage(table.name) as progress:
        for done, (seed, number, row) in enumerate(jobs):
            progress(done, len(jobs))
            outcome = cells.measure(corpora[number], table.rows[row].choice, seed)
            found.setdefault(row, []).append((number, outcome))
        progress(len(jobs), len(jobs))
    nearest = [(number, cells.nearest(labelled, NEAREST)) for number, labelled in enumerate(corpora)]
    return found, nearest


def _corpora(
    table: RecognitionTable, size: RecognitionSize, out: Path, corpus: Corpus | None, stage: Stage
) -> Sequence[LabelledCorpus]:
    if corpus is not None:
        if not corpus.in_split("train") or not corpus.in_split("test"):
            raise OptionsError(f"{corpus.folder} has no training or no test videos. Name them in its splits.json")
        folder = out / f"given-{text_digest(str(corpus.folder.resolve()))}"
        return [
            (BobslCorpus if table.bobsl else LabelledCorpus)(corpus.folder.name, folder, corpus, size.encoder, stage)
        ]
    made = [make_labelled_corpus(size, number, out, stage) for number in range(size.corpora)]
    return [as_bobsl(labelled) for labelled in made] if table.bobsl else made


def by_word(outcomes: Sequence[tuple[int, CellOutcome]], tested: str, best: int) -> dict[Group, list[float]]:
    """(labelled, word) → the share of its signs whose word is among the best, seed by seed."""
    shares: dict[Group, list[float]] = {}
    for labelled, outcome in outcomes:
        for word, ranks in outcome.ranks.get(tested, {}).items():
            shares.setdefault((labelled, word), []).append(statistics.mean(rank <= best for rank in ranks))
    return shares


def accuracies(outcomes: Sequence[tuple[int, CellOutcome]], tested: str) -> tuple[float, float, Interval, Interval]:
    """Top 1 and top 5 over signs, and over words with 95 % intervals over words; means over corpora and seeds."""
    ranks = [[rank for own in o.ranks.get(tested, {}).values() for rank in own] for _, o in outcomes]
    one, five = (statistics.mean([float(np.mean(np.array(own) <= k)) for own in ranks if own]) for k in (1, 5))
    return one, five, bootstrap_mean(by_word(outcomes, tested, 1)), bootstrap_mean(by_word(outcomes, tested, 5))


def difference(
    above: Sequence[tuple[int, CellOutcome]], below: Sequence[tuple[int, CellOutcome]], tested: str
) -> Interval:
    """By how much the words' top 1 of one row is above another's, word by word, with an interval over words."""
    one, other = (by_word(each, tested, 1) for each in (above, below))
    return bootstrap_mean({word: [statistics.mean(one[word]) - statistics.mean(other[word])] for word in one})


def as_markdown(
    table: RecognitionTable, outcomes: Outcomes, nearest: Sequence[tuple[int, CellOutcome]], size: RecognitionSize
) -> str:
    """The table, the orders that the paper found, and what it was measured on."""
    tested = [name for name in _tested(outcomes) if name in table.sets] or _tested(outcomes)
    heads = ["labels", "number", "right", *(f"{metric}, {name}" for name in tested for metric in _METRICS)]
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for index, row in enumerate(table.rows):
        own = [outcome for _, outcome in outcomes[index]]
        right = [outcome.right for outcome in own if outcome.right is not None]
        cells = [row.title, f"{statistics.mean(o.labels for o in own):,.0f}"]
        cells += [f"{100 * statistics.mean(right):.0f} %" if right else "–"]
        cells += [cell for name in tested for cell in _cells(outcomes[index], name, row.paper.get(name))]
        lines.append(f"| {' | '.join(cells)} |")
    cells = [f"nearest exemplar, {NEAREST}", "0", "–", *(c for name in tested for c in _cells(nearest, name, None))]
    lines.append(f"| {' | '.join(cells)} |")
    orders = [_order(table, outcomes, pair, name) for name in tested for pair in table.orders]
    corpora = len({labelled for labelled, _ in nearest})
    signs = {name: sum(len(own) for _, o in nearest for own in o.ranks.get(name, {}).values()) for name in tested}
    counted = ", ".join(f"{count:,} {name}" for name, count in signs.items())
    said = (
        f"{plural(corpora, 'labelled')}, {plural(size.seeds, 'seed')}, "
        f"{size.training.steps} steps of {size.training.clips.clips} clips each; "
        f"tested on {counted}; per cent; 95 % intervals over words in square brackets, the paper's in round ones."
    )
    return "\n".join([*lines, "", *orders, "", said]) + "\n"


def _tested(outcomes: Outcomes) -> list[str]:
    return list(dict.fromkeys(name for own in outcomes.values() for _, outcome in own for name in outcome.ranks))


def _cells(
    outcomes: Sequence[tuple[int, CellOutcome]], tested: str, paper: tuple[float, float, float, float] | None
) -> list[str]:
    one, five, *words = accuracies(outcomes, tested)
    ours = [f"{100 * one:.1f}", f"{100 * five:.1f}", _percent(words[0]), f"{100 * words[1].value:.1f}"]
    return [mine + (f" ({theirs})" if paper else "") for mine, theirs in zip(ours, paper or (0,) * 4, strict=True)]


def _order(table: RecognitionTable, outcomes: Outcomes, pair: tuple[int, int], tested: str) -> str:
    first, second = pair
    gap = difference(outcomes[first], outcomes[second], tested)
    judgement = "holds" if gap.low > 0 else "does not hold" if gap.high < 0 else "not decided"
    rows = f"{table.rows[first].title} above {table.rows[second].title}"
    return f"* {rows}, {tested}: {judgement} (words' top-1 {_percent(gap, sign='+')})"


def _percent(interval: Interval, sign: str = "") -> str:
    low, high = 100 * interval.low, 100 * interval.high
    return f"{100 * interval.value:{sign}.1f} [{low:{sign}.1f}, {high:{sign}.1f}]"


def draw(table: RecognitionTable, outcomes: Outcomes, nearest: Sequence[tuple[int, CellOutcome]], path: Path) -> Path:
    """Words' top 1 as bars with intervals over words, the paper's as marks."""
    from matplotlib.figure import Figure

    tested = [name for name in _tested(outcomes) if name in table.sets] or _tested(outcomes)
    titles = [*(row.title for row in table.rows), f"nearest exemplar, {NEAREST}"]
    figure = Figure(figsize=(9, 1.4 + 0.32 * len(titles) * len(tested)), layout="constrained")
    figure.suptitle(table.title, fontsize=11)
    axes = figure.add_subplot(xlabel="words' top-1, %", yticks=range(len(titles)), yticklabels=titles)
    width = 0.8 / len(tested)
    marks: dict[str, Any] = {"marker": "|", "s": 140, "color": "black", "zorder": 3}
    for number, name in enumerate(tested):
        places = [index + (number - (len(tested) - 1) / 2) * width for index in range(len(titles))]
        found = [accuracies(own, name)[2] for own in (*(outcomes[i] for i in range(len(table.rows))), nearest)]
        errors = np.array([(each.value - each.low, each.high - each.value) for each in found]).T
        bars: dict[str, Any] = {"height": 0.9 * width, "color": _COLOURS.get(name, "#009e73"), "label": name}
        axes.barh(places, [100 * each.value for each in found], xerr=100 * np.maximum(errors, 0), **bars)
        known = [
            (row.paper[name][2], place) for row, place in zip(table.rows, places, strict=False) if name in row.paper
        ]
        axes.scatter([value for value, _ in known], [place for _, place in known], **marks)
    axes.scatter([], [], label="the paper", **marks)
    axes.set_ylim(len(titles) - 0.5, -0.5)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, dpi=100)
    return path
