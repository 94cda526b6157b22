"""Shared by the commands: progress on stderr, results on stdout, and the claims of what will be written."""

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

from signspot.cli.options import default_workers, settings
from signspot.io.control_characters import escape_control_characters
from signspot.io.files import Outputs, note_written
from signspot.io.progress import Progress

if TYPE_CHECKING:  # what takes long to load is loaded when it is used: signspot --help needs none of it
    from signspot.plots.plot import PlotKind
    from signspot.spotting.spotter import Spotter
    from signspot.types import Spotting

unprinted: list[str] = []  # why results could not be printed; reported at the end, with exit code 1
_FIRST_LINE, _NEXT_LINE = 5.0, 30.0  # seconds until a line of progress, where stderr is not a terminal


def claim_outputs(
    outputs: Outputs,
    spottings: Iterable[Path] | None = None,
    plots: Iterable[tuple["PlotKind", Path | None]] = (),
    videos: Sequence[str] = (),
) -> None:
    """Claim files of spottings and plots before long work; of several videos, those that carry their names.

    Raises:
        RefusedOutputError: a suffix is unknown, or a file would be lost.
    """
    from signspot.formats.formats import output_paths
    from signspot.formats.spotting_rows import Authorship, authorship

    for path in spottings or ():
        for target in output_paths(path, videos):
            if authorship(target) is Authorship.UNEDITED:  # written by signspot on another machine
                note_written(target)
            outputs.claim(target)
    named = [(kind, path) for kind, path in plots if path is not None]
    if named:
        from signspot.plots.plot import check_plot_path

        for kind, path in named:
            outputs.claim(check_plot_path(kind, path))


def write_spottings(spottings: "Sequence[Spotting]", out: Iterable[Path] | None, videos: Sequence[str]) -> None:
    """Write spottings into every file that was asked for, and report each.

    Args:
        spottings: of one or several videos.
        out: files; the suffix says the format.
        videos: that were searched; those without a spotting get files, too.
    """
    from signspot.formats.formats import write

    for path in out or ():
        for file in write(spottings, path, videos=videos):
            log(f"wrote {file}")


def open_outputs(*inputs: "Path | str | None") -> Outputs:
    """The outputs of a command that reads these inputs: paths, which must be there, and names or paths as text.

    None stands for an input that was not given.

    Raises:
        OptionsError: there is nothing at one of the paths.
    """
    from signspot.errors import OptionsError

    missing = next((path for path in inputs if isinstance(path, Path) and not path.exists()), None)
    if missing is not None:
        raise OptionsError(f"there is no file or folder {missing}. Check the path")
    return Outputs(inputs, force=settings().force)


def check_media(*paths: "Path | str | None") -> None:
    """Refuse what is no video, no `.pose` file and no track, as far as its header tells, before any long work.

    None stands for a file that was not given.

    Raises:
        VideoError: one of them cannot be read.
    """
    from signspot.dictionary.open_dictionary import file_problem
    from signspot.embedding.tracks import SUFFIX
    from signspot.errors import VideoError

    for path in (Path(path) for path in paths if path is not None):
        problem = None if path.suffix.lower() == SUFFIX else file_problem(path)
        if problem is not None:
            raise VideoError(f"{path} cannot be read: {problem}. Give a video or a .pose file")


def load_spotter(encoder: str | None, workers: int | None = 1) -> "Spotter":
    """The spotter of an encoder on the chosen device; without a number of workers, one for each core but one."""
    from signspot.spotting.spotter import load

    return load(encoder, cache=settings().cache, device=settings().device, workers=default_workers(workers))


@contextmanager
def bar(title: str, unit: str = "") -> Iterator[Progress]:
    """Draw progress on stderr: a bar on a terminal, elsewhere a line now and then; give what to report to."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    name, amount = TextColumn("{task.description}", markup=False), MofNCompleteColumn(" of ")
    columns = (name, BarColumn(bar_width=14), amount, TextColumn(unit), TimeRemainingColumn())
    with Bars(
        *columns, console=console, transient=True, disable=not console.is_terminal, get_time=lambda: time.monotonic()
    ) as bars:
        bars.add_task(title, total=None)
        (task,), lines = bars.tasks, _ProgressLog(title, unit)

        def report(done: int, total: int | None) -> None:
            bars.update(task.id, completed=done, total=total)
            if bars.disable:
                lines.report(done, total, task.time_remaining)

        yield report
        lines.finish()


class _ProgressLog:
    """Progress as lines, for logs: none of short work."""

    def __init__(self, title: str, unit: str):
        self._title, self._unit = title, f" {unit}" if unit else ""
        self._began = self._last = time.monotonic()
        self._lines = 0

    def report(self, done: int, total: int | None, left: float | None) -> None:
        """Write a line after some seconds, then from time to time."""
        now = time.monotonic()
        if now - self._last < (_NEXT_LINE if self._lines else _FIRST_LINE):
            return
        self._last, self._lines = now, self._lines + 1
        of = f" of {total:,}" if total else ""
        rest = f"{duration(now - self._began)} so far" if left is None else f"{duration(left)} left"
        log(f"{self._title}: {done:,}{of}{self._unit}, {rest}")

    def finish(self) -> None:
        """Write the last line, if there was one before."""
        if self._lines:
            log(f"{self._title}: done in {duration(time.monotonic() - self._began)}")


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


def print_line(line: str) -> None:
    """A result, on stdout."""
    _emit(_escaped(line))


def log(line: str) -> None:
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
        table.add_row(*map(Text, cells))  # a word such as [/x] is not markup
    text, terminal = StringIO(), sys.stdout.isatty()
    needed = Console(file=text, width=100_000).measure(table).maximum  # nothing is ever cut, in pipes neither
    Console(file=text, width=max(needed, 1), force_terminal=terminal, highlight=False).print(table)
    _emit(text.getvalue().rstrip("\n"))


def print_spottings(
    spottings: "Sequence[Spotting]", *, as_json: bool, videos: bool = False, rates: bool = False
) -> None:
    """Spottings on stdout: a table for people, with the names of several videos; JSON Lines for machines.

    Columns of which no spotting has a value are left out: variant, confidence, mouthing, mirroring; false alarms per
    hour are shown if `rates` are wanted.
    """
    if as_json:
        for spotting in spottings:
            print_line(json.dumps(asdict(spotting), ensure_ascii=False))
        return
    rows = [
        {
            "video": spotting.video if videos else "",
            "time s": f"{spotting.time:.2f}",
            "from": f"{spotting.start:.2f}",
            "to": f"{spotting.end:.2f}",
            "word": spotting.word,
            "variant": spotting.variant,
            "score": f"{spotting.score:.3f}",
            "confidence": spotting.confidence,
            "false alarms/h": _rate(spotting.false_alarms_per_hour) if rates else "",
            "mouthed": "" if spotting.mouthed is None else f"{spotting.mouthed:.2f}",
            "exemplar": spotting.exemplar,
            "mirrored": "mirrored" if spotting.mirrored else "",
        }
        for spotting in spottings
    ]
    columns = [name for name in (rows[0] if rows else ()) if any(row[name] for row in rows)]
    if rows:
        headings = ["" if name == "mirrored" else name for name in columns]
        print_table(headings, ([row[name] for name in columns] for row in rows))


def _rate(rate: float | None) -> str:
    if rate is None:
        return ""
    return "< 0.01" if rate < 0.01 else f"{rate:.0f}" if rate >= 10 else f"{rate:.2g}"


def refuse_pixels(options: Mapping[str, object]) -> None:
    """Refuse options whose results show people together with --no-pixels.

    Raises:
        OptionsError: one of them was given.
    """
    from signspot.errors import OptionsError

    option = None if settings().pixels else next((name for name, value in options.items() if value), None)
    if option is not None:
        raise OptionsError(f"{option} shows people: it and --no-pixels exclude each other. Leave one out")
