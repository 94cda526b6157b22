"""`signspot dictionary variants`: group the exemplars of a word by the sign that they show."""

import json
from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import (
    bar,
    check_media,
    claim_outputs,
    load_spotter,
    log,
    open_outputs,
    print_line,
    print_table,
)
from signspot.cli.options import EncoderName, Html, Json, settings


def variants(
    word: Annotated[str, typer.Argument(help="A word of the dictionary.")],
    dictionary: Annotated[Path, typer.Argument(help="A dictionary with several exemplars of the word.")],
    footage: Annotated[
        list[Path] | None,
        typer.Option(help="Video, .pose file or track in which to look for the variants; repeatable."),
    ] = None,
    same: Annotated[
        float | None, typer.Option(help="Largest cost within a variant, relative to that between words.")
    ] = None,
    html: Html = None,
    plot: Annotated[Path | None, typer.Option(help="Plot the costs between exemplars (.png, .svg, .pdf).")] = None,
    as_json: Json = False,
    encoder: EncoderName = None,
) -> None:
    """Group the exemplars of a word into variants, and say which is used where and by whom.

    The number of variants follows from the cost of aligning the exemplars.

    Example: signspot dictionary variants friend my-signs/ --footage news.mp4 --html friend.html
    """
    from signspot.applications.variants import SAME_SIGN, draw_costs, find_use, find_variants, write_variants_page
    from signspot.dictionary.open_dictionary import open_dictionary
    from signspot.plots.plot import save_figure

    with open_outputs(dictionary, encoder, *(footage or ())) as outputs:
        check_media(*(footage or ()))
        claim_outputs(outputs, plots=[("report", html), ("plot", plot)])
        signs = open_dictionary(dictionary)
        signs.resolve(word)
        spotter = load_spotter(encoder)
        with bar("exemplars") as progress:
            result = find_variants(spotter, signs, word, same=SAME_SIGN if same is None else same, progress=progress)
        with bar("footage", "videos") as progress:
            uses, spottings = find_use(spotter, result, list(footage or ()), progress=progress)
        if html is not None:
            log(f"wrote {write_variants_page(spotter, result, html, (uses, spottings), pixels=settings().pixels)}")
        if plot is not None:
            log(f"wrote {save_figure(draw_costs(result), plot)}")
    if as_json:
        used = [{"video": use.video, "variant": use.variant, "times": use.times, "best": use.best.time} for use in uses]
        print_line(json.dumps({**result.as_dict(), "use": used}, ensure_ascii=False))
        return
    rows = [
        (group.name, str(len(group.exemplars)), group.typical.id, ", ".join(group.signers)) for group in result.groups
    ]
    print_table(("variant", "exemplars", "typical", "signers"), rows)
    if uses:
        rows = [(use.video, use.variant, str(use.times), f"{use.best.time:.2f}") for use in uses]
        print_table(("video", "variant", "times", "best at, s"), rows)
