"""The library: every video of the folder with what is known of it, without reading any of them."""

from typing import Any

from signspot.workbench.workbench import Workbench


def library(bench: Workbench) -> dict[str, Any]:
    """Videos, dictionaries and runs, as the page shows them."""
    listing, states = bench.folder.listing(), bench.states
    verified, annotated = bench.queues.verified_videos(), states.annotated(bench.folder)
    videos = []
    for video in listing.videos.values():
        every, decided = verified.get(video.name, (0, 0))
        stem = video.name.rpartition(".")[0]
        videos.append(
            {
                "name": video.name,
                "size": video.size,
                "film": video.is_film,
                "subtitles": video.subtitles is not None,
                "ready": states.is_ready(video),
                "annotated": bool(annotated.get(stem)),
                "spottings": every,
                "verified": decided,
            }
        )
    return {
        "videos": videos,
        "dictionaries": [_dictionary(bench, name) for name in listing.dictionaries],
        "runs": list(listing.runs),
    }


def _dictionary(bench: Workbench, name: str) -> dict[str, Any]:
    known = bench.searcher.known_dictionary(name)
    return {
        "name": name,
        "words": None if known is None else len(known),
        "exemplars": None if known is None else len(known.exemplars),
    }
