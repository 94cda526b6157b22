"""`signspot cache`: what the cache folder holds, and how to empty it."""

from typing import Annotated

import typer

from signspot.cli.console import count, print_line, print_table


def cache(
    clear: Annotated[
        list[str] | None,
        typer.Option(metavar="PART", help="Empty landmarks, tracks, exemplars, indices, decoys, encoders or all."),
    ] = None,
) -> None:
    """Show where the cache is and how large its parts are, or empty it.

    Landmarks and tracks may each take up to $SIGNSPOT_CACHE_LIMIT (such as 500 MB; default 20 GiB). Beyond that, the
    least recently used are removed.

    Example: signspot cache --clear tracks
    """
    from signspot.io.files import cache_folder
    from signspot.landmarks.cache import PARTS, clear_cache, describe_cache, limit

    if clear:
        for part in clear_cache(cache_folder(), tuple(PARTS) if "all" in clear else tuple(clear)):
            print_line(f"removed {count(part.files, 'file')} of {part.name}, {_size(part.size)}")
        return
    print_line(f"{cache_folder()} (at most {_size(limit())} of landmarks, and as much of tracks)")
    parts = describe_cache(cache_folder())
    print_table(("part", "files", "size"), ((part.name, f"{part.files:,}", _size(part.size)) for part in parts))


def _size(size: int) -> str:
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"
