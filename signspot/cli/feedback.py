"""`signspot feedback`: say whether a sign is the one that was meant, and what differs."""

import json
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import bar, claim_outputs, count, note, say
from signspot.cli.options import EncoderName, settings

if TYPE_CHECKING:
    from signspot.applications.feedback import Feedback


def feedback(
    clip: Annotated[Path, typer.Argument(help="A video or .pose file of one sign, by a learner.")],
    word: Annotated[str, typer.Argument(help="The word that was meant.")],
    dictionary: Annotated[Path, typer.Argument(help="A dictionary with the word, and words it may be confused with.")],
    plot: Annotated[
        Path | None, typer.Option(help="Draw both signers where they differ most (.png, .svg, .pdf).")
    ] = None,
    encoder: EncoderName = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell a learner whether a sign was right, which words are nearer, and what differs.

    Handshape, place, orientation, movement, hand and timing are compared with those of two who sign the word right.

    Example: signspot feedback me.mp4 friend my-signs/ --plot me.png
    """
    from signspot.applications.feedback import draw_feedback, give_feedback
    from signspot.dictionary.opening import open_dictionary
    from signspot.io.files import Outputs
    from signspot.plots.plot import save_figure
    from signspot.spotting.spotter import load

    with Outputs([clip, dictionary, encoder], force=settings().force) as outputs:
        claim_outputs(outputs, pictures=[("plot", plot)])
        signs = open_dictionary(dictionary)
        spotter = load(encoder, device=settings().device)
        with bar("exemplars") as progress:
            found = give_feedback(spotter, clip, word, signs, progress=progress)
        if plot is not None:
            note(f"wrote {save_figure(draw_feedback(found), plot)}")
    if as_json:
        say(json.dumps(_plain(found), ensure_ascii=False))
        return
    for line in tell(found):
        say(line)


def tell(found: "Feedback") -> list[str]:
    """The lines that a learner reads."""
    place = f"rank {found.rank} of {count(found.of, 'word')}, score {found.score:.2f}"
    lines = [f"'{found.word}': {'right' if found.right else 'not quite'} ({place})"]
    if found.rank == 1 and not found.right:
        lines.append("no other word is nearer, but it differs more from the examples than right signs do")
    if found.instead:
        lines.append("did you mean " + ", ".join(f"'{match.word}'" for match in found.instead) + "?")
    if found.mirrored:
        lines.append("signed with the other hand than the example: right for a left-handed signer")
    lines += [f"{each.parameter}: {each.words}" for each in found.notable]
    if not found.notable:
        lines.append("no difference that is larger than between two signers")
    return lines


def _plain(found: "Feedback") -> dict[str, object]:
    return {
        "word": found.word,
        "right": found.right,
        "doubt": round(found.doubt, 3),
        "unlike": None if isnan(found.unlike) else round(found.unlike, 3),
        "score": found.score,
        "rank": found.rank,
        "of": found.of,
        "instead": [match.word for match in found.instead],
        "mirrored": found.mirrored,
        "exemplar": found.exemplar.id,
        "differences": [
            {"parameter": each.parameter, "strength": round(each.strength, 2), "words": each.words}
            for each in found.differences
        ],
    }
