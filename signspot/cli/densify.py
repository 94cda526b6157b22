"""`signspot densify`: all words of the subtitles on one timeline."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, claim_outputs, load_spotter, log, open_outputs, print_spottings, write_spottings
from signspot.cli.options import EncoderName, Html, Json, Out, Workers, settings


def densify(
    video: Annotated[Path, typer.Argument(help="A video, .pose file or track.")],
    subtitles: Annotated[Path, typer.Argument(help="Its subtitles: .vtt, .srt or .ttml.")],
    dictionary: Annotated[Path, typer.Argument(help="A dictionary.")],
    padding: Annotated[float, typer.Option(help="Seconds around a subtitle in which its words are looked for.")] = 4.0,
    rate: Annotated[
        float | None, typer.Option("--false-alarms-per-hour", help="Allowed per word. [default: as `spot` decides]")
    ] = None,
    language: Annotated[str, typer.Option(help="Of the subtitles.")] = "en",
    start: Annotated[float, typer.Option("--from", help="Seconds at which to begin.")] = 0.0,
    end: Annotated[float, typer.Option("--to", help="Seconds at which to end.")] = float("inf"),
    out: Out = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the first half minute (.png, .svg, .pdf).")] = None,
    html: Html = None,
    json_lines: Json = False,
    encoder: EncoderName = None,
    workers: Workers = None,
) -> None:
    """Find every dictionary word of the subtitles near its subtitle: one timeline, and tiers ready to correct.

    Example: signspot densify news.mp4 news.vtt my-signs/ --out news.eaf --html news.html
    """
    from signspot.applications.densify import DensifyOptions, draw_timeline, find_words, write_timeline_page
    from signspot.dictionary.opening import open_dictionary
    from signspot.plots.plot import save_figure
    from signspot.subtitles.reading import read_subtitles
    from signspot.types import Segment

    options = DensifyOptions(padding, rate, language, Segment(start, end))
    with open_outputs(video, subtitles, dictionary, encoder) as outputs:
        claim_outputs(outputs, out, [("plot", plot), ("report", html)], [str(video)])
        lines, signs = read_subtitles(subtitles), open_dictionary(dictionary)
        spotter = load_spotter(encoder, workers)
        with bar(str(video), "frames") as progress:
            timeline = find_words(spotter, str(video), lines, signs, options, progress)
        write_spottings(timeline.spottings, out, [str(video)])
        if plot is not None:
            first = timeline.mentions[0].mention.start
            log(f"wrote {save_figure(draw_timeline(timeline, Segment(first, first + 30.0)), plot)}")
        if html is not None:
            with bar("report", "frames") as progress:
                written = write_timeline_page(timeline, html, pixels=settings().pixels, progress=progress)
            log(f"wrote {written}")
    print_spottings(timeline.spottings, as_json=json_lines)
    log(timeline.summary)
