"""Places in an archive: what a scan found is aligned, all candidates of a query at once, and told apart in time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.applications.mapped_arrays import Half
from signspot.embedding.refine import Windows
from signspot.spotting.alignment import STEPS, path_costs, path_starts
from signspot.spotting.matching import EmbeddingMatcher, to_score
from signspot.spotting.peaks import suppress
from signspot.types import Grid

_AROUND = 1.5  # seconds around a candidate that are aligned
_WINDOWS = 32  # around a candidate that are looked at where there is nothing to align
_APART = 0.5  # seconds between two places of one word, at least
_GAP = len(STEPS.costs) - 1  # frames between two stretches: no path steps over so many
_FAR = 1e3  # a number of which codes in a gap consist: no path goes there
Floats = NDArray[np.float32]


class Searched(Protocol):
    """A video whose windows, and maybe frame codes, can be read."""

    @property
    def video(self) -> str:
        """Its name."""

    @property
    def grid(self) -> Grid:
        """The times of its windows."""

    @property
    def embeddings(self) -> Half:
        """(T, D)."""

    @property
    def codes(self) -> Half | None:
        """(frames, C), or none."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place at which one row of a gallery fits best, in one video."""

    track: int
    row: int  # of the gallery
    moment: int  # a frame where codes were aligned, else a window
    time: float
    score: float
    aligned: bool


def aligned_places(
    tracks: Sequence[Searched], candidates: Sequence[tuple[int, int]], row: int, exemplar: Floats, scale: float
) -> list[Place]:
    """The best place around each candidate, by alignment.

    Args:
        tracks: with frame codes, where candidates are.
        candidates: track and window of each.
        row: of the gallery.
        exemplar: (L, C) its frame codes.
        scale: the cost of a path whose score is a half.
    """
    stretches = [_stretch(tracks[number], window) for number, window in candidates]
    if not stretches:
        return []
    codes, begins = _joined(
        tracks, [(number, *place) for (number, _), place in zip(candidates, stretches, strict=True)]
    )
    costs = path_costs(codes, exemplar[None], STEPS.times(scale))[0]
    delay, found = len(exemplar) // 2, []
    for (number, _), (first, last), begin in zip(candidates, stretches, begins, strict=True):
        own = costs[begin : begin + last - first]
        late = min(delay, len(own) - 1)
        best = int(own[late:].argmin())  # the moment of a path that ends half an exemplar later
        grid = tracks[number].grid
        score = float(to_score(own[late + best : late + best + 1], scale)[0])
        found.append(Place(number, row, first + best, grid.origin + (first + best) / grid.fps, score, aligned=True))
    return found


def compared_places(
    tracks: Sequence[Searched], candidates: Sequence[tuple[int, int]], row: int, query: Floats
) -> list[Place]:
    """The best window around each candidate, by its similarity to a (D,) query."""
    found = []
    for number, window in candidates:
        curve, first = _curve(tracks[number], window, query)
        best = first + int(curve.argmax())
        found.append(Place(number, row, best, _time(tracks[number].grid, best), float(curve.max()), aligned=False))
    return found


def place_spans(
    tracks: Sequence[Searched], places: Sequence[Place], exemplars: Floats | None, queries: Floats, scale: float
) -> list[tuple[float, float]]:
    """Spans of the signs at some places, in seconds.

    Args:
        tracks: in which they are.
        places: any.
        exemplars: (V, L, C) frame codes of the rows of the gallery, or none.
        queries: (V, D) their embeddings.
        scale: the cost of a path whose score is a half.
    """
    spans: list[tuple[float, float]] = []
    for place in places:
        track, grid = tracks[place.track], tracks[place.track].grid
        if not place.aligned or exemplars is None or track.codes is None:
            curve, first = _curve(track, place.moment, queries[place.row])
            times = np.array([_time(grid, first + step) for step in range(len(curve))])
            windows = Windows(times, np.asarray(track.embeddings[first : first + len(curve)], np.float32))
            matcher = EmbeddingMatcher(windows, queries[[place.row]])
            starts, ends = matcher.spans(curve[None], np.array([0]), np.array([0]), np.array([place.moment - first]))
            spans.append((float(starts[0]), float(ends[0])))
            continue
        exemplar = exemplars[[place.row]]
        end = min(place.moment + exemplar.shape[1] // 2, len(track.codes) - 1)
        first = max(0, end - STEPS.reach(exemplar.shape[1]))
        codes = np.asarray(track.codes[first : end + 1], np.float32)
        start = first + int(path_starts(codes, exemplar, np.array([end - first]), STEPS.times(scale))[0])
        spans.append((grid.origin + start / grid.fps, grid.origin + (end + 1) / grid.fps))
    return spans


def told_apart(places: Sequence[Place], top: int) -> list[Place]:
    """The best places, best first, without those that are nearer than `_APART` to a better one of the same video."""
    kept: list[Place] = []
    by_track: dict[int, list[Place]] = {}
    for place in sorted(places, key=lambda each: -each.score):
        by_track.setdefault(place.track, []).append(place)
    for own in by_track.values():
        times = np.array([each.time for each in own])
        kept += [own[index] for index in suppress(times - _APART / 2, times + _APART / 2, 0.0)]
    return sorted(kept, key=lambda each: -each.score)[:top]


def _stretch(track: Searched, window: int) -> tuple[int, int]:
    """The frames around a window that are aligned: the first, and the one behind the last."""
    assert track.codes is not None, "asked before"
    grid = track.grid
    centre = min(window * grid.stride, max(0, grid.frames - grid.window)) + grid.window // 2
    reach = round(_AROUND * grid.fps)
    return max(0, centre - reach), min(len(track.codes), centre + reach)


def _joined(tracks: Sequence[Searched], places: Sequence[tuple[int, int, int]]) -> tuple[Floats, list[int]]:
    """(F, C) codes of stretches one after the other, with gaps that no path crosses, and where each begins."""
    lengths = [last - first + _GAP for _, first, last in places]
    begins = [0, *np.cumsum(lengths)[:-1].tolist()]
    first_track = tracks[places[0][0]].codes
    assert first_track is not None, "asked before"
    codes = np.full((sum(lengths), first_track.shape[1]), _FAR, np.float32)
    joined = torch.from_numpy(codes)
    for (number, first, last), begin in zip(places, begins, strict=True):
        own = tracks[number].codes
        assert own is not None, "asked before"
        joined[begin : begin + last - first] = torch.from_numpy(np.asarray(own[first:last]))
    return codes, begins


def _curve(track: Searched, window: int, query: Floats) -> tuple[Floats, int]:
    """Scores of the windows around one, and which is the first of them."""
    first, last = max(0, window - _WINDOWS), min(len(track.embeddings), window + _WINDOWS)
    rows = np.asarray(track.embeddings[first:last], np.float32)
    return EmbeddingMatcher(Windows(np.arange(last - first, dtype=np.float64), rows), query[None]).scores([0])[0], first


def _time(grid: Grid, window: int) -> float:
    start = min(window * grid.stride, max(0, grid.frames - grid.window))
    return grid.origin + (start + grid.window // 2) / grid.fps
