"""`signspot feedback`: say whether a sign is the one that was meant, and what differs."""

import json
from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, check_media, claim_outputs, load_spotter, log, open_outputs, print_line
from signspot.cli.options import EncoderName, Json, settings


def feedback(
    clip: Annotated[Path, typer.Argument(help="Video or .pose file of one sign by a learner.")],
    word: Annotated[str, typer.Argument(help="The word that was meant.")],
    dictionary: Annotated[Path, typer.Argument(help="Dictionary with the word, and words it may be confused with.")],
    plot: Annotated[
        Path | None, typer.Option(help="Plot both signers where they differ most (.png, .svg, .pdf).")
    ] = None,
    as_json: Json = False,
    encoder: EncoderName = None,
) -> None:
    """Tell a learner whether a sign was right, which words are nearer, and what differs.

    Handshape, location, orientation, movement, hand and timing are compared with the usual differences between two
    people who sign the word right.

    Example: signspot feedback me.mp4 friend my-signs/ --plot me.png
    """
    from signspot.applications.feedback import draw_feedback, feedback_lines, frames_that_differ, give_feedback
    from signspot.dictionary.open_dictionary import open_dictionary
    from signspot.plots.plot import save_figure

    with open_outputs(clip, dictionary, encoder) as outputs:
        check_media(clip)
        claim_outputs(outputs, plots=[("plot", plot)])
        signs, spotter = open_dictionary(dictionary), load_spotter(encoder)
        with bar("exemplars") as progress:
            result = give_feedback(spotter, clip, word, signs, progress=progress)
        if plot is not None:
            frames = frames_that_differ(spotter, clip, result) if settings().pixels else (None, None)
            log(f"wrote {save_figure(draw_feedback(result, frames), plot)}")
    if as_json:
        print_line(json.dumps(result.as_dict(), ensure_ascii=False))
        return
    for line in feedback_lines(result):
        print_line(line)
