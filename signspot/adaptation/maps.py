"""Learned linear maps, one of frame codes and one of embeddings; folded into the weights, they cost nothing.

Both begin as the identity. A map of codes W is folded into the layers that make codes; the layer that pools codes into
an embedding undoes it, so that embeddings change by their own map alone. Decoys are codes, so they are mapped, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from signspot.embedding.exemplars import Gallery
from signspot.errors import OptionsError
from signspot.models.encoder import Encoder, make_encoder
from signspot.models.frame_coder import SIGN_FRAMES, FrameCoder
from signspot.models.registry import build
from signspot.spotting.matching import warping_costs

_WORST_CONDITION = 1e4  # of a map of codes that may still be undone in float32


class Maps(nn.Module):
    """A linear map of codes and one of embeddings, each as what it differs from the identity by."""

    def __init__(self, codes: int, embedding: int):
        super().__init__()
        self.codes = nn.Parameter(torch.zeros(codes, codes))
        self.embedding = nn.Parameter(torch.zeros(embedding, embedding))

    def map_codes(self, codes: Tensor) -> Tensor:
        """(..., C) frame codes to (..., C)."""
        return codes + codes @ self.codes.T

    def map_embeddings(self, embeddings: Tensor) -> Tensor:
        """(..., D) embeddings to (..., D) of unit norm."""
        return nn.functional.normalize(embeddings + embeddings @ self.embedding.T, dim=-1)


@dataclass(frozen=True, slots=True)
class Kept:
    """The maps that an encoder gets."""

    codes: bool
    embedding: bool

    def __bool__(self) -> bool:
        return self.codes or self.embedding


def coder_of(encoder: Encoder) -> FrameCoder:
    """The frame coder of an encoder.

    Raises:
        OptionsError: it has none.
    """
    trunk = encoder.module.trunk
    if not isinstance(trunk, FrameCoder):
        raise OptionsError(
            f"the encoder '{encoder.name}' gives no frame codes, which is what is adapted. Choose 'landmark', or "
            "teach an embedding on it with: signspot train configs/embedding.toml"
        )
    return trunk


@torch.no_grad()
def fold(encoder: Encoder, maps: Maps, kept: Kept, gallery: Gallery, name: str, card: Mapping[str, Any]) -> Encoder:
    """An encoder like another one, with maps in its weights, its decoys mapped and its typical cost measured anew.

    Args:
        encoder: as it was; it is not changed.
        maps: that were learned.
        kept: which of them to fold.
        gallery: exemplars by this encoder, whose costs tell how the typical one changes where there are no decoys.
        name: of the new encoder.
        card: of the new encoder.
    """
    module = build(encoder.module.architecture, **encoder.module.options)
    module.load_state_dict(encoder.module.state_dict())
    trunk = module.trunk
    assert isinstance(trunk, FrameCoder), "see coder_of"
    if kept.codes:
        turn = torch.eye(trunk.codes, dtype=torch.float64) + maps.codes.double()
        if float(torch.linalg.cond(turn)) > _WORST_CONDITION:
            raise OptionsError(
                "what was learned makes different signs alike (its map cannot be undone): there is too little footage "
                "for so many steps, or the rate is too high"
            )
        before = _typical_cost(trunk, gallery)
        _turn_codes(trunk, turn)
        turned = Gallery.of((), np.empty((0, 1), np.float32)) if trunk.options.decoys else _turned(gallery, turn)
        trunk.typical_cost.mul_(_typical_cost(trunk, turned) / before)
    if kept.embedding:
        turn = torch.eye(trunk.dimension, dtype=torch.float64) + maps.embedding.double()
        trunk.pool.weight.copy_(turn @ trunk.pool.weight.double())
        trunk.pool.bias.copy_(turn @ trunk.pool.bias.double())
    seen = encoder.contract
    return make_encoder(name, module, fps=seen.fps, threshold=seen.threshold, card=card)


def _turn_codes(trunk: FrameCoder, turn: Tensor) -> None:
    """Fold a map of codes into all layers that make codes, and undo it where they are pooled."""
    trunk.linear.weight.copy_(turn @ trunk.linear.weight.double())
    if trunk.options.width:
        trunk.last.weight.copy_(turn @ trunk.last.weight.double())
        trunk.last.bias.copy_(turn @ trunk.last.bias.double())
    by_frame = trunk.pool.weight.double().view(trunk.dimension, SIGN_FRAMES, trunk.codes)
    trunk.pool.weight.copy_((by_frame @ torch.linalg.inv(turn)).flatten(1))
    trunk.decoys.copy_(trunk.decoys.double() @ turn.T)


def _turned(gallery: Gallery, turn: Tensor) -> Gallery:
    assert gallery.codes is not None, "the encoder gives frame codes"
    codes = (torch.from_numpy(np.asarray(gallery.codes, np.float64)) @ turn.T).numpy()
    return Gallery(gallery.exemplars, gallery.embeddings, gallery.rows, gallery.mirrored, codes.astype(np.float32))


def _typical_cost(trunk: FrameCoder, gallery: Gallery) -> float:
    """The median cost of aligning two different signs: decoys of different words, or else exemplars."""
    if trunk.options.decoys:
        codes, words = trunk.decoys[:, 0].numpy(), trunk.decoy_words.numpy()
    else:
        assert gallery.codes is not None, "the encoder gives frame codes"
        plain = np.flatnonzero(~gallery.mirrored)[:300]
        codes = np.asarray(gallery.codes[plain])
        words = np.unique([gallery.exemplar(int(row))[0].word for row in plain], return_inverse=True)[1]
    return float(np.median(warping_costs(codes, codes)[words[:, None] != words]))
