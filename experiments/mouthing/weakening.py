"""Lips as an estimator gives them on film, for training: distortions as measured, and wider ones around them.

The measured ones (`python -m experiments.mouthing.distortion`) are those of single films through MediaPipe's network
that looks at lips again. The wider ones span what `python -m experiments.mouthing.filmed` prints of both of
MediaPipe's networks of faces: the usual one hardly sees the width of a mouth; neither sees how far lips are pushed out,
and how thick they are it mostly guesses.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signspot.mouthing.lips import SHAPES, Floats

MEASURED = Path(__file__).with_name("film_distortions.json")
_AS_MEASURED = 0.75  # share of the weakened windows that are distorted as films were
_GAIN_SPREAD = 0.12  # standard deviation of the logarithm of gains beside the measured ones
_ERRORS = (0.6, 1.4)  # least and highest size of errors, as a share of the measured ones

# Shapes that one gain is drawn for, the least and the highest gain, and the size of errors, in the shapes' unit.
_GAINS: tuple[tuple[tuple[str, ...], float, float, float], ...] = (
    (("opening", "opening_beside", "height"), 0.65, 1.6, 0.08),
    (("width", "inner_width"), 0.25, 1.1, 0.10),
    (("upper_lip",), -0.2, 1.0, 0.06),
    (("lower_lip",), 0.0, 1.2, 0.08),
    (("upper_place",), -0.2, 1.0, 0.10),
    (("lower_place", "chin"), 0.7, 1.3, 0.13),
    (("corners",), 0.2, 1.1, 0.12),
    (("protrusion", "depth"), -0.3, 0.8, 0.06),
    (("slant",), 0.0, 1.2, 0.08),
)
_APART = 0.12  # standard deviation by which shapes of one gain differ, as a share of it
_BLIND = 0.6  # share of the windows in which depth says nothing of the lips
_LEAKS = {"opening": 0.12, "width": 0.08, "corners": 0.25}  # standard deviation of what other shapes take over of these
_SLOW, _FAST = 0.9, 0.5  # share of an error that the next frame keeps, at most and at least
_DEPTH = [SHAPES.index("protrusion"), SHAPES.index("depth")]
_SURE = [SHAPES.index(name) for name in ("opening", "opening_beside", "height", "width", "inner_width")]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FilmDistortion:
    """Distortion of lips by a film: seen = true @ mixing + errors, all from the resting mouth."""

    mixing: Array  # (n, n) row: what a true shape adds to each shape that is seen
    covariance: Array  # (n, n) of the errors: shapes are distances between the same few points, so they share them
    memory: float  # share of an error that the next frame keeps
    errors: Array | None = None  # (m, n) those of the film, frame after frame; None: drawn from the two above

    def apply(self, shapes: Array, random: np.random.Generator) -> Array:
        """Shapes (T, n) as such a film shows them."""
        if self.errors is not None:
            places = int(random.integers(len(self.errors))) + np.arange(len(shapes))
            there_and_back = np.concatenate([self.errors, self.errors[::-1]])
            return np.asarray(shapes @ self.mixing + there_and_back[places % len(there_and_back)])
        values, vectors = np.linalg.eigh(self.covariance)
        spread = (vectors * np.sqrt(np.maximum(values, 0.0))).T
        errors = _lasting_errors(len(shapes), self.memory, random)
        return np.asarray(shapes @ self.mixing + errors @ spread)


def weaken(values: Floats, random: np.random.Generator, known: Sequence[FilmDistortion] = ()) -> Floats:
    """The same lips (T, CHANNELS), weakened as MediaPipe weakens them on film; drawn anew for every window.

    Args:
        values: the lips.
        random: chance.
        known: distortions of films; none: those that were measured before.
    """
    measured = known or measured_distortions()
    drawn = _draw_measured(measured, random) if random.random() < _AS_MEASURED else _draw_wide(random)
    weak = values.copy()
    weak[:, :-2] = np.where(values[:, -2:-1] > 0, drawn.apply(values[:, :-2].astype(float), random), 0.0)
    return weak


@cache
def measured_distortions(path: Path = MEASURED) -> tuple[FilmDistortion, ...]:
    """The distortions that were measured, in the order of their films."""
    known = json.loads(path.read_text(encoding="utf-8"))
    assert tuple(known["shapes"]) == SHAPES, "measured with other shapes: measure again"
    return tuple(
        FilmDistortion(np.array(film["mixing"]), np.array(film["covariance"]), film["memory"])
        for film in known["films"]
    )


def _draw_measured(known: Sequence[FilmDistortion], random: np.random.Generator) -> FilmDistortion:
    """Something between the distortions of two films, and somewhat beside it; errors of one film where it has them."""
    one, other = (known[int(place)] for place in random.integers(len(known), size=2))
    share = random.random()
    gains = np.ones(len(SHAPES))
    for names, *_ in _GAINS:  # of shapes between the same points together, so that they stay alike
        gains[[SHAPES.index(name) for name in names]] = np.exp(random.normal(0, _GAIN_SPREAD))
    size = random.uniform(*_ERRORS)
    return FilmDistortion(
        (share * one.mixing + (1 - share) * other.mixing) * gains,
        (share * one.covariance + (1 - share) * other.covariance) * size**2,
        share * one.memory + (1 - share) * other.memory,
        None if one.errors is None else one.errors * size,
    )


def _draw_wide(random: np.random.Generator) -> FilmDistortion:
    """Any distortion in the spans above, with errors of each shape on its own."""
    gains, sizes = np.ones(len(SHAPES)), np.ones(len(SHAPES))
    for names, low, high, size in _GAINS:
        here = [SHAPES.index(name) for name in names]
        gains[here] = random.uniform(low, high) * (1 + random.normal(0, _APART, len(here)))
        sizes[here] = size
    if random.random() < _BLIND:
        gains[_DEPTH] = 0.0
    mixing = np.diag(gains)
    for name, spread in _LEAKS.items():
        source, leaks = SHAPES.index(name), random.normal(0, spread, len(SHAPES))
        leaks[[*_SURE, source]] = 0.0
        mixing[source] += leaks
    covariance = np.diag((sizes * random.uniform(0.5, 1.5)) ** 2)
    return FilmDistortion(mixing, covariance, random.uniform(_FAST, _SLOW))


def _lasting_errors(count: int, memory: float, random: np.random.Generator) -> Array:
    """Errors (T, n) of size 1, each frame keeping a share of the one before."""
    errors = random.normal(0, np.sqrt(1 - memory**2), (count, len(SHAPES)))
    errors[:1] = random.normal(0, 1, (1, len(SHAPES)))
    for frame in range(1, count):
        errors[frame] += memory * errors[frame - 1]
    return errors
