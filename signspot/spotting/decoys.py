"""Decoys: exemplars of signs that nobody looks for, which come with an encoder.

What they score is what chance scores, and an exemplar that is near to many of them is near to everything.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.errors import OptionsError
from signspot.models.encoder import Encoder
from signspot.models.frame_coder import FrameCoder
from signspot.records import Exemplar
from signspot.spotting.alignment import warping_costs

FloatArray = NDArray[np.floating[Any]]

_NEAREST = 15  # decoys whose mean cost tells how near an exemplar is to everything
_CORRECTION = 0.5  # part of the nearness that is made up for


@dataclass(frozen=True)
class Cohort:
    """Decoys that come with an encoder: words that nobody looks for, each by several signers."""

    codes: FloatArray  # (K, 2, L, C) frame codes, as they are and mirrored
    embeddings: FloatArray  # (K, 2, D) unit norm
    words: NDArray[np.int64]  # (K,) which word each is an exemplar of
    _known: dict[bytes, float] = field(default_factory=dict, repr=False, compare=False)  # corrections by content

    @cached_property
    def most(self) -> int:
        """How many exemplars each word has, at least."""
        return int(np.unique(self.words, return_counts=True)[1].min())

    @cached_property
    def typical(self) -> float:
        """The nearness of a typical exemplar: that of decoys to decoys of other words."""
        costs = warping_costs(self.codes[:, 0], self.codes[:, 0])
        costs[self.words[:, None] == self.words] = np.inf
        return float(np.sort(costs, axis=1)[:, :_NEAREST].mean())

    def corrections_of(self, codes: FloatArray) -> NDArray[np.float32]:
        """How much more it should cost to match exemplars that are near to everything; each is measured once.

        Args:
            codes: (V, L, C) frame codes.

        Returns:
            (V,) to be added to the cost of each: above 0 for an exemplar to which many decoys are near.
        """
        names = [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in codes]
        new = [row for row, name in enumerate(names) if name not in self._known]
        if new:
            for row, correction in zip(new, self._corrections(codes[new]), strict=True):
                self._known[names[row]] = float(correction)
        return np.array([self._known[name] for name in names], np.float32)

    def _corrections(self, codes: FloatArray) -> NDArray[np.float32]:
        nearest = np.sort(warping_costs(codes, self.codes[:, 0]), axis=1)[:, :_NEAREST].mean(axis=1)
        return np.asarray(_CORRECTION * (self.typical - nearest), np.float32)

    @property
    def background(self) -> FloatArray:
        """(T, C) signing: all decoys one after the other."""
        return self.codes[:, 0].reshape(-1, self.codes.shape[-1])

    def gallery(self, exemplars: int, *, mirror: bool) -> Gallery:
        """The first so many exemplars of every word, or all there are; mirrored, too, if wanted."""
        chosen = np.concatenate([np.flatnonzero(self.words == word)[:exemplars] for word in np.unique(self.words)])
        shown = [Exemplar(f"decoy {self.words[row]}", f"decoy {row}") for row in chosen]
        views = slice(0, 2 if mirror else 1)
        return Gallery.of(shown, self.embeddings[chosen, views].astype(np.float32), self.codes[chosen, views])


@torch.inference_mode()
def cohort_of(encoder: Encoder) -> Cohort | None:
    """The decoys in an encoder's weights; None where there are none."""
    trunk = encoder.module.trunk
    if not isinstance(trunk, FrameCoder) or not trunk.options.decoys:
        return None
    embeddings = encoder.module.mlp(trunk.pooled(trunk.decoys), "dictionary")
    return Cohort(trunk.decoys.cpu().numpy(), embeddings.cpu().numpy(), trunk.decoy_words.cpu().numpy())


def threshold_for(encoder: Encoder, rate: float) -> float:
    """The threshold at which an encoder gives `rate` false alarms an hour and word, by its card.

    Between the rates that the card tells of, the threshold is linear in the logarithm of the rate.

    Raises:
        OptionsError: the card tells nothing of it, or the rate is outside of what it tells.
    """
    table: Mapping[str, float] = dict(encoder.card.get("false_alarms_per_hour") or {})
    if not table:
        raise OptionsError(f"the encoder '{encoder.name}' is not calibrated. Use --threshold, or signspot calibrate")
    known = sorted((float(each), value) for each, value in table.items())
    if not known[0][0] <= rate <= known[-1][0]:
        raise OptionsError(
            f"the encoder '{encoder.name}' is calibrated for {known[0][0]:g} to {known[-1][0]:g} false alarms an hour "
            f"and word; got {rate:g}"
        )
    return float(np.interp(math.log(rate), [math.log(each) for each, _ in known], [value for _, value in known]))
