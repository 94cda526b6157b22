"""`signspot train`: teach a landmark encoder signing, from a configuration to weights."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, note, say


def train(
    config: Annotated[Path, typer.Argument(help="A TOML file, such as configs/landmark.toml.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; a run that was stopped there goes on.")] = Path("runs"),
    lsa64: Annotated[Path | None, typer.Option(help="Folder of LSA64 landmarks, instead of the config's.")] = None,
    workers: Annotated[int, typer.Option(help="Processes that make batches.")] = 1,
) -> None:
    """Train a landmark encoder; Ctrl-C keeps what is learnt, and the same command goes on.

    Example: signspot train configs/landmark.toml --out runs/landmark
    """
    from dataclasses import replace

    from signspot.models.checkpoints import save_encoder
    from signspot.training.config import read_config
    from signspot.training.signing import train_signing

    chosen = read_config(config)
    if lsa64 is not None:
        chosen = replace(chosen, lsa64=str(lsa64))
    with bar("training", "steps") as progress:
        encoder = train_signing(chosen, out, progress, workers=workers)
    target = out / f"{chosen.name}.safetensors"
    save_encoder(encoder, target, half=True)
    say(f"{target}: {encoder.name} ({encoder.hash})")
    note("its default threshold is not calibrated yet. Do so with: signspot calibrate")
