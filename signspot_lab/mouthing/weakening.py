"""Lips as an estimator gives them on film: its idea of a usual mouth is stronger than what it sees of some shapes."""

import numpy as np

from signspot.mouthing.lips import SHAPES, Floats

# Shapes that one gain is drawn for, and the least and the highest gain.
_GAINS: tuple[tuple[tuple[str, ...], float, float], ...] = (
    (("opening", "opening_beside", "height"), 0.7, 1.15),
    (("width", "inner_width"), 0.2, 1.1),
    (("upper_lip",), 0.2, 1.3),
    (("lower_lip",), 0.5, 1.5),
    (("upper_place",), 0.0, 1.0),
    (("lower_place", "chin"), 0.8, 1.3),
    (("corners",), 0.3, 1.1),
    (("protrusion", "depth"), -0.2, 1.0),
    (("slant",), 0.5, 1.2),
)
_BLIND = 0.5  # share of the windows in which depth says nothing of the lips
_LEAK = 0.12  # standard deviation of what each shape takes over of the opening
_WANDER = 0.10  # size of slow errors of each shape, in tenths of the distance of the eyes
_MEMORY = 0.9  # share of an error that the next frame keeps
_DEPTH = [SHAPES.index("protrusion"), SHAPES.index("depth")]
_OPENINGS = [SHAPES.index(name) for name in ("opening", "opening_beside", "height")]


def weaken(values: Floats, random: np.random.Generator) -> Floats:
    """The same lips (T, CHANNELS), weakened as MediaPipe weakens them on film; drawn anew for every window."""
    gains, leaks = np.ones(len(SHAPES)), random.normal(0, _LEAK, len(SHAPES))
    for names, low, high in _GAINS:
        gains[[SHAPES.index(name) for name in names]] = random.uniform(low, high)
    if random.random() < _BLIND:
        gains[_DEPTH] = 0.0
    leaks[_OPENINGS] = 0.0
    errors = random.normal(0, _WANDER * np.sqrt(1 - _MEMORY**2), (len(values), len(SHAPES)))
    errors[0] = random.normal(0, _WANDER, len(SHAPES))
    for frame in range(1, len(errors)):
        errors[frame] += _MEMORY * errors[frame - 1]
    shapes = values[:, :-2] * gains + values[:, :1] * leaks + errors
    weak = values.copy()
    weak[:, :-2] = np.where(values[:, -2:-1] > 0, shapes, 0.0)
    return weak
