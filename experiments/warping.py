"""Matchers that learn nothing: time-normalised landmarks compared by cosine and by dynamic time warping."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from signspot.types import Segment

Floats = NDArray[np.float32]
FRAMES = 16  # of a time-normalised sign
_HANDS = ((5, 3, slice(7, 28)), (6, 4, slice(28, 49)))  # wrist, elbow and hand joints among the features
_ELBOW_WEIGHT, _FINGER_WEIGHT = 0.3, 0.2  # against the wrist's
_RAISED = 1.2  # shoulder widths below the shoulders: a wrist above this height is in use
_LOWERED = 1.6  # below this it is at rest even if it moves
_FADE = 0.2  # shoulder widths over which use fades in
_MOVING, _SMOOTHING = 0.01, 15  # a wrist this fast (shoulder widths a frame, over so many frames) is in use
_BLOCK = 20_000  # pairs that are warped at once


def describe(features: Floats) -> Floats:
    """Say in numbers what the hands do in every frame; a hand at rest says nothing.

    Args:
        features: (T, 69, 4) as `landmarks.features` gives them.

    Returns:
        (T, D) for each hand: whether it is in use, the places of wrist and elbow from between the shoulders, and
        the finger joints from the wrist in hand sizes. All are 0 for a hand that is not in use.
    """
    parts: list[Floats] = []
    for wrist, elbow, hand in _HANDS:
        use = _in_use(features[:, wrist, :2])[:, None]
        places = [use, use * features[:, wrist, :2], use * _ELBOW_WEIGHT * features[:, elbow, :2]]
        parts += [*places, use * _FINGER_WEIGHT * _fingers(features[:, hand])]
    return np.concatenate(parts, axis=1).astype(np.float32)


def _in_use(wrist: Floats) -> Floats:
    """(T,) in [0, 1] how much a wrist (T, 2) is in use: raised, or moving and not quite lowered."""
    steps = np.linalg.norm(np.diff(wrist, axis=0, append=wrist[-1:]), axis=1)
    padded = np.pad(steps, _SMOOTHING // 2, mode="edge")
    speed = np.convolve(padded, np.full(_SMOOTHING, 1 / _SMOOTHING), mode="valid")
    raised = np.clip((_RAISED - wrist[:, 1]) / _FADE, 0, 1)
    near = np.clip((_LOWERED - wrist[:, 1]) / _FADE, 0, 1)
    return np.asarray(np.maximum(raised, near * np.clip(speed / _MOVING - 1, 0, 1)), dtype=np.float32)


def _fingers(hand: Floats) -> Floats:
    """(T, 60) joints of a hand (T, 21, 4) from its wrist, in hand sizes; 0 where it is not seen."""
    joints = hand[:, 1:, :3] - hand[:, :1, :3]
    size = np.linalg.norm(joints, axis=-1).mean(axis=1)
    known = (hand[:, 0, 3] > 0) & (size > 1e-6)
    scale: Floats = np.where(known, 1 / np.where(known, size, 1.0), 0.0)
    return np.asarray((joints * scale[:, None, None]).reshape(len(hand), -1), dtype=np.float32)


def time_normalised(rows: Floats, frames: int = FRAMES) -> Floats:
    """Stretch (T, D) to (frames, D), linearly."""
    stretched: Floats = windows_normalised(rows, np.zeros(1, dtype=np.int64), len(rows), frames)[0]
    return stretched


def windows_normalised(rows: Floats, starts: NDArray[np.int64], width: int, frames: int = FRAMES) -> Floats:
    """Stretch the windows of `width` rows that begin at `starts` (W,) to (W, frames, D)."""
    at = starts[:, None] + np.linspace(0, width - 1, frames)[None]
    low = np.clip(at.astype(np.int64), 0, len(rows) - 1)
    share = (at - low)[..., None].astype(np.float32)
    return np.asarray(rows[low] * (1 - share) + rows[np.minimum(low + 1, len(rows) - 1)] * share, dtype=np.float32)


def centre_of(exemplars: Floats) -> Floats:
    """(D,) the mean of all frames of all exemplars (E, F, D): what cosine similarity is measured from."""
    return np.asarray(exemplars.mean(axis=(0, 1)), dtype=np.float32)


def cosine(queries: Floats, exemplars: Floats, centre: Floats) -> Floats:
    """Cosine similarity (Q, E) of time-normalised signs (Q, F, D) and (E, F, D), measured from `centre` (D,)."""
    one, other = ((x - centre).reshape(len(x), -1) for x in (queries, exemplars))
    one, other = (x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9) for x in (one, other))
    return np.asarray(one @ other.T, dtype=np.float32)


def warping_distance(queries: Floats, exemplars: Floats) -> Floats:
    """Distance (Q, E) under dynamic time warping of signs (Q, F, D) and (E, G, D), a frame on average."""
    out = np.empty((len(queries), len(exemplars)), dtype=np.float32)
    step = max(1, _BLOCK // len(exemplars))
    for first in range(0, len(queries), step):
        out[first : first + step] = _warp(frame_distances(queries[first : first + step], exemplars))
    return np.asarray(out / (queries.shape[1] + exemplars.shape[1]), dtype=np.float32)


def frame_distances(queries: Floats, exemplars: Floats) -> Floats:
    """Euclidean distances (Q, E, F, G) of every frame of (Q, F, D) and every frame of (E, G, D)."""
    squares = (queries**2).sum(-1)[:, None, :, None] + (exemplars**2).sum(-1)[None, :, None, :]
    products = np.einsum("qfd,egd->qefg", queries, exemplars, optimize=True)
    return np.asarray(np.sqrt(np.maximum(squares - 2 * products, 0)), dtype=np.float32)


def _warp(costs: Floats) -> Floats:
    """The cheapest way (...,) through costs (..., F, G) from corner to corner; a diagonal step costs double."""
    rows = np.full((costs.shape[-1] + 1, *costs.shape[:-2]), np.inf, dtype=np.float32)
    rows[0] = 0
    for i in range(costs.shape[-2]):
        before, rows = rows, np.full_like(rows, np.inf)
        for j in range(costs.shape[-1]):
            cost = costs[..., i, j]
            straight = np.minimum(before[j + 1], rows[j]) + cost
            rows[j + 1] = np.minimum(straight, before[j] + 2 * cost)
    return np.asarray(rows[-1])


def best_window(rows: Floats, exemplars: Floats, centre: Floats, widths: Sequence[int]) -> tuple[int, int]:
    """First row and width of the window of (T, D) that is most similar to any exemplar (E, F, D)."""
    best, found = -np.inf, (0, len(rows))
    for width in widths:
        starts = np.arange(max(1, len(rows) - width + 1))
        score = cosine(windows_normalised(rows, starts, min(width, len(rows))), exemplars, centre).max(axis=1)
        if score.max() > best:
            best, found = float(score.max()), (int(score.argmax()), min(width, len(rows)))
    return found


def best_warped_windows(rows: Sequence[Floats], exemplars: Sequence[Floats]) -> list[tuple[int, int]]:
    """First row and width of the stretch of each (T, D) onto which one of its exemplars (E, F, D) warps most cheaply.

    All searches go side by side, so that the loops over rows and frames run once.
    """
    pairs = [(which, one) for which, many in enumerate(exemplars) for one in many]
    lengths = np.array([len(rows[which]) for which, _ in pairs])
    costs = np.full((lengths.max(), exemplars[0].shape[1], len(pairs)), np.inf, dtype=np.float32)
    for column, (which, one) in enumerate(pairs):
        costs[: lengths[column], :, column] = frame_distances(rows[which][None], one[None])[0, 0]
    score, first, width = _warp_anywhere(costs)
    found: list[tuple[int, int]] = []
    owners = np.array([which for which, _ in pairs])
    for which in range(len(rows)):
        own = np.flatnonzero(owners == which)
        best = own[score[own].argmin()]
        found.append((int(first[best]), int(width[best])))
    return found


def _warp_anywhere(costs: Floats) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """For costs (T, F, P): the cheapest way of each pair through all F frames, a step on average, and where it lies."""
    count, frames, pairs = costs.shape
    total = np.full((frames, pairs), np.inf, dtype=np.float32)  # of the cheapest way that ends here
    begun = np.zeros((frames, pairs), dtype=np.int64)  # where that way began
    best = np.full(pairs, np.inf, dtype=np.float32)
    first, width = np.zeros(pairs, dtype=np.int64), np.full(pairs, count)
    for t in range(count):
        before, begun_before = total.copy(), begun.copy()
        total[0], begun[0] = costs[t, 0], t
        for i in range(1, frames):
            stay, diagonal, up = before[i], before[i - 1] + costs[t, i], total[i - 1]
            total[i] = np.minimum(np.minimum(stay, up), diagonal) + costs[t, i]
            by_up = np.where(up < diagonal, begun[i - 1], begun_before[i - 1])
            begun[i] = np.where(stay <= np.minimum(up, diagonal), begun_before[i], by_up)
        score = total[-1] / (t + 1 - begun[-1] + frames)
        better = score < best
        best = np.where(better, score, best)
        first, width = np.where(better, begun[-1], first), np.where(better, t + 1 - begun[-1], width)
    return best, first, width


def rows_of(segment: Segment, fps: float, count: int) -> slice:
    """The rows that a segment covers, at least two."""
    first = min(max(0, round(segment.start * fps)), max(0, count - 2))
    return slice(first, max(first + 2, min(count, round(segment.end * fps) + 1)))
