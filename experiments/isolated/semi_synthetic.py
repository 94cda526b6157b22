"""New signs from real hands: shapes drawn from clusters of real hand frames, on invented paths.

Shapes and bodies are real, with their estimator's noise; paths, places, two-handedness and repetition are invented.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.contrastive.performances import MINIMAL_PAIRS, Features, Performance, smooth
from experiments.isolated.recombination import Clips
from signspot.landmarks.features import ELBOWS, LEFT_HAND, RIGHT_HAND, WRISTS, mirror_features
from signspot.landmarks.resampling import at_positions

SHAPES = 320  # clusters of hand frames
_SEEN = 0.5


@dataclass(frozen=True, slots=True)
class Invention:
    """A sign: what the dominant hand shows and where it goes, and what the other hand does."""

    shapes: tuple[int, ...]  # clusters passed through, one or two
    points: NDArray[np.float64]  # (K, 2) path of the dominant wrist, in shoulder widths
    times: int  # the path is gone along
    two_hands: int  # 0: one hand; 1: symmetric; 2: the other hand holds still; 3: symmetric in opposite phase
    base_shape: int
    base_point: NDArray[np.float64]  # (2,)
    mirror: bool


class HandPool:
    """Real hand frames in clusters of like shape and orientation."""

    def __init__(self, clips: Clips, random: np.random.Generator, shapes: int = SHAPES):
        frames, signers = _hand_frames(clips)
        shape = frames - frames[:, :1]
        scale = np.linalg.norm(shape[:, [5, 9, 13, 17], :2], axis=-1).mean(axis=1, keepdims=True)[..., None]
        described = (shape / np.maximum(scale, 0.02)).reshape(len(frames), -1)
        described[:, 2::3] *= 0.5  # depth is the least certain
        labels = cluster(described.astype(np.float32), shapes, random)
        self.frames, self.signers = shape, signers
        self.members = [np.flatnonzero(labels == each) for each in range(shapes)]

    def sequence(self, shape: int, signer: int, length: int, random: np.random.Generator) -> Features:
        """(length, 21, 3) one hand over time: a slow drift between members of a cluster, the signer's own if any."""
        members = self.members[shape]
        own = members[self.signers[members] == signer]
        chosen = random.choice(own if len(own) else members, 3)
        place = np.linspace(0, 2, length, dtype=np.float32)[:, None, None]
        first, second, third = self.frames[chosen]
        early, late = first + (second - first) * np.minimum(place, 1), (third - second) * np.maximum(place - 1, 0)
        sequence: Features = early + late
        return sequence


class SemiSynthetic:
    """Draws invented signs with real hand shapes on real bodies."""

    def __init__(self, clips: Clips, pool: HandPool, minimal_pairs: float = MINIMAL_PAIRS):
        self.clips, self.pool, self.minimal_pairs = clips, pool, minimal_pairs
        wrists = [clip[:, WRISTS[1]] for words in clips.values() for reps in words.values() for clip in reps]
        stacked = np.concatenate(wrists)
        self.places = stacked[stacked[:, 3] > _SEEN, :2]
        self.bodies = {signer: _one_handed(words) for signer, words in clips.items()}

    def draw(self, random: np.random.Generator, signs: int, times: int) -> list[list[Performance]]:
        """As `PerformanceSource.draw`."""
        drawn = []
        sign: Invention | None = None
        for _ in range(signs):
            is_new = sign is None or random.random() > self.minimal_pairs
            sign = self._invent(random) if sign is None or is_new else self._vary(sign, random)
            signers = np.resize(random.permutation(sorted(self.clips)), times)
            drawn.append([Performance(int(s), self._perform(sign, int(s), random)) for s in signers])
        return drawn

    def _invent(self, random: np.random.Generator) -> Invention:
        many = len(self.pool.members)
        start = self.places[random.integers(len(self.places))] + random.normal(0, 0.15, 2)
        steps = random.normal(0, 0.3, (int(random.integers(1, 4)), 2)) * random.choice([0.2, 1.0, 1.6])
        return Invention(
            shapes=tuple(random.integers(many, size=int(random.choice([1, 2], p=[0.65, 0.35]))).tolist()),
            points=np.concatenate([start[None], start + np.cumsum(steps, axis=0)]),
            times=int(random.choice([1, 2, 3], p=[0.6, 0.3, 0.1])),
            two_hands=int(random.choice([0, 1, 2, 3], p=[0.5, 0.25, 0.15, 0.1])),
            base_shape=int(random.integers(many)),
            base_point=np.array([0.25, 0.7]) + random.normal(0, 0.2, 2),
            mirror=bool(random.random() < 0.5),
        )

    def _vary(self, sign: Invention, random: np.random.Generator) -> Invention:
        """Another sign that differs in one parameter: shape, place, movement, the other hand."""
        fresh = self._invent(random)
        changes: tuple[dict[str, Any], ...] = (
            {"shapes": fresh.shapes},
            {"points": sign.points - sign.points[:1] + fresh.points[:1]},
            {"points": fresh.points - fresh.points[:1] + sign.points[:1]},
            {"two_hands": fresh.two_hands if fresh.two_hands != sign.two_hands else (sign.two_hands + 1) % 4},
        )
        return replace(sign, **changes[int(random.integers(len(changes)))])

    def _perform(self, sign: Invention, signer: int, random: np.random.Generator) -> Features:
        bodies = self.bodies[signer]
        clip = bodies[int(random.integers(len(bodies)))]
        length = int(np.clip(random.normal(34, 8) * (1 + 0.25 * (sign.times - 1)), 16, 80))
        made = at_positions(clip, np.linspace(0, len(clip) - 1, length))
        path = self._path(sign, length, random)
        self._place(made, 1, path, self._shape(sign.shapes, signer, length, random), random)
        if sign.two_hands == 0:
            pass  # the other hand does what it did in the real clip
        elif sign.two_hands == 2:
            still = sign.base_point + random.normal(0, 0.06, 2) + np.zeros((length, 2))
            shape = _mirrored(self.pool.sequence(sign.base_shape, signer, length, random))
            self._place(made, 0, still, shape, random)
        else:
            phase = length // (2 * sign.times) if sign.two_hands == 3 else 0
            other = np.roll(path, phase, axis=0) * (-1, 1) + random.normal(0, 0.04, 2)
            self._place(made, 0, other, _mirrored(self._shape(sign.shapes, signer, length, random)), random)
        return mirror_features(made) if sign.mirror else made

    def _shape(self, shapes: tuple[int, ...], signer: int, length: int, random: np.random.Generator) -> Features:
        first = self.pool.sequence(shapes[0], signer, length, random)
        if len(shapes) == 1:
            return first
        last = self.pool.sequence(shapes[1], signer, length, random)
        middle, width = random.normal(0.5, 0.06), 0.12
        share = 1 / (1 + np.exp(-(np.linspace(0, 1, length) - middle) / (width / 3)))
        return (first + (last - first) * share[:, None, None]).astype(np.float32)

    def _path(self, sign: Invention, length: int, random: np.random.Generator) -> NDArray[np.float64]:
        """(length, 2) the wrist's path: through all points, and back as the sign repeats, with a signer's noise."""
        points = sign.points + random.normal(0, 0.05, sign.points.shape)
        centre = points.mean(axis=0)
        points = centre + (points - centre) * np.exp(random.normal(0, 0.15)) + random.normal(0, 0.07, 2)
        there = np.linspace(0, sign.times if sign.times > 1 else 1, length) * (len(points) - 1)
        span = len(points) - 1
        folded = np.abs((there + span) % (2 * span) - span) if sign.times > 1 else there
        eased = np.floor(folded) + smooth(folded - np.floor(folded))
        eased = np.clip(eased, 0, span)
        below = np.minimum(np.floor(eased).astype(int), span - 1)
        share = (eased - below)[:, None]
        path: NDArray[np.float64] = points[below] * (1 - share) + points[below + 1] * share
        return path

    def _place(
        self, made: Features, side: int, path: NDArray[np.float64], shape: Features, random: np.random.Generator
    ) -> None:
        """Write one arm and hand into `made`, in place."""
        hand = (LEFT_HAND, RIGHT_HAND)[side]
        shake = np.cumsum(random.normal(0, 0.006, (len(made), 2)), axis=0)
        wrist = (path + shake).astype(np.float32)
        made[:, hand, :2] = wrist[:, None] + shape[..., :2]
        made[:, hand, 2] = shape[..., 2]
        made[:, hand, 3] = 1
        made[:, WRISTS[side], :2] = wrist + random.normal(0, 0.015, 2)
        made[:, WRISTS[side], 3] = 1
        shoulder = made[:, 1 + side, :2]
        outward = np.float32(0.25 if side == 0 else -0.25)
        reach = np.linalg.norm(wrist - shoulder, axis=1)
        sag = np.sqrt(np.maximum(1.5**2 - reach**2, 0.02)) * 0.45
        made[:, ELBOWS[side], 0] = (wrist[:, 0] + shoulder[:, 0]) / 2 + outward * sag
        made[:, ELBOWS[side], 1] = (wrist[:, 1] + shoulder[:, 1]) / 2 + 0.8 * sag
        made[:, ELBOWS[side], 3] = 1


def cluster(
    points: NDArray[np.float32], count: int, random: np.random.Generator, rounds: int = 12
) -> NDArray[np.int64]:
    """K-means: (N, D) points → (N,) labels in [0, count); no cluster is left empty."""
    centres = points[random.choice(len(points), count, replace=False)]
    for _ in range(rounds):
        labels = ((centres**2).sum(axis=1) - 2 * points @ centres.T).argmin(axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, labels, points)
        sizes = np.bincount(labels, minlength=count)
        empty = sizes == 0
        centres = (sums / np.maximum(sizes, 1)[:, None]).astype(np.float32)
        centres[empty] = points[random.choice(len(points), int(empty.sum()), replace=False)]
    found: NDArray[np.int64] = ((centres**2).sum(axis=1) - 2 * points @ centres.T).argmin(axis=1).astype(np.int64)
    for lost in np.flatnonzero(np.bincount(found, minlength=count) == 0):
        found[random.integers(len(points))] = lost
    return found


def _hand_frames(clips: Clips) -> tuple[Features, NDArray[np.int64]]:
    """(N, 21, 3) all hands that were seen, left ones mirrored to right ones, and (N,) whose they are."""
    frames, signers = [], []
    for signer, words in clips.items():
        for clip in (clip for repetitions in words.values() for clip in repetitions):
            for hand, version in ((RIGHT_HAND, clip), (RIGHT_HAND, mirror_features(clip))):
                seen = version[version[:, hand.start, 3] > _SEEN][:, hand, :3]
                frames.append(seen)
                signers.append(np.full(len(seen), signer))
    return np.concatenate(frames), np.concatenate(signers)


def _one_handed(words: dict[int, list[Features]]) -> list[Features]:
    """Clips in which the left hand is hardly seen: it rests; all clips where there is none such."""
    clips = [clip for repetitions in words.values() for clip in repetitions]
    return [clip for clip in clips if clip[:, LEFT_HAND.start, 3].mean() < 0.25] or clips


def _mirrored(shape: Features) -> Features:
    """(T, 21, 3) a right hand as a left one."""
    flipped = shape.copy()
    flipped[..., 0] *= -1
    return flipped
