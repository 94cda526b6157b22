"""Another frame rate for landmarks that arrive in chunks, in bounded memory."""

from collections.abc import Iterable, Iterator

import numpy as np

from signspot.errors import OptionsError
from signspot.landmarks.landmarks import DEFAULT_FPS, Landmarks, concatenate, frames_within

_ROUNDING = 1e-6  # seconds


def resample_stream(chunks: Iterable[Landmarks], fps: float) -> Iterator[Landmarks]:
    """Resample chunk by chunk; joined, the result is what `Landmarks.resampled` gives of the joined chunks."""
    if not (np.isfinite(fps) and fps > 0):
        raise OptionsError(f"frames a second must be above 0; got {fps}")
    known: Landmarks | None = None  # the last frames so far: what is still needed
    first, done = 0.0, 0
    for chunk in (chunk for chunk in chunks if len(chunk)):
        if known is None:
            first = float(chunk.times[0])
        block = chunk if known is None else concatenate([known, chunk])
        reached = int((block.times[-1] - first + _ROUNDING) * fps) + 1
        count = min(reached, _frames_until(block, first, fps))
        if count > done:
            yield block.at(first + np.arange(done, count) / fps)
            done = count
        needed = int(np.searchsorted(block.times, first + done / fps)) - 1
        known = block[max(0, min(needed, len(block) - 2)) :]
    total = _frames_until(known, first, fps) if known is not None else 0
    if known is not None and total > done:
        yield known.at(first + np.arange(done, total) / fps)


def _frames_until(block: Landmarks, first: float, fps: float) -> int:
    """How many frames there are in all, if the last one of `block` is the last one of all."""
    last = float(block.times[-1])
    step = last - float(block.times[-2]) if len(block) > 1 else 1 / DEFAULT_FPS
    return frames_within(last - first + step, fps)
