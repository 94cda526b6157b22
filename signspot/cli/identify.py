"""`signspot identify`: say which word an isolated sign is."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, claim_outputs, load_spotter, log, open_outputs, print_line, print_table
from signspot.cli.options import EncoderName, Json
from signspot.cli.spot import exemplars_of


def identify(
    clip: Annotated[Path, typer.Argument(help="A video or a .pose file that shows one sign.")],
    signs: Annotated[Path, typer.Argument(help="A dictionary: a folder of example videos, or a table.")],
    top: Annotated[int, typer.Option(min=1, help="How many words, the best first.")] = 10,
    plot: Annotated[Path | None, typer.Option(help="Draw it beside the best exemplars (.png, .svg, .pdf).")] = None,
    json_lines: Json = False,
    encoder: EncoderName = None,
) -> None:
    """Look an isolated sign up in a dictionary: the words it may be, the best first.

    Example: signspot identify what-is-this.mp4 my-signs/ --top 5 --plot answer.png
    """
    with open_outputs(clip, signs, encoder) as outputs:
        claim_outputs(outputs, plots=[("plot", plot)])
        spotter = load_spotter(encoder)
        with bar("exemplars") as progress:
            gallery = spotter.gallery(exemplars_of(signs, []), progress=progress)
        if plot is None:
            matches = spotter.identify(clip, gallery, top)
        else:
            from signspot.applications.identification import draw_identification, identify_sign
            from signspot.plots.plot import save_figure

            identification = identify_sign(spotter, clip, gallery, top)
            matches = list(identification.matches)
            log(f"wrote {save_figure(draw_identification(identification), plot)}")
    if matches and not matches[0].is_known:
        log("this sign is probably not in this dictionary: signs of other words often score as high as the best here")
    if json_lines:
        for match in matches:
            print_line(json.dumps({**asdict(match), "known": match.is_known}, ensure_ascii=False))
        return
    print_table(
        ("rank", "word", "score", "exemplar", ""),
        (
            (str(rank), match.word, f"{match.score:.3f}", match.exemplar, "mirrored" if match.mirrored else "")
            for rank, match in enumerate(matches, 1)
        ),
    )
