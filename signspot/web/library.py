"""The library: every video of the folder with what is known of it, without reading any of them."""

from typing import Any

from signspot.web.folder import VideoFile
from signspot.web.workbench import Workbench


def library(bench: Workbench, q: str = "", start: int = 0, size: int | None = None) -> dict[str, Any]:
    """Videos, dictionaries and runs, as the page shows them.

    Args:
        bench: the workbench.
        q: only videos whose names hold this.
        start: the first of them that is told about.
        size: how many are; all, if None.
    """
    listing = bench.folder.listing()
    names = [name for name in listing.videos if q.casefold() in name.casefold()]
    shown = names[start:] if size is None else names[start : start + size]
    verified, annotated = bench.states.verified(bench.queues), bench.states.annotated(bench.folder)
    return {
        "videos": [_video(bench, listing.videos[name], verified, annotated) for name in shown],
        "count": len(names),
        "dictionaries": [_dictionary(bench, name) for name in listing.dictionaries],
        "runs": [{"name": name, **bench.states.run(name)} for name in listing.runs],
    }


def _video(
    bench: Workbench, video: VideoFile, verified: dict[str, tuple[int, int]], annotated: dict[str, int]
) -> dict[str, Any]:
    every, decided = verified.get(video.name, (0, 0))
    return {
        "name": video.name,
        "size": video.size,
        "film": video.is_shown,
        "subtitles": video.subtitles is not None,
        "landmarks": bench.states.has_landmarks(video),
        "ready": bench.states.is_ready(video),
        "annotated": bool(annotated.get(video.name.rpartition(".")[0])),
        "spottings": every,
        "verified": decided,
    }


def _dictionary(bench: Workbench, name: str) -> dict[str, Any]:
    known = bench.searcher.known_dictionary(name)
    return {
        "name": name,
        "words": None if known is None else len(known),
        "exemplars": None if known is None else len(known.exemplars),
    }
