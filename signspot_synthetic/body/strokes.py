"""The movement within a sign: a gesture becomes the states of a hand at given moments of its stroke."""

import numpy as np

from signspot_synthetic.body.gestures import ANGLES, OFFSET, POSITION, STATE, TURN, Gesture
from signspot_synthetic.geometry.rotations import Array, about, product, slerp
from signspot_synthetic.language.phonology import Local, PathKind

_RETURN = 0.8  # how long a way back takes against the way itself
_LIFT = 0.22  # how far the hand leaves its way when it goes back, as a share of the path's size
_WIGGLE_RATE, _WIGGLE = 4.5, 0.38  # cycles per second, radians
_TWIST, _NOD = 0.62, 0.5  # radians to either side
_ACROSS = np.array([1.0, 0.0, 0.0])
_ALONG = np.array([0.0, 1.0, 0.0])


def minimum_jerk(share: Array) -> Array:
    """Progress of a smooth movement after a share of its time; both in [0, 1]."""
    s = np.clip(share, 0.0, 1.0)
    return np.asarray(s * s * s * (10 + s * (6 * s - 15)))


def to_and_fro(share: Array, repetition: int) -> tuple[Array, Array]:
    """Progress along a path that is gone `repetition` times, and how far the hand is lifted on the ways back."""
    if repetition == 1:
        return minimum_jerk(share), np.zeros_like(share)
    lengths = np.array([1.0, _RETURN] * repetition)[:-1]
    edges = np.concatenate([[0.0], np.cumsum(lengths)]) / lengths.sum()
    leg = np.clip(np.searchsorted(edges, share, side="right") - 1, 0, len(lengths) - 1)
    inside = np.clip((share - edges[leg]) / (edges[leg + 1] - edges[leg]), 0, 1)
    smooth = minimum_jerk(inside)
    back = leg % 2 == 1
    return np.where(back, 1 - smooth, smooth), np.where(back, 4 * inside * (1 - inside), 0.0)


def _circle(gesture: Gesture, share: Array) -> Array:
    """Positions (n, 3) on a circle about the heading, begun and ended at rest."""
    steady = share + (minimum_jerk(share) - share) * 0.5
    angle = 2 * np.pi * (gesture.repetition * steady + gesture.phase)
    second = np.cross(gesture.heading, gesture.aside)
    radius = gesture.size / 2
    into = radius * (1 - abs(float(gesture.heading @ gesture.outward))) if gesture.on_skin else 0.0
    middle = gesture.place + into * gesture.outward
    return np.asarray(middle + radius * (np.cos(angle)[:, None] * gesture.aside + np.sin(angle)[:, None] * second))


def _centre(gesture: Gesture) -> float:
    """The share of the path that lies before the place: paths never lead into the body."""
    if gesture.path.kind in (PathKind.TO_BODY, PathKind.FROM_BODY):
        return 1.0 if gesture.path.kind is PathKind.TO_BODY else 0.0
    away = float(gesture.heading @ gesture.outward)
    return 0.5 - 0.5 * float(np.clip(2.5 * away, -1, 1)) if gesture.on_skin else 0.5


def _positions(gesture: Gesture, share: Array) -> tuple[Array, Array]:
    """Positions (n, 3) of the contact point and the progress (n,) of the movement."""
    kind = gesture.path.kind
    progress, lift = to_and_fro(share, gesture.repetition)
    if gesture.phase:
        progress = 1 - progress
    if kind is PathKind.NONE:
        return np.broadcast_to(gesture.place, (len(share), 3)), progress
    if kind is PathKind.CIRCLE:
        return _circle(gesture, share), progress
    centre = _centre(gesture)
    way = (progress - centre)[:, None] * gesture.heading * gesture.size
    if kind is PathKind.ARC:
        way = way + (gesture.bulge * gesture.size * 4 * progress * (1 - progress))[:, None] * gesture.aside
    elif kind is PathKind.ZIGZAG:
        teeth = np.sin(2 * np.pi * 2.0 * progress) * np.minimum(1, 8 * progress * (1 - progress))
        way = way + (gesture.bulge * gesture.size * 0.6 * teeth)[:, None] * gesture.aside
    elif kind is PathKind.STRAIGHT:
        way = way + (_LIFT * gesture.size * lift)[:, None] * gesture.outward
    return gesture.place + way, progress


def _letter_states(gesture: Gesture, share: Array) -> tuple[Array, Array]:
    """Joint angles (n, 20) and turns (n, 4) of fingerspelling: each letter is held, then changed."""
    count = len(gesture.shapes)
    at = np.clip(share * count - 0.5, 0, count - 1 - 1e-9)
    first = np.floor(at).astype(int)
    mix = minimum_jerk((at - first - 0.2) / 0.6)
    second = np.minimum(first + 1, count - 1)
    angles = gesture.shapes[first] + mix[:, None] * (gesture.shapes[second] - gesture.shapes[first])
    return angles, slerp(gesture.turns[first], gesture.turns[second], mix)


def stroke_states(gesture: Gesture, share: Array, seconds: float) -> Array:
    """The states of a hand during a sign.

    Args:
        gesture: what the hand does.
        share: (n,) moments as shares of the stroke, in [0, 1].
        seconds: how long the stroke lasts.

    Returns:
        (n, 30) states.
    """
    states = np.empty((len(share), STATE))
    states[:, POSITION], progress = _positions(gesture, share)
    states[:, OFFSET] = gesture.offset
    if len(gesture.turns) > 1 or len(gesture.shapes) != 2:
        states[:, ANGLES], states[:, TURN] = _letter_states(gesture, share)
        return states
    swings = max(gesture.repetition, 1)
    wave = np.sin(2 * np.pi * (swings * share + gesture.phase))
    mix = progress
    if gesture.local is Local.OPEN_CLOSE:
        mix = (1 - np.cos(2 * np.pi * (max(swings, 2) * share))) / 2
    first, last = gesture.shapes
    states[:, ANGLES] = first + mix[:, None] * (last - first)
    states[:, TURN] = gesture.turn
    if gesture.local is Local.WIGGLE:
        cycles = max(2.0, _WIGGLE_RATE * seconds) * share
        fade = np.minimum(1, 6 * share * (1 - share) + 0.3)
        for finger in range(4):
            states[:, 15 + 4 * finger] += _WIGGLE * fade * (1 + np.sin(2 * np.pi * (cycles - 0.22 * finger))) / 2
    elif gesture.local in (Local.TWIST, Local.NOD):
        axis, reach = (_ALONG, _TWIST) if gesture.local is Local.TWIST else (_ACROSS, _NOD)
        angle = reach * (wave if swings > 1 else 2 * progress - 1)
        states[:, TURN] = product(states[:, TURN], about(axis, angle))
    return states
