"""`signspot mine`: new exemplars of a word from unlabelled footage."""

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
    print_spottings,
    refuse_pixels,
    write_spottings,
)
from signspot.cli.options import EncoderName, Fields, Html, Json, Out, derive_options
from signspot.spotting.spot_options import SpotOptions


@derive_options
def mine(
    word: Annotated[str, typer.Argument(help="A word of the dictionary.")],
    footage: Annotated[list[Path], typer.Argument(help="Videos, .pose files, tracks, or folders of them.")],
    dictionary: Annotated[Path, typer.Option(help="Dictionary with exemplars of the word.")],
    search: Annotated[SpotOptions, Fields.of("false_alarms_per_hour")],
    most: Annotated[int, typer.Option(min=1, help="Maximum number of new exemplars.")] = 20,
    diversity: Annotated[
        float, typer.Option(help="Weight of being different, from 0 (only the score counts) to 1.")
    ] = 0.3,
    out: Out = None,
    clips: Annotated[Path | None, typer.Option(help="New folder for the clips, which is a dictionary.")] = None,
    html: Html = None,
    json_lines: Json = False,
    encoder: EncoderName = None,
) -> None:
    """Find new exemplars of a word in unlabelled footage: the best first, and different from each other.

    Look at them before you add them to a dictionary: some are wrong. --html needs --clips.

    Example: signspot mine friend footage/ --dictionary my-signs/ --clips friend-new/ --out friend.eaf
    """
    from signspot.applications.mine import MineOptions, find_exemplars, videos_in, write_dictionary
    from signspot.applications.sign_comparison import write_exemplar_page
    from signspot.dictionary.open_dictionary import open_dictionary
    from signspot.errors import OptionsError

    if html is not None and clips is None:
        raise OptionsError("a page of clips needs the clips. Name a new folder for them with --clips")
    refuse_pixels({"--clips": clips})
    options, videos = MineOptions(most, diversity), list(videos_in(footage))
    with open_outputs(dictionary, encoder, *footage) as outputs:
        check_media(*videos)
        claim_outputs(outputs, out, [("report", html)], videos)
        spotter = load_spotter(encoder)
        with bar("exemplars") as progress:
            gallery = spotter.gallery(open_dictionary(dictionary).select([word]), search, progress)
        with bar("footage", "videos") as progress:
            candidates = find_exemplars(spotter, gallery, videos, options, search, progress)
        spottings = [candidate.spotting for candidate in candidates]
        write_spottings(spottings, out, videos)
        if clips is not None and candidates:
            with bar("clips") as progress:
                written = write_dictionary(candidates, clips, progress)
            log(f"wrote {clips}: {len(written.exemplars)} exemplars")
            if html is not None:
                log(f"wrote {write_exemplar_page(spotter, written.exemplars, html, f'New exemplars of {word}')}")
    print_spottings(spottings, as_json=json_lines, videos=True)
    if not spottings:
        log(f"'{word}' was not found in {len(videos)} videos")
