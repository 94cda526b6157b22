"""The page of results: tables, and the paper's claims with intervals over words; written from kept cells alone."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from experiments.markdown import head
from experiments.markdown import row as markdown_row
from experiments.paper.cells import Cell, KeptCells, Result
from signspot.metrics.bootstrap import Interval, bootstrap_mean
from signspot.metrics.ranking import Group

Relation = Literal["above", "alike"]
ALIKE = 0.03  # the paper calls a difference of 2.0 points of mAP insignificant, and one of 3.2 an improvement
MISSING = "not measured yet"
Measured = Sequence[tuple[Cell, Result]]


@dataclass(frozen=True, slots=True)
class Column:
    """A measure of one part of a row's cells."""

    part: str
    measure: str
    heading: str
    weighting: Literal["group", "instance"] = "group"  # mean over words, or over all queries


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its cells by part, such as seen and unseen words, and what the paper reports by column."""

    titles: tuple[str, ...]
    cells: Mapping[str, Sequence[Cell]]
    paper: Mapping[str, float] = field(default_factory=dict)  # heading of the column → per cent


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that the paper finds, or that a control asks: one row is above another, or they are alike."""

    text: str
    column: str  # heading
    first: int  # row
    second: int  # row
    relation: Relation = "above"
    remark: str = ""  # said where it does not hold, or is not decided


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the paper, with the claims that it is to decide."""

    name: str  # on the command line
    title: str
    headings: tuple[str, ...]  # of the titles of rows
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...] = ()
    counts: tuple[str, ...] = ()  # shown beside: what was learned from
    note: str = ""

    def cells(self) -> list[Cell]:
        """All cells, each once, with the first seed that has it."""
        return _once(cell for row in self.rows for part in row.cells.values() for cell in part)

    def column(self, heading: str) -> Column:
        """A column by its heading."""
        return next(column for column in self.columns if column.heading == heading)


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A claim with its difference: holds, does not hold, undecided, or not measured yet."""

    claim: Claim
    paper: str  # its numbers of both rows; a dash: it has none
    answer: str
    ours: str
    why: str


def values_of(measured: Measured, column: Column) -> dict[Group, list[float]]:
    """(corpus, word) → all values, seed after seed."""
    values: dict[Group, list[float]] = {}
    for cell, result in measured:
        for word, of_word in result.values.get(column.measure, {}).items():
            values.setdefault((cell.corpus, word), []).extend(of_word)
    return values


def paired(first: Measured, second: Measured) -> tuple[Measured, Measured]:
    """The cells of two rows on corpora and with seeds that both have been measured with."""
    both = {(cell.corpus, cell.seed) for cell, _ in first} & {(cell.corpus, cell.seed) for cell, _ in second}
    first_pairs, second_pairs = (
        [pair for pair in row if (pair[0].corpus, pair[0].seed) in both] for row in (first, second)
    )
    return first_pairs, second_pairs


def difference(first: Measured, second: Measured, column: Column) -> dict[Group, float]:
    """By (corpus, word), how far one row is above another; only what both have been measured on."""
    first_values, second_values = (values_of(row, column) for row in paired(first, second))
    return {
        group: statistics.fmean(first_values[group]) - statistics.fmean(second_values[group])
        for group in first_values
        if group in second_values
    }


def judge(claim: Claim, table: Table, cells: KeptCells) -> JudgedClaim:
    """Decide a claim by the interval over words of the difference."""
    column, rows = table.column(claim.column), [table.rows[row] for row in (claim.first, claim.second)]
    numbers = [row.paper[claim.column] for row in rows if claim.column in row.paper]
    paper = ", ".join(f"{number:g}" for number in numbers) if len(numbers) == len(rows) else "–"
    first, second = paired(*(_measured(row, column, cells) for row in rows))
    gaps = difference(first, second, column)
    if not gaps:
        return JudgedClaim(claim, paper, MISSING, "–", "")
    gap = bootstrap_mean({group: [value] for group, value in gaps.items()})
    first_mean, second_mean = (bootstrap_mean(values_of(row, column)).value for row in (first, second))
    ours = f"{percent(gap, sign='+')} ({100 * first_mean:.1f} and {100 * second_mean:.1f})"
    if claim.relation == "alike":
        low, high = -ALIKE, ALIKE
        inside, outside = low <= gap.low and gap.high <= high, gap.high < low or gap.low > high
        answer = "holds" if inside else "does not hold" if outside else "undecided"
        interval_lies = "within" if inside else "outside" if outside else "partly outside"
        reason = f"{interval_lies} ± {100 * ALIKE:.0f} points"
    else:
        answer = "holds" if gap.low > 0 else "does not hold" if gap.high < 0 else "undecided"
        reason = {"holds": "above 0", "does not hold": "below 0"}.get(answer, "contains 0")
    parts = (_by("corpus", first, second, column), _by("seed", first, second, column))
    why = "; ".join((reason, f"{len(gaps)} words", *parts))
    why += f". {claim.remark}" if claim.remark and answer != "holds" else ""
    return JudgedClaim(claim, paper, answer, ours, why)


def _by(name: Literal["corpus", "seed"], first: Measured, second: Measured, column: Column) -> str:
    """The mean difference of each corpus or seed alone; of one, that there is no other."""
    numbers = sorted({getattr(cell, name) for cell, _ in first})
    if len(numbers) == 1:
        return f"1 {name}"
    means = []
    for number in numbers:
        first_pairs, second_pairs = (
            [pair for pair in row if getattr(pair[0], name) == number] for row in (first, second)
        )
        means.append(f"{100 * statistics.fmean(difference(first_pairs, second_pairs, column).values()):+.1f}")
    return f"by {name} {', '.join(means)}"


def _measured(row: Row, column: Column, cells: KeptCells) -> Measured:
    return [(cell, result) for cell in row.cells.get(column.part, ()) if (result := cells.read(cell)) is not None]


def percent(interval: Interval, sign: str = "") -> str:
    """A share in per cent with its interval."""
    low, high = 100 * interval.low, 100 * interval.high
    return f"{100 * interval.value:{sign}.1f} [{low:{sign}.1f}, {high:{sign}.1f}]"


def table_text(table: Table, stored: KeptCells) -> str:
    """A table in Markdown: ours with intervals over words, the paper's in brackets."""
    headings = [*table.headings, *table.counts, *(column.heading for column in table.columns)]
    lines = [f"### {table.title}", "", head(*headings)]
    done = total = 0
    for row in table.rows:
        measured = {column: _measured(row, column, stored) for column in table.columns}
        first = next((cells for cells in measured.values() if cells), [])
        counts = [[r.counts[name] for _, r in first if name in r.counts] for name in table.counts]
        texts = [f"{statistics.fmean(values):,.0f}" if values else "–" for values in counts]
        texts += [_text(measured[column], column, row.paper.get(column.heading)) for column in table.columns]
        lines.append(markdown_row(*row.titles, *texts))
        cells = _once(cell for part in row.cells.values() for cell in part)
        done, total = done + sum(stored.read(cell) is not None for cell in cells), total + len(cells)
    measured_cells = f"`{table.name}`: {done} of {total} cells are measured. {table.note}".strip()
    return "\n".join([*lines, "", measured_cells, ""])


def _text(measured: Measured, column: Column, paper: float | None) -> str:
    values = values_of(measured, column)
    ours = percent(bootstrap_mean(values, weighting=column.weighting)) if values else MISSING
    return ours + (f" ({paper:g})" if paper is not None else "")


def _once(cells: Iterable[Cell]) -> list[Cell]:
    """Each cell once: of a row that learns nothing, all seeds are one."""
    first: dict[str, Cell] = {}
    for cell in cells:
        first.setdefault(str(cell.key), cell)
    return list(first.values())


def page_text(tables: Sequence[Table], cells: KeptCells, introduction: str) -> str:
    """The whole page: every claim with its answer, then every table."""
    judged_claims = [(table, judge(claim, table, cells)) for table in tables for claim in table.claims]
    counts = {answer: sum(judged.answer == answer for _, judged in judged_claims) for answer in _ANSWERS}
    lines = [introduction, "", "## Claims", "", ", ".join(f"{answer}: {count}" for answer, count in counts.items()), ""]
    headings = ["table", "claim", "measure", "the paper", "ours: difference, and both", "answer", "why"]
    lines.append(head(*headings))
    for table, judged in judged_claims:
        claim, answer = judged.claim, f"**{judged.answer}**"
        lines.append(markdown_row(table.name, claim.text, claim.column, judged.paper, judged.ours, answer, judged.why))
    return "\n".join([*lines, "", "## Tables", "", *(table_text(table, cells) for table in tables)])


_ANSWERS = ("holds", "does not hold", "undecided", MISSING)
