"""Differences between two signs in plain words: what a learner did, and what the example shows."""

import numpy as np

from signspot.applications.differences import Measure, SeenHand, see_hands
from signspot.pictures.skeletons import Frames

_FINGERS = ("thumb", "index finger", "middle finger", "ring finger", "little finger")
_FAR = 0.05  # shoulder widths: a smaller step to a side is not told
_SIDES = {0: "left", 1: "right"}


def say_difference(name: str, measure: Measure, clip: Frames, exemplar: Frames) -> str:
    """One sentence for a measure of `differences.compare` of a clip and an exemplar, both (T, J, C)."""
    mine, theirs = see_hands(clip)[measure.hand], see_hands(exemplar)[measure.hand]
    hand = f"{_SIDES[measure.hand]} hand"
    a, b = measure.moment
    if name == "handshape":
        return f"the {hand} has another shape: {_fingers(mine.shape[a], theirs.shape[b])}"
    if name == "place":
        return f"the {hand} is {_where(mine.place[a] - theirs.place[b])} the example's"
    if name == "orientation":
        return f"the {hand} is turned otherwise: {_turn(mine.palm[a], theirs.palm[b])}"
    if name == "path":
        return f"the {hand} moves along another path: {_heading(mine)}, in the example {_heading(theirs)}"
    if name == "size":
        return f"the movement of the {hand} is {'larger' if _extent(mine) > _extent(theirs) else 'smaller'}"
    if name == "twist":
        return f"the {hand} turns {'more' if _turned(mine) > _turned(theirs) else 'less'} while it moves"
    if name == "fingers":
        return f"the fingers of the {hand} move {'more' if _bent(mine) > _bent(theirs) else 'less'}"
    if name == "repetition":
        return f"the movement is made {'more' if _length(mine) > _length(theirs) else 'less'} often"
    if name == "duration":
        ratio = len(clip) / len(exemplar)
        return f"it is {max(ratio, 1 / ratio):.1f} times as {'long' if ratio > 1 else 'short'}"
    used = mine.used.mean() > theirs.used.mean()
    return f"the {hand} is {'used; in the example it is not' if used else 'not used; in the example it is'}"


def _fingers(mine: np.ndarray, theirs: np.ndarray) -> str:
    """The finger that is bent otherwise; 15 cosines of bends come first, three for each finger."""
    apart = (mine[:15] - theirs[:15]).reshape(5, 3).mean(axis=1)
    finger = int(np.abs(apart).argmax())
    return f"the {_FINGERS[finger]} is {'straighter' if apart[finger] > 0 else 'more bent'}"


def _where(offset: np.ndarray) -> str:
    """Direction of one place from another; x is to the right of the picture, the signer's left."""
    parts = []
    if abs(offset[1]) > _FAR:
        parts.append("lower than" if offset[1] > 0 else "higher than")
    if abs(offset[0]) > _FAR:
        parts.append("more to the left of the signer than" if offset[0] > 0 else "more to the right of the signer than")
    words = " and ".join(part.removesuffix(" than") for part in parts)
    return f"{words} than" if parts else "not quite at the place of"


def _turn(mine: np.ndarray, theirs: np.ndarray) -> str:
    """Directions of the fingers in both."""
    return f"it points {_direction(mine[0])}, in the example {_direction(theirs[0])}"


def _direction(vector: np.ndarray) -> str:
    names = ("to the signer's left", "down", "away from the camera"), ("to the signer's right", "up", "to the camera")
    axis = int(np.abs(vector).argmax())
    return names[0 if vector[axis] > 0 else 1][axis]


def _heading(hand: SeenHand) -> str:
    places = hand.place[hand.used]
    if len(places) < 2 or _extent(hand) < 2 * _FAR:
        return "hardly at all"
    quarter = max(1, len(places) // 4)
    step = places[-quarter:].mean(axis=0) - places[:quarter].mean(axis=0)
    if np.linalg.norm(step) < 0.4 * _extent(hand):
        return "there and back"
    return _direction(np.array([*step, 0.0]))


def _extent(hand: SeenHand) -> float:
    places = hand.place[hand.used]
    return float(np.linalg.norm(np.ptp(places, axis=0))) if len(places) else 0.0


def _length(hand: SeenHand) -> float:
    places = hand.place[hand.used]
    return float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum()) if len(places) else 0.0


def _turned(hand: SeenHand) -> float:
    return float(np.linalg.norm(np.diff(hand.palm[hand.used], axis=0), axis=-1).sum())


def _bent(hand: SeenHand) -> float:
    return float(np.abs(np.diff(hand.shape[hand.used], axis=0)).sum())
