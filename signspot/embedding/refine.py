"""Coarse to fine: embed few windows first, then every window around the candidates only."""

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.inputs import sign_frames
from signspot.models.encoder import Encoder
from signspot.types import Grid, Segment, Track

FloatArray = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Windows:
    """Embedded windows at any times, in order."""

    times: NDArray[np.float64]  # (T,) seconds
    embeddings: FloatArray  # (T, D) unit norm

    @classmethod
    def of(cls, track: Track) -> "Windows":
        """The windows of a track."""
        return cls(track.grid.times, track.embeddings)


def refine(encoder: Encoder, path: str | PathLike[str], coarse: Track, candidates: Iterable[int]) -> Windows:
    """Add all stride-1 windows next to candidate windows of a coarse track.

    Args:
        encoder: the one that made `coarse`.
        path: the video.
        coarse: a track with a stride above 1.
        candidates: indices of windows in `coarse` that may be near a peak.
    """
    grid = coarse.grid
    fine_starts = _neighbours(grid, candidates)
    if len(fine_starts) == 0:
        return Windows.of(coarse)
    found = [_embed_run(encoder, path, run) for run in _runs(fine_starts, grid.window)]
    starts = np.concatenate([grid.starts, fine_starts])
    embeddings = np.concatenate([coarse.embeddings, *found])
    order = np.argsort(starts, kind="stable")
    times = grid.origin + (starts[order] + grid.window // 2) / grid.fps
    return Windows(times, embeddings[order])


def _neighbours(grid: Grid, candidates: Iterable[int]) -> NDArray[np.int64]:
    """First frames of all windows within a stride of a candidate that are not in the coarse grid."""
    last = max(0, grid.frames - grid.window)
    wanted: set[int] = set()
    for index in candidates:
        start = int(grid.starts[index])
        wanted.update(range(max(0, start - grid.stride + 1), min(last, start + grid.stride - 1) + 1))
    return np.array(sorted(wanted.difference(grid.starts.tolist())), np.int64)


def _runs(starts: NDArray[np.int64], window: int) -> list[NDArray[np.int64]]:
    """Split sorted first frames where nothing is shared between neighbouring windows."""
    return np.split(starts, np.flatnonzero(np.diff(starts) > window) + 1)


def _embed_run(encoder: Encoder, path: str | PathLike[str], starts: NDArray[np.int64]) -> FloatArray:
    """Decode the frames of one run once and embed its windows."""
    contract = encoder.contract
    first, last = int(starts[0]), int(starts[-1]) + contract.frames
    frames = sign_frames(Path(path), contract, Segment(first / contract.fps, last / contract.fps))
    missing = last - first - len(frames)
    if missing > 0:  # a short video repeats its last frame
        frames = np.concatenate([frames, np.repeat(frames[-1:], missing, axis=0)])
    from signspot.embedding.windows import (
        embed_windows,
        window_features,  # PyTorch: a track that is there already needs none
    )

    return embed_windows(encoder, window_features(encoder), frames, (starts - first).tolist())
