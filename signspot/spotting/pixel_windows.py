"""Windows of an RGB trunk over frames that arrive one by one; neighbouring windows share what they can."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.errors import EmptyVideoError
from signspot.models.encoder import Encoder
from signspot.models.i3d_dense import WindowEmbedder
from signspot.models.inception import InceptionTrunk
from signspot.spotting.shelves import MemoryShelf, Shelf
from signspot.timeline import Grid

FloatArray = NDArray[np.floating[Any]]

BLOCK = 16  # windows that pass through the trunk at once


class PixelWindows:
    """Slides an RGB trunk over frames; windows lie as `Grid` says. Memory holds one block of frames."""

    def __init__(self, encoder: Encoder, stride: int, shelf: Shelf | None = None):
        self._encoder, self._stride, self._window = encoder, stride, encoder.contract.frames
        self._features = window_features(encoder)
        self._frames: list[NDArray[np.float32]] = []  # all that a window to come may begin with
        self._first = 0  # which frame of the video `_frames` begins with
        self._next = 0  # which frame the next window begins with, unless it is the last one, which ends with the video
        self._kept = MemoryShelf() if shelf is None else shelf
        self._done = 0  # windows embedded

    @property
    def seen(self) -> int:
        """How many frames there were so far."""
        return self._first + len(self._frames)

    def push(self, frame: NDArray[np.float32]) -> None:
        """Take one (3, H, W) frame in [-0.5, 0.5]."""
        self._frames.append(frame)
        if self.seen == self._next + (BLOCK - 1) * self._stride + self._window:
            self._embed([self._next - self._first + number * self._stride for number in range(BLOCK)])
            self._next += BLOCK * self._stride
            passed = self._next - self._stride + 1 - self._first  # the last window may begin right after the one before
            self._first += passed
            self._frames = self._frames[passed:]

    def finish(self) -> tuple[FloatArray, int]:
        """All embeddings on the grid, (T, D) float16, and how many frames there were."""
        if self.seen == 0:
            raise EmptyVideoError("there is no frame to embed")
        frames = self.seen
        starts = Grid(1.0, self._window, self._stride, frames).starts
        rest = [int(start) - self._first for start in starts[self._done :]]
        while len(self._frames) < self._window and frames < self._window:  # a short video repeats its last frame
            self._frames.append(self._frames[-1])
        if rest:
            self._embed(rest)
        return self._kept.joined(), frames

    def _embed(self, starts: Sequence[int]) -> None:
        stacked = torch.from_numpy(np.stack(self._frames))
        self._kept.add(embed_windows(self._encoder, self._features, stacked, starts))
        self._done += len(starts)


def window_features(encoder: Encoder) -> Callable[[Tensor, Sequence[int]], Tensor]:
    """What gives the trunk's features of windows: (N, 3, H, W) frames and their starts → (len(starts), 1024)."""
    trunk = encoder.module.trunk
    if isinstance(trunk, InceptionTrunk):
        return WindowEmbedder(trunk, batch=BLOCK)
    window = encoder.contract.frames

    def one_by_one(frames: Tensor, starts: Sequence[int]) -> Tensor:
        features: Tensor = trunk(torch.stack([frames[start : start + window] for start in starts]).transpose(1, 2))
        return features

    return one_by_one


@torch.inference_mode()
def embed_windows(
    encoder: Encoder, features: Callable[[Tensor, Sequence[int]], Tensor], frames: Tensor, starts: Sequence[int]
) -> FloatArray:
    """(N, 3, H, W) frames and the windows' first frames → (len(starts), D) float16 embeddings."""
    embedded: FloatArray = encoder.module.mlp(features(frames, starts), "continuous").numpy().astype(np.float16)
    return embedded
