"""MediaPipe's own networks, the .tflite files of its package, run by OpenVINO, and the parts of an image they see.

All is in pixels, y down, angles in radians clockwise. Sizes, turns and shifts are those of MediaPipe's public graphs.
"""

import math
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from signspot.errors import LandmarksError
from signspot.io.files import content_digest, text_digest
from signspot.io.openvino import compile_model, load_openvino, openvino_core
from signspot.landmarks.estimators import FOLDER, find_models, mediapipe_version

Floats = NDArray[np.float32]
Image = NDArray[np.uint8]

_UP = math.pi / 2


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle about a centre, turned clockwise."""

    x: float
    y: float
    width: float
    height: float
    angle: float = 0.0

    def grown(self, scale: float, shift: float = 0.0) -> "Region":
        """A square of its longer side times `scale`, moved along its own vertical by `shift` of its height."""
        side = max(self.width, self.height) * scale
        move = self.height * shift
        x, y = self.x - move * math.sin(self.angle), self.y + move * math.cos(self.angle)
        return Region(x, y, side, side, self.angle)

    def crop(self, image: Image, size: int, *, black: bool = False) -> Image:
        """(size, size, 3) the image inside; beyond the border black, or as at the border."""
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        across, down = self.width / size, self.height / size
        matrix = np.array(
            [
                [cos * across, -sin * down, self.x - (cos * self.width - sin * self.height) / 2],
                [sin * across, cos * down, self.y - (sin * self.width + cos * self.height) / 2],
            ]
        )
        cropped: Image = cv2.warpAffine(
            image,
            matrix,
            (size, size),
            flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
            borderMode=cv2.BORDER_CONSTANT if black else cv2.BORDER_REPLICATE,
        )
        return cropped

    def place(self, points: Floats) -> Floats:
        """(N, C) points of a crop, in shares of its sides, to pixels of the image; z, the third, by the width."""
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        placed = points.copy()
        x, y = (points[:, 0] - 0.5) * self.width, (points[:, 1] - 0.5) * self.height
        placed[:, 0] = self.x + cos * x - sin * y
        placed[:, 1] = self.y + sin * x + cos * y
        if points.shape[1] > 2:
            placed[:, 2] = points[:, 2] * self.width
        return placed

    def upright(self, points: Floats) -> Floats:
        """(N, 2) points of the image, seen from its centre along its sides."""
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        x, y = points[:, 0] - self.x, points[:, 1] - self.y
        return np.stack([cos * x + sin * y, cos * y - sin * x], axis=1)

    def box(self, margin: float = 0.0) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of what it covers, wider by a share of its sides."""
        cos, sin = abs(math.cos(self.angle)), abs(math.sin(self.angle))
        across = (self.width * cos + self.height * sin) * (0.5 + margin)
        down = (self.width * sin + self.height * cos) * (0.5 + margin)
        return self.x - across, self.y - down, self.x + across, self.y + down


def turn(start: Floats, end: Floats, upward: float = _UP) -> float:
    """The turn of a region whose direction from `start` to `end` would be `upward` (counter-clockwise)."""
    return _wrapped(upward - math.atan2(-float(end[1] - start[1]), float(end[0] - start[0])))


def _wrapped(angle: float) -> float:
    return angle - 2 * math.pi * math.floor((angle + math.pi) / (2 * math.pi))


def about(centre: Floats, rim: Floats, upward: float = _UP) -> Region:
    """The region of a circle given by its centre and a point on its rim, which says what is up, too."""
    side = 2 * math.hypot(float(rim[0] - centre[0]), float(rim[1] - centre[1]))
    return Region(float(centre[0]), float(centre[1]), side, side, turn(centre, rim, upward))


def around(points: Floats, angle: float) -> Region:
    """The upright rectangle around (N, 2+) points, said to be turned by `angle`: of faces."""
    low, high = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
    x, y = (low + high) / 2
    return Region(float(x), float(y), float(high[0] - low[0]), float(high[1] - low[1]), angle)


def around_turned(points: Floats, angle: float) -> Region:
    """The rectangle turned by `angle` that just holds (N, 2+) points: of hands."""
    middle = around(points, angle)
    upright = middle.upright(points[:, :2])
    low, high = upright.min(axis=0), upright.max(axis=0)
    held = Region(middle.x, middle.y, 1.0, 1.0, angle)
    x, y = held.place(((low + high) / 2 + 0.5)[None].astype(np.float32))[0]
    return Region(float(x), float(y), float(high[0] - low[0]), float(high[1] - low[1]), angle)


def of_pose_hand(wrist: Floats, little: Floats, index: Floats) -> Region:
    """The region of a hand by the body's three points of it."""
    middle: Floats = ((2 * index + little) / 3).astype(np.float32)
    return about(middle, wrist, -_UP)


@dataclass(frozen=True, slots=True)
class Agreement:
    """The distance up to which the region of the last frame is followed, from the one that is found anew."""

    degrees: float
    translation: float  # share of the new region's side
    scale: float  # share of the new region's side
    margin: float  # by which the new region is wider when it is asked whether it holds the last points


HANDS, FACES = Agreement(40.0, 0.2, 0.4, -0.1), Agreement(15.0, 0.1, 0.3, -0.2)


def follow(last: Region | None, points: Floats | None, anew: Region, agreement: Agreement) -> Region:
    """Stay with the region of the last frame while it agrees with the one found anew.

    Args:
        last: by the points of the last frame; None: there were none.
        points: (N, 2+) of the last frame.
        anew: found in this frame.
        agreement: how far they may differ.
    """
    if last is None or points is None:
        return anew
    apart = abs(math.degrees(_wrapped(last.angle - anew.angle)))
    move = np.abs(anew.upright(np.array([[last.x, last.y]], np.float32)))[0]
    sides = abs(last.width - anew.width) / anew.width, abs(last.height - anew.height) / anew.height
    half = np.array([anew.width, anew.height]) * (1 + agreement.margin) / 2
    held = bool((np.abs(anew.upright(points[:, :2])) < half).all())
    near = move[0] <= anew.width * agreement.translation and move[1] <= anew.height * agreement.translation
    agrees = apart <= agreement.degrees and near and max(sides) <= agreement.scale and held
    return last if agrees else anew


def letterbox(width: int, height: int) -> Region:
    """The square that holds a whole image in its middle."""
    side = float(max(width, height))
    return Region(width / 2, height / 2, side, side)


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
FACE_DETECTOR = Network(
    "face_detection/face_detection_short_range.tflite", 128, ("regressors", "classificators"), signed=True
)
FACE = Network("face_landmark/face_landmark.tflite", 192, ("conv2d_21", "conv2d_31"))
NETWORKS = (BODY_DETECTOR, BODY, HAND_FINDER, HAND, FACE_DETECTOR, FACE)


class Running:
    """A network that is ready to run, on one core: videos and sections share the others."""

    def __init__(self, network: Network) -> None:
        self.size = network.size
        self.compiled = _compiled(network)
        self._request = self.compiled.create_infer_request()
        self._outputs = range(len(network.outputs))

    def __call__(self, crop: Image) -> list[NDArray[np.float32]]:
        """(size, size, 3) crop to the outputs, without their batch axis; they hold until the next call."""
        self._request.infer([crop[None]], share_inputs=True)
        return [self._request.get_output_tensor(number).data[0] for number in self._outputs]


def _file(network: Network) -> Path:
    """The file of a network: in $SIGNSPOT_MEDIAPIPE_MODELS, else in the mediapipe package.

    Raises:
        LandmarksError: it is not there.
    """
    named = os.environ.get(FOLDER, "").strip()
    if not named:
        return find_models([network.file]) / network.file
    path = Path(named) / network.file
    if not path.is_file():
        raise LandmarksError(f"${FOLDER} is {named}, where there is no {network.file}")
    return path


def networks_version() -> str:
    """Of the networks: that of mediapipe, or a digest of those in a folder of one's own."""
    if not os.environ.get(FOLDER, "").strip():
        return mediapipe_version()
    return text_digest(" ".join(content_digest(_file(network)) for network in NETWORKS))[:12]


def version() -> str:
    """Of what runs the networks."""
    return f"openvino-{_openvino().__version__.split('-')[0]}"


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
    model = openvino_core().read_model(_file(network))
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

    def __call__(self, crop: Image, score: float = 0.5, overlap: float = 0.3) -> Floats | None:
        """(size, size, 3) crop to (K, 2) key points of the best detection, in shares of its sides; None: nothing."""
        raw, logits = self._run(crop)
        scores = 1 / (1 + np.exp(-np.clip(logits[:, 0], -80, 80)))
        likely = np.flatnonzero(scores >= score)
        if not len(likely):
            return None
        raw, scores, anchors = raw[likely] / np.float32(self.size), scores[likely], self._anchors[likely]
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
