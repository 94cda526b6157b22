"""MediaPipe Holistic, the usual estimator: pictures of one video in, body, hand and face points out."""

import logging
import os
import re
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from signspot.errors import LandmarksError
from signspot.io.memory import give_back, share_one_heap
from signspot.landmarks.landmarks import BODY_POINTS, FACE_POINTS, HAND_POINTS, Landmarks, Points
from signspot.landmarks.pose_file import as_stored
from signspot.video.reader import Frame

logger = logging.getLogger(__name__)

COMPLEXITY = 1  # of the body model: 0 is faster, 2 a little better and half as fast
MODELS = (  # files of the mediapipe package without which there is no Holistic
    "modules/holistic_landmark/holistic_landmark_cpu.binarypb",
    "modules/pose_detection/pose_detection.tflite",
    "modules/pose_landmark/pose_landmark_full.tflite",
    "modules/palm_detection/palm_detection_full.tflite",
    "modules/hand_landmark/hand_landmark_full.tflite",
    "modules/face_landmark/face_landmark.tflite",
)
LIPS_MODEL = "modules/face_landmark/face_landmark_with_attention.tflite"  # looks at eyes and lips a second time

_FACE = list(FACE_POINTS)
_STDERR = 2
_NOISE = re.compile(
    rb"^(?:[IWEF]\d{4,8} \d\d:\d\d:\d+\.\d+ .*"  # absl, with or without its clock
    rb"|WARNING: All log messages before absl::InitializeLog\(\).*"
    rb"|(?:INFO|WARNING): .*(?:TensorFlow Lite|TfLite|XNNPACK|delegate).*)\n?"
)
_lock = threading.RLock()  # stderr belongs to the whole process: one at a time


@cache
def mediapipe_version() -> str:
    """Of the MediaPipe that is installed; looking it up takes a millisecond, and every cached video asks."""
    return metadata.version("mediapipe")


@dataclass(frozen=True, slots=True)
class HolisticEstimator:
    """Estimates landmarks with MediaPipe Holistic (`landmarks.estimate.Estimator`)."""

    lips: bool = False  # faces by the network that looks at eyes and lips a second time; other points are the same

    @property
    def version(self) -> str:
        """Names the estimator and its settings."""
        return f"mediapipe-{mediapipe_version()}-holistic-{COMPLEXITY}{'-lips' if self.lips else ''}"

    def stream(self, frames: Iterable[Frame], size: tuple[int, int], chunk: int) -> Iterator[Landmarks]:
        """Follow one signer through the frames of one video; give landmarks in chunks of up to `chunk` frames."""
        sights: list[Sight] = []
        times: list[float] = []
        with Tracker(lips=self.lips) as tracker:
            shown: Frame | None = None
            last: Sight | None = None
            for frame in frames:
                if last is None or shown is None or frame.image is not shown.image:  # a repeated picture is seen once
                    last = tracker.see(frame.image)
                sights.append(last)
                times.append(frame.time)
                shown = frame
                if len(sights) == chunk:
                    yield join_sights(sights, times, size)
                    sights, times = [], []
        if sights:
            yield join_sights(sights, times, size)


class Tracker:
    """Follows one signer through one video; a new video needs a new tracker."""

    def __init__(self, *, lips: bool = False) -> None:
        self._graph: Any = None
        self._lips = lips

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._graph is not None:
            self._graph.close()
            self._graph = None
            give_back()  # 150 MB of models, which the next tracker loads anew

    def see(self, image: NDArray[np.uint8]) -> "Sight":
        """Estimate the points in the next picture, (H, W, 3) RGB."""
        image = np.ascontiguousarray(image)
        if self._graph is not None:
            return Sight.of(self._graph.process(image))
        share_one_heap()  # before its threads begin
        with without_noise():  # models load, and log, in the background until the first picture is through
            self._graph = _make_graph(lips=self._lips)
            return Sight.of(self._graph.process(image))


@dataclass(frozen=True, slots=True)
class Sight:
    """The points of one picture, NaN where nothing was found."""

    body: Points  # (33, 4)
    left_hand: Points  # (21, 3)
    right_hand: Points  # (21, 3)
    face: Points  # (60, 3)

    @classmethod
    def of(cls, found: Any) -> "Sight":
        """The points of a result of MediaPipe."""
        return cls(
            body=_array(found.pose_landmarks, BODY_POINTS, visibility=True),
            left_hand=_array(found.left_hand_landmarks, HAND_POINTS),
            right_hand=_array(found.right_hand_landmarks, HAND_POINTS),
            face=_array(found.face_landmarks, len(_FACE), chosen=_FACE),
        )


def join_sights(sights: list[Sight], times: list[float], size: tuple[int, int]) -> Landmarks:
    """Make landmarks of the points at some times, rounded as a `.pose` file rounds them."""
    return as_stored(
        Landmarks(
            body=np.stack([sight.body for sight in sights]),
            left_hand=np.stack([sight.left_hand for sight in sights]),
            right_hand=np.stack([sight.right_hand for sight in sights]),
            face=np.stack([sight.face for sight in sights]),
            times=np.array(times),
            size=size,
        )
    )


def check_models(folder: Path, version: str, models: Sequence[str] = MODELS) -> None:
    """Make sure that an installed mediapipe carries the models of Holistic.

    Args:
        folder: of the package.
        version: of the package.
        models: that are needed.

    Raises:
        LandmarksError: a model is missing.
    """
    missing = [name for name in models if not (folder / name).is_file()]
    if missing:
        raise LandmarksError(
            f"mediapipe {version} carries no models of Holistic ({Path(missing[0]).name} is missing). "
            "Install a version that does: pip install 'mediapipe>=0.10.14,<0.10.30'"
        )


def _make_graph(*, lips: bool) -> Any:
    found = find_spec("mediapipe")
    if found is None or not found.submodule_search_locations:
        raise LandmarksError("landmarks need mediapipe. Install it: pip install 'mediapipe>=0.10.14,<0.10.30'")
    check_models(Path(found.submodule_search_locations[0]), mediapipe_version(), [*MODELS, *[LIPS_MODEL] * lips])
    import mediapipe

    # Of protobuf, once per process; we can neither cause nor cure it.
    warnings.filterwarnings("ignore", "SymbolDatabase.GetPrototype", UserWarning)
    return mediapipe.solutions.holistic.Holistic(model_complexity=COMPLEXITY, refine_face_landmarks=lips)


def _array(found: Any, count: int, *, visibility: bool = False, chosen: list[int] | None = None) -> Points:
    if found is None:
        return np.full((count, 4 if visibility else 3), np.nan, dtype=np.float32)
    points = found.landmark if chosen is None else [found.landmark[index] for index in chosen]
    if visibility:
        return np.array([(point.x, point.y, point.z, point.visibility) for point in points], dtype=np.float32)
    return np.array([(point.x, point.y, point.z) for point in points], dtype=np.float32)


@contextmanager
def without_noise() -> Iterator[None]:
    """Hold back what is written to stderr meanwhile; then log MediaPipe's lines and pass on all others."""
    with _lock, ExitStack() as opened:
        try:
            held = opened.enter_context(tempfile.TemporaryFile())
            stderr = os.dup(_STDERR)
        except OSError:  # nothing may be written here, or there is no stderr to keep clean
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
