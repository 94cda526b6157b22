"""MediaPipe's own networks, the .tflite files of its package, run by OpenVINO: a crop in, numbers out."""

from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.errors import LandmarksError
from signspot.io.openvino import compile_model, load_openvino, openvino_core
from signspot.landmarks.regions import Floats, Picture


@dataclass(frozen=True, slots=True)
class Network:
    """A .tflite file of MediaPipe, and what is asked of it."""

    file: str  # below the package's modules
    size: int  # pixels of a side of its input
    outputs: tuple[str, ...]  # those that are computed; the others are cut away
    signed: bool = False  # it sees colours in [-1, 1], not in [0, 1]


BODY_DETECTOR = Network("pose_detection/pose_detection.tflite", 224, ("Identity", "Identity_1"), signed=True)
BODY = Network("pose_landmark/pose_landmark_full.tflite", 256, ("Identity", "Identity_1", "Identity_3"))
HAND_FINDER = Network("holistic_landmark/hand_recrop.tflite", 256, ("output_crop",))
HAND = Network("hand_landmark/hand_landmark_full.tflite", 224, ("Identity", "Identity_1"))
LIGHT_HAND = Network("hand_landmark/hand_landmark_lite.tflite", 224, ("Identity", "Identity_1"))
FACE_DETECTOR = Network(
    "face_detection/face_detection_short_range.tflite", 128, ("regressors", "classificators"), signed=True
)
FACE = Network("face_landmark/face_landmark.tflite", 192, ("conv2d_21", "conv2d_31"))
NETWORKS = (BODY_DETECTOR, BODY, HAND_FINDER, HAND, LIGHT_HAND, FACE_DETECTOR, FACE)


class Running:
    """A network that is ready to run, on one core: videos and stretches share the others."""

    def __init__(self, network: Network) -> None:
        self.size = network.size
        self.compiled = _compiled(network)
        self._request = self.compiled.create_infer_request()
        self._outputs = range(len(network.outputs))

    def __call__(self, crop: Picture) -> list[NDArray[np.float32]]:
        """(size, size, 3) crop to the outputs, without their batch axis; they hold until the next call."""
        self._request.infer([crop[None]], share_inputs=True)
        return [self._request.get_output_tensor(number).data[0] for number in self._outputs]


def version() -> str:
    """Of what runs the networks."""
    return f"openvino-{_openvino().__version__.split('-')[0]}"


def find_models() -> Path:
    """The folder of MediaPipe's modules.

    Raises:
        LandmarksError: MediaPipe, or one of its networks, is not installed.
    """
    found = find_spec("mediapipe")
    if found is None or not found.submodule_search_locations:
        raise LandmarksError("landmarks need mediapipe. Install it: pip install 'mediapipe>=0.10.14,<0.10.30'")
    folder = Path(found.submodule_search_locations[0]) / "modules"
    missing = [network.file for network in NETWORKS if not (folder / network.file).is_file()]
    if missing:
        raise LandmarksError(
            f"mediapipe {metadata.version('mediapipe')} carries no {missing[0]}. "
            "Install a version that does: pip install 'mediapipe>=0.10.14,<0.10.30'"
        )
    return folder


@cache
def _openvino() -> Any:
    try:
        return load_openvino()
    except ImportError as error:
        raise LandmarksError(
            "the estimator 'openvino' needs OpenVINO. Install it: pip install 'signspot[openvino]', "
            "or choose the estimator 'mediapipe'"
        ) from error


@cache
def _compiled(network: Network) -> Any:
    """Read a network, leave out what nobody asks for, take colours as bytes, and compile it; once per process."""
    openvino = _openvino()
    model = openvino_core().read_model(find_models() / network.file)
    model = openvino.Model([model.output(name) for name in network.outputs], model.get_parameters())
    steps = openvino.preprocess.PrePostProcessor(model)
    steps.input().tensor().set_element_type(openvino.Type.u8)
    numbers = steps.input().preprocess().convert_element_type(openvino.Type.f32)
    if network.signed:
        numbers.mean(127.5).scale(127.5)
    else:
        numbers.scale(255.0)
    return compile_model(steps.build(), "f32", 1, PERFORMANCE_HINT="LATENCY", ENABLE_CPU_PINNING=False)


class Detector:
    """A single-shot detector: the best place of a crop, blended from all that overlap with it."""

    def __init__(self, network: Network, strides: tuple[int, ...], per_layer: int) -> None:
        self._run = Running(network)
        self.size = network.size
        grids = [_grid(network.size // stride, per_layer * strides.count(stride)) for stride in dict.fromkeys(strides)]
        self._anchors = np.concatenate(grids)

    def __call__(self, crop: Picture, score: float = 0.5, overlap: float = 0.3) -> Floats | None:
        """(size, size, 3) crop to (K, 2) key points of the best detection, in shares of its sides; None: nothing."""
        raw, logits = self._run(crop)
        scores = 1 / (1 + np.exp(-np.clip(logits[:, 0], -80, 80)))
        kept = np.flatnonzero(scores >= score)
        if not len(kept):
            return None
        raw, scores, anchors = raw[kept] / np.float32(self.size), scores[kept], self._anchors[kept]
        centres, sides = raw[:, :2] + anchors, raw[:, 2:4]
        best = int(scores.argmax())
        alike = _overlaps(centres, sides, best) > overlap
        points = raw[alike, 4:].reshape(int(alike.sum()), -1, 2) + anchors[alike, None]
        blended: Floats = np.average(points, axis=0, weights=scores[alike]).astype(np.float32)
        return blended


def _grid(cells: int, repeats: int) -> Floats:
    """(cells² x repeats, 2) middles of the cells of a square."""
    middles = (np.arange(cells, dtype=np.float32) + 0.5) / cells
    y, x = np.meshgrid(middles, middles, indexing="ij")
    return np.repeat(np.stack([x.ravel(), y.ravel()], axis=1), repeats, axis=0)


def _overlaps(centres: Floats, sides: Floats, best: int) -> Floats:
    """(N,) intersection over union of each box with the best."""
    low, high = centres - sides / 2, centres + sides / 2
    shared = np.clip(np.minimum(high, high[best]) - np.maximum(low, low[best]), 0, None).prod(axis=1)
    areas = sides.prod(axis=1)
    shares: Floats = shared / np.maximum(areas + areas[best] - shared, 1e-9)
    return shares
