"""Differences between two signs in plain words: what a learner did, and what the example shows."""

import numpy as np

from signspot.applications.differences import Measure
from signspot.applications.strokes import SeenHand, SeenSign, Stroke

_FINGERS = ("thumb", "index finger", "middle finger", "ring finger", "little finger")
_FAR = 0.05  # shoulder widths: a smaller step to a side is not told
_SIDES = {0: "left", 1: "right"}
_ALONG = {"path", "course", "direction", "net", "round"}


def say_difference(name: str, measure: Measure, clip: SeenSign, exemplar: SeenSign) -> str:
    """One sentence for a measure of `differences.compare` of a clip and an exemplar."""
    mine, theirs = clip.hands[measure.hand], exemplar.hands[measure.hand]
    hand = f"{_SIDES[measure.hand]} hand"
    a, b = measure.moment
    if name == "handshape":
        return f"the {hand} has another shape: {_fingers(mine.shape[a], theirs.shape[b])}"
    if name in ("place", "ends"):
        return f"the {hand} is {_where(mine.place[a] - theirs.place[b])} the example's"
    if name == "orientation":
        return f"the {hand} is turned otherwise: {_turn(mine.palm[a], theirs.palm[b], measure.hand)}"
    strokes = clip.strokes[measure.hand], exemplar.strokes[measure.hand]
    if strokes[0] is not None and strokes[1] is not None and name not in ("hand", "height"):
        return _say_movement(name, hand, strokes[0], strokes[1])
    return _say_use(hand, mine, theirs)


def _say_movement(name: str, hand: str, mine: Stroke, theirs: Stroke) -> str:
    """One sentence on how a hand moves."""
    if name in _ALONG:
        return f"the {hand} moves along another path: {_heading(mine)}, in the example {_heading(theirs)}"
    if name == "depth":
        return f"the {hand} moves {_more(_reach(mine), _reach(theirs))} to or from the camera"
    if name == "size":
        return f"the movement of the {hand} is {'larger' if mine.extent > theirs.extent else 'smaller'}"
    if name in ("turning", "twist"):
        turned = [float(np.linalg.norm(stroke.turning.std(axis=0))) for stroke in (mine, theirs)]
        return f"the {hand} turns {_more(*turned)} while it moves"
    if name in ("fingers", "bendings"):
        bent = [float(stroke.shape.std(axis=0).sum()) for stroke in (mine, theirs)]
        return f"the fingers of the {hand} move {_more(*bent)}"
    if name in ("cycles", "ways"):
        return f"the movement is made {_more(mine.cycles, theirs.cycles)} often"
    ratio = len(mine.frames) / len(theirs.frames)
    return f"it is {max(ratio, 1 / ratio):.1f} times as {'long' if ratio > 1 else 'short'}"


def _say_use(hand: str, mine: SeenHand, theirs: SeenHand) -> str:
    used = _raised(mine) > _raised(theirs)
    return f"the {hand} is {'used; in the example it is not' if used else 'not used; in the example it is'}"


def _raised(hand: SeenHand) -> float:
    """Use of a hand: the share of the sign, times how high it is, from 0 at rest on."""
    height = np.maximum(0.0, 1.5 - hand.place[:, 1])
    return float((hand.used * height).mean())


def _more(mine: float, theirs: float) -> str:
    return "more" if mine > theirs else "less"


def _fingers(mine: np.ndarray, theirs: np.ndarray) -> str:
    """The finger that is bent otherwise; 15 cosines of bends come first, three for each finger."""
    apart = (mine[:15] - theirs[:15]).reshape(5, 3).mean(axis=1)
    finger = int(np.abs(apart).argmax())
    return f"the {_FINGERS[finger]} is {'straighter' if apart[finger] > 0 else 'more bent'}"


def _where(offset: np.ndarray) -> str:
    """Direction of one place from another; x is to the right of the picture, the signer's left."""
    parts = []
    if abs(offset[1]) > _FAR:
        parts.append("lower" if offset[1] > 0 else "higher")
    if abs(offset[0]) > _FAR:
        parts.append("more to the left of the signer" if offset[0] > 0 else "more to the right of the signer")
    return f"{' and '.join(parts)} than" if parts else "not quite at the place of"


def _turn(mine: np.ndarray, theirs: np.ndarray, side: int) -> str:
    """Directions of the fingers in both, or of the palms where the fingers point alike."""
    fingers = _direction(mine[0]), _direction(theirs[0])
    if fingers[0] != fingers[1]:
        return f"it points {fingers[0]}, in the example {fingers[1]}"
    outward = (
        1 if side == 0 else -1
    )  # the normal, a cross product, leaves a left hand at its palm, a right one at its back
    palms = _direction(outward * mine[2]), _direction(outward * theirs[2])
    if palms[0] != palms[1]:
        return f"its palm faces {palms[0]}, in the example {palms[1]}"
    return f"it points {fingers[0]} in both, but not quite alike"


def _direction(vector: np.ndarray) -> str:
    names = ("to the signer's left", "down", "away from the camera"), ("to the signer's right", "up", "to the camera")
    axis = int(np.abs(vector).argmax())
    return names[0 if vector[axis] > 0 else 1][axis]


def _heading(stroke: Stroke) -> str:
    if stroke.extent < 2 * _FAR:
        return "hardly at all"
    quarter = max(1, len(stroke.place) // 4)
    step = stroke.place[-quarter:].mean(axis=0) - stroke.place[:quarter].mean(axis=0)
    if np.linalg.norm(step) < 0.4 * stroke.extent:
        return "there and back"
    return _direction(np.array([*step, 0.0]))


def _reach(stroke: Stroke) -> float:
    return float(np.ptp(stroke.depth))
