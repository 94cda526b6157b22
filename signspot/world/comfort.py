"""How hard it is for an arm to hold a hand so at a place: languages prefer what is easy."""

from functools import cache

import numpy as np

from signspot.world.arms import ArmBuild, elbow_of, possible_hand, reachable
from signspot.world.phonology import VECTORS, Orientation
from signspot.world.places import PLACES, Region
from signspot.world.rotations import Array, frame
from signspot.world.signers import MEAN

_BASE = np.array([0.02, 0.155, -0.27])  # where a base hand is
_PALM = np.array([0.0, 0.07, 0.015])  # the palm's middle in the hand's frame


def turned(orientation: Orientation) -> Array:
    """The (3, 3) frame of a strong hand that is held so: columns thumb side, fingers, palm."""
    return frame(np.array(VECTORS[orientation.fingers], float), np.array(VECTORS[orientation.palm], float))


@cache
def strain(place: str, orientation: Orientation) -> float:
    """By how much, in radians, the mean adult's strong hand fails to be held so at a place."""
    at = PLACES[place]
    wanted = turned(orientation)[None]
    point = _BASE if at.region is Region.WEAK else at.point
    shoulder = np.array([[-MEAN.shoulders / 2, 0.0, 0.0]])
    arm = ArmBuild(MEAN.upper_arm, MEAN.forearm)
    wrist = reachable(shoulder, point - wanted @ _PALM, arm)
    elbow = elbow_of(shoulder, wrist, wanted[..., 1], arm)
    held = possible_hand(elbow, wrist, shoulder, wanted)
    cosine = (np.einsum("tij,tij->t", wanted, held) - 1) / 2
    return float(np.arccos(np.clip(cosine, -1, 1))[0])


def ease(place: str, orientation: Orientation) -> float:
    """How easily a hand is held so at a place: 1 without strain, near 0 where it cannot be done."""
    return float(np.exp(-((strain(place, orientation) / 0.45) ** 2)))
