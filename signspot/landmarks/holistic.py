"""MediaPipe Holistic: one tracker a video, which turns a picture into body, hand and face points."""

import logging
import os
import re
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from signspot.landmarks.landmarks import BODY_POINTS, FACE_POINTS, HAND_POINTS, Landmarks, Points

COMPLEXITY = 1  # of the body model: 0 is faster, 2 a little better and half as fast

_FACE = list(FACE_POINTS)


def estimator_version() -> str:
    """Name the estimator and its settings: landmarks of the same name can stand in for each other."""
    return f"mediapipe-{metadata.version('mediapipe')}-holistic-{COMPLEXITY}"


class Tracker:
    """Follows one signer through one video; a new video needs a new tracker."""

    def __init__(self) -> None:
        self._graph: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._graph is not None:
            self._graph.close()

    def see(self, image: NDArray[np.uint8]) -> "Sight":
        """Estimate the points in the next picture, (H, W, 3) RGB."""
        image = np.ascontiguousarray(image)
        if self._graph is not None:
            return Sight(self._graph.process(image))
        with without_noise():  # models load, and say so, in the background until the first picture is through
            self._graph = _make_graph()
            return Sight(self._graph.process(image))


class Sight:
    """The points of one picture, NaN where nothing was found."""

    def __init__(self, found: Any):
        self.body = _array(found.pose_landmarks, BODY_POINTS, visibility=True)  # (33, 4)
        self.left_hand = _array(found.left_hand_landmarks, HAND_POINTS)  # (21, 3)
        self.right_hand = _array(found.right_hand_landmarks, HAND_POINTS)  # (21, 3)
        self.face = _array(found.face_landmarks, len(_FACE), chosen=_FACE)  # (60, 3)


def join_sights(sights: list[Sight], times: list[float], size: tuple[int, int]) -> Landmarks:
    """Make landmarks of what was seen at some times."""
    return Landmarks(
        body=np.stack([sight.body for sight in sights]),
        left_hand=np.stack([sight.left_hand for sight in sights]),
        right_hand=np.stack([sight.right_hand for sight in sights]),
        face=np.stack([sight.face for sight in sights]),
        times=np.array(times),
        size=size,
    )


def _make_graph() -> Any:
    import mediapipe

    # Of protobuf, once a process; we can neither cause nor cure it.
    warnings.filterwarnings("ignore", "SymbolDatabase.GetPrototype", UserWarning)
    return mediapipe.solutions.holistic.Holistic(model_complexity=COMPLEXITY)


def _array(found: Any, count: int, *, visibility: bool = False, chosen: list[int] | None = None) -> Points:
    if found is None:
        return np.full((count, 4 if visibility else 3), np.nan, dtype=np.float32)
    points = found.landmark if chosen is None else [found.landmark[index] for index in chosen]
    if visibility:
        return np.array([(point.x, point.y, point.z, point.visibility) for point in points], dtype=np.float32)
    return np.array([(point.x, point.y, point.z) for point in points], dtype=np.float32)


logger = logging.getLogger(__name__)

_STDERR = 2
_NOISE = re.compile(
    rb"^(?:[IWEF]\d{4,8} \d\d:\d\d:\d+\.\d+ .*"  # absl, with or without its clock
    rb"|WARNING: All log messages before absl::InitializeLog\(\).*"
    rb"|(?:INFO|WARNING): .*(?:TensorFlow Lite|TfLite|XNNPACK|delegate).*)\n?"
)
_lock = threading.RLock()  # stderr belongs to the whole process: one at a time


@contextmanager
def without_noise() -> Iterator[None]:
    """Hold back what is written to stderr meanwhile; then log MediaPipe's lines and pass on all others."""
    with _lock, tempfile.TemporaryFile() as held:
        try:
            stderr = os.dup(_STDERR)
        except OSError:  # there is no stderr, so nothing to keep clean
            yield
            return
        try:
            os.dup2(held.fileno(), _STDERR)
            yield
        finally:
            os.dup2(stderr, _STDERR)
            held.seek(0)
            for line in held:
                if _NOISE.match(line):
                    logger.debug("mediapipe: %s", line.decode(errors="replace").rstrip())
                else:
                    os.write(_STDERR, line)
            os.close(stderr)
