"""`signspot identify`: say which word an isolated sign is."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from signspot.cli.options import EncoderName, Json, settings
from signspot.cli.spot import exemplars_of

if TYPE_CHECKING:  # what takes long to load is loaded when it is used
    from signspot.recognition.recogniser import Recognised
    from signspot.spotting.spotter import Match
    from signspot.types import Segment


def identify(
    clip: Annotated[Path, typer.Argument(help="Video or .pose file that shows one sign.")],
    signs: Annotated[
        Path, typer.Argument(help="Dictionary (a folder of example videos, or a table), or a trained recogniser.")
    ],
    start: Annotated[float | None, typer.Option("--from", help="In footage: start of the sign, in seconds.")] = None,
    end: Annotated[float | None, typer.Option("--to", help="In footage: end of the sign, in seconds.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of words to show.")] = 10,
    plot: Annotated[
        Path | None, typer.Option(help="Plot the sign beside the best exemplars (.png, .svg, .pdf).")
    ] = None,
    json_lines: Json = False,
    encoder: EncoderName = None,
) -> None:
    """Say which words an isolated sign may be, by a dictionary or a recogniser, the best first.

    Example: signspot identify what-is-this.mp4 my-signs/ --top 5 --plot answer.png
    """
    from signspot.errors import OptionsError
    from signspot.types import Segment

    if (start is None) != (end is None):
        raise OptionsError("a sign in footage has a beginning and an end: give both --from and --to")
    segment = Segment(start, end) if start is not None and end is not None else None
    with open_outputs(clip, signs, encoder) as outputs:
        check_media(clip)
        claim_outputs(outputs, plots=[("plot", plot)])
        if signs.suffix == ".safetensors":
            _refuse_for_recognisers({"--plot": plot, "--encoder": encoder})
            _show_recognised(_recognise(clip, signs, segment, top), as_json=json_lines)
            return
        matches = _look_up(clip, signs, segment, top, plot, encoder)
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


def _look_up(
    clip: Path, signs: Path, segment: "Segment | None", top: int, plot: Path | None, encoder: str | None
) -> "Sequence[Match]":
    """The words of a dictionary that a sign may be, and the plot that was asked for."""
    spotter = load_spotter(encoder)
    with bar("exemplars") as progress:
        gallery = spotter.gallery(exemplars_of(signs, []), progress=progress)
    if plot is None:
        return spotter.identify(clip, gallery, top, segment=segment)
    from signspot.applications.identify import draw_identification, identify_sign
    from signspot.plots.plot import save_figure

    identification = identify_sign(spotter, clip, gallery, top, segment)
    log(f"wrote {save_figure(draw_identification(identification), plot)}")
    return identification.matches


def _refuse_for_recognisers(options: dict[str, object]) -> None:
    from signspot.errors import OptionsError

    option = next((name for name, value in options.items() if value is not None), None)
    if option is not None:
        raise OptionsError(f"{option} belongs to a dictionary; a recogniser has no exemplars. Leave it out")


def _recognise(clip: Path, weights: Path, segment: "Segment | None", top: int) -> "list[Recognised]":
    """The words of a recogniser that a clip, or a segment of footage, may show."""
    from signspot.io.files import cache_folder
    from signspot.recognition.recogniser import load_recogniser

    recogniser = load_recogniser(weights, settings().device)
    return recogniser.recognise(clip, segment, top=top, cache=cache_folder() / "landmarks")


def _show_recognised(words: "list[Recognised]", *, as_json: bool) -> None:
    if as_json:
        for word in words:
            print_line(json.dumps(asdict(word), ensure_ascii=False))
        return
    rows = ((str(rank), word.word, f"{word.probability:.3f}") for rank, word in enumerate(words, 1))
    print_table(("rank", "word", "probability"), rows)
