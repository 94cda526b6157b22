"""A table of the paper: named rows, each a recipe; ours beside the paper's, in Markdown and as a plot."""

import logging
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from experiments.paper.cells import CellRecipe, Cells, Outcome
from experiments.paper.setup import Setting
from signspot.errors import MissingExtraError
from signspot.io.files import atomic_write
from signspot.io.progress import Progress, silent

logger = logging.getLogger(__name__)

Number = tuple[float, float | None]  # a mean and a deviation, in per cent
Pair = tuple[Number, Number]  # mAP and R@5, as the paper reports them
METRICS = ("mAP", "R@5", "variant mAP")  # the last one is ours
Outcomes = Mapping[tuple[int, Setting], Sequence[Outcome]]  # row and setting → one outcome a seed

_COLOURS: dict[Setting, str] = {"seen": "#0072b2", "unseen": "#e69f00"}
_STEPS = 100  # into which the progress of one cell is divided


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: what it is called, what is done, and what the paper reports."""

    titles: tuple[str, ...]  # one for each heading of the table
    recipe: CellRecipe
    paper: Mapping[Setting, Pair] = field(default_factory=dict)
    needs: Callable[[], object] | None = None  # raises MissingExtraError where the row cannot be measured


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the paper."""

    name: str  # on the command line
    title: str
    headings: tuple[str, ...]
    rows: tuple[TableRow, ...]
    settings: tuple[Setting, ...] = ("seen",)
    sizes: bool = False  # a column says how many items were trained on
    curves: bool = False  # drawn as curves over the last heading, one for each value of the first


def published(
    precision: float, recall: float, deviations: tuple[float, float] | tuple[None, None] = (None, None)
) -> Pair:
    """The paper's number for one cell."""
    return (precision, deviations[0]), (recall, deviations[1])


def measure(table: Table, cells: Cells, seeds: int, progress: Progress = silent) -> Outcomes:
    """Measure all cells of a table, seed by seed, so that a run that is stopped has whole tables."""
    jobs = list(_jobs(table, seeds))
    found: dict[tuple[int, Setting], list[Outcome]] = {}
    for done, (row, setting, seed) in enumerate(jobs):
        within = _part(progress, done, len(jobs))
        within(0, 1)
        found.setdefault((row, setting), []).append(cells.measure(table.rows[row].recipe, setting, seed, within))
    progress(len(jobs) * _STEPS, len(jobs) * _STEPS)
    return found


def measurable(table: Table) -> Table:
    """The table without the rows that need what is not installed."""
    rows = []
    for row in table.rows:
        try:
            if row.needs is not None:
                row.needs()
            rows.append(row)
        except MissingExtraError as error:
            logger.warning("%s: the row '%s' is left out. %s", table.name, ", ".join(row.titles), error)
    return replace(table, rows=tuple(rows))


def prepare(table: Table, cells: Cells, seeds: int) -> None:
    """Make the corpus, the trunks and the features that a table needs; each shows its own progress."""
    for row, setting, seed in _jobs(table, seeds):
        cells.prepare(table.rows[row].recipe, setting, seed)


def _jobs(table: Table, seeds: int) -> Iterator[tuple[int, Setting, int]]:
    """TableRow, setting, seed; where nothing is learned, one seed is enough."""
    for seed in range(seeds):
        for index, row in enumerate(table.rows):
            if seed == 0 or row.recipe.learn is not None:
                yield from ((index, setting, seed) for setting in table.settings)


def _part(progress: Progress, before: int, cells: int) -> Progress:
    """Reports a cell's progress as a part of the table's."""

    def report(done: int, total: int | None) -> None:
        progress(before * _STEPS + (_STEPS * done // total if total else 0), cells * _STEPS)

    return report


def summary(outcomes: Sequence[Outcome]) -> tuple[Number, ...]:
    """Mean and deviation over seeds of each metric, in per cent."""
    shares = [(o.mean_average_precision, o.recall_5, o.variant_precision) for o in outcomes]
    return tuple(mean_and_deviation(values) for values in zip(*shares, strict=True))


def mean_and_deviation(shares: Sequence[float]) -> Number:
    """Of shares in [0, 1], in per cent; no deviation of a single one."""
    return 100 * statistics.mean(shares), 100 * statistics.stdev(shares) if len(shares) > 1 else None


def as_markdown(table: Table, outcomes: Outcomes) -> str:
    """The table: ours, and the paper's in brackets; below it, what it was measured on."""
    names = [f"{setting} {metric}" for setting in table.settings for metric in METRICS]
    if len(table.settings) == 1:
        names = list(METRICS)
    headings = [*table.headings, *(["items"] if table.sizes else []), *names]
    lines = [f"| {' | '.join(headings)} |", "|" + "---|" * len(headings)]
    for index, row in enumerate(table.rows):
        cells = [*row.titles, *([f"{outcomes[index, table.settings[0]][0].items:,}"] if table.sizes else [])]
        for setting in table.settings:
            ours = summary(outcomes[index, setting])
            cells += [_cell(*both) for both in zip_longest(ours, row.paper.get(setting, ()))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", _remark(table, outcomes)]) + "\n"


def _remark(table: Table, outcomes: Outcomes) -> str:
    first = next(iter(outcomes.values()))[0]
    seeds = max(map(len, outcomes.values()))
    over = f"mean ± deviation over {seeds} seeds" if seeds > 1 else "one seed"
    theirs = "; the paper's in brackets" if any(row.paper for row in table.rows) else ""
    return f"{first.queries:,} queries of {first.words:,} words; per cent, {over}{theirs}."


def _cell(ours: Number, paper: Number | None) -> str:
    return shown(ours, 1) + (f" ({shown(paper, 2)})" if paper else "")


def shown(number: Number, digits: int) -> str:
    """A mean, with its deviation where there is one."""
    mean, deviation = number
    return f"{mean:.{digits}f}" + (f" ± {deviation:.{digits}f}" if deviation is not None else "")


def draw(table: Table, outcomes: Outcomes, path: Path) -> Path:
    """Our numbers with deviations, and the paper's as marks: bars, or curves over a value."""
    from matplotlib.figure import Figure

    tall = 3.4 if table.curves else 1.6 + 0.32 * len(table.rows) * len(table.settings)
    figure = Figure(figsize=(10, tall), layout="constrained")
    figure.suptitle(table.title, fontsize=11)
    (_draw_curves if table.curves else _draw_bars)(figure, table, outcomes)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, dpi=100)
    return path


def _draw_bars(figure: Any, table: Table, outcomes: Outcomes) -> None:
    titles = [", ".join(row.titles) for row in table.rows]
    width = 0.8 / len(table.settings)
    for metric, axes in enumerate(figure.subplots(1, len(METRICS), sharey=True)):
        for number, setting in enumerate(table.settings):
            ours = [summary(outcomes[index, setting])[metric] for index in range(len(table.rows))]
            places = [index + (number - (len(table.settings) - 1) / 2) * width for index in range(len(table.rows))]
            bars = {"height": 0.95 * width, "color": _COLOURS[setting], "label": f"{setting} words"}
            axes.barh(places, [mean for mean, _ in ours], xerr=[sd or 0.0 for _, sd in ours], **bars)
            paper = [
                (row.paper[setting][metric][0], place)
                for row, place in zip(table.rows, places, strict=True)
                if setting in row.paper and metric < len(row.paper[setting])
            ]
            marks = {"marker": "|", "s": 140, "color": "black", "zorder": 3}
            axes.scatter([mean for mean, _ in paper], [place for _, place in paper], **marks)
        axes.scatter([], [], label="the paper, BSL-1K", **marks)
        axes.set(
            xlabel=f"{METRICS[metric]}, %",
            yticks=range(len(titles)),
            yticklabels=titles,
            ylim=(len(titles) - 0.5, -0.5),
        )
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)


def _draw_curves(figure: Any, table: Table, outcomes: Outcomes) -> None:
    panels = list(dict.fromkeys(row.titles[0] for row in table.rows))
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        mine = [index for index, row in enumerate(table.rows) if row.titles[0] == panel]
        values = [float(table.rows[index].titles[-1]) for index in mine]
        found = [summary(outcomes[index, table.settings[0]]) for index in mine]
        for metric, colour in enumerate(("#0072b2", "#e69f00", "#009e73")):
            means, deviations = zip(*(numbers[metric] for numbers in found), strict=True)
            style = {"label": METRICS[metric], "color": colour, "marker": "o"}
            axes.errorbar(values, means, [sd or 0.0 for sd in deviations], **style)
        axes.set(xscale="log", xlabel=panel, ylabel="%", xticks=values, xticklabels=[f"{value:g}" for value in values])
        axes.minorticks_off()
        axes.legend()
