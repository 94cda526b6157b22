"""Compares tracks with exemplars: one matrix product, because all embeddings have unit norm."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.errors import EncoderMismatchError, TrackError
from signspot.types import Track

FloatArray = NDArray[np.floating[Any]]

_ROWS = 4096  # windows that are compared at once
_COLUMNS = 8192  # the same, where each exemplar has a row: larger products are faster


def similarity(track: Track, exemplars: FloatArray) -> NDArray[np.float32]:
    """Compare every window with every exemplar of a word.

    Args:
        track: (T, D) unit-norm window embeddings.
        exemplars: (V, D) unit-norm exemplar embeddings.

    Returns:
        (T, V) cosine similarities in [-1, 1].
    """
    return cosine(track.embeddings, exemplars)


def cosine(embeddings: FloatArray, exemplars: FloatArray) -> NDArray[np.float32]:
    """(T, D) and (V, D), unit norm → (T, V) cosine similarities in [-1, 1]."""
    _check(embeddings, exemplars)
    found = np.empty((len(embeddings), len(exemplars)), np.float32)
    columns = exemplars.astype(np.float32, copy=False).T
    for start in range(0, len(embeddings), _ROWS):  # a track in 16 bits is never held in 32 as a whole
        part = slice(start, start + _ROWS)
        np.matmul(embeddings[part].astype(np.float32, copy=False), columns, out=found[part])
    clipped: NDArray[np.float32] = np.clip(found, -1.0, 1.0, out=found)
    return clipped


def exemplar_curves(embeddings: FloatArray, exemplars: FloatArray) -> NDArray[np.float32]:
    """(T, D) and (V, D), unit norm → (V, T) scores in [0, 1]: the curve of each exemplar in one piece."""
    return scores_of(exemplar_cosines(embeddings, exemplars))


def exemplar_cosines(
    embeddings: FloatArray, exemplars: FloatArray, out: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """(T, D) and (V, D), unit norm → (V, T) cosine similarities, as `exemplar_curves` before they become scores.

    Args:
        embeddings: of windows.
        exemplars: of exemplars.
        out: (V, T) where they go, if not into new memory, whose first use takes time.
    """
    _check(embeddings, exemplars)
    found = np.empty((len(exemplars), len(embeddings)), np.float32) if out is None else out
    rows = exemplars.astype(np.float32, copy=False)
    for start in range(0, len(embeddings), _COLUMNS):
        part = slice(start, start + _COLUMNS)
        np.matmul(rows, in_32_bits(embeddings[part]).T, out=found[:, part])
    return found


def scores_of(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cosine similarities to scores in [0, 1], in place; a higher one never becomes the lower score."""
    cosines += 1
    cosines *= 0.5
    clipped: NDArray[np.float32] = np.clip(cosines, 0.0, 1.0, out=cosines)
    return clipped


def in_32_bits(rows: FloatArray) -> NDArray[np.float32]:
    """Numbers in 32 bits; those in 16 are looked up in a table, twice as fast as numpy converts them."""
    if rows.dtype != np.float16:
        return rows.astype(np.float32, copy=False)
    converted: NDArray[np.float32] = _every_half().take(np.ascontiguousarray(rows).view(np.uint16))
    return converted


@cache
def _every_half() -> NDArray[np.float32]:
    """(65536,) what each pattern of 16 bits means."""
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


def _check(embeddings: FloatArray, exemplars: FloatArray) -> None:
    if exemplars.ndim != 2 or exemplars.shape[1] != embeddings.shape[1]:
        raise EncoderMismatchError(
            f"exemplars of shape {exemplars.shape} do not fit a track of dimension {embeddings.shape[1]}. "
            "Embed both with the same encoder."
        )
    if not np.isfinite(exemplars).all():
        bad = np.flatnonzero(~np.isfinite(exemplars).all(axis=1)).tolist()
        raise TrackError(f"exemplar embeddings {bad[:5]} hold NaN or infinite values. Embed them again.")


def to_score(cosine: FloatArray) -> FloatArray:
    """(1 + cosine) / 2, in [0, 1]: what people see."""
    return (1 + cosine) / 2
