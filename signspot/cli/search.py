"""`signspot search`: a word or a clip over an archive of tracks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import bar, claim_outputs, note, print_spottings, refuse_pictures
from signspot.cli.options import EncoderName, Pixels, Workers, default_workers, settings, usable_cores

if TYPE_CHECKING:
    from signspot.embedding.exemplars import Gallery
    from signspot.spotting.spotter import Spotter


def search(
    archive: Annotated[Path, typer.Argument(help="A folder of tracks, as `signspot embed` makes them.")],
    word: Annotated[list[str] | None, typer.Argument(help="Words of the dictionary.")] = None,
    dictionary: Annotated[Path | None, typer.Option(help="With exemplars of the words.")] = None,
    clip: Annotated[Path | None, typer.Option(help="A clip of the sign, instead of words.")] = None,
    add: Annotated[list[Path] | None, typer.Option(help="A video to embed into the archive first; repeatable.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Places of each word, the best.")] = 20,
    out: Annotated[list[Path] | None, typer.Option(help="Write spottings: .eaf .vtt .csv …; repeatable.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with the clips that were found.")] = None,
    pixels: Pixels = True,
    encoder: EncoderName = None,
    workers: Workers = None,
    json_lines: Annotated[bool, typer.Option("--json", help="Print JSON Lines.")] = False,
) -> None:
    """Search an archive for words or for a clip: every window of every video is compared, the best are aligned.

    Example: signspot search archive/ friend --dictionary my-signs/ --add news.mp4
    """
    from signspot.applications.archive import add_video, open_archive, search_archive
    from signspot.applications.mining import write_places_page
    from signspot.errors import OptionsError
    from signspot.formats.formats import write
    from signspot.io.files import Outputs
    from signspot.spotting.spotter import load

    refuse_pictures({"--html": html}, pixels=pixels)
    if (dictionary is None) == (clip is None) and (word or dictionary or clip or not add):
        raise OptionsError("search needs words with a --dictionary, or a --clip, and not both")
    with Outputs([archive, dictionary, clip, encoder, *(add or ())], force=settings().force) as outputs:
        spotter = load(encoder, device=settings().device, workers=default_workers(workers))
        for video in add or ():
            with bar(str(video), "frames") as progress:
                note(f"added {add_video(spotter, archive, video, progress)}")
        if dictionary is None and clip is None:
            return
        opened = open_archive(archive)
        claim_outputs(outputs, out, [("report", html)], [track.video for track in opened.tracks])
        gallery = _gallery(spotter, dictionary, clip, word or [])
        with bar("aligned", "words") as progress:
            threads = min(default_workers(workers) + 1, usable_cores())
            found = search_archive(spotter, opened, gallery, top, threads=threads, progress=progress)
        for path in out or ():
            for written in write(found, path, videos=[track.video for track in opened.tracks]):
                note(f"wrote {written}")
        if html is not None:
            note(f"wrote {write_places_page(spotter, found, html, 'Found in ' + archive.name)}")
    print_spottings(found, as_json=json_lines, videos=True)
    note(f"{opened.windows:,} windows of {len(opened.tracks):,} videos were compared")


def _gallery(spotter: "Spotter", dictionary: Path | None, clip: Path | None, words: list[str]) -> "Gallery":
    from signspot.cli.spot import exemplars_of

    place = dictionary or clip
    assert place is not None, "checked before"
    with bar("exemplars") as progress:
        return spotter.gallery(exemplars_of(place, words), progress=progress)
