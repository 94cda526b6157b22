"""Galleries and tracks out of random numbers, as large as one likes: search does not care what they mean."""

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.models.encoder import Encoder
from signspot.records import Exemplar
from signspot.timeline import Grid, Track


def random_gallery(words: int, each: int, dimension: int, track: Track | None = None, seed: int = 1) -> Gallery:
    """`words` with `each` exemplars, and their mirror images; near random windows of `track`, where one is given.

    So there is about one spotting an exemplar, and peaks are looked for as they are in earnest.
    """
    rng = np.random.default_rng(seed)
    exemplars = tuple(Exemplar(f"word {word}", f"{word}-{turn}") for word in range(words) for turn in range(each))
    embeddings = rng.standard_normal((2 * len(exemplars), dimension), dtype=np.float32) / dimension**0.5
    if track is not None:
        near = rng.integers(len(track), size=len(exemplars))
        embeddings[: len(exemplars)] = track.embeddings[near] + 0.5 * embeddings[: len(exemplars)]
    return Gallery.of(exemplars, _unit(embeddings))


def random_track(encoder: Encoder, seconds: float, seed: int = 2) -> Track:
    """A track whose windows are like their neighbours, as overlapping windows are."""
    contract = encoder.contract
    grid = Grid(contract.fps, contract.frames, 1, round(seconds * contract.fps))
    rng = np.random.default_rng(seed)
    embeddings = np.empty((grid.count, contract.dimension), np.float16)
    for start in range(0, grid.count, 4096):
        count = min(4096, grid.count - start)
        steps = rng.standard_normal((count + contract.frames, contract.dimension))
        sums = np.cumsum(steps, axis=0)
        embeddings[start : start + count] = _unit(sums[contract.frames :] - sums[: -contract.frames])
    return Track(embeddings, grid, encoder.hash, "random")


def _unit(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)
