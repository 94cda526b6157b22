"""Recordings of one sign: frames that come while it is made, or landmarks that the page has estimated itself."""

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

MOST_PICTURES = 400  # of one recording
MOST_BYTES = 8 << 20  # of pictures that are sent at once
_MOST_WAITING = 4  # pictures that may wait; where more do, some between them are left out
_WIDEST = 0.2  # seconds between two pictures that are looked at: so far apart they tell words as well as all of them
_MOST_OPEN = 4  # recordings that hold a process with the models
_KEPT = 24  # recordings that are remembered, so that a part of one can be searched for
_IDLE = 300.0  # seconds after which a recording that nobody goes on with is let go
_SECONDS, _LOADING = 20.0, 120.0  # that one picture, and loading the models, may take
_LIMITS = Limits(memory=4 << 30)  # of the child that sees the frames; it writes no files
_HEAD = struct.Struct("<iI")  # milliseconds, below 0 before the recording; bytes of the picture that follows

Picture = tuple[float, bytes]  # seconds, JPEG


def read_pictures(content: bytes) -> list[Picture]:
    """Take the body of a request apart: each picture has a head of two little-endian numbers, time and size.

    Raises:
        OptionsError: it is cut off.
    """
    found, place = [], 0
    while place < len(content):
        if place + _HEAD.size > len(content):
            raise OptionsError("pictures are sent as milliseconds (4 bytes), size (4 bytes) and a JPEG each")
        at, size = _HEAD.unpack_from(content, place)
        place += _HEAD.size
        if size < 1 or place + size > len(content):
            raise OptionsError("a picture of the recording is cut off")
        found.append((at / 1000, content[place : place + size]))
        place += size
    return found


def thinned(waiting: Sequence[Picture], most: int = _MOST_WAITING) -> list[Picture]:
    """The pictures that are looked at where too many wait: some, never far apart, and always the last one.

    Of the countdown only the latest counts, and none once the recording has begun.
    """
    waiting = [picture for picture in waiting if picture[0] >= 0] or waiting[-1:]
    if len(waiting) <= most:
        return list(waiting)
    apart = min((waiting[-1][0] - waiting[0][0]) / most, _WIDEST) - 1e-3
    kept = [waiting[-1]]
    for picture in reversed(waiting[:-1]):
        if kept[-1][0] - picture[0] >= apart:
            kept.append(picture)
    return kept[::-1]


@dataclass
class Recording:
    """One recording: a thread hands its pictures to a process, in order."""

    id: str
    process: Sandbox | None  # None: it is not needed any more
    give_back: Callable[[Sandbox], None]
    used: float = field(default_factory=time.monotonic)
    sent: int = 0
    left_out: int = 0
    processor: float = 0.0  # seconds, of the other process, for the pictures
    _latest: float = -math.inf  # seconds, of the last picture that came
    _waiting: list[Picture] = field(default_factory=list)
    _frames: list[Landmarks] = field(default_factory=list)
    _last: Landmarks | None = None
    _error: SignspotError | None = None
    _over: bool = False  # no more pictures come
    _ready: bool = False  # the thread is done
    _news: threading.Condition = field(default_factory=threading.Condition)

    def start(self) -> "Recording":
        """Begin to load the models, and to look."""
        threading.Thread(target=self._work, name="signspot-recording", daemon=True).start()
        return self

    def add(self, pictures: Sequence[Picture]) -> dict[str, Any]:
        """Take pictures, and say what was seen in the last one that was looked at.

        Raises:
            OptionsError: the recording is over, or too long.
            LandmarksError: earlier pictures could not be read.
        """
        with self._news:
            self._complain()
            if self._over:
                raise OptionsError("this recording is over: begin another one")
            self.sent += len(pictures)
            if self.sent > MOST_PICTURES:
                raise OptionsError(f"a recording has at most {MOST_PICTURES} pictures")
            for at, content in pictures:
                if at <= self._latest:
                    raise OptionsError("the pictures of a recording come in the order of their times")
                self._latest = at
                self._waiting.append((at, content))
            self.used = time.monotonic()
            self._news.notify_all()
            return self._told()

    def _told(self) -> dict[str, Any]:
        last = self._last
        person = last is not None and bool((last.body[0, [11, 12], 3] >= 0.5).all())
        hands = 0 if last is None else sum(bool(np.isfinite(h[0, 0, 0])) for h in (last.left_hand, last.right_hand))
        looked = last is not None
        return {"looked": looked, "waiting": len(self._waiting), "person": person, "hands": hands}

    def landmarks(self) -> Landmarks:
        """Landmarks from time 0 on, at 25 frames per second; waits until every picture was looked at.

        Raises:
            LandmarksError: there is no picture, or one cannot be read.
        """
        with self._news:
            self._over = True
            self.used = time.monotonic()
            self._news.notify_all()
            if not self._news.wait_for(lambda: self._ready, _LOADING + _SECONDS * _MOST_WAITING):
                raise LandmarksError("the pictures of the recording took too long")
            self._complain()
            if not self._frames:
                raise LandmarksError("the recording holds no pictures")
            seen = concatenate(self._frames)
            first, last = seen.times[0], seen.times[-1]
            return seen.at(first + np.arange(int((last - first) * DEFAULT_FPS + 1e-6) + 1) / DEFAULT_FPS)

    def _complain(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        try:
            self._call(begin_recording, seconds=_LOADING)
            for at, content in self._pictures():
                seen, processor = self._call(see_frame, content, at, seconds=_SECONDS)
                self.processor += processor
                with self._news:
                    if self._last is not None and self._last.size != seen.size:
                        raise LandmarksError("the pictures of one recording have one size")
                    self._last = seen
                    if at >= 0:
                        self._frames.append(seen)
        except SignspotError as error:
            self._error = error
        finally:
            with self._news:
                self._ready = self._over = True
                self._waiting.clear()
                process, self.process = self.process, None
                self._news.notify_all()
            if process is not None:
                self.give_back(process)

    def _pictures(self) -> Iterator[Picture]:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._waiting or self._over)
                if not self._waiting:
                    return
                kept = thinned(self._waiting)
                self.left_out += len(self._waiting) - len(kept)
                self._waiting[:] = kept
                first = self._waiting.pop(0)
            yield first

    def _call(self, function: Callable[..., Any], *args: Any, seconds: float) -> Any:
        process = self.process
        if process is None:
            raise LandmarksError("the recording was let go: begin another one")
        return process.call(f"{function.__module__}:{function.__name__}", *args, seconds=seconds)

    def end(self) -> None:
        """Look at no more pictures, and let the process go."""
        with self._news:
            self._over = True
            self._waiting.clear()
            self._news.notify_all()


class Recordings:
    """The recordings of a workbench; the longest unused ones are forgotten."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Recording] = OrderedDict()
        self._idle: list[Sandbox] = []  # that wait for the next recording; at most one, it holds the models
        self._closed = False
        self._lock = threading.Lock()

    def open(self) -> str:
        """Begin a recording: the models are loaded while the person gets ready.

        Returns:
            Its id.
        """
        with self._lock:
            now = time.monotonic()
            held = [each for each in self._known.values() if each.process is not None]
            late = [each for each in held if now - each.used > _IDLE]
            for each in [*late, *sorted(held, key=lambda one: one.used)[: max(0, len(held) - _MOST_OPEN + 1)]]:
                each.end()
                self._known.pop(each.id, None)
            while len(self._known) >= _KEPT:
                self._known.popitem(last=False)[1].end()
            made = Recording(uuid.uuid4().hex, self._process(), self._give_back).start()
            self._known[made.id] = made
            return made.id

    def _process(self) -> Sandbox:
        if self._idle:
            return self._idle.pop()
        return Sandbox(_LIMITS)

    def _give_back(self, process: Sandbox) -> None:
        with self._lock:
            keep = not self._idle and not self._closed
            if keep:
                self._idle.append(process)
        if not keep:
            process.close()

    def get(self, name: str) -> Recording:
        """A recording that is known.

        Raises:
            FormatError: it was let go, or never was.
        """
        with self._lock:
            found = self._known.get(name)
            if found is None:
                raise FormatError(f"there is no recording '{name}' any more: begin another one")
            self._known.move_to_end(name)
            return found

    def forget(self, name: str) -> None:
        """Let a recording go, with all that was seen in it."""
        with self._lock:
            found = self._known.pop(name, None)
        if found is not None:
            found.end()

    def close(self) -> None:
        """Let all recordings go, and the process that waits for the next."""
        with self._lock:
            self._closed = True
            known, idle = list(self._known.values()), list(self._idle)
            self._known.clear()
            self._idle.clear()
        for each in known:
            each.end()
        for process in idle:
            process.close()


PACKAGE = "@mediapipe/holistic"
_SCRIPT, _WASM, _BYTES = "text/javascript", "application/wasm", "application/octet-stream"
FILES = {  # of the package, that a page may load: nothing else in its folder is served
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
FRAME = int(_ENDS[-1])  # numbers of one frame: seconds, then the points
MOST_LANDMARK_BYTES = 4 * FRAME * MOST_PICTURES
_LONGEST = 60.0  # seconds of a recording
_FURTHEST = 100.0  # image widths or heights that a point may lie outside; models guess where legs are
_SIDES = range(16, 8193)  # pixels of the camera's picture


@dataclass(frozen=True, slots=True)
class HolisticPackage:
    """The unpacked package, of which a few files are served."""

    folder: Path

    @classmethod
    def open(cls, folder: Path) -> "HolisticPackage":
        """A package in a folder, or in the folder `package` in it, where archives of packages unpack it.

        Raises:
            OptionsError: it is not there, or not whole.
        """
        root = (folder / "package" if (folder / "package" / "package.json").is_file() else folder).resolve()
        remedy = f"Unpack it: npm pack {PACKAGE} && tar xf mediapipe-holistic-*.tgz"
        try:
            named = json.loads((root / "package.json").read_text(encoding="utf-8")).get("name")
        except (OSError, ValueError, AttributeError):
            named = None
        if named != PACKAGE:
            raise OptionsError(f"{folder} is not an unpacked package {PACKAGE}. {remedy}")
        made = cls(root)
        missing = [name for name in FILES if made.file(name) is None]
        if missing:
            raise OptionsError(f"the package {PACKAGE} in {folder} lacks {missing[0]}. {remedy}")
        return made

    def file(self, name: str) -> Path | None:
        """One of the files that pages load; None if it is another one, is not there, or a link that leads elsewhere."""
        if name not in FILES:
            return None
        found = (self.folder / name).resolve()
        return found if found.is_file() and found.is_relative_to(self.folder) else None


def read_landmarks(content: bytes, size: tuple[int, int]) -> Landmarks:
    """Take the body of a request apart: landmarks of every frame, at 25 frames per second.

    Args:
        content: frames of `FRAME` little-endian 32-bit numbers each: seconds, (33, 4) body, (21, 3) left and right
            hand, (60, 3) face. A part that is not seen is NaN throughout.
        size: width and height of the camera's picture, in pixels.

    Raises:
        OptionsError: it is cut off, too long, or a number is not what it may be.
    """
    if size[0] not in _SIDES or size[1] not in _SIDES:
        raise OptionsError(f"width and height are {_SIDES[0]} to {_SIDES[-1]} pixels; got {size[0]} × {size[1]}")
    frames, rest = divmod(len(content), 4 * FRAME)
    if rest or not 2 <= frames <= MOST_PICTURES:
        raise OptionsError(
            f"a recording is 2 to {MOST_PICTURES} frames of {FRAME} numbers of 32 bits; got {len(content):,} bytes"
        )
    rows = np.frombuffer(content, "<f4").reshape(frames, FRAME)
    times = rows[:, 0].astype(np.float64)
    if not (np.isfinite(times).all() and times[0] >= 0 and times[-1] <= _LONGEST and (np.diff(times) > 0).all()):
        raise OptionsError(f"the times of a recording increase, from 0 on, to at most {_LONGEST:g} s")
    body, left, right, face = (
        _points(rows[:, start:end].reshape(frames, *shape))
        for start, end, shape in zip(_ENDS, _ENDS[1:], _SHAPES, strict=False)
    )
    seen = as_stored(Landmarks(body, left, right, face, times, size))
    steps = int((times[-1] - times[0]) * DEFAULT_FPS + 1e-3)  # times have come in 32 bits
    return seen.at(times[0] + np.arange(steps + 1) / DEFAULT_FPS)


def _points(part: NDArray[np.float32]) -> NDArray[np.float32]:
    seen = ~np.isnan(part).all(axis=(1, 2))
    found = part[seen]
    if not (np.isfinite(found).all() and (np.abs(found) <= _FURTHEST).all()):
        raise OptionsError(f"points are numbers from {-_FURTHEST:g} to {_FURTHEST:g}; a part that is not seen is NaN")
    if part.shape[2] == 4 and not ((found[..., 3] >= 0) & (found[..., 3] <= 1)).all():
        raise OptionsError("the visibility of a point is from 0 to 1")
    return part
