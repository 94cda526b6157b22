"""`signspot learn`: the whole loop, from subtitled footage to a recogniser."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.annotate import EngineName, make_engine
from signspot.cli.console import bar, log, open_outputs, print_line
from signspot.cli.options import EncoderName, settings


class LabelsName(StrEnum):
    """Origin of labels M."""

    AUTO = "auto"
    GIVEN = "given"
    LIPS = "lips"
    NONE = "none"


def learn(
    corpus: Annotated[
        Path, typer.Argument(help="Folder of videos or .pose files with subtitles beside them; labels help.")
    ],
    dictionary: Annotated[Path, typer.Option(help="Dictionary with words of the subtitles.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; an interrupted run resumes there.")],
    labels: Annotated[
        LabelsName,
        typer.Option(help="Labels M: given with the corpus, found on the lips, or none; auto: given, else lips."),
    ] = LabelsName.AUTO,
    encoder: EncoderName = None,
    adapt_steps: Annotated[int, typer.Option(help="Number of adaptation steps.")] = 150,
    recogniser_steps: Annotated[int, typer.Option(help="Number of training steps of each recogniser.")] = 400,
    recogniser: Annotated[
        Path | None, typer.Option(help="TOML file of the kind recogniser or rgb, instead of --recogniser-steps.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Minimum score of labels D, from 0 to 1. [default: the encoder's]")
    ] = None,
    language: Annotated[str, typer.Option(help="Language of the subtitles and words.")] = "en",
    engine: Annotated[EngineName, typer.Option(help="Processes on this machine, or a Ray cluster.")] = EngineName.LOCAL,
    workers: Annotated[
        int | None, typer.Option(help="Number of parallel processes. [default: 1; ray: all cores of the cluster]")
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Address of a running Ray cluster. [default: start one here]")
    ] = None,
) -> None:
    """Close the loop of the paper: labels M, adaptation, labels D, recognisers on M, D and M + D, and one report.

    The stages are those of mouth, adapt, annotate and train. A stage is repeated only if its input changed.

    Example: signspot learn footage/ --dictionary my-signs/ --out learnt/
    """
    from dataclasses import replace

    from signspot.applications.learn import SMALL_RECOGNISER, LearnOptions, Loop, write_loop_report
    from signspot.training.adaptation_data import AdaptOptions
    from signspot.training.configuration import read_training
    from signspot.training.recogniser import RecogniserConfig
    from signspot.training.rgb_clips import RgbConfig

    plain = replace(SMALL_RECOGNISER, steps=recogniser_steps)
    kinds = {"recogniser": RecogniserConfig, "rgb": RgbConfig}
    config = read_training(recogniser, kinds) if recogniser is not None else plain
    options = LearnOptions(
        labels.value, encoder, AdaptOptions(steps=adapt_steps), config, threshold, language, settings().device
    )
    with open_outputs(corpus, dictionary, encoder, recogniser) as outputs:
        report = outputs.claim(out / "report.html")
        loop = Loop(corpus, dictionary, out, options, lambda: make_engine(engine, workers, address))
        learnt = loop.run(bar)
        write_loop_report(learnt, loop.corpus, report)
    for title, state, outcome in learnt.lines():
        print_line(f"{title[:1].upper()}{title[1:]} ({state}): {outcome}")
    log(f"wrote {report}")
