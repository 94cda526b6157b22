"""A mouthing spotter that sees pixels: crops of the mouth in, the same comparison with words. No weights of it ship.

For those who have weights of a lip reader: crops are grey, upright and of one size; a 3D convolution and a small trunk
turn them into features per frame, which take the place of measured shapes. Everything after that is the network of the
landmarks.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from signspot.errors import LandmarksError, OptionsError
from signspot.io.progress import Progress
from signspot.landmarks.landmarks import Landmarks, resample_stream
from signspot.mouthing.lips import FPS, Floats, LipTrack, Source, lip_shapes, stream_source
from signspot.mouthing.network import STEP, MouthingNetwork, NetworkOptions
from signspot.video.reader import Frame, open_video

SIDE = 88  # pixels of a crop, as usual for lip reading
MEAN, SPREAD = 0.421, 0.165  # of grey in [0, 1], by which crops are normalised, as usual for lip reading
_WIDE = 1.3  # side of the crop, in distances between the eyes' outer corners
_GREY = np.array([0.299, 0.587, 0.114], np.float32)


def mouth_places(landmarks: Landmarks) -> NDArray[np.float32]:
    """(T, 6) the middle of the mouth and the half side of the crop to the right, as shares of the image; seen; covered.

    Where the lips are not seen, or the head is turned away, everything is 0.

    Raises:
        LandmarksError: the landmarks lack points of the face.
    """
    flags = lip_shapes(landmarks)[:, -3:-1]  # seen, covered
    points = {point: column for column, point in enumerate(landmarks.face_points)}
    face = {point: landmarks.face[:, points[point], :2] for point in (13, 14, 33, 61, 263, 291)}
    middle = np.mean([face[13], face[14], face[61], face[291]], axis=0)
    right = (face[263] - face[33]) * (_WIDE / 2)
    rows = np.concatenate([middle, right, flags], axis=1)
    return np.where(flags[:, :1] > 0, rows, 0.0).astype(np.float32)


def crop_mouth(image: NDArray[np.uint8], place: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cut the mouth out of a picture, turned upright and normalised.

    Args:
        image: (H, W, 3) RGB.
        place: (4,) the middle of the mouth, and the half side of the crop to the right, in pixels of the image.

    Returns:
        (SIDE, SIDE) grey, about 0 on average; what lies beyond the picture's edge repeats that edge.
    """
    grey = image.astype(np.float32) @ _GREY / 255.0
    steps = np.linspace(-1, 1, SIDE, dtype=np.float32)
    right, down = place[2:4], np.array([-place[3], place[2]], np.float32)
    points = place[:2] + steps[None, :, None] * right + steps[:, None, None] * down  # (SIDE, SIDE, 2) x, y
    return (_sample(grey, points) - MEAN) / SPREAD


def _sample(grey: NDArray[np.float32], points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Bilinear values of (H, W) at (…, 2) places x, y."""
    height, width = grey.shape
    x = np.clip(points[..., 0], 0, width - 1)
    y = np.clip(points[..., 1], 0, height - 1)
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    across, below = np.minimum(left + 1, width - 1), np.minimum(top + 1, height - 1)
    dx, dy = x - left, y - top
    upper = grey[top, left] * (1 - dx) + grey[top, across] * dx
    lower = grey[below, left] * (1 - dx) + grey[below, across] * dx
    return np.asarray(upper * (1 - dy) + lower * dy, np.float32)


def crop_mouths(
    frames: Iterable[Frame], landmarks: Iterable[Landmarks]
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Crops of a video, chunk by chunk as its landmarks come.

    Args:
        frames: at the frame rate of the landmarks, as many as they are or more.
        landmarks: chunks in order of time, of the same frames; pictures may have another size than theirs.

    Returns:
        Chunks of (T, SIDE, SIDE) crops, 0 where no mouth is seen, and (T, 2) whether it is seen and covered.
    """
    pictures = iter(frames)
    for chunk in landmarks:
        places = mouth_places(chunk)
        crops = np.zeros((len(places), SIDE, SIDE), np.float32)
        for number, place in enumerate(places):
            frame = next(pictures, None)
            if frame is None:
                places[number:] = 0.0
                break
            if place[4] > 0:
                height, width = frame.image.shape[:2]
                crops[number] = crop_mouth(frame.image, place[:4] * np.array([width, height] * 2, np.float32))
        yield crops, places[:, 4:]


REACH = 2  # frames before and after one that its features follow from
FEATURES = 64
_WIDTHS = (32, 64, 96)


class RgbFrontEnd(nn.Module):
    """Crops of the mouth to features per frame; without padding in time, so that a video may come in pieces."""

    def __init__(self, features: int = FEATURES):
        super().__init__()
        if features < 1:
            raise OptionsError(f"a lip reader needs at least 1 feature; got {features}")
        self.features = features
        self.first = nn.Conv3d(1, _WIDTHS[0], (2 * REACH + 1, 7, 7), stride=(1, 2, 2), padding=(0, 3, 3), bias=False)
        self.norm = nn.BatchNorm3d(_WIDTHS[0])
        sizes = (*_WIDTHS, features)
        self.trunk = nn.ModuleList(
            nn.Conv2d(before, after, 3, stride=2, padding=1) for before, after in pairwise(sizes)
        )

    def forward(self, crops: Tensor) -> Tensor:
        """(B, T, SIDE, SIDE) normalised crops to (B, T - 2 REACH, features)."""
        x = functional.relu(self.norm(self.first(crops[:, None])))
        x = functional.max_pool3d(x, (1, 3, 3), (1, 2, 2), (0, 1, 1)).transpose(1, 2)
        batch, frames = x.shape[:2]
        x = x.flatten(0, 1)
        for layer in self.trunk:
            x = functional.relu(layer(x))
        return x.mean(dim=(2, 3)).reshape(batch, frames, self.features)


class FeatureStream:
    """The features of crops that come in pieces: one for each frame, REACH frames late."""

    def __init__(self, front: RgbFrontEnd):
        self._front = front
        self._last: Tensor | None = None  # (n, SIDE, SIDE) frames that the next piece needs

    @torch.inference_mode()
    def push(self, crops: Tensor) -> Tensor:
        """(T, SIDE, SIDE) the next crops to the (n, features) that are known by now."""
        side = crops.shape[1:]
        before = self._last if self._last is not None else torch.zeros(REACH, *side)
        frames = torch.cat([before, crops])
        self._last = frames[-2 * REACH :]
        if len(frames) <= 2 * REACH:
            return torch.zeros(0, self._front.features)
        features: Tensor = self._front(frames[None])[0]
        return features

    def finish(self) -> Tensor:
        """The (n, features) of the last frames."""
        if self._last is None:
            return torch.zeros(0, self._front.features)
        return self.push(torch.zeros(REACH, *self._last.shape[1:]))


class RgbMouthingNetwork(MouthingNetwork):
    """Compares words with lips that are seen in pixels; `code_lips` takes (B, T, features + 2)."""

    def __init__(self, options: NetworkOptions | None = None, features: int = FEATURES):
        super().__init__(options)
        self.front = RgbFrontEnd(features)
        self.first = nn.Conv1d(features + 2, self.options.width, 5, stride=STEP, padding=2)


def read_rgb_lips(front: RgbFrontEnd, source: Source, cache: Path | None, progress: Progress) -> LipTrack:
    """Follow the lips through a video by features of crops; landmarks say where the mouth is.

    Raises:
        OptionsError: the source has no pixels.
    """
    if isinstance(source, Landmarks) or Path(source).suffix.lower() == ".pose":
        raise OptionsError("this mouthing spotter sees pixels, and landmarks have none. Name the video itself")
    stream, parts, flags = FeatureStream(front), [], []
    with open_video(source) as video:
        chunks = resample_stream(stream_source(source, cache, progress), FPS)
        for crops, seen in crop_mouths(video.resampled(FPS), chunks):
            parts.append(stream.push(torch.from_numpy(crops)).numpy())
            flags.append(seen)
    parts.append(stream.finish().numpy())
    return _joined(np.concatenate(parts), np.concatenate(flags), Path(source).name)


def _joined(features: Floats, flags: Floats, name: str) -> LipTrack:
    seen = flags[:, :1]
    if not seen.any():
        raise LandmarksError(
            f"{name} shows no face from the front in {len(flags)} frames: no mouthing can be read. Film the face, too"
        )
    return LipTrack(np.concatenate([features * seen, flags], axis=1), covered=float(flags[:, 1].mean()))
