"""Contents of the weights of frame codes beside the network: decoys, rest, and the cost of chance.

This is where matching asks the network itself, and so loads PyTorch; `decoys` keeps the answers in the cache.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.landmarks.features import CHANNELS, JOINTS
from signspot.models.contract import Encoder
from signspot.models.frame_coder import FrameCoder

FloatArray = NDArray[np.floating[Any]]

# Nose, shoulders, elbows and wrists of somebody whose arms hang down, in shoulder widths; y is down.
_ARMS_DOWN = ((0.0, -0.9), (0.5, 0.0), (-0.5, 0.0), (0.6, 1.0), (-0.6, 1.0), (0.55, 2.0), (-0.55, 2.0))


@dataclass(frozen=True, slots=True)
class DecoyArrays:
    """Decoys, and rest, as an encoder sees them."""

    codes: FloatArray  # (K, 2, L, C) frame codes, as they are and mirrored
    embeddings: FloatArray  # (K, 2, D) unit norm
    words: NDArray[np.int64]  # (K,) which word each is an exemplar of
    rest: FloatArray  # (C,) the frame code of somebody at rest: exemplars near to it are found wherever a signer rests


def typical_cost(encoder: Encoder) -> float:
    """The cost of aligning two different signs; 1 where the encoder gives no frame codes."""
    trunk = encoder.module.trunk
    return float(trunk.typical_cost) if isinstance(trunk, FrameCoder) else 1.0


@torch.inference_mode()
def decoy_arrays(encoder: Encoder) -> DecoyArrays | None:
    """The decoys in an encoder's weights; None where there are none."""
    trunk = encoder.module.trunk
    if not isinstance(trunk, FrameCoder) or not trunk.options.decoys:
        return None
    embeddings = encoder.module.mlp(trunk.pooled(trunk.decoys), "dictionary")
    codes, words = trunk.decoys.cpu().numpy(), trunk.decoy_words.cpu().numpy()
    return DecoyArrays(codes, embeddings.cpu().numpy(), words, rest_code(encoder, trunk))


@torch.inference_mode()
def rest_code(encoder: Encoder, trunk: FrameCoder) -> FloatArray:
    """(C,) the code of a frame in which a signer stands with the arms down, hands not seen."""
    frames = np.zeros((2 * trunk.code_reach + 1, JOINTS, CHANNELS), np.float32)
    frames[:, : len(_ARMS_DOWN), :2] = _ARMS_DOWN
    frames[:, : len(_ARMS_DOWN), 3] = 1  # seen
    code: FloatArray = trunk.frame_codes(torch.from_numpy(frames).to(encoder.device)).cpu().numpy()[0]
    return code
