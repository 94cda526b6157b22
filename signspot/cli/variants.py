"""`signspot variants`: group the exemplars of a word by the sign that they show."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import bar, claim_outputs, note, print_table, say
from signspot.cli.options import EncoderName, Pixels, settings

if TYPE_CHECKING:
    from signspot.applications.variants import Variants, VariantUse


def variants(
    word: Annotated[str, typer.Argument(help="A word of the dictionary.")],
    dictionary: Annotated[Path, typer.Argument(help="A dictionary with several exemplars of the word.")],
    footage: Annotated[
        list[Path] | None, typer.Option(help="A video, .pose file or track: which variant is used there? Repeatable.")
    ] = None,
    same: Annotated[
        float | None, typer.Option(help="Largest cost within a variant, as a part of what other words cost.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with the clips of each variant side by side.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the costs between exemplars (.png, .svg, .pdf).")] = None,
    pixels: Pixels = True,
    encoder: EncoderName = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Group the exemplars of a word into variants, and say which is used where and by whom.

    How many variants there are follows from what it costs to align the exemplars.

    Example: signspot variants friend my-signs/ --footage news.mp4 --html friend.html
    """
    from signspot.applications.variants import SAME_SIGN, draw_costs, find_use, find_variants, write_variants_page
    from signspot.dictionary.opening import open_dictionary
    from signspot.io.files import Outputs
    from signspot.plots.plot import save_figure
    from signspot.spotting.spotter import load

    with Outputs([dictionary, encoder, *(footage or ())], force=settings().force) as outputs:
        claim_outputs(outputs, pictures=[("report", html), ("plot", plot)])
        signs = open_dictionary(dictionary)
        signs.resolve(word)
        spotter = load(encoder, device=settings().device)
        with bar("exemplars") as progress:
            found = find_variants(spotter, signs, word, same=SAME_SIGN if same is None else same, progress=progress)
        with bar("footage", "videos") as progress:
            used = find_use(spotter, found, list(footage or ()), progress=progress)
        if html is not None:
            note(f"wrote {write_variants_page(spotter, found, html, used, pixels=pixels)}")
        if plot is not None:
            note(f"wrote {save_figure(draw_costs(found), plot)}")
    if as_json:
        say(json.dumps(_plain(found, used[0]), ensure_ascii=False))
        return
    print_table(
        ("variant", "exemplars", "typical", "signers"),
        ((group.name, str(len(group.exemplars)), group.typical.id, ", ".join(group.signers)) for group in found.groups),
    )
    if used[0]:
        rows = ((use.video, use.variant, str(use.times), f"{use.best.time:.2f}") for use in used[0])
        print_table(("video", "variant", "times", "best at, s"), rows)


def _plain(found: "Variants", uses: "list[VariantUse]") -> dict[str, object]:
    return {
        "word": found.word,
        "variants": [
            {
                "name": group.name,
                "exemplars": [each.id for each in group.exemplars],
                "typical": group.typical.id,
                "signers": list(group.signers),
                "spread": round(group.spread, 4),
            }
            for group in found.groups
        ],
        "use": [
            {"video": use.video, "variant": use.variant, "times": use.times, "best": use.best.time} for use in uses
        ],
    }
