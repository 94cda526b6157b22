"""Matching: how well each exemplar fits at every time step of a track, and where the sign begins and ends there.

Two matchers give scores in [0, 1]. The paper's compares one embedding per window by cosine: one matrix product, because
all embeddings have unit norm. The other aligns frame codes. Every frame of an exemplar is matched with one frame of the
track, in order; from one exemplar frame to the next the track advances by 0 to 3 frames. So a path has as many matches
as the exemplar has frames, whatever its length, and its cost is their mean distance. The dynamic programme runs over
the frames of the exemplar only: all exemplars and all frames of the track are computed at once. Nothing here needs
PyTorch, which takes longer to load than many a search takes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.errors import EncoderMismatchError, TrackError
from signspot.types import Segment, Windows

FloatArray = NDArray[np.floating[Any]]
Scores = NDArray[np.float32]
Distances = NDArray[np.float32]
Indices = NDArray[np.int64]
Spans = tuple[NDArray[np.float64], NDArray[np.float64]]  # (P,) starts and (P,) ends, seconds

_COLUMNS = 8192  # windows that are compared at once
_ROWS, _FRAMES = 256, 4096  # frames of exemplars and of the track that are compared at once: 4 MB of distances
_CELLS = 1_000_000  # distances of isolated signs at once: 4 MB
_PATHS = 2048  # paths that are followed back at once
_FAR = 1e4  # a cost that no path pays
_LONGEST = 1.28  # seconds: the longest span by half height
_REACH = 2.0  # seconds around a segment within which a sign can overlap it
_SHORTEST = 0.12  # seconds: the shortest, three frames at 25 fps
_FLOOR = 0.5  # the score of embeddings that have nothing in common: heights of peaks are measured from here
_SPAN_CELLS = 2_000_000  # scores that are examined at once for spans: 16 MB of indices
_MANY = 256  # rows of a gallery: with more, windows in 16 bits are converted once, not for every block of rows
_HELD = 32_000_000  # numbers that are converted at once at most: 128 MB, or 1.4 hours


@cache
@cache
def _all_fitted() -> dict[str, Mapping[str, Any]]:
    values: dict[str, Mapping[str, Any]] = json.loads(
        (files("signspot.spotting") / "fitted.json").read_text(encoding="utf-8")
    )
    return values


def fitted(part: str) -> Mapping[str, Any]:
    """The fitted numbers of a part of spotting; `fitted.json` has them, each part with its data and its command."""
    return _all_fitted()[part]


@dataclass(frozen=True, slots=True)
class StepCosts:
    """Costs of going on by 0, 1, 2 … frames from one exemplar frame to the next."""

    costs: tuple[float, ...]

    def times(self, scale: float) -> "StepCosts":
        """The same in another unit."""
        return StepCosts(tuple(scale * cost for cost in self.costs))

    def reach(self, frames: int) -> int:
        """The longest path of an exemplar of so many frames, in frames before its last one."""
        return (frames - 1) * (len(self.costs) - 1)


STEPS = StepCosts(tuple(fitted("alignment")["step_costs"]))  # in the unit of an encoder's typical cost


class Matcher(Protocol):
    """Compares the rows of a gallery with the time steps of one track."""

    times: NDArray[np.float64]  # (T,) seconds of the time steps
    _left_out: dict[int, Indices]  # of rows that were cut out of the track: the time steps at which they do not count

    def scores(self, rows: Sequence[int]) -> Scores:
        """(R, T) the score in [0, 1] of each row of the gallery at each time step."""
        return self.as_scores(self.compared(rows))

    def compared(self, rows: Sequence[int], out: Scores | None = None) -> Scores:
        """(R, T) numbers that rise with the scores of rows, which `as_scores` makes of them; in `out`, if given."""

    def as_scores(self, compared: Scores) -> Scores:
        """Scores in [0, 1] of numbers that `compared` gave, or of the best of them, in place."""

    def fuse(self, compared: Scores, gallery: Gallery, word: str, out: Scores) -> None:
        """The (T,) scores of a word, in `out`, of the (R, T) numbers that `compared` gave for its rows."""

    def spans(self, curves: Scores, words: Indices, rows: Indices, steps: Indices) -> Spans:
        """Starts and ends of the signs at some time steps.

        Args:
            curves: (W, T) the scores of some words.
            words: (P,) which of the curves each is of.
            rows: (P,) the row of the gallery that matched at each.
            steps: (P,) time steps of the curve.
        """

    def leave_out(self, row: int, segment: Segment) -> None:
        """Let a row not count where it was cut out of the track: its score is 0 where its sign overlaps the segment."""
        near = np.flatnonzero(np.abs(self.times - segment.middle) <= segment.duration + _REACH)
        starts, ends = self._covered(row, near)
        self._left_out[row] = near[(starts < segment.end) & (ends > segment.start)]

    def _covered(self, row: int, steps: Indices) -> Spans:
        """Starts and ends of what a row is compared with at (P,) time steps."""

    def _without(self, compared: Scores, rows: Sequence[int], least: float) -> Scores:
        """What `compared` gives for rows, the least number where a row does not count."""
        for index, row in enumerate(rows) if self._left_out else ():
            compared[index, self._left_out.get(row, [])] = least
        return compared


class EmbeddingMatcher(Matcher):
    """One embedding per window, by cosine; a sign spans the windows that stay above half of the height of its peak."""

    def __init__(self, windows: Windows, embeddings: NDArray[np.floating[Any]], length: float = 0.0):
        """Match windows, which last `length` seconds, with (V, D) embeddings of the rows of a gallery."""
        self.times, self._embeddings, self._windows = windows.times, embeddings, windows.embeddings
        self._length, self._left_out = length, {}
        if len(embeddings) > _MANY and windows.embeddings.size <= _HELD:
            self._windows = as_float32(windows.embeddings)

    def compared(self, rows: Sequence[int], out: Scores | None = None) -> Scores:
        """(R, T) as `Matcher.compared`: cosine similarities."""
        return self._without(exemplar_cosines(self._windows, self._embeddings[list(rows)], out), rows, -1.0)

    def as_scores(self, compared: Scores) -> Scores:
        """As `Matcher.as_scores`."""
        return cosines_to_scores(compared)

    def fuse(self, compared: Scores, gallery: Gallery, word: str, out: Scores) -> None:
        """As `Matcher.fuse`: the highest similarity (Sec. 3.3)."""
        cosines_to_scores(compared.max(axis=0, out=out))

    def spans(self, curves: Scores, words: Indices, rows: Indices, steps: Indices) -> Spans:
        """As `Matcher.spans`."""
        return half_height_spans(self.times, curves, words, steps, _LONGEST)

    def _covered(self, row: int, steps: Indices) -> Spans:
        """As `Matcher._covered`: the windows."""
        return self.times[steps] - self._length / 2, self.times[steps] + self._length / 2


class AlignmentMatcher(Matcher):
    """Frame codes aligned with those of exemplars; a sign spans what its path spans."""

    def __init__(
        self,
        codes: NDArray[np.floating[Any]],
        times: NDArray[np.float64],
        exemplars: NDArray[np.floating[Any]],
        scale: float,
        corrections: Scores | None = None,
    ):
        """Match frames.

        Args:
            codes: (F, C) frame codes.
            times: (F,) seconds at which the frames begin.
            exemplars: (V, L, C) frame codes of the rows of a gallery.
            scale: the cost of a path whose score is a half.
            corrections: (V,) to be added to the costs of each: above 0 for rows that are near to everything.
        """
        self._codes, self._exemplars, self._scale, self._steps = codes, exemplars, scale, STEPS.times(scale)
        self._corrections = np.zeros(len(exemplars), np.float32) if corrections is None else corrections
        self._delay = exemplars.shape[1] // 2  # frames from the middle of a path to its end, at the exemplar's own pace
        self._frame = float(times[1] - times[0]) if len(times) > 1 else 0.04
        self.times, self._left_out = times, {}

    def compared(self, rows: Sequence[int], out: Scores | None = None) -> Scores:
        """(R, T) as `Matcher.compared`: the scores, at each frame of the path that ends half a sign later."""
        costs = path_costs(self._codes, self._exemplars[list(rows)], self._steps)
        costs += self._corrections[list(rows), None]
        scores, delay = np.empty_like(costs) if out is None else out, min(self._delay, costs.shape[1] - 1)
        scores[:, : costs.shape[1] - delay] = cost_to_score(costs[:, delay:], self._scale)
        scores[:, costs.shape[1] - delay :] = scores[:, costs.shape[1] - delay - 1, None]  # no path ends later
        return self._without(scores, rows, 0.0)

    def as_scores(self, compared: Scores) -> Scores:
        """As `Matcher.as_scores`: they are scores."""
        return compared

    def fuse(self, compared: Scores, gallery: Gallery, word: str, out: Scores) -> None:
        """As `Matcher.fuse`: what all exemplars resemble is surer than what a single one does.

        Of an exemplar and its mirror image the higher score counts; exemplars of a variant have the power mean of
        their scores, and of variants the best counts. Powers of 1, 2, 4 and 8 are alike in experiments/results/lsp.md;
        with 4, one exemplar that fits still counts among many that do not. Where an exemplar was cut out of the
        track, the mean is that of the others.
        """
        exemplars = gallery.rows[gallery.words[word]]
        first = np.flatnonzero(np.diff(exemplars, prepend=-1))  # row of each exemplar
        if len(first) == 1:
            compared.max(axis=0, out=out)
            return
        powers = np.square(np.square(np.maximum.reduceat(compared, first, axis=0)))
        variants = np.array([gallery.exemplars[number].variant for number in exemplars[first]])
        alike = [powers[variants == variant] for variant in dict.fromkeys(variants.tolist())]
        means = [part.mean(axis=0) for part in alike]
        if not self._left_out.keys().isdisjoint(gallery.words[word].tolist()):
            means = [part.sum(axis=0) / np.maximum(1, np.count_nonzero(part, axis=0)) for part in alike]
        np.sqrt(np.sqrt(np.max(means, axis=0)), out=out)

    def spans(self, curves: Scores, words: Indices, rows: Indices, steps: Indices) -> Spans:
        """As `Matcher.spans`."""
        ends = np.minimum(steps + self._delay, len(self._codes) - 1)
        starts = path_starts(self._codes, self._exemplars[rows], ends, self._steps)
        return self.times[starts], self.times[ends] + self._frame

    def _covered(self, row: int, steps: Indices) -> Spans:
        """As `Matcher._covered`: the paths."""
        rows = np.full(len(steps), row)
        return self.spans(np.empty((0, 0), np.float32), rows, rows, steps)


def cost_to_score(costs: Scores, scale: float) -> Scores:
    """Costs of paths to scores in [0, 1]: 1 for no cost, a half for `scale`, towards 0 beyond."""
    powers = costs.clip(0) / np.float32(scale)
    powers *= powers  # squared twice: a power of 4 is ten times as slow
    powers *= powers
    powers += 1
    scores: Scores = np.divide(1, powers, out=powers)
    return scores


def strength(scores: NDArray[np.floating[Any]] | float) -> NDArray[np.float64]:
    """Scores on the scale of costs: 0 for a score of 1, -1 for a half, lower below."""
    safe = np.clip(np.asarray(scores, np.float64), 1e-9, 1.0)
    return np.asarray(-((1 / safe - 1) ** 0.25))


def from_strength(value: float) -> float:
    """The score in [0, 1] of a strength; above 1 for one that no score has."""
    return 1 / (1 + value**4) if value <= 0 else 1.0 + value


def half_height_spans(
    times: FloatArray, scores: FloatArray, curves: Indices, peaks: Indices, longest: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Spans around peaks in which a curve stays above half its height over a fixed floor; nothing far away counts.

    Args:
        times: (T,) seconds.
        scores: (W, T) curves.
        curves: (P,) the curve of each maximum.
        peaks: (P,) its time step there.
        longest: seconds that a span may last at most.

    Returns:
        (P,) starts and (P,) ends in seconds.
    """
    middle, reach = times[peaks].astype(np.float64), longest / 2
    height = scores[curves, peaks]
    half = (height + np.minimum(_FLOOR, height)) / 2
    first = np.maximum(0, np.searchsorted(times, middle - reach) - 1)  # one beyond, on either side: what is
    last = np.minimum(len(times) - 1, np.searchsorted(times, middle + reach))  # farther is cut off below
    before = _run_lengths(scores, curves, peaks, half, peaks - first, -1)
    after = _run_lengths(scores, curves, peaks, half, last - peaks, 1)
    start = np.maximum(times[peaks - before], middle - reach)
    end = np.minimum(times[peaks + after], middle + reach)
    start, end = np.minimum(start, middle - _SHORTEST / 2), np.maximum(end, middle + _SHORTEST / 2)
    return np.maximum(0.0, start), end


def _run_lengths(
    scores: FloatArray, curves: Indices, peaks: Indices, half: FloatArray, most: Indices, step: int
) -> Indices:
    """(P,) how many windows beside each peak, at most `most`, stay at or above `half`."""
    reach = step * np.arange(1, int(most.max(initial=0)) + 1)
    lengths = np.zeros(len(peaks), np.int64)
    count = max(1, _SPAN_CELLS // max(1, len(reach)))
    for begin in range(0, len(peaks) if len(reach) else 0, count):
        part = slice(begin, begin + count)
        beside = (peaks[part, None] + reach).clip(0, scores.shape[1] - 1)
        below = (scores[curves[part, None], beside] < half[part, None]) | (np.abs(reach) > most[part, None])
        lengths[part] = np.where(below.any(axis=1), below.argmax(axis=1), len(reach))
    return lengths


def exemplar_scores(embeddings: FloatArray, exemplars: FloatArray) -> Scores:
    """(T, D) and (V, D), unit norm → (V, T) scores in [0, 1]: the curve of each exemplar in one piece."""
    return cosines_to_scores(exemplar_cosines(embeddings, exemplars))


def exemplar_cosines(embeddings: FloatArray, exemplars: FloatArray, out: Scores | None = None) -> Scores:
    """(T, D) and (V, D), unit norm → (V, T) cosine similarities, as `exemplar_scores` before they become scores.

    Args:
        embeddings: of windows.
        exemplars: of exemplars.
        out: (V, T) where they go, if not into new memory, whose first use takes time.
    """
    _check(embeddings, exemplars)
    cosines = np.empty((len(exemplars), len(embeddings)), np.float32) if out is None else out
    rows = exemplars.astype(np.float32, copy=False)
    for start in range(0, len(embeddings), _COLUMNS):
        part = slice(start, start + _COLUMNS)
        np.matmul(rows, as_float32(embeddings[part]).T, out=cosines[:, part])
    return cosines


def cosines_to_scores(cosines: Scores) -> Scores:
    """Cosine similarities to scores in [0, 1], in place; a higher one never becomes the lower score."""
    cosines += 1
    cosines *= 0.5
    clipped: Scores = np.clip(cosines, 0.0, 1.0, out=cosines)
    return clipped


def as_float32(rows: FloatArray) -> Scores:
    """Numbers as float32; those in 16 bits are looked up in a table, twice as fast as numpy converts them."""
    if rows.dtype != np.float16:
        return rows.astype(np.float32, copy=False)
    converted: Scores = _every_half().take(np.ascontiguousarray(rows).view(np.uint16))
    return converted


@cache
def _every_half() -> Scores:
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


def path_costs(codes: FloatArray, exemplars: FloatArray, steps: StepCosts = STEPS) -> Scores:
    """Align every exemplar with a track, ending at every frame.

    Args:
        codes: (T, C) frame codes of a track.
        exemplars: (V, L, C) frame codes of exemplars.
        steps: what steps cost.

    Returns:
        (V, T) mean cost per exemplar frame of the cheapest path that ends at each frame of the track.
    """
    count, frames, size = exemplars.shape
    costs = np.empty((count, len(codes)), np.float32)
    overlap, block = steps.reach(frames), max(1, _ROWS // frames)
    groups = [slice(first, first + block) for first in range(0, count, block)]
    grouped = [_as_rows(exemplars[group].transpose(1, 0, 2).reshape(-1, size)) for group in groups]  # (L V, C + 2)
    for start in range(0, len(codes), _FRAMES):
        first = max(0, start - overlap)
        part = _as_columns(codes[first : start + _FRAMES])
        for group, rows in zip(groups, grouped, strict=True):
            cost = _distances(rows, part).reshape(frames, -1, part.shape[1])
            costs[group, start : start + _FRAMES] = _totals(cost, steps)[:, start - first :]
    return costs


def path_starts(codes: FloatArray, exemplars: FloatArray, ends: Indices, steps: StepCosts = STEPS) -> Indices:
    """Starts of the cheapest paths that end at given frames.

    Args:
        codes: (T, C) frame codes of a track.
        exemplars: (P, L, C) the exemplar of each path.
        ends: (P,) the last frame of each path.
        steps: what steps cost.

    Returns:
        (P,) the first frame of each path.
    """
    parts = range(0, len(ends), _PATHS)
    starts = [_starts(codes, exemplars[at : at + _PATHS], ends[at : at + _PATHS], steps) for at in parts]
    return np.concatenate([np.empty(0, np.int64), *starts])


def _starts(codes: FloatArray, exemplars: FloatArray, ends: Indices, steps: StepCosts) -> Indices:
    reach = steps.reach(exemplars.shape[1])
    frames = ends[:, None] + np.arange(-reach, 1)  # (P, R) frames that a path may use
    cost = _distances(_as_rows(exemplars), _as_columns(codes[frames.clip(0)]))  # (P, L, R)
    cost = np.where((frames < 0)[:, None], np.float32(_FAR), cost)
    total, begins = cost[:, 0], frames
    for index in range(1, cost.shape[1]):
        best, came = total + np.float32(steps.costs[0]), begins.copy()
        for step, price in enumerate(steps.costs[1:], 1):
            other = total[:, :-step] + np.float32(price)
            better = other < best[:, step:]
            np.copyto(came[:, step:], begins[:, :-step], where=better)
            np.copyto(best[:, step:], other, where=better)
        total, begins = best + cost[:, index], came
    return begins[:, -1].clip(0)


def warping_costs(signs: FloatArray, exemplars: FloatArray) -> Scores:
    """Dynamic time warping of isolated signs with exemplars, from end to end, every frame of both matched.

    Args:
        signs: (A, L, C) frame codes.
        exemplars: (V, M, C) frame codes.

    Returns:
        (A, V) cost of the cheapest path, in which a diagonal step counts twice, per frame.
    """
    count, length, size = exemplars.shape
    columns = _as_columns(exemplars.transpose(1, 0, 2).reshape(-1, size))  # (C + 2, M V)
    block = max(1, _CELLS // max(1, count * length * signs.shape[1]))
    costs = [np.empty((0, count), np.float32)]
    for start in range(0, len(signs), block):
        part = signs[start : start + block]
        apart = _distances(_as_rows(part.transpose(1, 0, 2).reshape(-1, size)), columns)  # (L A, M V)
        cost = apart.reshape(signs.shape[1], len(part), length, count)
        costs.append(_warped(cost.transpose(0, 2, 1, 3)))
    return np.concatenate(costs)


def _warped(cost: Distances) -> Distances:
    """(L, M, ...) costs of matches to (...) cost per frame of the cheapest path from the first to the last."""
    above: list[Distances] = []
    for i in range(cost.shape[0]):
        row: list[Distances] = []
        for j in range(cost.shape[1]):
            here = cost[i, j]
            if i and j:
                slanted = above[j - 1] + here
                np.minimum(slanted, above[j], out=slanted)
                np.minimum(slanted, row[j - 1], out=slanted)
                slanted += here
                row.append(slanted)
            else:
                row.append(here + (above[j] if i else row[j - 1] if j else here))
        above = row
    mean: Distances = above[-1] / np.float32(cost.shape[0] + cost.shape[1])
    return mean


def _as_rows(codes: FloatArray) -> Distances:
    """(..., N, C) codes to (..., N, C + 2), whose products with `_as_columns` are squared distances."""
    values = as_float32(codes)
    extended = np.empty((*values.shape[:-1], values.shape[-1] + 2), np.float32)
    np.multiply(values, np.float32(-2), out=extended[..., :-2])
    extended[..., -2] = 1
    extended[..., -1] = _squares(values)
    return extended


def _as_columns(codes: FloatArray) -> Distances:
    """(..., N, C) codes to (..., C + 2, N), as `_as_rows`."""
    values = as_float32(codes)
    extended = np.empty((*values.shape[:-1], values.shape[-1] + 2), np.float32)
    extended[..., :-2] = values
    extended[..., -2] = _squares(values)
    extended[..., -1] = 1
    return extended.swapaxes(-1, -2)  # BLAS takes it as it lies


def _squares(codes: Distances) -> Distances:
    squares: Distances = np.einsum("...i,...i->...", codes, codes)
    return squares


def _distances(rows: Distances, columns: Distances) -> Distances:
    """(..., N, C + 2) and (..., C + 2, T) to (..., N, T): Euclidean distances of all pairs of frames."""
    apart = np.matmul(rows, columns)
    np.maximum(apart, 0, out=apart)
    distances: Distances = np.sqrt(apart, out=apart)
    return distances


def _totals(cost: Distances, steps: StepCosts) -> Distances:
    """(L, V, T) costs of matches to (V, T) mean cost of the cheapest path that ends at each frame."""
    total, priced = cost[0], np.empty_like(cost[0])
    best, spare = np.empty_like(total), np.empty_like(total)
    for here in cost[1:]:
        np.add(total, np.float32(steps.costs[0]), out=best)
        for step, price in enumerate(steps.costs[1:], 1):
            if step < best.shape[1]:
                came = np.add(total, np.float32(price), out=priced) if price else total
                np.minimum(best[:, step:], came[:, :-step], out=best[:, step:])
        best += here
        total, best = best, spare if total is cost[0] else total
    mean: Distances = total / np.float32(len(cost))
    return mean
