"""`signspot convert`: spottings from one format into another."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import count, say


def convert(
    source: Annotated[Path, typer.Argument(help="Spottings: .jsonl .csv .parquet .vtt .eaf .via.json .bobsl.json")],
    target: Annotated[Path, typer.Argument(help="The same, or another format, by its suffix.")],
) -> None:
    """Convert spottings between formats.

    Example: signspot convert news.jsonl news.eaf
    """
    from signspot.formats.formats import read_spottings, write

    spottings = read_spottings(source)
    write(spottings, target)
    say(f"{target}: {count(len(spottings), 'spotting')}")
