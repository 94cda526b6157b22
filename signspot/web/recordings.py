"""Recordings from a camera: frames sent while somebody signs, or landmarks that the page estimated."""

import json
import math
import struct
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.errors import FormatError, LandmarksError, OptionsError, SignspotError
from signspot.io.sandbox import Limits, Sandbox
from signspot.landmarks.landmarks import BODY_POINTS, DEFAULT_FPS, FACE_POINTS, HAND_POINTS, Landmarks, concatenate
from signspot.landmarks.pose_file import as_stored
from signspot.web.worker import begin_recording, see_frame

MOST_FRAMES = 400  # of one recording
MOST_BYTES = 8 << 20  # of frames that are sent at once
_MOST_WAITING = 4  # frames that may wait; beyond that some of them are left out
_WIDEST = 0.2  # seconds between two processed frames at most: words are recognised as well as with all frames
_MOST_OPEN = 4  # recordings that hold a process with the models
_REMEMBERED = 24  # recordings in memory, so that a part of one can be searched for
_IDLE = 300.0  # seconds without a request after which a recording is removed
_SECONDS, _LOADING = 20.0, 120.0  # time limits of one frame and of loading the models
_LIMITS = Limits(memory=4 << 30)  # of the child that processes the frames; it writes no files
_HEAD = struct.Struct("<iI")  # milliseconds, below 0 before the recording; bytes of the frame that follows

Frame = tuple[float, bytes]  # seconds, JPEG


def read_frames(content: bytes) -> list[Frame]:
    """Parse the body of a request: before each frame stand two little-endian numbers, its time and its size.

    Raises:
        OptionsError: it is cut off.
    """
    frames, position = [], 0
    while position < len(content):
        if position + _HEAD.size > len(content):
            raise OptionsError("frames are sent as milliseconds (4 bytes), size (4 bytes) and a JPEG each")
        at, size = _HEAD.unpack_from(content, position)
        position += _HEAD.size
        if size < 1 or position + size > len(content):
            raise OptionsError("a frame of the recording is cut off")
        frames.append((at / 1000, content[position : position + size]))
        position += size
    return frames


def thinned(waiting: Sequence[Frame], most: int = _MOST_WAITING) -> list[Frame]:
    """Choose the frames to process where too many wait: evenly spaced, at most 0.2 s apart, with the last one.

    Of the frames of the countdown only the latest is processed, and none once the recording has begun.
    """
    waiting = [frame for frame in waiting if frame[0] >= 0] or waiting[-1:]
    if len(waiting) <= most:
        return list(waiting)
    apart = min((waiting[-1][0] - waiting[0][0]) / most, _WIDEST) - 1e-3
    chosen = [waiting[-1]]
    for frame in reversed(waiting[:-1]):
        if chosen[-1][0] - frame[0] >= apart:
            chosen.append(frame)
    return chosen[::-1]


@dataclass
class Recording:
    """One recording: a thread passes its frames to a child process, in order."""

    id: str
    process: Sandbox | None  # None: all frames are processed
    release: Callable[[Sandbox], None]
    most_waiting: int = _MOST_WAITING  # frames; beyond that some are left out
    used: float = field(default_factory=time.monotonic)
    sent: int = 0
    left_out: int = 0
    processor: float = 0.0  # seconds of processor that the frames took
    _latest: float = -math.inf  # seconds of the last frame that arrived
    _waiting: list[Frame] = field(default_factory=list)
    _frames: list[Landmarks] = field(default_factory=list)
    _last: Landmarks | None = None
    _error: SignspotError | None = None
    _over: bool = False  # no more frames are accepted
    _ready: bool = False  # the thread has ended
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def start(self) -> "Recording":
        """Start to load the models and to process frames."""
        threading.Thread(target=self._work, name="signspot-recording", daemon=True).start()
        return self

    def add(self, frames: Sequence[Frame]) -> dict[str, Any]:
        """Accept frames, and report what is visible in the last processed one.

        Raises:
            OptionsError: the recording is over, or too long.
            LandmarksError: earlier frames could not be read.
        """
        with self._changed:
            self._raise_error()
            if self._over:
                raise OptionsError("this recording has ended: start another one")
            self.sent += len(frames)
            if self.sent > MOST_FRAMES:
                raise OptionsError(f"a recording has at most {MOST_FRAMES} frames")
            for at, content in frames:
                if at <= self._latest:
                    raise OptionsError("the frames of a recording come in the order of their times")
                self._latest = at
                self._waiting.append((at, content))
            self.used = time.monotonic()
            self._changed.notify_all()
            return self._status()

    def _status(self) -> dict[str, Any]:
        last = self._last
        person = last is not None and bool((last.body[0, [11, 12], 3] >= 0.5).all())
        hands = 0 if last is None else sum(bool(np.isfinite(h[0, 0, 0])) for h in (last.left_hand, last.right_hand))
        return {"processed": last is not None, "waiting": len(self._waiting), "person": person, "hands": hands}

    def landmarks(self) -> Landmarks:
        """Landmarks from time 0 on, at 25 frames per second; waits until all frames are processed.

        Raises:
            LandmarksError: the recording has no frame, or one cannot be read.
        """
        with self._changed:
            self._over = True
            self.used = time.monotonic()
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: self._ready, _LOADING + _SECONDS * _MOST_WAITING):
                raise LandmarksError("the frames of the recording took too long to process: record again")
            self._raise_error()
            if not self._frames:
                raise LandmarksError("the recording has no frames: record again")
            landmarks = concatenate(self._frames)
            first, last = landmarks.times[0], landmarks.times[-1]
            return landmarks.at(first + np.arange(int((last - first) * DEFAULT_FPS + 1e-6) + 1) / DEFAULT_FPS)

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        try:
            self._call(begin_recording, seconds=_LOADING)
            for at, content in self._frames_in_order():
                landmarks, processor = self._call(see_frame, content, at, seconds=_SECONDS)
                self.processor += processor
                with self._changed:
                    if self._last is not None and self._last.size != landmarks.size:
                        raise LandmarksError("all frames of a recording must have the same size")
                    self._last = landmarks
                    if at >= 0:
                        self._frames.append(landmarks)
        except SignspotError as error:
            self._error = error
        finally:
            with self._changed:
                self._ready = self._over = True
                self._waiting.clear()
                process, self.process = self.process, None
                self._changed.notify_all()
            if process is not None:
                self.release(process)

    def _frames_in_order(self) -> Iterator[Frame]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._over)
                if not self._waiting:
                    return
                chosen = thinned(self._waiting, self.most_waiting)
                self.left_out += len(self._waiting) - len(chosen)
                self._waiting[:] = chosen
                first = self._waiting.pop(0)
            yield first

    def _call(self, function: Callable[..., Any], *args: Any, seconds: float) -> Any:
        process = self.process
        if process is None:
            raise LandmarksError("the recording was removed: start another one")
        return process.call(f"{function.__module__}:{function.__name__}", *args, seconds=seconds)

    def end(self) -> None:
        """Process no more frames, and release the process."""
        with self._changed:
            self._over = True
            self._waiting.clear()
            self._changed.notify_all()


class Recordings:
    """The recordings of a workbench; those that were not used for longest are removed."""

    def __init__(self) -> None:
        self._recordings: OrderedDict[str, Recording] = OrderedDict()
        self._idle: list[Sandbox] = []  # for the next recording; at most one, with the models loaded
        self._closed = False
        self._lock = threading.Lock()

    def open(self, *, all_frames: bool = False) -> str:
        """Start a recording; the models are loaded while the person gets ready.

        Returns:
            Its id.
        """
        with self._lock:
            now = time.monotonic()
            open_ones = [recording for recording in self._recordings.values() if recording.process is not None]
            late = [recording for recording in open_ones if now - recording.used > _IDLE]
            for recording in [
                *late,
                *sorted(open_ones, key=lambda other: other.used)[: max(0, len(open_ones) - _MOST_OPEN + 1)],
            ]:
                recording.end()
                self._recordings.pop(recording.id, None)
            while len(self._recordings) >= _REMEMBERED:
                self._recordings.popitem(last=False)[1].end()
            recording = Recording(
                uuid.uuid4().hex, self._process(), self._release, MOST_FRAMES if all_frames else _MOST_WAITING
            ).start()
            self._recordings[recording.id] = recording
            return recording.id

    def _process(self) -> Sandbox:
        if self._idle:
            return self._idle.pop()
        return Sandbox(_LIMITS)

    def _release(self, process: Sandbox) -> None:
        with self._lock:
            keep = not self._idle and not self._closed
            if keep:
                self._idle.append(process)
        if not keep:
            process.close()

    def get(self, name: str) -> Recording:
        """A recording by its id.

        Raises:
            FormatError: it was removed, or never existed.
        """
        with self._lock:
            recording = self._recordings.get(name)
            if recording is None:
                raise FormatError(f"there is no recording '{name}' any more: start another one")
            self._recordings.move_to_end(name)
            return recording

    def forget(self, name: str) -> None:
        """Remove a recording and its landmarks."""
        with self._lock:
            recording = self._recordings.pop(name, None)
        if recording is not None:
            recording.end()

    def close(self) -> None:
        """Remove all recordings, and end the idle process."""
        with self._lock:
            self._closed = True
            recordings, idle = list(self._recordings.values()), list(self._idle)
            self._recordings.clear()
            self._idle.clear()
        for recording in recordings:
            recording.end()
            if (process := recording.process) is not None:
                process.close()  # whoever waits for its landmarks gets an error
        for process in idle:
            process.close()


PACKAGE = "@mediapipe/holistic"
_SCRIPT, _WASM, _BYTES = "text/javascript", "application/wasm", "application/octet-stream"
FILES = {  # of the package that a page may load; nothing else in its folder is served
    "holistic.js": _SCRIPT,
    "holistic.binarypb": _BYTES,
    "holistic_solution_packed_assets.data": _BYTES,
    "holistic_solution_packed_assets_loader.js": _SCRIPT,
    "holistic_solution_simd_wasm_bin.js": _SCRIPT,
    "holistic_solution_simd_wasm_bin.wasm": _WASM,
    "holistic_solution_wasm_bin.js": _SCRIPT,
    "holistic_solution_wasm_bin.wasm": _WASM,
    "pose_landmark_full.tflite": _BYTES,
}

_SHAPES = ((BODY_POINTS, 4), (HAND_POINTS, 3), (HAND_POINTS, 3), (len(FACE_POINTS), 3))  # body, left, right, face
_ENDS = np.cumsum([1, *(count * numbers for count, numbers in _SHAPES)])
NUMBERS_PER_FRAME = int(_ENDS[-1])  # numbers of one frame: seconds, then the points
MOST_LANDMARK_BYTES = 4 * NUMBERS_PER_FRAME * MOST_FRAMES
_LONGEST = 60.0  # seconds of a recording
_FURTHEST = 100.0  # image widths or heights that a point may lie outside; models guess where legs are
_SIDES = range(16, 8193)  # pixels of the camera's frame


@dataclass(frozen=True, slots=True)
class HolisticPackage:
    """The unpacked package; pages load a few of its files."""

    folder: Path

    @classmethod
    def open(cls, folder: Path) -> "HolisticPackage":
        """A package in a folder, or in the folder `package` in it, where archives of packages unpack it.

        Raises:
            OptionsError: there is no such package, or files are missing.
        """
        root = (folder / "package" if (folder / "package" / "package.json").is_file() else folder).resolve()
        remedy = f"Unpack it: npm pack {PACKAGE} && tar xf mediapipe-holistic-*.tgz"
        try:
            named = json.loads((root / "package.json").read_text(encoding="utf-8")).get("name")
        except (OSError, ValueError, AttributeError):
            named = None
        if named != PACKAGE:
            raise OptionsError(f"{folder} is not an unpacked package {PACKAGE}. {remedy}")
        package = cls(root)
        missing = [name for name in FILES if package.file(name) is None]
        if missing:
            raise OptionsError(f"the package {PACKAGE} in {folder} lacks {missing[0]}. {remedy}")
        return package

    def file(self, name: str) -> Path | None:
        """A file that pages may load; None: any other file, a missing one, or a link out of the folder."""
        if name not in FILES:
            return None
        path = (self.folder / name).resolve()
        return path if path.is_file() and path.is_relative_to(self.folder) else None


def read_landmarks(content: bytes, size: tuple[int, int]) -> Landmarks:
    """Parse the body of a request: landmarks of every frame, resampled to 25 frames per second.

    Args:
        content: frames of `NUMBERS_PER_FRAME` little-endian 32-bit numbers each: seconds, (33, 4) body, (21, 3) left
            and right hand, (60, 3) face. A part that is not visible is NaN throughout.
        size: width and height of the camera's frame, in pixels.

    Raises:
        OptionsError: it is incomplete, too long, or a number is out of range.
    """
    if size[0] not in _SIDES or size[1] not in _SIDES:
        raise OptionsError(f"width and height are {_SIDES[0]} to {_SIDES[-1]} pixels; got {size[0]} × {size[1]}")
    frames, rest = divmod(len(content), 4 * NUMBERS_PER_FRAME)
    if rest or not 2 <= frames <= MOST_FRAMES:
        raise OptionsError(
            f"a recording has 2 to {MOST_FRAMES} frames of {4 * NUMBERS_PER_FRAME} bytes; got {len(content):,} bytes"
        )
    rows = np.frombuffer(content, "<f4").reshape(frames, NUMBERS_PER_FRAME)
    times = rows[:, 0].astype(np.float64)
    if not (np.isfinite(times).all() and times[0] >= 0 and times[-1] <= _LONGEST and (np.diff(times) > 0).all()):
        raise OptionsError(f"the times of a recording increase, from 0 on, to at most {_LONGEST:g} s")
    body, left, right, face = (
        _points(rows[:, start:end].reshape(frames, *shape))
        for start, end, shape in zip(_ENDS, _ENDS[1:], _SHAPES, strict=False)
    )
    landmarks = as_stored(Landmarks(body, left, right, face, times, size))
    steps = int((times[-1] - times[0]) * DEFAULT_FPS + 1e-3)  # times have come in 32 bits
    return landmarks.at(times[0] + np.arange(steps + 1) / DEFAULT_FPS)


def _points(part: NDArray[np.float32]) -> NDArray[np.float32]:
    visible = ~np.isnan(part).all(axis=(1, 2))
    points = part[visible]
    if not (np.isfinite(points).all() and (np.abs(points) <= _FURTHEST).all()):
        raise OptionsError(
            f"points are numbers from {-_FURTHEST:g} to {_FURTHEST:g}; a part that is not visible is NaN"
        )
    if part.shape[2] == 4 and not ((points[..., 3] >= 0) & (points[..., 3] <= 1)).all():
        raise OptionsError("the visibility of a point is from 0 to 1")
    return part
