"""Landmarks on disk: `.pose` files, as sign-language researchers exchange them, read and written in chunks.

Coordinates are pixels (x times width, y times height) and z stays in image widths, as pose-format's own
MediaPipe writer has it; the confidence is a body point's visibility, 1 for other points, 0 for what is not
seen. The format has no place for an unknown image size: it is written as 1 x 1, and read back as unknown. Nor
has it one for the time of the first frame: times start at 0.
"""

import logging
import mmap
import shutil
import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from signspot.errors import FormatError, LandmarksError
from signspot.io.files import atomic_write
from signspot.landmarks.landmarks import DEFAULT_FPS, FACE_POINTS, LIP_ARCS, Landmarks, Points, concatenate

BODY = "POSE_LANDMARKS"
FACE = "FACE_LANDMARKS"
LEFT_HAND = "LEFT_HAND_LANDMARKS"
RIGHT_HAND = "RIGHT_HAND_LANDMARKS"

_SIDES = ("LEFT", "RIGHT")
_EYES = tuple(f"{side}_EYE{part}" for side in _SIDES for part in ("_INNER", "", "_OUTER"))
_PAIRED = (
    "SHOULDER",
    "ELBOW",
    "WRIST",
    "PINKY",
    "INDEX",
    "THUMB",
    "HIP",
    "KNEE",
    "ANKLE",
    "HEEL",
    "FOOT_INDEX",
)
BODY_NAMES: tuple[str, ...] = (
    "NOSE",
    *_EYES,
    *("LEFT_EAR", "RIGHT_EAR", "MOUTH_LEFT", "MOUTH_RIGHT"),
    *(f"{side}_{part}" for part in _PAIRED for side in _SIDES),
)
_FINGER_JOINTS = ("MCP", "PIP", "DIP", "TIP")
HAND_NAMES: tuple[str, ...] = (
    "WRIST",
    *(f"THUMB_{joint}" for joint in ("CMC", "MCP", "IP", "TIP")),
    *(f"{finger}_FINGER_{joint}" for finger in ("INDEX", "MIDDLE", "RING") for joint in _FINGER_JOINTS),
    *(f"PINKY_{joint}" for joint in _FINGER_JOINTS),
)

_BODY_CHAINS = (
    *((8, 6, 5, 4, 0, 1, 2, 3, 7), (10, 9)),  # eyes and mouth
    *((12, 11, 13, 15, 17, 19, 15, 21), (12, 14, 16, 18, 20, 16, 22)),  # arms
    *((11, 23, 24, 12), (23, 25, 27, 29, 31, 27), (24, 26, 28, 30, 32, 28)),  # trunk and legs
)
_HAND_CHAINS = (
    (0, 1, 2, 3, 4),
    (0, 5, 6, 7, 8),
    (5, 9, 10, 11, 12),
    (9, 13, 14, 15, 16),
    (13, 17, 18, 19, 20),
    (0, 17),
)
_LIP_CHAINS = (
    LIP_ARCS[0],
    (LIP_ARCS[0][0], *LIP_ARCS[1], LIP_ARCS[0][-1]),
    LIP_ARCS[2],
    (LIP_ARCS[2][0], *LIP_ARCS[3], LIP_ARCS[2][-1]),
)


def holistic_header(size: tuple[int, int], face_points: Sequence[int]) -> Any:
    """Make the header of a file with our points: body, face, left hand, right hand."""
    from pose_format.pose_header import VERSION, PoseHeader, PoseHeaderDimensions

    components = [
        _component(BODY, BODY_NAMES, _limbs(_BODY_CHAINS, range(33)), (255, 0, 0)),
        _component(FACE, [str(point) for point in face_points], _limbs(_LIP_CHAINS, face_points), (128, 0, 0)),
        _component(LEFT_HAND, HAND_NAMES, _limbs(_HAND_CHAINS, range(21)), (0, 128, 0)),
        _component(RIGHT_HAND, HAND_NAMES, _limbs(_HAND_CHAINS, range(21)), (0, 0, 192)),
    ]
    return PoseHeader(VERSION, PoseHeaderDimensions(*size, 0), components)


def _component(name: str, points: Sequence[str], limbs: list[tuple[int, int]], colour: tuple[int, int, int]) -> Any:
    from pose_format.pose_header import PoseHeaderComponent

    return PoseHeaderComponent(name, list(points), limbs, [colour], "XYZC")


def _limbs(chains: Sequence[Sequence[int]], points: Sequence[int]) -> list[tuple[int, int]]:
    """The lines to draw between points, as indices into `points`, where both ends are there."""
    index_of = {point: index for index, point in enumerate(points)}
    lines = [line for chain in chains for line in pairwise(chain)]
    return [(index_of[start], index_of[end]) for start, end in lines if start in index_of and end in index_of]


logger = logging.getLogger(__name__)

_CHUNK = 1024  # frames read at once
_UNKNOWN = (1, 1)  # how an unknown image size is written
_BARELY_SEEN = 1e-6  # confidence of a seen point of visibility 0, since confidence 0 means not seen
_BODY_HEADS = {0.1: struct.Struct("<HHH"), 0.2: struct.Struct("<fIH")}  # fps, frames, people


def open_landmarks(path: str | PathLike[str]) -> Landmarks:
    """Read the landmarks of a `.pose` file.

    Any file with MediaPipe Holistic's body is read, whatever the order of its parts and however many face
    points it has; points that are not in it are NaN, face points that we do not use are left out.

    Raises:
        FormatError: it is not a `.pose` file, it is damaged, or it holds points of another estimator.
    """
    return concatenate(list(PoseFile.open(path).stream()))


def is_pose_file(source: object) -> bool:
    """Whether a source names a landmarks file."""
    return isinstance(source, str | PathLike) and Path(source).suffix.lower() == ".pose"


def is_finished(target: Path, video: Path, fps: float) -> bool:
    """Whether a `.pose` file is whole, of this frame rate, and not older than its video."""
    try:
        if not target.is_file() or target.stat().st_mtime < video.stat().st_mtime:
            return False
        return abs(PoseFile.open(target).fps - fps) < 1e-3
    except (OSError, FormatError):
        return False


def write_landmarks(landmarks: Landmarks, path: str | PathLike[str]) -> Path:
    """Write landmarks to a `.pose` file; uneven times are made even first, as the format has no others."""
    even = landmarks.resampled(landmarks.fps)
    with PoseWriter(path, landmarks.fps) as writer:
        writer.add(even)
    return Path(path)


def as_stored(landmarks: Landmarks) -> Landmarks:
    """The landmarks as they come back from a `.pose` file, to the last digit; times stay what they are.

    Estimators give these, so that landmarks from a file or a cache and fresh ones lead to the very same result.
    """
    values, confidence = _to_pose(landmarks)
    counts = {BODY: len(BODY_NAMES), FACE: len(landmarks.face_points), LEFT_HAND: len(HAND_NAMES)}
    columns, start = {}, 0
    for part, count in {**counts, RIGHT_HAND: len(HAND_NAMES)}.items():
        columns[part] = list(range(start, start + count))
        start += count
    size = landmarks.size if landmarks.size and min(landmarks.size) > 1 else None
    content = PoseFile(values, confidence, landmarks.fps, size, columns, landmarks.face_points)
    return replace(content.landmarks(0, len(landmarks)), times=landmarks.times)


class PoseWriter:
    """Writes a `.pose` file chunk by chunk, in bounded memory; frames are taken as evenly spaced.

    Use it as a context manager: the file appears when all went well, and not at all otherwise.
    """

    def __init__(self, path: str | PathLike[str], fps: float = DEFAULT_FPS):
        self.path = Path(path)
        self.fps = fps
        self._stack = ExitStack()
        self._frames = 0
        self._form: tuple[tuple[int, int] | None, tuple[int, ...]] | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            beside = stack.enter_context(atomic_write(self.path))
            self._file: BinaryIO = stack.enter_context(beside.open("wb"))
            # The format wants all coordinates before all confidences, so the latter wait in a nameless file.
            self._confidences = stack.enter_context(tempfile.TemporaryFile(dir=beside.parent))
            self._stack = stack.pop_all()
        return self

    def add(self, chunk: Landmarks) -> None:
        """Append frames; all chunks must be of the same image size and face points."""
        form = (chunk.size, chunk.face_points)
        if self._form is None:
            self._form = form
            holistic_header(chunk.size or _UNKNOWN, chunk.face_points).write(self._file)
            self._count_at = self._file.tell()
            self._file.write(_BODY_HEADS[0.2].pack(self.fps, 0, 1))
        if form != self._form:
            raise LandmarksError(f"landmarks of different images cannot go into one file ({self.path})")
        values, confidence = _to_pose(chunk)
        self._file.write(values.tobytes())
        self._confidences.write(confidence.tobytes())
        self._frames += len(chunk)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._stack.pop_all() as stack:
            if error is not None:
                stack.__exit__(kind, error, traceback)
            elif not self._frames:
                raise LandmarksError(f"there are no landmarks to write to {self.path}")
            else:
                self._join()

    def _join(self) -> None:
        self._confidences.seek(0)
        shutil.copyfileobj(self._confidences, self._file)
        self._file.seek(self._count_at)
        self._file.write(_BODY_HEADS[0.2].pack(self.fps, self._frames, 1))


def _to_pose(landmarks: Landmarks) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Turn landmarks into (T, K, 3) coordinates and (T, K) confidences in the header's order."""
    parts = [landmarks.body[..., :3], landmarks.face, landmarks.left_hand, landmarks.right_hand]
    points = np.concatenate(parts, axis=1)
    confidence = np.isfinite(points).all(axis=-1).astype("<f4")
    visibility = np.nan_to_num(landmarks.body[..., 3], nan=0.0)
    confidence[:, : visibility.shape[1]] *= np.maximum(visibility, np.float32(_BARELY_SEEN))
    width, height = landmarks.size or _UNKNOWN
    values = np.where(confidence[..., None] > 0, points, 0) * np.array([width, height, 1], dtype="<f4")
    return values.astype("<f4"), confidence


@dataclass(frozen=True)
class PoseFile:
    """A `.pose` file's arrays, on disk until they are asked for, and where our points are in them; its frames."""

    values: NDArray[np.float32]  # (T, K, 2 or more)
    confidence: NDArray[np.float32]  # (T, K)
    fps: float
    size: tuple[int, int] | None
    columns: dict[str, list[int]]  # component → column of each of our points, -1 where it is missing
    face_points: tuple[int, ...]
    mapped: mmap.mmap | None = None  # the file

    @classmethod
    def open(cls, path: str | PathLike[str]) -> "PoseFile":
        """Find our points in a file without reading it whole.

        Raises:
            FormatError: as `open_landmarks`.
        """
        return _map(Path(path))

    def __len__(self) -> int:
        return len(self.values)

    def stream(self, frames: int = _CHUNK) -> Iterator[Landmarks]:
        """Read the file as `open_landmarks` does, `frames` at a time, in bounded memory."""
        for start in range(0, len(self), frames):
            yield self.landmarks(start, start + frames)
            if self.mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
                self.mapped.madvise(mmap.MADV_DONTNEED)  # gives back its memory

    def landmarks(self, start: int, end: int) -> Landmarks:
        """Give the frames from `start` to `end`."""
        body = self._points(BODY, start, end)
        visibility = self._pick(self.confidence[start:end], BODY)
        visibility[np.isnan(body[..., 0])] = np.nan
        return Landmarks(
            body=np.concatenate([body, visibility[..., None]], axis=-1),
            left_hand=self._points(LEFT_HAND, start, end),
            right_hand=self._points(RIGHT_HAND, start, end),
            face=self._points(FACE, start, end),
            times=np.arange(start, start + len(body)) / self.fps,
            size=self.size,
            face_points=self.face_points,
        )

    def _points(self, component: str, start: int, end: int) -> Points:
        values = self._pick(self.values[start:end], component)[..., :3]
        flat = np.zeros((*values.shape[:2], 3 - values.shape[2]), dtype=np.float32)  # no z in 2-D files
        points = np.concatenate([values, flat], axis=-1)
        width, height = self.size or _UNKNOWN
        with np.errstate(over="ignore", invalid="ignore"):  # what is beyond all numbers is not seen
            scaled = points / np.array([width, height, 1], dtype=np.float32)
            is_seen = (self._pick(self.confidence[start:end], component) > 0) & np.isfinite(scaled).all(axis=-1)
        return np.where(is_seen[..., None], scaled, np.float32(np.nan))

    def _pick(self, array: NDArray[np.float32], component: str) -> Points:
        columns = np.array(self.columns[component], dtype=int)
        picked: Points = np.array(array[:, columns], dtype=np.float32)
        picked[:, columns < 0] = np.nan
        return picked


def _map(path: Path) -> PoseFile:
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        header, offset = _header(path, np.frombuffer(mapped, np.uint8))
        return _content(path, mapped, header, offset)
    except FileNotFoundError:
        raise FormatError(f"there is no file {path}. Check the path.") from None
    except IsADirectoryError:
        raise FormatError(f"{path} is a folder, not a .pose file.") from None
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, TypeError, IndexError, OverflowError, struct.error) as error:
        raise FormatError(f"{path} is not a .pose file, or it is damaged. Make it again from its video.") from error


def _header(path: Path, raw: Any) -> tuple[Any, int]:
    from pose_format.pose_header import PoseHeader
    from pose_format.utils.reader import BufferReader

    version = struct.unpack_from("<f", raw)[0]
    if round(version, 3) not in _BODY_HEADS:
        raise FormatError(f"{path} is not a .pose file of version 0.1 or 0.2. Make it again from its video.")
    reader = BufferReader(raw)
    header = PoseHeader.read(reader)
    return header, int(reader.read_offset)


def _content(path: Path, mapped: mmap.mmap, header: Any, offset: int) -> PoseFile:
    raw = np.frombuffer(mapped, np.uint8)
    head = _BODY_HEADS[round(header.version, 3)]
    fps, frames, people = head.unpack_from(mapped, offset)
    columns, face_points = _columns(path, header.components)
    offset += head.size
    points, axes = header.total_points(), header.num_dims()
    frame_bytes = 4 * people * points * (axes + 1)
    if head.size == 6:  # version 0.1 counts frames in 16 bits, too few for a long video
        frames = (len(raw) - offset) // max(1, frame_bytes)
    if frames * frame_bytes > len(raw) - offset:
        there = (len(raw) - offset) // frame_bytes
        raise FormatError(f"{path} is cut off: {there} of {frames} frames are there. Get or make it again.")
    if not (frames and people and 0 < fps <= 1000 and axes >= 2):
        raise FormatError(f"{path} holds no landmarks: {frames} frames at {fps} fps of {people} people.")
    if people > 1:
        logger.warning("%s shows %d people; the first one is read", path, people)
    split = offset + frames * people * points * axes * 4
    values = raw[offset:split].view("<f4").reshape(frames, people, points, axes)[:, 0]
    confidence = raw[split : split + frames * people * points * 4].view("<f4").reshape(frames, people, points)[:, 0]
    size = (header.dimensions.width, header.dimensions.height)
    return PoseFile(values, confidence, fps, size if min(size) > 1 else None, columns, face_points, mapped)


def _columns(path: Path, components: Sequence[Any]) -> tuple[dict[str, list[int]], tuple[int, ...]]:
    """Find the column of each of our points, and which of our face points there are."""
    columns_of: dict[str, dict[str, int]] = {}
    start = 0
    for component in components:
        columns_of[component.name] = {name: start + index for index, name in enumerate(component.points)}
        start += len(component.points)
    if BODY not in columns_of:
        raise FormatError(
            f"{path} holds no MediaPipe Holistic landmarks but {', '.join(columns_of) or 'nothing'}. "
            "Estimate the landmarks from the video: signspot embed video.mp4 --landmarks"
        )
    face = columns_of.get(FACE, {})
    face_points = tuple(point for point in FACE_POINTS if str(point) in face)
    point_names: dict[str, Sequence[str]] = {
        BODY: BODY_NAMES,
        FACE: [str(point) for point in face_points],
        LEFT_HAND: HAND_NAMES,
        RIGHT_HAND: HAND_NAMES,
    }
    return {
        part: [columns_of.get(part, {}).get(name, -1) for name in names] for part, names in point_names.items()
    }, face_points
