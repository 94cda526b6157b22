"""`signspot convert`: spottings from one format into another."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import Force, claim_outputs, count, say


def convert(
    source: Annotated[Path, typer.Argument(help="Spottings: .jsonl .csv .parquet .vtt .eaf .via.json .bobsl.json")],
    target: Annotated[Path, typer.Argument(help="The same, or another format, by its suffix.")],
    force: Force = False,
) -> None:
    """Convert spottings between formats.

    Example: signspot convert news.jsonl news.eaf
    """
    from signspot.files import Outputs
    from signspot.formats.formats import read_spottings, write

    outputs = Outputs([source], force=force)
    claim_outputs(outputs, [target])
    spottings = read_spottings(source)
    with outputs:
        write(spottings, target)
    say(f"{target}: {count(len(spottings), 'spotting')}")
