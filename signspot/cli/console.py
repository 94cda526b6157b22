"""Shared by the verbs: progress on stderr, results on stdout, and the claims of what will be written."""

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from signspot.io.control_characters import escape_control_characters
from signspot.io.files import Outputs, note_written
from signspot.io.progress import Progress

if TYPE_CHECKING:  # what takes long to load is loaded when it is used: signspot --help needs none of it
    from rich.progress import Task

    from signspot.plots.plot import PlotKind
    from signspot.types import Spotting

unprinted: list[str] = []  # why results could not be printed; told at the end, with exit code 1
_FIRST_LINE, _NEXT_LINE = 5.0, 30.0  # seconds until a line of progress, where stderr is no terminal


def claim_outputs(
    outputs: Outputs,
    spottings: Iterable[Path] | None = None,
    pictures: Iterable[tuple["PlotKind", Path | None]] = (),
    videos: Sequence[str] = (),
) -> None:
    """Claim files of spottings and pictures before long work; of several videos, those that carry their names.

    Raises:
        RefusedOutputError: a suffix is unknown, or a file would be lost.
    """
    from signspot.formats.formats import output_paths
    from signspot.formats.rows import Authorship, authorship

    for path in spottings or ():
        for target in output_paths(path, videos):
            if authorship(target) is Authorship.UNEDITED:  # written by signspot on another machine
                note_written(target)
            outputs.claim(target)
    wanted = [(picture, path) for picture, path in pictures if path is not None]
    if wanted:
        from signspot.plots.plot import check_plot_path

        for picture, path in wanted:
            outputs.claim(check_plot_path(picture, path))


@contextmanager
def bar(title: str, unit: str = "") -> Iterator[Progress]:
    """Draw progress on stderr: a bar on a terminal, elsewhere a line now and then; give what to report to."""
    from rich.console import Console
    from rich.progress import BarColumn, ProgressColumn, TextColumn
    from rich.progress import Progress as Bars
    from rich.text import Text

    console = Console(stderr=True)
    if not console.is_terminal:
        with _lines(title, unit) as report:
            yield report
        return

    class Amount(ProgressColumn):
        """The pace of the task, as a column of the bar."""

        def render(self, task: "Task") -> Text:
            return Text(pace.amount(int(task.completed), None if task.total is None else int(task.total)))

    pace = _Pace(unit)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=14), Amount())
    with Bars(*columns, console=console, transient=True) as bars:
        task = bars.add_task(title, total=None)

        def report_to_bar(done: int, total: int | None) -> None:
            bars.update(task, completed=done, total=total)

        yield report_to_bar


class _Pace:
    """Progress and the time that is left, by the pace since the first work was reported.

    What came before it, in an earlier run or to prepare, says nothing of the rest.
    """

    def __init__(self, unit: str):
        self._unit = f" {unit}" if unit else ""
        self._began = time.monotonic()
        self._first: tuple[int, float] | None = None

    def amount(self, done: int, total: int | None) -> str:
        """Work done, of frames how many per second, and the time left or, where nobody knows, that has passed."""
        now = time.monotonic()
        if done <= 0:
            return f"starting, {duration(now - self._began)}"
        first, since = self._first = self._first or (done, now)
        if not total:
            return f"{done:,}{self._unit}, {duration(now - self._began)} so far"
        if done <= first:
            return f"{done:,} of {total:,}{self._unit}"
        each = (now - since) / (done - first)
        rate = f", {1 / each:.{0 if each < 0.1 else 1}f} per second" if self._unit == " frames" and each > 0 else ""
        return f"{done:,} of {total:,}{self._unit}{rate}, {duration(each * max(total - done, 0))} left"


@contextmanager
def _lines(title: str, unit: str) -> Iterator[Progress]:
    """Progress as lines, for logs: none of short work."""
    began = last = time.monotonic()
    shown, pace = False, _Pace(unit)

    def report(done: int, total: int | None) -> None:
        nonlocal last, shown
        now = time.monotonic()
        amount = pace.amount(done, total)
        if now - last >= (_NEXT_LINE if shown else _FIRST_LINE):
            last, shown = now, True
            note(f"{title}: {amount}")

    yield report
    if shown:
        note(f"{title}: done in {duration(time.monotonic() - began)}")


def duration(seconds: float) -> str:
    """Seconds as people say them: 8 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def count(number: int, thing: str) -> str:
    """A number with its noun: "1 word", "2 words"."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _escaped(text: str) -> str:
    """Text of several lines, without characters that command a terminal."""
    return "\n".join(escape_control_characters(line, bidirectional=True) for line in text.split("\n"))


def say(line: str) -> None:
    """A result, on stdout."""
    _emit(_escaped(line))


def note(line: str) -> None:
    """A remark, on stderr, where somebody listens."""
    with suppress(OSError):
        typer.echo(_escaped(line), err=True)


def _emit(text: str) -> None:
    """Print a result. What cannot be printed ends the printing and never the work; why is kept in `unprinted`."""
    try:
        typer.echo(text)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python tries once more, and fails loudly
        if not isinstance(error, BrokenPipeError):  # a reader who has left (`signspot … | head`) has seen enough
            unprinted.append(error.strerror or str(error))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table on stdout, as wide as its content needs."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True)
    for row in rows:
        cells = (escape_control_characters(cell, bidirectional=True) for cell in row)
        table.add_row(*map(Text, cells))  # a word such as [/x] is no markup
    text, terminal = StringIO(), sys.stdout.isatty()
    needed = Console(file=text, width=100_000).measure(table).maximum  # nothing is ever cut, in pipes neither
    Console(file=text, width=max(needed, 1), force_terminal=terminal, highlight=False).print(table)
    _emit(text.getvalue().rstrip("\n"))


def print_spottings(spottings: "Sequence[Spotting]", *, as_json: bool, videos: bool = False) -> None:
    """Spottings on stdout: a table for people, of several videos with their names; JSON Lines for machines."""
    if as_json:
        for spotting in spottings:
            say(json.dumps(asdict(spotting), ensure_ascii=False))
        return
    if not spottings:
        return
    variants = any(s.variant for s in spottings)
    alarms = any(s.false_alarms_per_hour is not None for s in spottings)
    mouthed = any(s.mouthed is not None for s in spottings)
    print_table(
        (
            *(("video",) if videos else ()),
            "time s",
            "from",
            "to",
            "word",
            *(("variant",) if variants else ()),
            "score",
            *(("false alarms/h",) if alarms else ()),
            *(("mouthed",) if mouthed else ()),
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
                *((_rate(s.false_alarms_per_hour),) if alarms else ()),
                *(("" if s.mouthed is None else f"{s.mouthed:.2f}",) if mouthed else ()),
                s.exemplar,
                "mirrored" if s.mirrored else "",
            )
            for s in spottings
        ),
    )


def _rate(alarms: float | None) -> str:
    if alarms is None:
        return ""
    return "< 0.01" if alarms < 0.01 else f"{alarms:.0f}" if alarms >= 10 else f"{alarms:.2g}"


def refuse_pictures(named: Mapping[str, object], *, pixels: bool) -> None:
    """See that nobody asks for pictures of people, option by option, together with --no-pixels.

    Raises:
        OptionsError: somebody does.
    """
    from signspot.errors import OptionsError

    shown = None if pixels else next((option for option, value in named.items() if value), None)
    if shown is not None:
        raise OptionsError(f"{shown} shows people: it and --no-pixels exclude each other. Leave one out")
