"""`signspot evaluate annotation`: what automatic annotation yields, and when it had better abstain."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, note, say


def annotation(
    worlds: Annotated[int | None, typer.Option(help="How many worlds. [default: 3, or 2 with --quick]")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two small worlds: minutes.")] = False,
    encoder: Annotated[str | None, typer.Option(help="Name or file of an encoder. [default: the shipped one]")] = None,
    workers: Annotated[int, typer.Option(help="Processes at once.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder; a run that was stopped there goes on.")] = Path("annotated"),
) -> None:
    """Annotate signing worlds with exact truth: yield, what labels are worth, and when to abstain.

    Example: signspot evaluate annotation --quick --out annotated/
    """
    from dataclasses import replace

    from signspot.experiments.annotated_worlds import FULL, QUICK
    from signspot.experiments.annotation import measure_worlds
    from signspot.experiments.annotation_tables import NAME, write_report

    size = QUICK if quick else FULL
    size = size if worlds is None else replace(size, worlds=worlds)
    say(write_report(measure_worlds(size, out, encoder, workers, bar), out).rstrip())
    note(f"written: {out / NAME}.md, {out / NAME}-yield.png and {out / NAME}-precision.png")
