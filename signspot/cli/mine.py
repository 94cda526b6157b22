"""`signspot mine`: new exemplars of a word from unlabelled footage."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, claim_outputs, note, print_spottings, refuse_pictures
from signspot.cli.options import EncoderName, Pixels, settings


def mine(
    word: Annotated[str, typer.Argument(help="A word of the dictionary.")],
    footage: Annotated[list[Path], typer.Argument(help="Videos, .pose files, tracks, or folders of them.")],
    dictionary: Annotated[Path, typer.Option(help="With exemplars of the word.")],
    most: Annotated[int, typer.Option(min=1, help="How many new exemplars.")] = 20,
    diversity: Annotated[float, typer.Option(help="0: the best scores alone; 1: the most unlike alone.")] = 0.3,
    rate: Annotated[
        float | None, typer.Option("--false-alarms-per-hour", help="Allowed before the choice. [default: as in spot]")
    ] = None,
    out: Annotated[list[Path] | None, typer.Option(help="Write spottings: .eaf .vtt .csv …; repeatable.")] = None,
    clips: Annotated[Path | None, typer.Option(help="New folder: the clips, as a dictionary.")] = None,
    html: Annotated[Path | None, typer.Option(help="With --clips: a page with all of them.")] = None,
    pixels: Pixels = True,
    encoder: EncoderName = None,
    json_lines: Annotated[bool, typer.Option("--json", help="Print JSON Lines.")] = False,
) -> None:
    """Find new exemplars of a word in unlabelled footage: the best first, and unlike each other.

    Look at them before you add them to a dictionary: some are false.

    Example: signspot mine friend footage/ --dictionary my-signs/ --clips friend-new/ --out friend.eaf
    """
    from signspot.applications.mining import MineOptions, videos_in, write_mined
    from signspot.applications.mining import mine as find_exemplars
    from signspot.applications.signs import write_exemplar_page
    from signspot.dictionary.opening import open_dictionary
    from signspot.errors import OptionsError
    from signspot.formats.formats import write
    from signspot.io.files import Outputs
    from signspot.spotting.options import SpotOptions
    from signspot.spotting.spotter import load

    if html is not None and clips is None:
        raise OptionsError("a page of clips needs the clips. Name a new folder for them with --clips")
    refuse_pictures({"--clips": clips}, pixels=pixels)
    options, how = MineOptions(most, diversity), SpotOptions(false_alarms_per_hour=rate)
    videos = list(videos_in(footage))
    with Outputs([dictionary, encoder, *footage], force=settings().force) as outputs:
        claim_outputs(outputs, out, [("report", html)], videos)
        spotter = load(encoder, device=settings().device)
        gallery = spotter.gallery(open_dictionary(dictionary).select([word]), how)
        with bar("footage", "videos") as progress:
            found = find_exemplars(spotter, gallery, videos, options, how, progress)
        for path in out or ():
            for written in write([each.spotting for each in found], path, videos=videos):
                note(f"wrote {written}")
        if clips is not None and found:
            with bar("clips") as progress:
                made = write_mined(found, clips, progress)
            note(f"wrote {clips}: {len(made.exemplars)} exemplars")
            if html is not None:
                note(f"wrote {write_exemplar_page(spotter, made.exemplars, html, f'New exemplars of {word}')}")
    print_spottings([each.spotting for each in found], as_json=json_lines, videos=True)
    if not found:
        note(f"'{word}' was not found in {len(videos)} videos")
