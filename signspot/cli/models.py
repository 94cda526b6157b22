"""`signspot models`: which encoders there are, and what one is."""

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from signspot.cli.console import print_line, print_table
from signspot.cli.options import Json, settings

if TYPE_CHECKING:
    from signspot.models.encoder import Encoder


def models(
    name: Annotated[
        str | None, typer.Argument(help="Name of a shipped encoder, or a file. [default: list all]")
    ] = None,
    as_json: Json = False,
    export: Annotated[
        Path | None,
        typer.Option(help="Write the encoder to a folder in Hugging Face's layout, which --encoder can read."),
    ] = None,
) -> None:
    """List the shipped encoders, or show the card of one.

    Example: signspot models landmark
    """
    from signspot.models.checkpoints import load_encoder
    from signspot.models.encoder import licence_logger, shipped

    licence_logger.setLevel(logging.WARNING)  # the table and the card have it
    encoders = [load_encoder(encoder_name) for encoder_name in ([name] if name else shipped())]
    if export is not None:
        _export(encoders, export)
    elif as_json:
        print_line(
            json.dumps([{"name": e.name, "hash": e.hash, **e.card} for e in encoders], indent=1, ensure_ascii=False)
        )
    elif name:
        print_table(("", ""), list(_card(encoders[0])))
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


def _export(encoders: "list[Encoder]", folder: Path) -> None:
    """Write one encoder to a folder; what was published there before is replaced with --force only."""
    from signspot.errors import OptionsError, OutputError
    from signspot.io.files import Outputs
    from signspot.models.checkpoints import README, names_folder, save_encoder
    from signspot.models.encoder import PUBLISHED

    if len(encoders) != 1 or not names_folder(folder):
        raise OptionsError(
            f"--export writes one encoder to a folder whose name has no suffix; got '{folder}'. Name the encoder"
        )
    files = [folder / name for name in (PUBLISHED, "config.json", README)]
    there = [file for file in files if file.exists()]
    if there and not settings().force:
        raise OutputError(f"cannot write {there[0]}: it is there. Name another folder, or use --force.")
    with Outputs([], force=settings().force) as outputs:
        for file in files:
            outputs.claim(file)
        written = save_encoder(encoders[0], folder)
    print_line(f"{folder}: {written.name} ({written.hash})")


def _card(encoder: "Encoder") -> Iterator[tuple[str, str]]:
    """An encoder's card, one line per field: first the fields that people ask for first, then the rest."""
    contract, card = encoder.contract, encoder.card
    yield "name", encoder.name
    yield "licence", str(card.get("licence") or "not stated")
    yield "sees", f"{contract.kind}, clips of {contract.frames} frames at {contract.fps:g} frames per second"
    codes = f", and a code of {contract.codes} for each frame" if contract.codes else ""
    yield "gives", f"an embedding of {contract.dimension} numbers for each clip{codes}"
    yield "threshold", f"{contract.threshold:g}"
    yield "hash", encoder.hash
    for key in ("data", "command", "architecture", "metrics"):
        yield from _lines(key, card.get(key))
    for rate, threshold in (card.get("false_alarms_per_hour") or {}).items():
        yield f"threshold for {rate} false alarms per hour and word", f"{threshold:g}"
    yield "options and configuration", f"signspot models {encoder.name} --json"


def _lines(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """The values below a key of a card, each under its path of keys; empty ones are left out."""
    if isinstance(value, Mapping):
        yield from (line for inner, part in value.items() for line in _lines(f"{key} / {inner}", part))
    elif value not in (None, ""):
        yield key, str(value)
