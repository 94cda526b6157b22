"""Spotting in a track that exists: seconds for an hour of video, with a small and a large gallery."""

import numpy as np

from benchmarks.isolation import Call, fastest, run
from benchmarks.material import landmark_encoder, random_gallery, random_track
from benchmarks.rows import Comparison, rounded
from benchmarks.sizes import Sizes
from signspot.spotting.spotter import Spotter

_EACH = 2  # exemplars a word
_BLOCK = 512  # rows of the gallery in one matrix product


def search_rows(sizes: Sizes) -> list[Comparison]:
    """A row for each gallery."""
    return [_row(sizes, words) for words in (sizes.words, sizes.exemplars // _EACH)]


def _row(sizes: Sizes, words: int) -> Comparison:
    done = run(Call("search:search", {"seconds": sizes.track, "words": words}), apart=sizes.apart)
    spotting, product = done.values["spotting"], done.values["product"]
    hours = sizes.track / 3600
    return Comparison(
        "Search",
        f"{words:,} words, {words * _EACH:,} exemplars and their mirror images, {rounded(hours)} h of track: "
        "track → spottings, against the matrix products alone",
        f"{rounded(spotting / hours)} against {rounded(product / hours)} s per hour; {done.values['spottings']:,.0f} "
        f"spottings; at most {rounded(done.peak)} MB",
        spotting / product,
    )


def search(seconds: float, words: int) -> dict[str, float]:
    """Seconds of spotting in a track, and of the blocked matrix products in it."""
    spotter = Spotter(landmark_encoder())
    track = random_track(spotter.encoder, seconds)
    gallery = random_gallery(words, _EACH, track.embeddings.shape[1], track)
    found: list[int] = []

    def multiply() -> None:
        windows = track.embeddings.astype(np.float32)
        for start in range(0, len(gallery.embeddings), _BLOCK):
            windows @ gallery.embeddings[start : start + _BLOCK].T

    spent = fastest(1, {"product": multiply, "spotting": lambda: found.append(len(spotter.spot(track, gallery)))})
    return {**spent, "spottings": found[0]}
