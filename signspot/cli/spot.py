"""`signspot spot`: find signs in a video."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import bar, note, print_spottings

if TYPE_CHECKING:
    from signspot.models.encoder import Encoder
    from signspot.pictures.curves import View
    from signspot.spotting.spotter import What


def spot(
    video: Annotated[Path, typer.Argument(help="A video, a .pose file, or a track made by `signspot embed`.")],
    signs: Annotated[Path, typer.Argument(help="A dictionary: a folder of example videos, or one example video.")],
    words: Annotated[list[str] | None, typer.Argument(help="Words to look for; all when none is named.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Least score in [0, 1]. [default: the encoder's]")] = None,
    rate: Annotated[
        float | None, typer.Option("--false-alarms-per-hour", help="Instead of --threshold: so many a word.")
    ] = None,
    stride: Annotated[int, typer.Option(help="Frames between two windows.")] = 1,
    refine: Annotated[bool, typer.Option("--refine", help="With --stride: look closely where it may be.")] = False,
    gap: Annotated[float, typer.Option(help="Seconds between two spottings of one word, at least.")] = 0.4,
    top: Annotated[int | None, typer.Option(help="At most so many spottings of a word, the best.")] = None,
    mirror: Annotated[bool, typer.Option(help="Also try exemplars mirrored, for left-handed signers.")] = True,
    seed: Annotated[int, typer.Option(help="Of the clips drawn from exemplars.")] = 0,
    encoder: Annotated[str | None, typer.Option(help="Name or file of an encoder. [default: the shipped one]")] = None,
    out: Annotated[
        list[Path] | None, typer.Option(help="Write spottings: .eaf .vtt .csv .jsonl …; repeatable.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw score over time (.png, .svg, .pdf).")] = None,
    film: Annotated[Path | None, typer.Option("--video", help="Film the input beside the moving curve.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a self-contained, playable report.")] = None,
    json_lines: Annotated[bool, typer.Option("--json", help="Print JSON Lines.")] = False,
    cache: Annotated[bool, typer.Option(help="Remember tracks and exemplars in the cache folder.")] = True,
) -> None:
    """Find signs in a video.

    Example: signspot spot news.mp4 my-signs/ apple --out news.eaf --plot news.png
    """
    from signspot.formats.formats import check_suffix, write
    from signspot.pictures.curves import view_of
    from signspot.spotting.spotter import SpotOptions, load

    for path in out or []:
        check_suffix(path)
    check_pictures(plot=plot, film=film, html=html)
    spotter = load(encoder, cache=cache)
    if rate is not None:
        threshold = threshold_of(spotter.encoder, rate, threshold)
    options = SpotOptions(threshold=threshold, stride=stride, refine=refine, gap=gap, top=top, mirror=mirror, seed=seed)
    what = exemplars_of(signs, words or [])
    with bar("exemplars") as progress:
        gallery = spotter.gallery(what, options, progress)
    with bar("video", "frames") as progress:
        track = spotter.track(video, options, progress)
    spottings = spotter.spot(track if not refine else video, gallery, options)
    print_spottings(spottings, as_json=json_lines)
    for path in out or []:
        write(spottings, path)
        note(f"wrote {path}")
    if plot or film or html:
        draw(view_of(spotter, video, gallery, spottings, options), plot=plot, film=film, html=html)


def exemplars_of(signs: Path, words: list[str]) -> "What":
    """The dictionary's words, or the one video as an exemplar of its own name."""
    from signspot.dictionary.opening import open_dictionary
    from signspot.errors import OptionsError
    from signspot.records import Exemplar

    if signs.is_file() and signs.suffix not in {".csv", ".json", ".pkl"}:
        if len(words) > 1:
            raise OptionsError(f"{signs} is one example, of one word; got {len(words)} words: {', '.join(words)}")
        return Exemplar(words[0] if words else signs.stem, signs.stem, signs)
    dictionary = open_dictionary(signs)
    for problem in dictionary.problems:
        note(f"left out {problem.path}: {problem.message}")
    return dictionary.select(words) if words else dictionary


def threshold_of(encoder: "Encoder", rate: float, threshold: float | None) -> float:
    """The threshold of a rate of false alarms, unless both were given."""
    from signspot.errors import OptionsError
    from signspot.spotting.calibration import threshold_for

    if threshold is not None:
        raise OptionsError("give --threshold or --false-alarms-per-hour, not both")
    return threshold_for(encoder, rate)


def check_pictures(*, plot: Path | None, film: Path | None, html: Path | None) -> None:
    """Refuse names that no picture can have, before long work."""
    from signspot.pictures.plot import Picture, check_picture

    wanted: list[tuple[Picture, Path | None]] = [("plot", plot), ("film", film), ("report", html)]
    for picture, path in wanted:
        if path:
            check_picture(picture, path)


def draw(view: "View", *, plot: Path | None, film: Path | None, html: Path | None) -> None:
    """Make the pictures that were asked for."""
    if plot:
        from signspot.pictures.plot import plot as draw_plot

        draw_plot(view, plot)
        note(f"wrote {plot}")
    if film:
        from signspot.pictures.film import film as draw_film

        with bar("film", "frames") as progress:
            draw_film(view, film, progress)
        note(f"wrote {film}")
    if html:
        from signspot.pictures.report import report

        with bar("report", "frames") as progress:
            report(view, html, progress)
        note(f"wrote {html}")
