"""What the verbs share: progress bars on stderr, results on stdout."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table

from signspot.progress import Progress
from signspot.records import Spotting


@contextmanager
def bar(title: str, unit: str = "") -> Iterator[Progress]:
    """Draw a progress bar on stderr; give what to report progress to."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(title, total=None)

        def report(done: int, total: int | None) -> None:
            bars.update(task, completed=done, total=total)

        yield report


def count(number: int, thing: str) -> str:
    """A number with its noun: "1 word", "2 words"."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def say(line: str) -> None:
    """A result, on stdout."""
    typer.echo(line)


def note(line: str) -> None:
    """A remark, on stderr."""
    typer.echo(line, err=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table on stdout, as wide as its content needs."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    needed = Console(file=sys.stdout, width=100_000).measure(table).maximum  # nothing is ever cut, in pipes neither
    Console(file=sys.stdout, width=max(needed, 1)).print(table, markup=False, highlight=False)


def print_spottings(spottings: Sequence[Spotting], *, as_json: bool, videos: bool = False) -> None:
    """Spottings on stdout: a table for people, of several videos with their names; JSON Lines for machines."""
    if as_json:
        for spotting in spottings:
            say(json.dumps(asdict(spotting), ensure_ascii=False))
        return
    if not spottings:
        return
    variants = any(s.variant for s in spottings)
    print_table(
        (
            *(("video",) if videos else ()),
            "time s",
            "from",
            "to",
            "word",
            *(("variant",) if variants else ()),
            "score",
            "exemplar",
            "",
        ),
        (
            (
                *((s.video,) if videos else ()),
                f"{s.time:.2f}",
                f"{s.start:.2f}",
                f"{s.end:.2f}",
                s.word,
                *((s.variant,) if variants else ()),
                f"{s.score:.3f}",
                s.exemplar,
                "mirrored" if s.mirrored else "",
            )
            for s in spottings
        ),
    )
