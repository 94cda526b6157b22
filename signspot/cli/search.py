"""`signspot search`: a word or a clip over an archive of tracks."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import (
    bar,
    check_media,
    claim_outputs,
    count,
    load_spotter,
    log,
    open_outputs,
    print_spottings,
    refuse_pixels,
    write_spottings,
)
from signspot.cli.options import (
    Confirmed,
    EncoderName,
    Fields,
    Html,
    Json,
    Out,
    Workers,
    default_workers,
    derive_options,
    usable_cores,
)
from signspot.spotting.spot_options import SpotOptions


@derive_options
def search(
    archive: Annotated[Path, typer.Argument(help="Folder of tracks, as `signspot embed` makes them.")],
    options: Annotated[SpotOptions, Fields.of("threshold", "false_alarms_per_hour", "compete", "top")],
    word: Annotated[list[str] | None, typer.Argument(help="Words of the dictionary.")] = None,
    dictionary: Annotated[Path | None, typer.Option(help="Dictionary with exemplars of the words.")] = None,
    clip: Annotated[Path | None, typer.Option(help="Clip of the sign, instead of words.")] = None,
    also: Annotated[list[Path] | None, typer.Option(help="Further folder of tracks; repeatable.")] = None,
    confirmed: Confirmed = None,
    add: Annotated[list[Path] | None, typer.Option(help="Video to embed into the archive first; repeatable.")] = None,
    out: Out = None,
    html: Html = None,
    json_lines: Json = False,
    encoder: EncoderName = None,
    workers: Workers = None,
) -> None:
    """Search an archive for words or for a clip, as `signspot spot` searches each of its videos.

    Of more than 100 videos, only the 100 nearest to each word are searched. --top counts over all videos.

    Example: signspot search archive/ friend --dictionary my-signs/ --add news.mp4
    """
    from signspot.cli.spot import confirmed_exemplars, exemplars_of, with_further
    from signspot.errors import OptionsError
    from signspot.formats.formats import check_suffix

    refuse_pixels({"--html": html})
    if (dictionary is None) == (clip is None) and (word or dictionary or clip or not add):
        raise OptionsError("search needs words with a --dictionary, or a --clip, but not both")
    if archive.is_file():
        raise OptionsError(f"{archive} is a file; an archive is a folder of tracks, as signspot embed makes it")
    with open_outputs(str(archive) if add else archive, dictionary, clip, confirmed, encoder, *(add or ())) as outputs:
        check_media(clip, *(add or ()))
        for path in out or ():
            check_suffix(path)
        signs = dictionary or clip
        confirmed_signs = confirmed_exemplars(confirmed)
        exemplars = [] if signs is None else with_further(exemplars_of(signs, word or []), confirmed_signs)
        from signspot.applications.archive_search import SEARCHED, add_video, open_archive, search_archive
        from signspot.applications.mine import write_spottings_page

        spotter = load_spotter(encoder, workers)
        for video in add or ():
            with bar(str(video), "frames") as progress:
                log(f"added {add_video(spotter, archive, video, progress)}")
        if signs is None:
            return
        opened = open_archive(archive, *(also or ()))
        videos = [track.video for track in opened.tracks]
        claim_outputs(outputs, out, [("report", html)], videos)
        with bar("exemplars") as progress:
            gallery = spotter.gallery(exemplars, options, progress)
        with bar("searched", "videos") as progress:
            threads = min(default_workers(workers) + 1, usable_cores())
            spottings = search_archive(spotter, opened, gallery, options, threads=threads, progress=progress)
        write_spottings(spottings, out, videos)
        missing = sorted(set(gallery.words) - {spotting.word for spotting in spottings})
        if html is not None:
            log(f"wrote {write_spottings_page(spotter, spottings, html, 'Found in ' + archive.name, missing)}")
    print_spottings(spottings, as_json=json_lines, videos=True, rates=options.false_alarms_per_hour is not None)
    if missing:
        log(f"not found: {', '.join(missing)}")
    nearest = f"; of each word the nearest {SEARCHED} videos were searched" if len(videos) > SEARCHED else ""
    log(f"{count(opened.windows, 'window')} of {count(len(videos), 'video')} compared{nearest}")
