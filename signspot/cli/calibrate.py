"""`signspot calibrate`: find the thresholds of an encoder, and write them into its card."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, print_table, say


def calibrate(
    weights: Annotated[Path, typer.Argument(help="A .safetensors file of ours; it is written again with its card.")],
    hours: Annotated[float, typer.Option(help="Hours of background signing.")] = 0.5,
    words: Annotated[int, typer.Option(help="Words to look for in it.")] = 100,
    rate: Annotated[float, typer.Option(help="False alarms an hour and word at the default threshold.")] = 10.0,
    seed: Annotated[int, typer.Option(help="Of the background.")] = 1,
    lsa64: Annotated[
        Path | None, typer.Option(help="Folder of LSA64 landmarks: real signing of signer 8 is the background.")
    ] = None,
) -> None:
    """Measure false alarms on background signing, of the world or real; keep the thresholds in the encoder's card.

    Example: signspot calibrate runs/landmark/landmark.safetensors
    """
    from dataclasses import replace

    from signspot.experiments.background import measure_false_alarms
    from signspot.experiments.lsa64 import load_signs
    from signspot.experiments.lsa64_streams import stream_alarms
    from signspot.models.checkpoints import load_encoder, save_encoder
    from signspot.training.lsa64 import TRAIN_SIGNERS, VALIDATION_SIGNERS

    encoder = load_encoder(weights)
    if lsa64 is not None:
        signs = load_signs(lsa64, (*TRAIN_SIGNERS, *VALIDATION_SIGNERS))
        measured = stream_alarms(encoder, signs, VALIDATION_SIGNERS[0], seed)
    else:
        with bar("background", "s") as progress:
            measured = measure_false_alarms(encoder, words, hours, seed, progress)
    table = measured.table()
    threshold = round(measured.threshold(rate), 3)
    card = {**encoder.card, "false_alarms_per_hour": table}
    save_encoder(
        replace(encoder, contract=replace(encoder.contract, threshold=threshold), card=card), weights, half=True
    )
    print_table(("false alarms/h/word", "threshold"), ((each, f"{value:.4f}") for each, value in table.items()))
    say(f"default threshold: {threshold}")
