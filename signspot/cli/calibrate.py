"""`signspot calibrate`: find the thresholds of an encoder, and write them into its card."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, open_outputs, print_line, print_table
from signspot.cli.options import settings
from signspot.io.progress import Progress

DEFAULT_RATE = 20.0  # one in three minutes


def calibrate(
    weights: Annotated[
        Path, typer.Argument(help="Weights of an encoder (.safetensors); the file and its card are rewritten.")
    ],
    footage: Annotated[
        list[Path],
        typer.Option(help="Video, .pose file or corpus in which no word of --dictionary is signed; repeatable."),
    ],
    dictionary: Annotated[Path, typer.Option(help="Dictionary of the words to look for in --footage.")],
    rate: Annotated[
        float, typer.Option(help="Allowed false alarms per hour and word at the default threshold.")
    ] = DEFAULT_RATE,
) -> None:
    """Measure false alarms on background signing, and write the thresholds into the encoder's card.

    The background may be a synthetic corpus if the words are those of another seed.

    Example: signspot calibrate runs/landmark/landmark.safetensors --footage corpus/ --dictionary other/dictionary
    """
    from dataclasses import replace

    from signspot.dictionary.open_dictionary import open_dictionary
    from signspot.evaluation.calibration import false_alarms
    from signspot.io.files import cache_folder, note_written
    from signspot.models.checkpoints import load_encoder, save_encoder
    from signspot.spotting.spotter import Spotter

    open_outputs(weights, dictionary, *footage)  # they are there
    encoder = load_encoder(weights, device=settings().device)
    spotter = Spotter(encoder, cache_folder())
    sources = [source for path in footage for source in sources_of(path, encoder.contract.kind)]
    with bar("exemplars") as progress:
        gallery = spotter.gallery(open_dictionary(dictionary), progress=progress)
    with bar("background", "videos") as progress:
        alarms = false_alarms(spotter, with_progress(sources, progress), gallery)
    table, threshold = alarms.table(), round(alarms.threshold(rate), 3)
    card = {**encoder.card, "false_alarms_per_hour": table}
    save_encoder(
        replace(encoder, contract=replace(encoder.contract, threshold=threshold), card=card), weights, half=True
    )
    for path in (weights, weights.with_suffix(".json")):
        note_written(path)
    print_table(("false alarms/h/word", "threshold"), ((allowed, f"{value:.4f}") for allowed, value in table.items()))
    print_line(f"default threshold: {threshold}")


def sources_of(path: Path, kind: str) -> list[Path]:
    """The videos of a corpus folder, as landmarks or as pixels; any other path is itself the source."""
    from signspot.corpus.corpus import open_corpus
    from signspot.errors import OptionsError

    if not path.is_dir():
        return [path]
    videos = open_corpus(path).videos.values()
    paths = [(video.landmarks or video.video) if kind == "landmarks" else video.video for video in videos]
    sources = [source for source in paths if source is not None]
    if not sources:
        raise OptionsError(f"{path} has no videos that an encoder of {kind} can see")
    return sources


def with_progress(sources: Sequence[Path], progress: Progress) -> Iterator[Path]:
    """The sources, one after the other; progress counts those that are done."""
    for done, source in enumerate(sources):
        progress(done, len(sources))
        yield source
    progress(len(sources), len(sources))
