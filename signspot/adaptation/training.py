"""Learns the maps by Watch-Read-Lookup: over alignments of frame codes, and over embeddings of windows beside it."""

from os import PathLike
from typing import Any

import torch
from torch import Tensor

from signspot.adaptation.batches import StretchBatch, StretchBatches
from signspot.adaptation.maps import Maps, coder_of
from signspot.adaptation.options import AdaptOptions
from signspot.io.progress import Progress, silent
from signspot.losses.alignment import clip_costs
from signspot.losses.watch_read_lookup import Batch, watch_read_lookup
from signspot.models.encoder import Encoder
from signspot.spotting.matching import STEPS
from signspot.training.loop import Schedule, Task, train, warm_cosine

_WARM_UP = 10  # steps
_LOWEST_LR = 0.05  # as a share of the highest
_AVERAGE = 0.95  # decay of the running mean of the maps, which is what is kept


def learn_maps(
    encoder: Encoder, batches: StretchBatches, folder: str | PathLike[str], progress: Progress = silent
) -> Maps:
    """Learn a map of frame codes and one of embeddings; arguments and errors are those of `loop.train`.

    Args:
        encoder: whose codes and embeddings the batches hold.
        batches: of stretches and exemplars.
        folder: of the run.
        progress: called with the number of steps done.
    """
    return train(AdaptationTask(encoder, batches), folder, progress).module


class AdaptationTask(Task[Maps, StretchBatch]):
    """Watch-Read-Lookup over alignments of frame codes, and over embeddings of windows where asked to."""

    columns = ("alignment", "embedding")

    def __init__(self, encoder: Encoder, batches: StretchBatches):
        options, coder = batches.options, coder_of(encoder)
        self.batches, self.options, self.typical_cost = batches, options, float(coder.typical_cost)
        self.module = Maps(coder.codes, coder.dimension)
        self.settings = {**options.as_dict(), "encoder": encoder.hash, "footage": batches.footage.digest}
        lr_scale = warm_cosine(options.steps, _WARM_UP, _LOWEST_LR)
        self.schedule = Schedule(options.steps, options.seed, lr_scale, average=_AVERAGE, save_every=25)

    def optimiser(self) -> torch.optim.Optimizer:
        """As `Task.optimiser`."""
        return torch.optim.Adam(self.module.parameters(), self.options.lr)

    def batch(self, step: int) -> StretchBatch:
        """As `Task.batch`."""
        return self.batches[step]

    def loss(self, module: Maps, batch: StretchBatch) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """As `Task.loss`."""
        aligned, embedded = losses(module, batch, self.options, self.typical_cost)
        return aligned + embedded if self.options.embeddings else aligned, (aligned, embedded)

    def arrays(self, batch: StretchBatch) -> dict[str, Any]:
        """As `Task.arrays`."""
        return {"codes": batch.codes.numpy(), "row": batch.row.numpy()}


def losses(maps: Maps, batch: StretchBatch, options: AdaptOptions, typical: float) -> tuple[Tensor, Tensor]:
    """The loss of alignments and that of embeddings of one batch; 0 where no map of embeddings is learned.

    Args:
        maps: as learned so far.
        batch: of stretches.
        options: bags and temperatures.
        typical: the cost of aligning two different signs, the unit of costs.
    """
    exemplars, signed = maps.map_codes(batch.exemplars), maps.map_codes(batch.codes)
    costs = clip_costs(exemplars, signed, batch.seen, batch.clips, STEPS.times(typical).costs) / typical
    aligned = watch_read_lookup(_bags(batch, 1 - costs), options.temperature, options.bags)
    if not options.embeddings:
        return aligned, aligned.new_zeros(())
    windows = maps.map_embeddings(batch.embeddings)[batch.clips.stretch[:, None], batch.clips.frames]  # (N, E, D)
    shown = maps.map_embeddings(batch.exemplar_embeddings)  # (M, V, D)
    alike = torch.einsum("ned,mvd->nemv", windows, shown).amax(dim=2)  # (N, E, V): the better view
    best = alike.masked_fill(~batch.clips.is_end[:, :, None], -1.0).amax(dim=1)  # (N, V): the best window
    embedded = watch_read_lookup(_bags(batch, best), options.embedding_temperature, options.bags)
    return aligned, embedded


def _bags(batch: StretchBatch, similarity: Tensor) -> Batch:
    """(N, E) similarities of clips and exemplars as the paper's loss sees them."""
    nothing = similarity.new_zeros(1, 0)
    return Batch(
        nothing.expand(len(batch.clip_word), 0),
        batch.clips.stretch,
        batch.clip_word,
        nothing.expand(len(batch.row), 0),
        batch.item,
        batch.word,
        batch.foreground,
        similarity[:, batch.row],
    )
