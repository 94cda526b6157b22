"""Rest, as an encoder of frame codes sees it: exemplars that are near to it would be found wherever a signer rests."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.landmarks.features import CHANNELS, JOINTS
from signspot.models.encoder import Encoder
from signspot.models.frame_coder import FrameCoder

# Nose, shoulders, elbows and wrists of somebody whose arms hang down, in shoulder widths; y is down.
_ARMS_DOWN = ((0.0, -0.9), (0.5, 0.0), (-0.5, 0.0), (0.6, 1.0), (-0.6, 1.0), (0.55, 2.0), (-0.55, 2.0))


@torch.inference_mode()
def rest_code(encoder: Encoder) -> NDArray[np.floating[Any]]:
    """(C,) the code of a frame in which a signer stands with the arms down, hands not seen."""
    trunk = encoder.module.trunk
    assert isinstance(trunk, FrameCoder)
    frames = np.zeros((2 * trunk.code_reach + 1, JOINTS, CHANNELS), np.float32)
    frames[:, : len(_ARMS_DOWN), :2] = _ARMS_DOWN
    frames[:, : len(_ARMS_DOWN), 3] = 1  # seen
    code: NDArray[np.floating[Any]] = trunk.frame_codes(torch.from_numpy(frames).to(encoder.device)).cpu().numpy()[0]
    return code
