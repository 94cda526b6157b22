"""Frames on which the int8 of a trunk is calibrated: of the video that the backend names, whatever is embedded."""

from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from signspot.embedding.inputs import sign_frames
from signspot.errors import OptionsError
from signspot.io.files import content_digest
from signspot.models.backends import Calibration
from signspot.models.contract import Contract, Encoder
from signspot.models.encoder import WindowFunction
from signspot.types import Segment
from signspot.video.reader import open_video

_STRETCHES = 5  # spread over the video


def window_features(encoder: Encoder) -> WindowFunction:
    """As `SignEncoder.window_features` of continuous signing, on the backend that the encoder was moved to."""
    trunk = encoder.module.trunk
    calibration, length = trunk.backend.calibration, trunk.block + trunk.frames - 1
    examples = None if calibration is None else partial(read_examples, calibration, encoder.contract, length)
    return encoder.module.window_features("continuous", examples)


def read_examples(calibration: Calibration, contract: Contract, length: int) -> Tensor:
    """(5, length, 3, H, W) stretches of a video, from its beginning to its end, as an rgb trunk sees them.

    Raises:
        OptionsError: the video is another one than it was.
        VideoError: it cannot be read.
    """
    path = calibration.video
    if content_digest(path) != calibration.digest:
        raise OptionsError(f"{path}, on which int8 is calibrated, was changed meanwhile. Start again")
    lasts = length / contract.fps
    with open_video(path) as video:
        end = max(0.0, (video.info.duration or 0.0) - lasts)
    stretches = [_stretch(path, contract, float(start), length) for start in np.linspace(0.0, end, _STRETCHES)]
    return torch.from_numpy(np.stack(stretches))


def _stretch(path: Path, contract: Contract, start: float, length: int) -> np.ndarray:
    """(length, 3, H, W) frames from a moment on; a short video repeats its last one."""
    frames = sign_frames(path, contract, Segment(start, start + length / contract.fps))[:length]
    return np.concatenate([frames, np.repeat(frames[-1:], length - len(frames), axis=0)])
