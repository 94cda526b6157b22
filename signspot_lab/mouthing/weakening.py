"""Lips as an estimator gives them on film: its idea of a usual mouth is stronger than what it sees of some shapes.

The numbers span what `python -m signspot_lab.mouthing.filmed` prints of MediaPipe's two networks of faces: the usual
one, which hardly sees the width of a mouth, and the one that looks at lips again. Neither sees how far lips are pushed
out, and how thick they are it mostly guesses.
"""

import numpy as np

from signspot.mouthing.lips import SHAPES, Floats

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


def weaken(values: Floats, random: np.random.Generator) -> Floats:
    """The same lips (T, CHANNELS), weakened as MediaPipe weakens them on film; drawn anew for every window."""
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
    memory = random.uniform(_FAST, _SLOW)
    errors = random.normal(0, np.sqrt(1 - memory**2), (len(values), len(SHAPES)))
    errors[0] = random.normal(0, 1, len(SHAPES))
    for frame in range(1, len(errors)):
        errors[frame] += memory * errors[frame - 1]
    shapes = values[:, :-2] @ mixing + errors * sizes * random.uniform(0.5, 1.5)
    weak = values.copy()
    weak[:, :-2] = np.where(values[:, -2:-1] > 0, shapes, 0.0)
    return weak
