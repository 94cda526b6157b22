"""`signspot reproduce`: measure a table of the paper on the signing world."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, note, say


def reproduce(
    table: Annotated[str, typer.Argument(help="Which table: table2.")],
    seeds: Annotated[int | None, typer.Option(help="Trainings a cell. [default: 3, or 1 with --quick]")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A smaller world and shorter trainings: minutes.")] = False,
    corpus: Annotated[Path | None, typer.Option(help="A corpus that exists already. [default: one is made]")] = None,
    encoder: Annotated[str | None, typer.Option(help="Name or file of an encoder. [default: the shipped one]")] = None,
    out: Annotated[Path, typer.Option(help="Folder; a run that was stopped there goes on.")] = Path("reproduced"),
) -> None:
    """Measure a table of the paper: ours, and the paper's in brackets; Ctrl-C keeps what is done.

    Example: signspot reproduce table2 --quick --out reproduced/
    """
    from dataclasses import replace

    from signspot.experiments.reproduce import FULL, QUICK
    from signspot.experiments.reproduce import reproduce as measure
    from signspot.models.checkpoints import load_encoder

    size = QUICK if quick else FULL
    size = size if seeds is None else replace(size, seeds=seeds)
    say(measure(table, load_encoder(encoder), out, size, corpus, bar).rstrip())
    note(f"written: {out / table}.md and {out / table}.png")
