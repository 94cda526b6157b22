"""Which hand a signer leads with, so that a left-handed signer can be compared with right-handed exemplars."""

from typing import Literal

import numpy as np

from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.trim import MOVING, wrist_motion

Hand = Literal["left", "right"]


def dominant_hand(landmarks: Landmarks) -> Hand:
    """Tell which wrist moves more in all; where neither moves, which hand is seen more; else the right."""
    motion = wrist_motion(landmarks)
    moved = np.where(motion > MOVING, motion, 0).sum(axis=0)
    hands = (landmarks.left_hand, landmarks.right_hand)
    seen = [int(np.isfinite(hand[..., 0]).any(axis=1).sum()) for hand in hands]
    left, right = moved if moved.any() else seen
    return "left" if left > right else "right"
