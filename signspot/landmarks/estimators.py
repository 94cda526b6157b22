"""Choice of an estimator: MediaPipe, with or without a second look at lips, or its networks run by OpenVINO."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from signspot.errors import OptionsError
from signspot.landmarks.holistic import HolisticEstimator
from signspot.landmarks.stretches import Estimator

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
