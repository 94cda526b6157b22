"""`signspot densify`: all words of the subtitles on one timeline."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, claim_outputs, note, print_spottings
from signspot.cli.options import EncoderName, Workers, default_workers, settings


def densify(
    video: Annotated[Path, typer.Argument(help="A video, .pose file or track.")],
    subtitles: Annotated[Path, typer.Argument(help="Its subtitles: .vtt, .srt or .ttml.")],
    dictionary: Annotated[Path, typer.Argument(help="A dictionary.")],
    padding: Annotated[float, typer.Option(help="Seconds around a subtitle in which its words are looked for.")] = 4.0,
    rate: Annotated[
        float, typer.Option("--false-alarms-per-hour", help="Allowed per word, inside of such stretches.")
    ] = 120.0,
    language: Annotated[str, typer.Option(help="Of the subtitles.")] = "en",
    start: Annotated[float, typer.Option("--from", help="Seconds at which the passage begins.")] = 0.0,
    end: Annotated[float, typer.Option("--to", help="Seconds at which it ends.")] = float("inf"),
    out: Annotated[list[Path] | None, typer.Option(help="Write spottings: .eaf .vtt .csv …; repeatable.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the first half minute of the passage.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with the whole timeline.")] = None,
    encoder: EncoderName = None,
    workers: Workers = None,
    json_lines: Annotated[bool, typer.Option("--json", help="Print JSON Lines.")] = False,
) -> None:
    """Find every dictionary word of the subtitles near its subtitle: one timeline, and tiers ready to correct.

    Example: signspot densify news.mp4 news.vtt my-signs/ --out news.eaf --html news.html
    """
    from signspot.applications.densify import DensifyOptions, draw_timeline, write_timeline_page
    from signspot.applications.densify import densify as find_words
    from signspot.dictionary.opening import open_dictionary
    from signspot.formats.formats import write
    from signspot.io.files import Outputs
    from signspot.plots.plot import save_figure
    from signspot.spotting.spotter import load
    from signspot.subtitles.reading import read_subtitles
    from signspot.types import Segment

    options = DensifyOptions(padding, rate, language, Segment(start, end))
    with Outputs([video, subtitles, dictionary, encoder], force=settings().force) as outputs:
        claim_outputs(outputs, out, [("plot", plot), ("report", html)], [str(video)])
        lines, signs = read_subtitles(subtitles), open_dictionary(dictionary)
        spotter = load(encoder, device=settings().device, workers=default_workers(workers))
        with bar(str(video), "frames") as progress:
            found = find_words(spotter, str(video), lines, signs, options, progress)
        for path in out or ():
            for written in write(found.spottings, path, videos=[str(video)]):
                note(f"wrote {written}")
        if plot is not None:
            first = found.mentioned[0].mention.start
            note(f"wrote {save_figure(draw_timeline(found, Segment(first, first + 30.0)), plot)}")
        if html is not None:
            note(f"wrote {write_timeline_page(found, html)}")
    print_spottings(found.spottings, as_json=json_lines)
    count = sum(each.spotting is not None for each in found.mentioned)
    note(f"{count} of {len(found.mentioned)} subtitle words were found")
