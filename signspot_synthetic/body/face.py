"""The face: a template of the mesh points that we keep, moved by lips, brows and the head."""

from dataclasses import dataclass

import numpy as np

from signspot.landmarks.landmarks import FACE_POINTS
from signspot_synthetic.geometry.rotations import Array

LIP_POINTS = 40
EARS = np.array([[0.076, 0.0, 0.005], [-0.076, 0.0, 0.005]])  # left and right, from the head's centre
NECK_PIVOT = np.array([0.0, 0.135, 0.02])  # what the head turns about, from its centre

# From the head's centre, between the ears, of a mean adult in metres: x to the image's right, y down, z back.
_POINTS = {
    1: (0.000, 0.022, -0.118),
    4: (0.000, 0.014, -0.122),
    33: (-0.046, -0.022, -0.070),
    133: (-0.016, -0.020, -0.078),
    159: (-0.031, -0.028, -0.083),
    145: (-0.031, -0.017, -0.081),
    70: (-0.055, -0.040, -0.072),
    105: (-0.037, -0.049, -0.089),
    107: (-0.011, -0.043, -0.097),
    10: (0.000, -0.090, -0.090),
    152: (0.000, 0.110, -0.083),
    234: (-0.073, -0.002, -0.022),
}
_PAIRS = {362: 133, 263: 33, 386: 159, 374: 145, 336: 107, 334: 105, 300: 70, 454: 234}
_MOUTH = np.array([0.0, 0.058, -0.099])
_BROWS = [FACE_POINTS.index(point) for point in (70, 105, 107, 336, 334, 300)]
_CHIN = FACE_POINTS.index(152)
_UPPER_LIDS = [FACE_POINTS.index(point) for point in (159, 386)]


@dataclass(frozen=True, slots=True)
class Expression:
    """State of the face, each (T,): lips in shares of their full movement, brows in metres."""

    opening: Array  # of the mouth, 0 shut to 1 wide
    width: Array  # -1 rounded to 1 spread
    protrusion: Array  # of the lips, 0 to 1
    pressing: Array  # of the lips on each other, 0 to 1
    brows: Array  # metres upwards
    lids: Array  # 0 open to 1 shut
    smile: Array | None = None  # metres by which both corners of the mouth rise; None: they stay
    skew: Array | None = None  # metres by which one corner rises and the other falls
    jaw: Array | None = None  # metres by which the chin sinks with shut lips


def _template() -> Array:
    points = np.zeros((len(FACE_POINTS), 3))
    for index, name in enumerate(FACE_POINTS[LIP_POINTS:], start=LIP_POINTS):
        mirrored = name in _PAIRS
        points[index] = np.array(_POINTS[_PAIRS.get(name, name)]) * ([-1, 1, 1] if mirrored else [1, 1, 1])
    return points


_TEMPLATE = _template()


def lips(expression: Expression) -> Array:
    """The 40 lip points (T, 40, 3) from the mouth's centre, of a mean adult: outer below, above, inner below, above."""
    shut = np.zeros_like(expression.opening)
    open_, wide = expression.opening, expression.width
    half = 0.0265 * (1 + 0.20 * wide) * (1 - 0.30 * expression.protrusion) * (1 - 0.10 * open_)
    full = 1 - 0.65 * expression.pressing
    gap = 0.013 * open_  # half of the opening; the lower lip goes further than the upper
    arcs = (
        (11, half, 1.35 * gap + 0.0105 * full, 0.0),
        (9, half, -(0.55 * gap + 0.0088 * full), 0.004),
        (11, half * 0.82, 1.35 * gap + 0.0006, 0.0),
        (9, half * 0.82, -(0.55 * gap + 0.0004), 0.0),
    )
    parts = []
    for count, reach, rise, bow in arcs:
        # Arcs below run from corner to corner; arcs above leave the corners out.
        share = np.linspace(-1, 1, 11)[(11 - count) // 2 : 11 - (11 - count) // 2]
        side = np.sin(share * np.pi / 2)
        arch = 1 - np.abs(side) ** 2.2
        x = reach[:, None] * side
        y = rise[:, None] * arch + bow * np.exp(-((share / 0.16) ** 2)) * full[:, None] * 0.5
        if expression.smile is not None:
            y = y - expression.smile[:, None] * side**2
        if expression.skew is not None:
            y = y - expression.skew[:, None] * side
        z = 0.020 * side**2 - (0.010 * expression.protrusion)[:, None] * (1 - 0.6 * side**2) + shut[:, None]
        parts.append(np.stack([x, y, z], axis=-1))
    return np.concatenate(parts, axis=1)


def face_points(expression: Expression, size: float) -> Array:
    """The face's points (T, P, 3) from the head's centre, in the head's own frame."""
    count = len(expression.opening)
    points = np.broadcast_to(_TEMPLATE, (count, *_TEMPLATE.shape)).copy()
    points[:, :LIP_POINTS] = lips(expression) + _MOUTH
    points[:, _BROWS, 1] -= expression.brows[:, None]
    points[:, _CHIN, 1] += 0.016 * expression.opening
    if expression.jaw is not None:
        points[:, _CHIN, 1] += expression.jaw
    points[:, _UPPER_LIDS, 1] += 0.010 * expression.lids[:, None]
    return points * size
