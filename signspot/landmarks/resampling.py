"""Another frame rate for landmarks that arrive in chunks, in bounded memory."""

from collections.abc import Iterable, Iterator

import numpy as np

from signspot.errors import OptionsError
from signspot.landmarks.landmarks import Landmarks, concatenate, frames_within

_ROUNDING = 1e-6  # seconds


def resample_stream(chunks: Iterable[Landmarks], fps: float) -> Iterator[Landmarks]:
    """Resample chunk by chunk; joined, the result is what `Landmarks.resampled` gives of the joined chunks."""
    if not (np.isfinite(fps) and fps > 0):
        raise OptionsError(f"frames a second must be above 0; got {fps}")
    known: Landmarks | None = None  # the last two frames so far: what is still needed
    first, done = 0.0, 0
    for chunk in (chunk for chunk in chunks if len(chunk)):
        if known is None:
            first = float(chunk.times[0])
        block = chunk if known is None else concatenate([known, chunk])
        count = int((block.times[-1] - first + _ROUNDING) * fps) + 1
        if count > done:
            yield block.at(first + np.arange(done, count) / fps)
            done = count
        known = block[-2:]
    if known is not None:
        step = float(known.times[-1] - known.times[0]) if len(known) > 1 else 1 / fps
        total = frames_within(float(known.times[-1]) - first + step, fps)
        if total > done:
            yield known.at(first + np.arange(done, total) / fps)
