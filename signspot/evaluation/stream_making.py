"""Pseudo-continuous streams: isolated signs played fast and joined with movement between them; their truth is exact."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from signspot.evaluation.one_shot import SignClip
from signspot.landmarks.landmarks import Landmarks, concatenate
from signspot.landmarks.signing import sign_segment
from signspot.metrics.detection import TrueSign
from signspot.types import Segment

FPS = 25.0
STREAM_SIGNS = 28  # signs in a stream, unless told otherwise
SPEED = (1.5, 2.5)  # times faster than the isolated sign
GAPS = (2, 6)  # frames between two signs
CUT = 0.12  # largest share of a sign that is lost at each end
_SHOULDERS = (11, 12)
_SIDE, _MIDDLE, _WIDTH = 1000, (0.5, 0.4), 0.2  # of the picture into which signers are placed alike


@dataclass(frozen=True, slots=True)
class Stream:
    """Signing in which every sign is known."""

    name: str
    landmarks: Landmarks
    truth: tuple[TrueSign, ...]


def make_streams(clips: Sequence[SignClip], seed: int = 0, signs: int = STREAM_SIGNS) -> list[Stream]:
    """Join signs, each played fast, into streams with exact truth.

    Args:
        clips: of one signer, or of signers who are placed alike (`placed`).
        seed: of order, speed and gaps.
        signs: in a stream, about.
    """
    random = np.random.default_rng([seed, len(clips)])
    order = random.permutation(len(clips))
    streams = []
    for number, part in enumerate(np.array_split(order, max(1, len(order) // signs))):
        chosen = [clips[index] for index in part]
        played = [_played(clip.landmarks, random) for clip in chosen]
        landmarks, segments = _joined(played, random.integers(GAPS[0], GAPS[1] + 1, len(played) - 1).tolist())
        name = f"stream-{number:02d}"
        truth = [TrueSign(clip.word, name, segment) for clip, segment in zip(chosen, segments, strict=True)]
        streams.append(Stream(name, landmarks, tuple(truth)))
    return streams


def placed(landmarks: Landmarks) -> Landmarks:
    """The same signer in the middle of a square picture at one size, so that signers can be joined."""
    width, height = landmarks.size or (1280, 720)
    scale = np.array([width, height, width], np.float64)
    shoulders = landmarks.body[:, _SHOULDERS, :2] * scale[:2]
    middle = np.nanmedian(shoulders.mean(axis=1), axis=0)
    across = float(np.nanmedian(np.linalg.norm(shoulders[:, 0] - shoulders[:, 1], axis=1)))
    zoom = _WIDTH / max(across, 1.0)

    def moved(points: np.ndarray) -> np.ndarray:
        result = points.astype(np.float32, copy=True)
        result[..., :3] = points[..., :3] * scale * zoom
        result[..., :2] += np.array(_MIDDLE) - middle * zoom
        return result

    return replace(
        landmarks,
        size=(_SIDE, _SIDE),
        body=moved(landmarks.body),
        left_hand=moved(landmarks.left_hand),
        right_hand=moved(landmarks.right_hand),
        face=moved(landmarks.face),
    )


def _played(landmarks: Landmarks, random: np.random.Generator) -> Landmarks:
    """The sign at another speed that is not quite even, a little of it lost at each end."""
    segment = sign_segment(landmarks)
    length = max(6, round(segment.duration * FPS / random.uniform(*SPEED)))
    lost = random.uniform(0, CUT, 2) * segment.duration
    even = np.linspace(0, 1, length)
    warped = even + random.normal(0, 0.05) * np.sin(np.pi * even)
    start, end = segment.start + lost[0], segment.end - 1 / landmarks.fps - lost[1]
    return landmarks.at(start + warped * (end - start))


def _joined(signs: Sequence[Landmarks], gaps: Sequence[int]) -> tuple[Landmarks, list[Segment]]:
    """One stream at 25 frames per second with movement between signs, and where each sign is in it."""
    ends = np.cumsum([len(sign) for sign in signs])
    numbered = [replace(sign, times=np.arange(end - len(sign), end)) for sign, end in zip(signs, ends, strict=True)]
    places: list[NDArray[np.float64]] = []
    segments: list[Segment] = []
    frame = 0
    for index, end in enumerate(ends):
        length = len(signs[index])
        segments.append(Segment(frame / FPS, (frame + length) / FPS))
        places.append(np.arange(end - length, end, dtype=np.float64))
        frame += length
        if index < len(gaps):
            places.append(end - 1 + _eased(np.arange(1, gaps[index] + 1) / (gaps[index] + 1)))
            frame += gaps[index]
    same = [replace(sign, size=signs[0].size) for sign in numbered]
    stream = concatenate(same).at(np.concatenate(places))
    return replace(stream, times=np.arange(len(stream)) / FPS), segments


def _eased(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimum jerk from 0 to 1."""
    return np.asarray(share**3 * (10 - 15 * share + 6 * share**2))
