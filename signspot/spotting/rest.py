"""Exemplars judged against rest: one whose hands are low or at rest fires wherever a signer rests, and is named."""

import logging

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.landmarks.features import CHANNELS, JOINTS
from signspot.models.encoder import Encoder
from signspot.models.frame_coder import FrameCoder
from signspot.spotting.matching import to_score

logger = logging.getLogger(__name__)

# Nose, shoulders, elbows and wrists of somebody whose arms hang down, in shoulder widths; y is down.
_ARMS_DOWN = ((0.0, -0.7), (0.5, 0.0), (-0.5, 0.0), (0.6, 0.8), (-0.6, 0.8), (0.55, 1.6), (-0.55, 1.6))
_NAMED = 5  # exemplars in a warning


def rest_scores(encoder: Encoder, gallery: Gallery, scale: float) -> NDArray[np.float32]:
    """(V,) what each row of a gallery with frame codes scores where a signer stands with the arms down."""
    trunk = encoder.module.trunk
    assert isinstance(trunk, FrameCoder)
    assert gallery.codes is not None
    frame = np.zeros((2 * trunk.code_reach + 1, JOINTS, CHANNELS), np.float32)
    frame[:, : len(_ARMS_DOWN), :2] = _ARMS_DOWN
    frame[:, : len(_ARMS_DOWN), 3] = 1  # seen
    with torch.inference_mode():
        rest = trunk.frame_codes(torch.from_numpy(frame).to(encoder.device)).cpu().numpy()[0]
    costs = np.linalg.norm(gallery.codes.astype(np.float32) - rest, axis=-1).mean(axis=1)
    return to_score(costs.astype(np.float32), scale)


def warn_of_rest(encoder: Encoder, gallery: Gallery, scale: float) -> None:
    """Name the exemplars that would be found wherever a signer rests; without frame codes nothing is known."""
    if gallery.codes is None or not isinstance(encoder.module.trunk, FrameCoder):
        return
    like_rest = sorted(set(gallery.rows[rest_scores(encoder, gallery, scale) >= encoder.contract.threshold].tolist()))
    if like_rest:
        named = ", ".join(f"'{gallery.exemplars[row].id}'" for row in like_rest[:_NAMED])
        more = f" and {len(like_rest) - _NAMED} more" if len(like_rest) > _NAMED else ""
        logger.warning(
            "exemplars that look like resting hands: %s%s. They will be found wherever a signer rests: leave them out, "
            "or give the segment of the sign",
            named,
            more,
        )
