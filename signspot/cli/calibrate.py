"""`signspot calibrate`: find the thresholds of an encoder, and write them into its card."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, print_table, say
from signspot.cli.options import settings

DEFAULT_RATE = 20.0  # one in three minutes


def calibrate(
    weights: Annotated[Path, typer.Argument(help="A .safetensors file of ours; it is written again with its card.")],
    hours: Annotated[float, typer.Option(help="Hours of background signing.")] = 0.5,
    words: Annotated[int, typer.Option(help="Words to look for in it.")] = 100,
    rate: Annotated[
        float, typer.Option(help="False alarms per hour and word at the default threshold.")
    ] = DEFAULT_RATE,
    seed: Annotated[int, typer.Option(help="Of the background.")] = 1,
    lsa64: Annotated[
        Path | None, typer.Option(help="Folder of LSA64 landmarks: real signing of signer 8 is background, too.")
    ] = None,
    footage: Annotated[
        list[Path] | None, typer.Option(help="Video or .pose in which no word of --dictionary is signed; repeatable.")
    ] = None,
    dictionary: Annotated[Path | None, typer.Option(help="Words to look for in --footage.")] = None,
) -> None:
    """Measure false alarms on background signing; keep the thresholds in the encoder's card.

    The background is signing of the world; with real signing besides, thresholds are the means of both. With --footage
    and --dictionary it is footage of yours and nothing else: so RGB encoders are calibrated.

    Example: signspot calibrate runs/landmark/landmark.safetensors
    """
    from dataclasses import replace

    from experiments.background import measure_false_alarms
    from experiments.isolated.lsa64 import TRAIN_SIGNERS, VALIDATION_SIGNERS, read_lsa64
    from experiments.lsa64.streams import stream_alarms
    from signspot.dictionary.opening import open_dictionary
    from signspot.errors import OptionsError
    from signspot.io.files import cache_folder, note_written
    from signspot.models.checkpoints import load_encoder, save_encoder
    from signspot.spotting.calibration import false_alarms, mean_table
    from signspot.spotting.spotter import Spotter

    encoder = load_encoder(weights, device=settings().device)
    if (footage is None) != (dictionary is None):
        raise OptionsError("give --footage and --dictionary together: words to look for, and where they are not signed")
    if footage is not None and dictionary is not None:
        spotter = Spotter(encoder, cache_folder())
        backgrounds = [false_alarms(spotter, footage, spotter.gallery(open_dictionary(dictionary)))]
    else:
        with bar("background", "s") as progress:
            backgrounds = [measure_false_alarms(encoder, words, hours, seed, progress)]
    if lsa64 is not None:
        clips = read_lsa64(lsa64, (*TRAIN_SIGNERS, *VALIDATION_SIGNERS))
        backgrounds.append(stream_alarms(encoder, clips, VALIDATION_SIGNERS[0], seed))
    table = mean_table(backgrounds)
    threshold = round(sum(measured.threshold(rate) for measured in backgrounds) / len(backgrounds), 3)
    card = {**encoder.card, "false_alarms_per_hour": table}
    save_encoder(
        replace(encoder, contract=replace(encoder.contract, threshold=threshold), card=card), weights, half=True
    )
    for path in (weights, weights.with_suffix(".json")):
        note_written(path)
    print_table(("false alarms/h/word", "threshold"), ((each, f"{value:.4f}") for each, value in table.items()))
    say(f"default threshold: {threshold}")
