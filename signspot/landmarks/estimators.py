"""Choice of an estimator: MediaPipe as it is, or its networks run by OpenVINO; both behind one contract."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from signspot.errors import OptionsError
from signspot.landmarks.holistic import HolisticEstimator
from signspot.landmarks.stretches import Estimator

VARIABLE = "SIGNSPOT_ESTIMATOR"  # worker processes inherit it
HOLISTIC: Estimator = HolisticEstimator()


def _openvino() -> Estimator:
    from signspot.landmarks.openvino_estimator import OpenVinoEstimator  # OpenVINO is an extra, and OpenCV slow to load

    return OpenVinoEstimator()


ESTIMATORS: dict[str, Callable[[], Estimator]] = {"mediapipe": lambda: HOLISTIC, "openvino": _openvino}


def find_estimator(name: str) -> Estimator:
    """The estimator of a name: "mediapipe" or "openvino".

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
