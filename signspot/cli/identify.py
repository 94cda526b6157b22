"""`signspot identify`: say which word an isolated sign is."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from signspot.cli.console import bar, claim_outputs, note, print_table, say
from signspot.cli.options import EncoderName, settings
from signspot.cli.spot import exemplars_of


def identify(
    clip: Annotated[Path, typer.Argument(help="A video or a .pose file that shows one sign.")],
    signs: Annotated[Path, typer.Argument(help="A dictionary: a folder of example videos, or a table.")],
    top: Annotated[int, typer.Option(min=1, help="How many words, the best first.")] = 10,
    mirror: Annotated[bool, typer.Option(help="Also try exemplars mirrored, for left-handed signers.")] = True,
    match: Annotated[
        Literal["auto", "alignment", "embedding"],
        typer.Option(help="Align frame by frame where the encoder can, or compare embeddings of the whole sign."),
    ] = "auto",
    encoder: EncoderName = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it beside the best exemplars (.png, .svg, .pdf).")] = None,
    json_lines: Annotated[bool, typer.Option("--json", help="Print JSON Lines.")] = False,
    cache: Annotated[bool, typer.Option(help="Remember exemplars in the cache folder.")] = True,
) -> None:
    """Look an isolated sign up in a dictionary: the words it may be, the best first.

    Example: signspot identify what-is-this.mp4 my-signs/ --top 5 --plot answer.png
    """
    from signspot.io.files import Outputs
    from signspot.spotting.options import SpotOptions
    from signspot.spotting.spotter import load

    options = SpotOptions(mirror=mirror, match=match)
    with Outputs([clip, signs, encoder], force=settings().force) as outputs:
        claim_outputs(outputs, pictures=[("plot", plot)])
        spotter = load(encoder, cache=cache, device=settings().device)
        with bar("exemplars") as progress:
            gallery = spotter.gallery(exemplars_of(signs, []), options, progress)
        if plot is None:
            found = spotter.identify(clip, gallery, top, options)
        else:
            from signspot.applications.lookup import draw_lookup, look_up
            from signspot.plots.plot import save_figure

            looked_up = look_up(spotter, clip, gallery, top, options)
            found = list(looked_up.matches)
            note(f"wrote {save_figure(draw_lookup(looked_up), plot)}")
    if json_lines:
        for each in found:
            say(json.dumps(asdict(each), ensure_ascii=False))
        return
    print_table(
        ("rank", "word", "score", "exemplar", ""),
        (
            (str(rank), each.word, f"{each.score:.3f}", each.exemplar, "mirrored" if each.mirrored else "")
            for rank, each in enumerate(found, 1)
        ),
    )
