"""From landmarks to what the lips do: free of head pose, scale and the speaker's resting mouth."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signspot.errors import LandmarksError
from signspot.io.progress import Progress, silent
from signspot.landmarks.estimators import lips_estimator
from signspot.landmarks.landmarks import Landmarks, resample_stream
from signspot.landmarks.video_estimation import Source, stream_source
from signspot.types import Segment

Floats = NDArray[np.float32]

FPS = 25.0
SHAPES = (
    *("opening", "opening_beside", "height", "width", "inner_width", "upper_lip", "lower_lip", "upper_place"),
    *("lower_place", "corners", "chin", "protrusion", "depth", "slant"),
)
CHANNELS = len(SHAPES) + 2  # the shapes, whether they are seen, whether a hand is before the mouth
VERSION = 1  # raised whenever the same landmarks would give other values

_NEEDED = (13, 14, 81, 178, 311, 402, 0, 17, 61, 291, 78, 308, 1, 10, 33, 263, 152)
_TURNED = np.sin(np.radians(50.0))  # beyond, half of the mouth is hidden
_NEAR = 0.55  # of the distance between the eyes' outer corners: a hand this near to the mouth covers it
_GAIN = 10.0  # a shape is given in tenths of the distance between the eyes' outer corners
_FARTHEST = 6.0  # beyond, a value is an estimator's mistake
_OFTEN, _SELDOM = 0.5, 0.2  # shares of the frames in which lips are seen at least, and hidden at most, without a remark
_LONG = 2.0  # seconds for which lips are hidden that are worth a remark
_SHUT = 0.4  # share of the frames, those with the least opening, from which the resting mouth is taken


@dataclass(frozen=True, slots=True)
class LipTrack:
    """The lips of one speaker over time, at 25 frames per second."""

    values: Floats  # (T, CHANNELS) shapes from the resting mouth; 0 where they are not seen; seen; covered
    start: float = 0.0  # seconds at the first frame
    turned: float = 0.0  # share of the frames in which the head is turned away
    covered: float = 0.0  # share of the frames in which a hand is before the mouth

    def __len__(self) -> int:
        return len(self.values)

    @property
    def seen(self) -> float:
        """Share of the frames in which the lips are seen."""
        return float(self.values[:, -2].mean()) if len(self) else 0.0

    @property
    def end(self) -> float:
        """Seconds at the end of the last frame."""
        return self.start + len(self) / FPS

    def hidden_segments(self) -> list[Segment]:
        """Segments of at least 2 seconds in which the lips are not seen, or a hand is before them."""
        hidden = np.concatenate([[False], (self.values[:, -2] == 0) | (self.values[:, -1] > 0), [False]])
        borders = np.flatnonzero(np.diff(hidden.astype(np.int8))).reshape(-1, 2) / FPS
        return [Segment(self.start + first, self.start + last) for first, last in borders if last - first >= _LONG]

    def between(self, start: float, end: float) -> "LipTrack":
        """The frames whose times lie from `start` to `end`."""
        first = max(0, int(np.ceil((start - self.start) * FPS - 1e-6)))
        last = max(first, min(len(self), int(np.floor((end - self.start) * FPS + 1e-6)) + 1))
        return LipTrack(self.values[first:last], self.start + first / FPS, self.turned, self.covered)


def follow_lips(chunks: Iterable[Landmarks], name: str = "this video") -> LipTrack:
    """Lips out of landmarks at 25 frames per second that arrive in chunks; only the lips are kept.

    Args:
        chunks: in order of time.
        name: of the source, for messages.

    Raises:
        LandmarksError: the landmarks lack points of the face, or no face is ever seen, or only from the side.
    """
    parts: list[Floats] = []
    start = 0.0
    for chunk in chunks:
        if not parts and len(chunk):
            start = float(chunk.times[0])
        parts.append(lip_shapes(chunk))
    raw = np.concatenate(parts) if parts else np.zeros((0, CHANNELS + 1), np.float32)
    faces, away = raw[:, -3] + raw[:, -1], raw[:, -1]
    if not faces.any():
        raise LandmarksError(f"{name} shows no face in {len(raw)} frames: no mouthing can be read. Film the face, too")
    if not raw[:, -3].any():
        raise LandmarksError(f"{name} shows a face from the side only: no mouthing can be read. Film from the front")
    return LipTrack(from_rest(raw[:, :-1]), start, float(away.mean()), float(raw[:, -2].mean()))


def remarks_on(lips: LipTrack) -> list[str]:
    """Remarks for people on what could not be seen of the lips; none where all is well."""
    remarks = []
    if lips.seen < _OFTEN:
        remarks.append(f"the lips are seen in {lips.seen:.0%} of the frames: expect to miss mouthings")
    if lips.turned > _SELDOM:
        remarks.append(f"the head is turned away in {lips.turned:.0%} of the frames: nothing is read there")
    if lips.covered > _SELDOM:
        remarks.append(f"a hand is before the mouth in {lips.covered:.0%} of the frames: expect to miss mouthings")
    hidden = lips.hidden_segments()
    if hidden:
        others = len(hidden) - 1
        more = f" and {others:,} other place{'s' * (others > 1)}" if others else ""
        where = f"from {hidden[0].start:.1f} to {hidden[0].end:.1f} s{more}"
        remarks.append(f"the lips are hidden {where}: expect to miss mouthings there")
    return remarks


def lip_shapes(landmarks: Landmarks) -> Floats:
    """Measure the lips in every frame.

    Returns:
        (T, CHANNELS + 1): shapes in the head's frame, from no resting mouth yet and NaN where they are not seen;
        whether they are seen; whether a hand is before the mouth; whether the head is turned away.

    Raises:
        LandmarksError: the landmarks lack points of the face.
    """
    columns = {point: column for column, point in enumerate(landmarks.face_points)}
    missing = [point for point in _NEEDED if point not in columns]
    if missing:
        raise LandmarksError(
            f"these landmarks lack {len(missing)} face points that lips are measured with (mesh point {missing[0]} …). "
            "Estimate them again with: signspot embed --landmarks"
        )
    scale = np.array([landmarks.aspect, 1.0, landmarks.aspect], np.float32)
    face = {point: landmarks.face[:, columns[point]] * scale for point in _NEEDED}
    size, points, side = _in_head(face)
    shapes = _measure(points)
    good = np.isfinite(shapes).all(axis=1) & (size > 1e-6)
    away = good & (side > _TURNED)
    seen = good & ~away
    shapes = np.where(seen[:, None], shapes, np.nan)
    covered = seen & _is_covered(landmarks, np.mean([face[13], face[14]], axis=0, dtype=np.float32), size, scale)
    return np.concatenate([shapes, np.stack([seen, covered, away], axis=1)], axis=1).astype(np.float32)


def from_rest(raw: Floats) -> Floats:
    """(T, CHANNELS) shapes as measured to shapes from the speaker's resting mouth, 0 where nothing is seen."""
    shapes, flags = raw[:, :-2], raw[:, -2:]
    seen = np.flatnonzero(flags[:, 0] > 0)
    values = np.zeros_like(raw)
    values[:, -2:] = flags
    if len(seen):
        opening = shapes[seen, 0]
        shut = seen[opening <= np.quantile(opening, _SHUT)]
        rest = np.median(shapes[shut], axis=0)
        values[seen, :-2] = np.clip((shapes[seen] - rest) * _GAIN, -_FARTHEST, _FARTHEST)
    return values


def _in_head(face: dict[int, Floats]) -> tuple[Floats, dict[int, Floats], Floats]:
    """Distance (T,) of the eyes' outer corners, points (T, 3) in the head's frame, sine (T,) of its turn."""
    across = face[263] - face[33]
    size = np.linalg.norm(across, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        right = across / size[:, None]
        down = (face[33] + face[263]) / 2 - face[10]
        down = down - (down * right).sum(axis=-1, keepdims=True) * right
        down = down / np.linalg.norm(down, axis=-1, keepdims=True)
        back = np.cross(right, down)
        axes = np.stack([right, down, back], axis=1)  # (T, 3, 3) rows
        points = {
            point: np.einsum("tij,tj->ti", axes, (values - face[1]) / size[:, None]) for point, values in face.items()
        }
    return size, points, np.abs(right[:, 2])


def _measure(p: dict[int, Floats]) -> Floats:
    """(T, len(SHAPES)) of points (T, 3) in the head's frame, from the nose."""
    x, y, z = 0, 1, 2
    corners = (p[61] + p[291]) / 2
    middle = (p[0] + p[17] + p[13] + p[14]) / 4
    return np.stack(
        [
            p[14][:, y] - p[13][:, y],
            (p[178][:, y] - p[81][:, y] + p[402][:, y] - p[311][:, y]) / 2,
            p[17][:, y] - p[0][:, y],
            p[291][:, x] - p[61][:, x],
            p[308][:, x] - p[78][:, x],
            p[13][:, y] - p[0][:, y],
            p[17][:, y] - p[14][:, y],
            p[0][:, y],
            p[17][:, y],
            corners[:, y],
            p[152][:, y],
            middle[:, z] - corners[:, z],
            middle[:, z],
            p[291][:, y] - p[61][:, y],
        ],
        axis=-1,
    )


def _is_covered(landmarks: Landmarks, mouth: Floats, size: Floats, scale: Floats) -> NDArray[np.bool_]:
    """Frames (T,) in which a point of a hand is before the mouth, as the image shows it."""
    hands = np.concatenate([landmarks.left_hand, landmarks.right_hand], axis=1)[..., :2] * scale[:2]
    away = np.hypot(*np.moveaxis(hands - mouth[:, None, :2], -1, 0))
    return np.asarray((np.nan_to_num(away, nan=np.inf) < _NEAR * size[:, None]).any(axis=1))


def read_lips(source: Source, cache: Path | None = None, progress: Progress = silent) -> LipTrack:
    """Follow the lips through a source, in memory that grows by the lips alone, 64 bytes per frame.

    Args:
        source: a video, a `.pose` file, or landmarks.
        cache: folder of landmarks, so that a video's are estimated once; None: no cache.
        progress: called with the frames done.

    Raises:
        VideoError: the video cannot be read.
        LandmarksError: no face is seen, or only from the side, or the landmarks lack points of the face.
    """
    name = "this landmarks record" if isinstance(source, Landmarks) else Path(source).name
    landmarks = stream_source(source, FPS, cache=cache, estimator=lips_estimator(), progress=progress)
    return follow_lips(resample_stream(landmarks, FPS), name)
