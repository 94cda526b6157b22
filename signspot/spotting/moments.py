"""Moments of a video that a search looks at: a sample for decoys, those around a segment, those in it."""

import numpy as np
from numpy.typing import NDArray

from signspot.types import Segment

SAMPLE, _PIECES = 300.0, 15  # seconds of a video, in so many pieces, in which decoys are searched
_REACH = 2.0  # seconds around a segment that still decide about its edges


def pieces(count: int, rate: float) -> list[slice]:
    """Pieces of a video in which decoys are searched, at equal steps; all of it in one piece, where it is short.

    Args:
        count: moments of the video.
        rate: moments per second.
    """
    each = int(SAMPLE * rate / _PIECES)
    if count <= each * _PIECES:
        return [slice(0, count)]
    return [slice(first, first + each) for first in np.linspace(0, count - each, _PIECES).astype(int).tolist()]


def moments_around(times: NDArray[np.float64], within: Segment | None) -> slice:
    """The moments in a segment and those that decide about its edges; all, where there is no segment."""
    if within is None:
        return slice(0, len(times))
    first, last = np.searchsorted(times, (within.start - _REACH, within.end + _REACH))
    return slice(int(first), int(last))


def moments_inside(times: NDArray[np.float64], within: Segment | None) -> NDArray[np.bool_]:
    """(T,) whether each moment lies in a segment; all do where there is none."""
    if within is None:
        return np.ones(len(times), bool)
    return np.asarray((times >= within.start) & (times <= within.end))
