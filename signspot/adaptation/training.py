"""Learns the maps by Watch-Read-Lookup: over alignments of frame codes, and over embeddings of windows beside it.

The loop can be stopped at any step and goes on to the very same maps: batch i follows from the seed and i, and the
state is saved beside the result.
"""

import logging
from os import PathLike
from pathlib import Path
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
from signspot.spotting.alignment import STEPS
from signspot.training.run_folder import RunFolder, StopSign
from signspot.training.steps import follow_weights, warm_cosine

logger = logging.getLogger(__name__)

SAVE_EVERY = 25  # steps
_WARM_UP = 10  # steps
_LOWEST_RATE = 0.05  # as a share of the highest
_AVERAGE = 0.95  # decay of the running mean of the maps, which is what is kept


def learn_maps(
    encoder: Encoder,
    batches: StretchBatches,
    folder: str | PathLike[str],
    progress: Progress = silent,
) -> Maps:
    """Learn a map of frame codes and one of embeddings.

    Args:
        encoder: whose codes and embeddings the batches hold.
        batches: of stretches and exemplars.
        folder: where state.pt and curve.csv are kept; a run that was stopped there goes on.
        progress: told the steps done.

    Raises:
        SignspotError: the loss is no number; the batch is saved for inspection.
        CheckpointError: the folder holds a state that does not fit.
        KeyboardInterrupt: it was stopped; the state is saved.
    """
    run, options, coder = RunFolder(Path(folder)), batches.options, coder_of(encoder)
    maps, average = Maps(coder.codes, coder.dimension), Maps(coder.codes, coder.dimension)
    optimiser = torch.optim.Adam(maps.parameters(), options.rate)
    parts = {"maps": maps, "average": average, "optimiser": optimiser}
    setup = {**options.as_dict(), "encoder": encoder.hash, "footage": batches.footage.digest}
    saved = run.load(setup, parts, ["curve"])
    curve: list[list[float]] = saved["curve"].tolist() if saved else []
    if curve:
        logger.info("going on from step %d", len(curve))
    with StopSign() as stop:
        for step in range(len(curve), options.steps):
            batch = batches[step]
            for group in optimiser.param_groups:
                group["lr"] = options.rate * warm_cosine(step, options.steps, _WARM_UP, _LOWEST_RATE)
            aligned, embedded = losses(maps, batch, options, float(coder.typical_cost))
            loss = aligned + embedded if options.embeddings else aligned
            if not torch.isfinite(loss):
                raise run.keep_bad_batch(loss, step, {"codes": batch.codes.numpy(), "row": batch.row.numpy()})
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            follow_weights(average, maps, _AVERAGE, step)
            curve.append([aligned.item(), embedded.item()])
            progress(len(curve), options.steps)
            if stop.heard or len(curve) % SAVE_EVERY == 0 or len(curve) == options.steps:
                _save(run, setup, parts, curve)
            if stop.heard:
                raise KeyboardInterrupt
    return average.eval()


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


def _save(run: RunFolder, setup: dict[str, Any], parts: dict[str, Any], curve: list[list[float]]) -> None:
    run.save(setup, parts, {"curve": torch.tensor(curve, dtype=torch.float64)})
    rows = [(step, *(f"{value:.5f}" for value in values)) for step, values in enumerate(curve, 1)]
    run.write_curve(("step", "alignment", "embedding"), rows)
