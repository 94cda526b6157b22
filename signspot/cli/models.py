"""`signspot models`: which encoders there are, and what one is."""

import json
from typing import Annotated

import typer

from signspot.cli.console import print_table, say


def models(
    name: Annotated[str | None, typer.Argument(help="A shipped encoder's name, or a file. None: list all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the shipped encoders, or show the card of one.

    Example: signspot models landmark
    """
    from signspot.models.checkpoints import load_encoder, shipped

    encoders = [load_encoder(each) for each in ([name] if name else shipped())]
    if as_json:
        say(json.dumps([{"name": e.name, "hash": e.hash, **e.card} for e in encoders], indent=1, ensure_ascii=False))
    elif name:
        say(json.dumps({"name": name, "hash": encoders[0].hash, **encoders[0].card}, indent=1, ensure_ascii=False))
    else:
        print_table(
            ("name", "sees", "frames", "fps", "dimension", "threshold", "licence", "hash"),
            (
                (
                    e.name,
                    e.contract.kind,
                    str(e.contract.frames),
                    f"{e.contract.fps:g}",
                    str(e.contract.dimension),
                    f"{e.contract.threshold:.2f}",
                    str(e.card.get("licence", "")),
                    e.hash,
                )
                for e in encoders
            ),
        )
