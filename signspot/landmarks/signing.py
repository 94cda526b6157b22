"""Signing in landmarks: whether there is any, where the sign of an exemplar is, and which hand leads."""

from typing import Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from signspot.errors import LandmarksError, NoHandsError, NoPersonError
from signspot.landmarks.features import VISIBLE
from signspot.landmarks.landmarks import Landmarks
from signspot.types import Segment

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


# The released metadata calls a wrist moving from 5 pixels on, in pictures 360 pixels high; a shoulder width is about
# 100 pixels there. Slow dictionary signing moves less than that in a frame, so we ask for it within 0.2 s.
MOVING = 0.05  # shoulder widths
WITHIN = 0.2  # seconds
SHORTEST = 0.1  # seconds; a shorter movement is a twitch of the estimator

_WRISTS = [15, 16]
_USUAL_WIDTH = 0.28  # of the shoulders, in image heights, where they are never seen


def sign_segment(landmarks: Landmarks) -> Segment:
    """Find where the wrists move (Sec. 4.1): from the first to the last movement, both included.

    Wrists that are outside of the picture or hardly visible are taken to rest. Landmarks without any movement
    give the whole time.
    """
    if not len(landmarks):
        raise LandmarksError("there are no landmarks to trim")
    frame = 1 / landmarks.fps
    moving = (wrist_motion(landmarks) > MOVING).any(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], moving, [False]])))
    starts, ends = edges[::2], edges[1::2]
    real = (ends - starts) * frame >= SHORTEST
    if not real.any():
        return Segment(float(landmarks.times[0]), float(landmarks.times[-1]) + frame)
    first, last = starts[real][0], ends[real][-1] - 1
    return Segment(float(landmarks.times[first]), float(landmarks.times[last]) + frame)


def wrist_motion(landmarks: Landmarks) -> NDArray[np.float32]:
    """Measure how far each wrist moves around every frame.

    Returns:
        (T, 2) left and right, in shoulder widths within `WITHIN` seconds; 0 where a wrist is not seen.
    """
    wrists = landmarks.body[:, _WRISTS]
    seen = (wrists[..., 3] >= VISIBLE) & (wrists[..., 1] <= 1) & (wrists[..., 1] >= 0)
    locations = wrists[..., :2] * np.array([landmarks.aspect, 1], dtype=np.float32)
    locations = _steady(np.where(seen[..., None], locations, np.float32(np.nan)))
    reach = max(1, round(WITHIN / 2 * landmarks.fps))
    index = np.arange(len(landmarks))
    before, after = np.maximum(index - reach, 0), np.minimum(index + reach, len(landmarks) - 1)
    full = 2 * reach / np.maximum(after - before, 1)  # at the ends less time goes by
    moved = np.linalg.norm(locations[after] - locations[before], axis=-1) * full[:, None]
    return np.asarray(np.nan_to_num(moved / shoulder_width(landmarks), nan=0.0), dtype=np.float32)


def shoulder_width(landmarks: Landmarks) -> float:
    """The median width of the shoulders, in image heights; a usual one where they are never seen."""
    across = (landmarks.body[:, 11] - landmarks.body[:, 12])[(landmarks.body[:, 11:13, 3] >= VISIBLE).all(axis=1)]
    if not len(across):
        return _USUAL_WIDTH
    return max(0.02, float(np.median(np.hypot(across[:, 0] * landmarks.aspect, across[:, 1]))))


def _steady(locations: NDArray[np.float32]) -> NDArray[np.float32]:
    """Take the median of (T, 2, 2) locations over ±2 frames, against jitter; NaN stays NaN."""
    reach = 2
    ends = np.repeat(locations[:1], reach, axis=0), np.repeat(locations[-1:], reach, axis=0)
    around = np.sort(sliding_window_view(np.concatenate([ends[0], locations, ends[1]]), 2 * reach + 1, axis=0), axis=-1)
    count = np.isfinite(around).sum(axis=-1)
    middle = np.take_along_axis(around, (np.maximum(count - 1, 0) // 2)[..., None], axis=-1)[..., 0]
    return np.where(np.isnan(locations), np.float32(np.nan), middle)


Hand = Literal["left", "right"]


def dominant_hand(landmarks: Landmarks) -> Hand:
    """Tell which wrist moves more in all; where neither moves, which hand is seen more; else the right."""
    motion = wrist_motion(landmarks)
    moved = np.where(motion > MOVING, motion, 0).sum(axis=0)
    hands = (landmarks.left_hand, landmarks.right_hand)
    seen = [int(np.isfinite(hand[..., 0]).any(axis=1).sum()) for hand in hands]
    left, right = moved if moved.any() else seen
    return "left" if left > right else "right"
