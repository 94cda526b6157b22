"""Whether landmarks show somebody who signs: asked before they are embedded, so that nonsense is not spotted."""

import numpy as np

from signspot.errors import LandmarksError, NoHandsError, NoPersonError
from signspot.landmarks.features import VISIBLE
from signspot.landmarks.landmarks import Landmarks

_SHOULDERS = [11, 12]


class SigningCheck:
    """Watches landmarks go by and says at the end whether a signer was there, in bounded memory."""

    def __init__(self, name: str):
        self.name = name
        self.frames = 0
        self.person = 0  # frames with both shoulders in view
        self.hands = 0  # frames with at least one hand

    def watch(self, chunk: Landmarks) -> "SigningCheck":
        """Take the next frames."""
        self.frames += len(chunk)
        self.person += int((chunk.body[:, _SHOULDERS, 3] >= VISIBLE).all(axis=1).sum())
        hands = np.concatenate([chunk.left_hand, chunk.right_hand], axis=1)
        self.hands += int(np.isfinite(hands[..., 0]).any(axis=1).sum())
        return self

    def finish(self) -> None:
        """Complain if there was no signer.

        Raises:
            LandmarksError: there was no frame.
            NoPersonError: the shoulders were never in view.
            NoHandsError: no hand was ever seen.
        """
        if not self.frames:
            raise LandmarksError(f"{self.name} holds no landmarks")
        if not self.person:
            raise NoPersonError(
                f"nobody is in view in {self.name} (shoulders seen in 0 of {self.frames:,} frames). "
                "Film the signer from the front, from the hips up."
            )
        if not self.hands:
            share = self.person / self.frames
            raise NoHandsError(
                f"no hand is ever seen in {self.name} (a person in {share:.0%} of {self.frames:,} frames). "
                "The hands must be inside the picture, sharp and lit."
            )


def check_signing(landmarks: Landmarks, name: str) -> None:
    """Complain, as `SigningCheck.finish` does, if the landmarks of `name` show no signer."""
    SigningCheck(name).watch(landmarks).finish()
