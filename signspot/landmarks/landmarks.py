"""Landmarks of a signer over time, as MediaPipe Holistic gives them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.errors import LandmarksError, OptionsError
from signspot.types import Segment

Points = NDArray[np.float32]

BODY_POINTS = 33
HAND_POINTS = 21
DEFAULT_FPS = 25.0

# The mesh points that we keep: lips first, then nose, eyes, brows, outline.
LIP_ARCS = (
    (61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291),  # outer, below
    (185, 40, 39, 37, 0, 267, 269, 270, 409),  # outer, above
    (78, 95, 88, 178, 87, 14, 317, 402, 318, 324, 308),  # inner, below
    (191, 80, 81, 82, 13, 312, 311, 310, 415),  # inner, above
)
_FACE_REST = (1, 4, 33, 133, 159, 145, 362, 263, 386, 374, 70, 105, 107, 336, 334, 300, 10, 152, 234, 454)
FACE_POINTS: tuple[int, ...] = tuple(point for arc in LIP_ARCS for point in arc) + _FACE_REST

# Every lip arc runs from one corner to the other, so its mirror image is the same arc read backwards.
_FACE_PAIRS = ((33, 263), (133, 362), (159, 386), (145, 374), (70, 300), (105, 334), (107, 336), (234, 454))
MIRRORED_FACE_POINT: dict[int, int] = (
    {point: point for point in _FACE_REST}
    | {left: right for arc in LIP_ARCS for left, right in zip(arc, reversed(arc), strict=True)}
    | dict(_FACE_PAIRS)
    | {right: left for left, right in _FACE_PAIRS}
)
# Body points come in pairs, left before right, except the nose and the order inside the eyes.
MIRRORED_BODY_POINTS: tuple[int, ...] = (
    *(0, 4, 5, 6, 1, 2, 3, 8, 7, 10, 9),
    *(point + 1 if point % 2 else point - 1 for point in range(11, BODY_POINTS)),
)


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Body, hand and face points of one signer, frame by frame.

    Coordinates are image-normalised: x in image widths, y in image heights, both from the upper left; z in
    image widths, negative towards the camera, from the hips (body), the wrist (hands) or the head (face).
    What is not seen is NaN.
    """

    body: Points  # (T, 33, 4) x, y, z, visibility
    left_hand: Points  # (T, 21, 3) of the signer's left hand
    right_hand: Points  # (T, 21, 3)
    face: Points  # (T, P, 3)
    times: NDArray[np.float64]  # (T,) seconds
    size: tuple[int, int] | None = None  # width and height of the image, in pixels
    face_points: tuple[int, ...] = FACE_POINTS  # (P,) mesh index of every face point

    def __post_init__(self) -> None:
        for name in ("body", "left_hand", "right_hand", "face"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float32))
        object.__setattr__(self, "times", np.asarray(self.times, dtype=np.float64))
        object.__setattr__(self, "face_points", tuple(int(point) for point in self.face_points))
        self._check_shapes()
        if not (np.isfinite(self.times).all() and (np.diff(self.times) > 0).all()):
            raise LandmarksError("the times of landmarks must be finite and increase from frame to frame")
        if self.size is not None and min(self.size) < 1:
            raise LandmarksError(f"the image of landmarks must have a size above 0; got {self.size}")

    def _check_shapes(self) -> None:
        frames = len(self.times) if self.times.ndim == 1 else -1
        shapes = {
            "body": (frames, BODY_POINTS, 4),
            "left_hand": (frames, HAND_POINTS, 3),
            "right_hand": (frames, HAND_POINTS, 3),
            "face": (frames, len(self.face_points), 3),
        }
        for name, shape in shapes.items():
            actual = getattr(self, name).shape
            if actual != shape:
                raise LandmarksError(f"landmarks.{name} must have the shape {shape}; it has {actual}")

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        face = f"{len(self.face_points)} face points"
        return f"Landmarks({len(self)} frames, {self.fps:.4g} fps, size={self.size}, {face})"

    @property
    def fps(self) -> float:
        """Frames per second, by the median step; 25 where there are fewer than two frames."""
        return float(1 / np.median(np.diff(self.times))) if len(self) > 1 else DEFAULT_FPS

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the end of the last."""
        return float(self.times[-1] - self.times[0]) + 1 / self.fps if len(self) else 0.0

    @property
    def aspect(self) -> float:
        """Width over height of the image; 1 where its size is not known."""
        return self.size[0] / self.size[1] if self.size else 1.0

    def __getitem__(self, frames: slice) -> "Landmarks":
        """Some of the frames, e.g. `landmarks[10:20]`."""
        return self._with(*(part[frames] for part in self._parts()), times=self.times[frames])

    def between(self, segment: Segment) -> "Landmarks":
        """The frames whose time lies in `segment`; their times stay what they are."""
        first, last = np.searchsorted(self.times, (segment.start, segment.end))
        return self[int(first) : int(last)]

    def resampled(self, fps: float) -> "Landmarks":
        """The same movement at another frame rate, on an even grid of times from the first frame on.

        Points are interpolated linearly; where only one of the two neighbouring frames shows a point, it is
        seen as long as that frame is the nearer one. Landmarks on that grid already come back as they are.
        """
        if not (np.isfinite(fps) and fps > 0):
            raise OptionsError(f"frames per second must be above 0; got {fps}")
        if not len(self):
            return self
        times = self.times[0] + np.arange(frames_within(self.duration, fps)) / fps
        if len(times) == len(self) and np.abs(times - self.times).max() < 1e-3:
            return self
        return self.at(times)

    def at(self, times: NDArray[np.float64]) -> "Landmarks":
        """The movement at other (T,) times, interpolated as `resampled` does; outside, the first or the last frame."""
        return self._with(*(_interpolate(part, self.times, times) for part in self._parts()), times=times)

    def mirrored(self) -> "Landmarks":
        """The mirror image: a right-handed signer becomes a left-handed one.

        Face points without a known counterpart in `face_points` become NaN.
        """
        body, left, right, face = (part.copy() for part in self._parts())
        for part in (body, left, right, face):
            part[..., 0] = 1 - part[..., 0]
        column_of = {point: index for index, point in enumerate(self.face_points)}
        sources = [column_of.get(MIRRORED_FACE_POINT.get(point, -1), -1) for point in self.face_points]
        lost = np.array([source < 0 for source in sources], dtype=bool)
        face = face[:, sources]
        face[:, lost] = np.nan
        return self._with(body[:, list(MIRRORED_BODY_POINTS)], right, left, face, times=self.times)

    def equals(self, other: "Landmarks", *, tolerance: float = 0.0) -> bool:
        """Whether both hold the same points at the same times, NaN in the same places."""
        if (self.size, self.face_points, len(self)) != (other.size, other.face_points, len(other)):
            return False
        mine: list[NDArray[Any]] = [*self._parts(), self.times]
        others: list[NDArray[Any]] = [*other._parts(), other.times]
        return all(
            np.allclose(array, other_array, rtol=0, atol=tolerance, equal_nan=True)
            for array, other_array in zip(mine, others, strict=True)
        )

    def _parts(self) -> tuple[Points, Points, Points, Points]:
        return self.body, self.left_hand, self.right_hand, self.face

    def _with(
        self, body: Points, left_hand: Points, right_hand: Points, face: Points, *, times: NDArray[np.float64]
    ) -> "Landmarks":
        return Landmarks(body, left_hand, right_hand, face, times, self.size, self.face_points)


def frames_within(duration: float, fps: float) -> int:
    """The number of frames at `fps` for `duration` seconds: the nearest whole number, a half counting as less."""
    return max(1, int(duration * fps + 0.5 - 1e-6))


def concatenate(chunks: Sequence[Landmarks]) -> Landmarks:
    """Join landmarks of one video that follow each other in time."""
    if not chunks:
        raise LandmarksError("there are no landmarks to join")
    first = chunks[0]
    for chunk in chunks:
        if (chunk.size, chunk.face_points) != (first.size, first.face_points):
            raise LandmarksError(
                f"landmarks of different images cannot be joined: size {first.size} with "
                f"{len(first.face_points)} face points, and {chunk.size} with {len(chunk.face_points)}"
            )
    body, left, right, face = map(np.concatenate, zip(*(chunk._parts() for chunk in chunks), strict=True))
    return first._with(body, left, right, face, times=np.concatenate([chunk.times for chunk in chunks]))


def _interpolate(points: Points, old: NDArray[np.float64], new: NDArray[np.float64]) -> Points:
    """Move (T, ...) points from `old` to `new` times; outside of `old` the nearest frame holds."""
    after = np.clip(np.searchsorted(old, new, side="right"), 1, max(1, len(old) - 1))
    before = after - 1
    after = np.minimum(after, len(old) - 1)
    step: NDArray[np.float64] = np.where(after > before, old[after] - old[before], 1.0)
    weight: NDArray[Any] = np.clip((new - old[before]) / step, 0, 1).astype(np.float32)
    weight = weight.reshape(-1, *(1,) * (points.ndim - 1))
    earlier, later = points[before], points[after]
    mixed = earlier + weight * (later - earlier)
    return np.where(np.isnan(mixed), np.where(weight < 0.5, earlier, later), mixed)


_ROUNDING = 1e-6  # seconds


def resample_stream(chunks: Iterable[Landmarks], fps: float) -> Iterator[Landmarks]:
    """Resample chunk by chunk; joined, the result is what `Landmarks.resampled` gives of the joined chunks."""
    if not (np.isfinite(fps) and fps > 0):
        raise OptionsError(f"frames per second must be above 0; got {fps}")
    recent: Landmarks | None = None  # the last frames so far: what is still needed
    first, done = 0.0, 0
    for chunk in (chunk for chunk in chunks if len(chunk)):
        if recent is None:
            first = float(chunk.times[0])
        block = chunk if recent is None else concatenate([recent, chunk])
        reached = int((block.times[-1] - first + _ROUNDING) * fps) + 1
        count = min(reached, _frames_until(block, first, fps))
        if count > done:
            yield block.at(first + np.arange(done, count) / fps)
            done = count
        needed = int(np.searchsorted(block.times, first + done / fps)) - 1
        recent = block[max(0, min(needed, len(block) - 2)) :]
    total = _frames_until(recent, first, fps) if recent is not None else 0
    if recent is not None and total > done:
        yield recent.at(first + np.arange(done, total) / fps)


def _frames_until(block: Landmarks, first: float, fps: float) -> int:
    """The number of frames in all, if the last one of `block` is the last one of all."""
    last = float(block.times[-1])
    step = last - float(block.times[-2]) if len(block) > 1 else 1 / DEFAULT_FPS
    return frames_within(last - first + step, fps)
