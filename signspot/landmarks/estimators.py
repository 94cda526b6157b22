"""Estimators of landmarks: MediaPipe Holistic, with or without a second look at lips, or its networks by OpenVINO."""

import logging
import os
import re
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from signspot.errors import LandmarksError, OptionsError
from signspot.io.memory import give_back, share_one_heap
from signspot.landmarks.landmarks import BODY_POINTS, FACE_POINTS, HAND_POINTS, Landmarks, Points
from signspot.landmarks.pose_file import as_stored
from signspot.video.reader import Frame

logger = logging.getLogger(__name__)

COMPLEXITY = 1  # of the body model: 0 is faster, 2 a little better and half as fast
MODELS = (  # files of the mediapipe package without which there is no Holistic
    "holistic_landmark/holistic_landmark_cpu.binarypb",
    "pose_detection/pose_detection.tflite",
    "pose_landmark/pose_landmark_full.tflite",
    "palm_detection/palm_detection_full.tflite",
    "hand_landmark/hand_landmark_full.tflite",
    "face_landmark/face_landmark.tflite",
)
FOLDER = "SIGNSPOT_MEDIAPIPE_MODELS"  # names a folder of MediaPipe's networks, laid out as in its package
_INSTALL = (
    "Install a version with its models: pip install 'mediapipe>=0.10.14,<0.10.30', "
    f"or choose --estimator openvino and name a folder of its networks in ${FOLDER}"
)
LIPS_MODEL = "face_landmark/face_landmark_with_attention.tflite"  # looks at eyes and lips a second time

_FACE = list(FACE_POINTS)
_STDERR = 2
_NOISE = re.compile(
    rb"^(?:[IWEF]\d{4,8} \d\d:\d\d:\d+\.\d+ .*"  # absl, with or without its clock
    rb"|WARNING: All log messages before absl::InitializeLog\(\).*"
    rb"|(?:INFO|WARNING): .*(?:TensorFlow Lite|TfLite|XNNPACK|delegate).*)\n?"
)
_lock = threading.RLock()  # stderr belongs to the whole process: one at a time


class Estimator(Protocol):
    """Estimates the points of one signer, in MediaPipe Holistic's numbering (`Landmarks`)."""

    @property
    def version(self) -> str:
        """Names the estimator and its settings: landmarks of the same version can stand in for each other."""

    def stream(self, frames: Iterable[Frame], size: tuple[int, int], chunk: int) -> Iterator[Landmarks]:
        """Open the models, follow one signer through the frames of one video, and close the models at the end.

        Args:
            frames: of one video, in order of time.
            size: width and height of the images.
            chunk: frames that are given at once, at most.

        Yields:
            Landmarks of all frames, rounded as a `.pose` file rounds them (`pose_file.as_stored`), NaN for what is
            not seen.
        """


@cache
def mediapipe_version() -> str:
    """Of the MediaPipe that is installed; looking it up takes a millisecond, and every cached video asks.

    Raises:
        LandmarksError: there is none.
    """
    try:
        return metadata.version("mediapipe")
    except metadata.PackageNotFoundError:
        raise LandmarksError(f"landmarks need mediapipe. {_INSTALL}") from None


@dataclass(frozen=True, slots=True)
class HolisticEstimator:
    """Estimates landmarks with MediaPipe Holistic ."""

    lips: bool = False  # faces by the network that looks at eyes and lips a second time; other points are the same

    @property
    def version(self) -> str:
        """Names the estimator and its settings."""
        return f"mediapipe-{mediapipe_version()}-holistic-{COMPLEXITY}{'-lips' if self.lips else ''}"

    def stream(self, frames: Iterable[Frame], size: tuple[int, int], chunk: int) -> Iterator[Landmarks]:
        """Follow one signer through the frames of one video; give landmarks in chunks of up to `chunk` frames."""
        return join_in_chunks(self._points(frames), size, chunk)

    def _points(self, frames: Iterable[Frame]) -> Iterator[tuple["FramePoints", float]]:
        with Tracker(lips=self.lips) as tracker:
            previous: NDArray[np.uint8] | None = None
            points: FramePoints | None = None
            for frame in frames:
                if points is None or frame.image is not previous:  # a repeated image is estimated once
                    points = tracker.see(frame.image)
                yield points, frame.time
                previous = frame.image


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

    def see(self, image: NDArray[np.uint8]) -> "FramePoints":
        """Estimate the points in the next image, (H, W, 3) RGB."""
        image = np.ascontiguousarray(image)
        if self._graph is not None:
            return FramePoints.of(self._graph.process(image))
        share_one_heap()  # before its threads begin
        with without_noise():  # models load, and log, in the background until the first image is through
            self._graph = _make_graph(lips=self._lips)
            return FramePoints.of(self._graph.process(image))


@dataclass(frozen=True, slots=True)
class FramePoints:
    """The points of one image, NaN where nothing was found."""

    body: Points  # (33, 4)
    left_hand: Points  # (21, 3)
    right_hand: Points  # (21, 3)
    face: Points  # (60, 3)

    @classmethod
    def of(cls, result: Any) -> "FramePoints":
        """The points of a result of MediaPipe."""
        return cls(
            body=_array(result.pose_landmarks, BODY_POINTS, visibility=True),
            left_hand=_array(result.left_hand_landmarks, HAND_POINTS),
            right_hand=_array(result.right_hand_landmarks, HAND_POINTS),
            face=_array(result.face_landmarks, len(_FACE), chosen=_FACE),
        )


def join_frames(points: Sequence[FramePoints], times: Sequence[float], size: tuple[int, int]) -> Landmarks:
    """Landmarks of the points at some times, rounded as a `.pose` file rounds them."""
    body, left, right, face = (np.stack([getattr(frame, name) for frame in points]) for name in FramePoints.__slots__)
    return as_stored(Landmarks(body, left, right, face, np.array(times), size))


def join_in_chunks(
    points: Iterable[tuple[FramePoints, float]], size: tuple[int, int], chunk: int
) -> Iterator[Landmarks]:
    """As `join_frames`, in chunks of up to so many frames."""
    parts = iter(points)
    while frames := list(islice(parts, chunk)):
        yield join_frames([points for points, _ in frames], [time for _, time in frames], size)


def find_models(files: Sequence[str]) -> Path:
    """The folder of MediaPipe's models.

    Args:
        files: that are needed, below that folder.

    Raises:
        LandmarksError: MediaPipe, or one of the files, is not installed.
    """
    package = find_spec("mediapipe")
    if package is None or not package.submodule_search_locations:
        raise LandmarksError(f"landmarks need mediapipe. {_INSTALL}")
    folder = Path(package.submodule_search_locations[0]) / "modules"
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise LandmarksError(f"mediapipe {mediapipe_version()} carries no {missing[0]}. {_INSTALL}")
    return folder


def _make_graph(*, lips: bool) -> Any:
    find_models([*MODELS, *[LIPS_MODEL] * lips])
    import mediapipe

    # Of protobuf, once per process; we can neither cause nor cure it.
    warnings.filterwarnings("ignore", "SymbolDatabase.GetPrototype", UserWarning)
    return mediapipe.solutions.holistic.Holistic(model_complexity=COMPLEXITY, refine_face_landmarks=lips)


def _array(result: Any, count: int, *, visibility: bool = False, chosen: list[int] | None = None) -> Points:
    fields = ("x", "y", "z", "visibility") if visibility else ("x", "y", "z")
    if result is None:
        return np.full((count, len(fields)), np.nan, dtype=np.float32)
    points = result.landmark if chosen is None else [result.landmark[index] for index in chosen]
    return np.array([[getattr(point, field) for field in fields] for point in points], dtype=np.float32)


@contextmanager
def without_noise() -> Iterator[None]:
    """Hold back what is written to stderr meanwhile; then log MediaPipe's lines and pass on all others."""
    with _lock, ExitStack() as opened:
        try:
            file = opened.enter_context(tempfile.TemporaryFile())
            stderr = os.dup(_STDERR)
        except OSError:  # nothing may be written here, or there is no stderr to keep clean
            yield
            return
        try:
            os.dup2(file.fileno(), _STDERR)
            yield
        finally:
            os.dup2(stderr, _STDERR)
            file.seek(0)
            for line in file:
                if _NOISE.match(line):
                    logger.debug("mediapipe: %s", line.decode(errors="replace").rstrip())
                else:
                    os.write(_STDERR, line)
            os.close(stderr)


VARIABLE = "SIGNSPOT_ESTIMATOR"  # worker processes inherit it
HOLISTIC: Estimator = HolisticEstimator()
LIPS: Estimator = HolisticEstimator(lips=True)


def _openvino() -> Estimator:
    from signspot.landmarks.openvino_estimator import OpenVinoEstimator  # OpenVINO is an extra, and OpenCV slow to load

    return OpenVinoEstimator()


ESTIMATORS: dict[str, Callable[[], Estimator]] = {
    "mediapipe": lambda: HOLISTIC,
    "mediapipe-lips": lambda: LIPS,
    "openvino": _openvino,
}


def find_estimator(name: str) -> Estimator:
    """The estimator of a name: "mediapipe", "mediapipe-lips" or "openvino".

    Raises:
        OptionsError: there is no such estimator.
        LandmarksError: it is not installed.
    """
    if name not in ESTIMATORS:
        raise OptionsError(f"no estimator '{name}'. There are: {', '.join(ESTIMATORS)}")
    estimator = ESTIMATORS[name]()
    _ = estimator.version  # tells what is not installed
    return estimator


def usual_estimator() -> Estimator:
    """The estimator that is used where none is named: $SIGNSPOT_ESTIMATOR, else MediaPipe."""
    return find_estimator(os.environ.get(VARIABLE, "").strip() or "mediapipe")


def lips_estimator() -> Estimator:
    """The estimator for whom lips matter: $SIGNSPOT_ESTIMATOR, else MediaPipe with its network that looks at lips."""
    return usual_estimator() if os.environ.get(VARIABLE, "").strip() else LIPS


@contextmanager
def estimating_with(name: str) -> Iterator[None]:
    """Within the block, this process and the workers that it starts estimate with the named estimator."""
    find_estimator(name)
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = name
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
