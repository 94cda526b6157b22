"""What a landmark estimator would have seen: exact landmarks with the faults of a real one."""

from dataclasses import dataclass

import numpy as np

from signspot.landmarks.landmarks import Landmarks


@dataclass(frozen=True, slots=True)
class NoiseOptions:
    """The faults of a landmark estimator; `strength` scales all of them, 0 switches them off."""

    strength: float = 1.0
    jitter: float = 0.008  # of body points, in shoulder widths


def observe(landmarks: Landmarks, rng: np.random.Generator, noise: NoiseOptions | None = None) -> Landmarks:
    """See exact landmarks as an estimator does."""
    noise = noise or NoiseOptions()
    if noise.strength == 0:
        return landmarks
    body = landmarks.body.copy()
    body[..., :3] += rng.normal(0, noise.jitter * noise.strength * 0.3, body[..., :3].shape).astype(np.float32)
    return Landmarks(
        body,
        landmarks.left_hand,
        landmarks.right_hand,
        landmarks.face,
        landmarks.times,
        landmarks.size,
        landmarks.face_points,
    )
