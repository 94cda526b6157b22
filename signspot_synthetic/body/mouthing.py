"""Lips as hard to read as real ones: words reduced, slurred and stretched by the sign, and gestures that are not words.

Each phoneme has a shape of its own, so that words of the same visemes differ a little, as they do on real lips.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from signspot.mouthing.visemes import is_vowel, pronounce
from signspot.types import Segment
from signspot_synthetic.body.signers import Signer
from signspot_synthetic.data import read_table
from signspot_synthetic.geometry import Array
from signspot_synthetic.random_streams import named_rng

# Phonemes: opening, width, protrusion, pressing; how long against the mean.
_SHAPES: dict[str, list[float]] = {name: values for name, *values in read_table("phonemes")}
_GLIDES: dict[str, list[str]] = dict(read_table("glides"))  # from one phoneme to another
# Gestures of the mouth that are not words, such as puffed cheeks or "pah": shapes and their seconds.
_GESTURES: list[list[tuple[list[float], float]]] = read_table("mouth gestures")
_WEAKLY_SAID = ("AH0", "IH0", "ER0", "HH", "T", "D", "N", "K", "G", "NG")  # phonemes that slurred words lack
_WEAK = 0.6  # of an unstressed vowel's way from the middle
_MIDDLE = np.array([0.30, 0.05, 0.05, 0.0])
_REST = np.array([0.05, 0.0, 0.0, 0.1])
_FASTEST, _SLOWEST = 0.045, 0.19  # seconds of one phoneme
_BLUR = np.array([0.035, 0.045, 0.055, 0.020])  # seconds: lips shut faster than they round
_RATE = 100.0  # shapes per second before they are read at the frames' times


@dataclass(frozen=True, slots=True)
class MouthHabits:
    """One person's way of moving the lips; drawn from the signer, so it stays with them."""

    clarity: float  # size of the movements against the ideal
    slur: float  # of the blur over time
    partial: float  # how often a word is only begun
    gestures: float  # gestures per second that are not words
    rest: Array  # (4,) the mouth at rest
    gains: Array  # (4,) of opening, width, protrusion, pressing


@dataclass(frozen=True, slots=True)
class MouthedWord:
    """A word on the lips: what was really said of it, and when."""

    word: str
    phonemes: tuple[str, ...]
    segment: Segment
    share: float  # of the word's phonemes


def habits_of(signer: Signer, strength: float = 1.0) -> MouthHabits:
    """The habits of a signer; at strength 0 everybody mouths whole words, clearly."""
    rng = named_rng(signer.habits, "mouth")
    clarity = float(np.clip(signer.manner.lips * np.exp(rng.normal(-0.45, 0.25)), 0.25, 1.3))
    slur, partial, gestures = float(np.exp(rng.normal(0.1, 0.3))), float(rng.beta(2, 4)), float(rng.gamma(2.0, 0.09))
    rest = _REST + strength * rng.normal(0, (0.03, 0.12, 0.05, 0.06))
    gains = np.exp(strength * rng.normal(0, (0.2, 0.25, 0.3, 0.2)))
    return MouthHabits(
        1 + (clarity - 1) * strength,
        0.5 + (slur - 0.5) * strength,
        partial * strength,
        gestures * strength,
        rest,
        gains,
    )


def say(word: str, segment: Segment, habits: MouthHabits, rng: np.random.Generator) -> MouthedWord:
    """Mouth a word with a sign: near its end, stretched by its rhythm, whole or only begun."""
    whole = pronounce(word)
    begun = _begun(whole, rng) if rng.random() < habits.partial else whole
    phonemes = tuple(p for p in begun if p not in _WEAKLY_SAID or rng.random() >= 0.12 * habits.slur) or begun
    wished = segment.duration * float(rng.uniform(0.7, 1.1)) + 0.04
    seconds = float(np.clip(wished, _FASTEST * len(phonemes), _SLOWEST * len(phonemes)))
    late = float(rng.normal(0.0, 0.05))
    spare = max(0.0, segment.duration - seconds) * float(rng.uniform(0, 0.5))
    end = segment.end + late - spare
    return MouthedWord(word, phonemes, Segment(end - seconds, end), len(begun) / len(whole))


def _begun(phonemes: Sequence[str], rng: np.random.Generator) -> tuple[str, ...]:
    """The first syllables of a word, the last of them often with the consonant after it; a short word stays whole."""
    hearts = [place for place, phoneme in enumerate(phonemes) if is_vowel(phoneme)]
    if len(hearts) < 2:
        return tuple(phonemes)
    last = hearts[int(rng.integers(len(hearts) - 1))]
    return tuple(phonemes[: last + 1 + int(rng.random() < 0.6)])


def mouth_shapes(
    count: int, fps: float, words: Sequence[MouthedWord], habits: MouthHabits, rng: np.random.Generator
) -> Array:
    """The lips (T, 4) over `count` frames: words at their times, gestures between them, rest elsewhere."""
    seconds = count / fps
    fine = np.tile(habits.rest, (int(seconds * _RATE) + 2, 1))
    times = np.sort(rng.uniform(0, seconds, rng.poisson(habits.gestures * seconds)))
    gestures = [_GESTURES[int(rng.integers(len(_GESTURES)))] for _ in times]
    for start, gesture in zip(times.tolist(), gestures, strict=True):
        now, size = start, float(rng.uniform(0.5, 1.1))
        for shape, lasts in gesture:
            long = lasts * float(np.exp(rng.normal(0, 0.3)))
            _fill(fine, now, now + long, habits.rest + size * (np.array(shape) - habits.rest))
            now += long
    for word in sorted(words, key=lambda spoken: spoken.segment.end):
        _say(fine, word, habits, rng)
    blurred = np.stack([_blur(fine[:, c], _BLUR[c] * habits.slur * _RATE) for c in range(4)], axis=-1)
    moved = habits.rest + (blurred - habits.rest) * habits.clarity * habits.gains
    places = np.arange(count) / fps * _RATE
    return np.stack([np.interp(places, np.arange(len(moved)), moved[:, c]) for c in range(4)], axis=-1)


def _say(fine: Array, word: MouthedWord, habits: MouthHabits, rng: np.random.Generator) -> None:
    """Put one word into the lips (n, 4), in place."""
    shapes = [shape for phoneme in word.phonemes for shape in _shapes(phoneme)]
    lasts = np.array([shape[4] for shape in shapes]) * np.exp(rng.normal(0, 0.2, len(shapes)))
    if rng.random() < 0.2:  # the last shape is held with the hands
        lasts[-1] *= 1.8
    edges = word.segment.start + np.concatenate([[0], np.cumsum(lasts) / lasts.sum()]) * word.segment.duration
    size = np.exp(rng.normal(0, 0.15))
    for shape, start, end in zip(shapes, edges[:-1], edges[1:], strict=True):
        target = shape[:4] * [size, 1, 1, 1] + rng.normal(0, (0.04, 0.10, 0.06, 0.05))
        target[3] = np.clip(target[3], 0, 1.1)
        _fill(fine, float(start), float(end), target)


def _shapes(phoneme: str) -> list[Array]:
    """The shapes of a phoneme, (5,) each."""
    name = phoneme.rstrip("01")
    parts = _GLIDES.get(name, [name])
    shapes = []
    for part in parts:
        values = np.array(_SHAPES[part])
        if phoneme.endswith("0"):
            values[:4] = _MIDDLE + _WEAK * (values[:4] - _MIDDLE)
            values[4] *= 0.75
        values[4] *= 0.7 if len(parts) > 1 else 1.0
        shapes.append(values)
    return shapes


def _fill(fine: Array, start: float, end: float, shape: Array) -> None:
    first, last = max(0, round(start * _RATE)), max(0, round(end * _RATE))
    fine[first:last] = shape


def _blur(values: Array, sigma: float) -> Array:
    reach = int(4 * sigma) + 1
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    padded = np.pad(values, reach, mode="edge")
    return np.asarray(np.convolve(padded, kernel / kernel.sum(), mode="valid"))
