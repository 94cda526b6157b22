"""A sign that recurs where its word is said: subtitles tell where to compare a spotting with other signing.

A sign is found again by the same signer far better than by a dictionary's exemplars of other people. So a spotting near
one subtitle is looked for near all other subtitles with its word, and elsewhere in the video: what is found again where
the word is said, and nowhere else, is the word's sign; rest, pauses and frequent signs are found everywhere.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from signspot.spotting.matching import STEPS, fitted, from_strength, path_costs, strength
from signspot.types import Segment, Spotting, Track

_FITTED = fitted("recurrence")
PEAKS: int = _FITTED["peaks"]  # spottings near each subtitle that are compared, of any score
_WEIGHT: float = _FITTED["weight"]  # of a deviation, against the cost of a path whose score is a half
_LEAST, _MOST = _FITTED["deviations"]  # that count
_WINDOWS = 32  # with the word, and elsewhere, that a spotting is looked for in, at most
_FEWEST = 8  # windows elsewhere that tell what chance is
_SMALLEST = 0.002  # deviation of costs elsewhere, in the unit of a typical cost: nothing is surer than by this


def recurrences(
    track: Track, spottings: Sequence[Spotting], windows: Sequence[Segment], scale: float, length: int
) -> NDArray[np.float64]:
    """By how much better spottings of one word are found again near its subtitles than elsewhere.

    Args:
        track: of the video, with frame codes.
        spottings: S of the word.
        windows: segments of the video in which the word is expected.
        scale: the cost of a path whose score is a half.
        length: codes of an exemplar.

    Returns:
        (S,) in standard errors of the mean over the windows; 0 where there is no other window, or nothing elsewhere.
    """
    scores = np.zeros(len(spottings))
    elsewhere = _between(windows, Segment(track.grid.origin, track.grid.origin + track.grid.frames / track.grid.fps))
    if track.codes is None or len(windows) < 2 or len(elsewhere) < _FEWEST or not len(spottings):
        return scores
    signs = np.stack([_sign(track, spotting, length) for spotting in spottings])
    near = _some(windows)
    there, apart = (
        np.stack([_lowest_costs(track, signs, window, scale) for window in part], axis=1) for part in (near, elsewhere)
    )
    mean, spread = apart.mean(axis=1), apart.std(axis=1).clip(_SMALLEST)
    for number, spotting in enumerate(spottings):
        others = [at for at, window in enumerate(near) if not _meets(window, spotting)]
        if others:
            costs = there[number, others]
            scores[number] = (mean[number] - costs.mean()) / spread[number] * len(others) ** 0.5
    return scores


def recurring_score(score: float, recurrence: float) -> float:
    """The score of a spotting that is found again so much better where its word is said."""
    return from_strength(min(0.0, float(strength(score)) + _WEIGHT * min(max(recurrence, _LEAST), _MOST)))


def _sign(track: Track, spotting: Spotting, length: int) -> NDArray[np.float32]:
    """(L, C) codes of a spotting, as an exemplar has them."""
    assert track.codes is not None
    frames = np.array([spotting.start, spotting.end - 1 / track.grid.fps])
    first, last = ((frames - track.grid.origin) * track.grid.fps).round().clip(0, len(track.codes) - 1)
    positions = np.linspace(first, last, length)
    below = np.floor(positions).astype(np.int64).clip(0, max(0, len(track.codes) - 2))
    share = (positions - below).astype(np.float32)[:, None]
    here, there = (track.codes[np.minimum(at, len(track.codes) - 1)].astype(np.float32) for at in (below, below + 1))
    lerped: NDArray[np.float32] = here + share * (there - here)
    return lerped


def _lowest_costs(track: Track, signs: NDArray[np.float32], window: Segment, scale: float) -> NDArray[np.float32]:
    """(S,) cost of the cheapest path of each sign in a window, in units of `scale`."""
    assert track.codes is not None
    ends = ((np.array([window.start, window.end]) - track.grid.origin) * track.grid.fps).round().astype(int)
    first = min(max(0, int(ends[0])), len(track.codes) - 1)
    codes = track.codes[first : max(first + 1, int(ends[1]))]
    costs: NDArray[np.float32] = path_costs(codes, signs, STEPS.times(scale)).min(axis=1) / scale
    return costs


def _between(windows: Sequence[Segment], video: Segment) -> list[Segment]:
    """Windows of the same mean length as some, evenly spread over the rest of a video; none overlaps one of them."""
    if not windows:
        return []
    length = float(np.mean([window.duration for window in windows]))
    starts = np.arange(video.start, video.end - length, length).tolist() if length > 0 else []
    free = [Segment(start, start + length) for start in starts]
    return _some([part for part in free if not any(_meets(window, part) for window in windows)])


def _some(windows: Sequence[Segment]) -> list[Segment]:
    """All of them, or as many as are compared, evenly spread."""
    if len(windows) <= _WINDOWS:
        return list(windows)
    return [windows[int(at)] for at in np.linspace(0, len(windows) - 1, _WINDOWS).round()]


def _meets(one: Segment, other: Segment | Spotting) -> bool:
    return one.start < other.end and other.start < one.end
