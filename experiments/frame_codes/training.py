"""Teaches a frame coder by contrast: two performances of one sign align better than those of two signs.

The loop can be stopped at any step and goes on to the very same weights: batch i follows from the seed and i, and the
state (weights, their mean, the optimiser) is saved beside the result.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import Dataset

from experiments.frame_codes.assembling import assemble
from experiments.frame_codes.changes import Ints
from experiments.frame_codes.config import CoderOptimiser, FrameCodesConfig
from experiments.frame_codes.partners import kept_partners
from experiments.frame_codes.sources import PairBatchOptions, PairSource, choose_source, draw, store_bank, store_clips
from experiments.frame_codes.world_clips import SIGNERS, world_clips
from experiments.isolated.clips import IsolatedClip
from experiments.isolated.lsa64 import read_lsa64
from experiments.isolated.wlasl import read_wlasl
from experiments.isolated.world_bank import open_world_bank
from signspot.errors import OptionsError
from signspot.io.files import cache_folder
from signspot.io.memory import give_back
from signspot.io.progress import Progress, silent
from signspot.landmarks.features import VERSION as FEATURES_VERSION
from signspot.losses.warping import warping_cost
from signspot.models.encoder import Encoder, find_device
from signspot.models.frame_coder import SIGN_FRAMES, CoderOptions, FrameCoder, describe
from signspot.training.run_folder import CPU, RunFolder, StopSign, device_of, moved_to
from signspot.training.steps import follow_weights, numbered_batches, warm_cosine

logger = logging.getLogger(__name__)

SAVE_EVERY = 50  # steps
WORLD_WORDS = 120  # of the signing world, of which decoys are drawn where WLASL has no share
_LOWEST_RATE = 0.02  # as a share of the highest
_SHARPNESS = (8.0, 12.0)  # of alignment and of embedding, at the first step
NOBODY_LEFT_OUT: Mapping[str, Collection[str]] = {}
_BEGINNING = 1 << 40  # the number of the batches from which a coder begins: beyond all steps


@dataclass(frozen=True, slots=True)
class CodedPairs:
    """A batch of pairs as the coder sees it."""

    seen: Tensor  # (N - 2, SEEN) described frames
    first: Ints  # (2 K,) as in a `PairBatch`
    lengths: Ints


class CodedBatches(Dataset[CodedPairs]):
    """Batch number i is made from the seed and i alone, so any number of workers gives the same training."""

    def __init__(self, sources: Sequence[PairSource], steps: int, seed: int, options: PairBatchOptions):
        self.sources, self.steps, self.seed, self.options = list(sources), steps, seed, options

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, step: int) -> CodedPairs:
        """Make batch number `step`, of one of the sources."""
        random = np.random.default_rng((self.seed, step))
        return self._of(choose_source(self.sources, random), random)

    def beginning(self) -> Tensor:
        """(N, SEEN) described frames of a batch of every source, which are none of the training's."""
        random = np.random.default_rng((self.seed, _BEGINNING))
        return torch.cat([self._of(source, random).seen for source in self.sources])

    def _of(self, source: PairSource, random: np.random.Generator) -> CodedPairs:
        batch = draw(source, self.options, random)
        return CodedPairs(describe(batch.x[None], 1)[0], batch.first, batch.lengths)


class PairLearner(nn.Module):
    """A frame coder with the temperatures that its losses learn."""

    def __init__(self, options: CoderOptions):
        super().__init__()
        self.coder = FrameCoder(options)
        self.context = self.coder.code_reach // options.spacing  # steps that a code sees on either side
        self.sharpness = nn.Parameter(torch.tensor(_SHARPNESS).log())

    def signs(self, batch: CodedPairs) -> Tensor:
        """Code a batch: (16, 2 K, C), all signs stretched to 16 frames."""
        device = device_of(self)
        codes = self.coder.code(batch.seen[None].to(device), 1)[0]
        first = batch.first - self.context
        places = first + np.linspace(0, 1, SIGN_FRAMES)[:, None] * (batch.lengths - 1)
        below = np.minimum(np.floor(places).astype(np.int64), first + batch.lengths - 2)
        share = torch.from_numpy((places - below).astype(np.float32))[..., None].to(device)
        here = torch.from_numpy(below).to(device)
        return torch.lerp(codes[here], codes[here + 1], share)

    def losses(self, batch: CodedPairs, smoothing: float) -> tuple[Tensor, Tensor, Tensor]:
        """The losses of alignments and of embeddings, and the share of signs whose own partner aligns best."""
        ours, theirs = self.signs(batch).chunk(2, dim=1)
        aligned = -self.sharpness[0].exp() * warping_cost(ours, theirs)
        one, two = (functional.normalize(self.coder.pooled(part.transpose(0, 1)), dim=-1) for part in (ours, theirs))
        embedded = self.sharpness[1].exp() * one @ two.T
        hits = (aligned.argmax(dim=1) == torch.arange(len(aligned), device=aligned.device)).float().mean()
        return _both_ways(aligned, smoothing), _both_ways(embedded, smoothing), hits


def _both_ways(logits: Tensor, smoothing: float) -> Tensor:
    """(K, K) logits of which the diagonal is right to the mean cross-entropy of rows and of columns."""
    right = torch.arange(len(logits), device=logits.device)
    ways = [functional.cross_entropy(each, right, label_smoothing=smoothing) for each in (logits, logits.T)]
    return (ways[0] + ways[1]) / 2


def train_frame_codes(
    config: FrameCodesConfig,
    folder: str | PathLike[str],
    progress: Progress = silent,
    *,
    workers: int = 1,
    device: str = CPU,
) -> Encoder:
    """Open the sources, train a frame coder on them, and make an encoder of it.

    Args:
        config: all that the training follows from.
        folder: where its state and its curve are kept; a training that was stopped there goes on.
        progress: told the steps done.
        workers: processes that make batches.
        device: where it is trained.

    Raises:
        OptionsError: a source has a share and no folder.
        SignspotError: the loss is no number; the batch is saved for inspection.
        CheckpointError: the folder holds a state that does not fit.
        KeyboardInterrupt: it was stopped; the state is saved.
    """
    sources, decoys = open_sources(config)
    coder = train_coder(config, sources, folder, progress, workers=workers, device=device)
    card = {"config": _setup(config), "licence": config.licence, "data": config.data}
    return assemble(config.name, coder, decoys, card, config.seed)


def train_coder(
    config: FrameCodesConfig,
    sources: Sequence[PairSource],
    folder: str | PathLike[str],
    progress: Progress = silent,
    *,
    workers: int = 1,
    device: str = CPU,
) -> FrameCoder:
    """Train a frame coder on sources that are open; as `train_frame_codes`.

    Returns:
        The coder with the running mean of its weights.
    """
    run, how, place = RunFolder(Path(folder)), config.optimiser, find_device(device)
    torch.manual_seed(config.seed)
    learner, average = PairLearner(config.coder), PairLearner(config.coder)
    options = PairBatchOptions(how.signs, learner.context, config.coder.spacing)
    batches = CodedBatches(sources, how.steps, config.seed, options)
    if not run.state.is_file():
        learner.coder.begin(batches.beginning())
    average.load_state_dict(learner.state_dict())
    with moved_to(place, learner, average), StopSign() as stop:
        optimiser = _optimiser(learner, how)
        setup, parts = _setup(config), {"learner": learner, "average": average, "optimiser": optimiser}
        saved = run.load(setup, parts, ["curve"])
        curve: list[list[float]] = saved["curve"].tolist() if saved else []
        learner.train()
        for batch in numbered_batches(batches, range(len(curve), how.steps), workers):
            step = len(curve)
            torch.manual_seed(config.seed * 1_000_003 + step)  # dropout follows from the step, too
            for group in optimiser.param_groups:
                group["lr"] = group["highest"] * warm_cosine(step, how.steps, how.warm_up, _LOWEST_RATE)
            aligned, embedded, hits = learner.losses(batch, how.smoothing)
            loss = aligned + how.embedding * embedded
            if not torch.isfinite(loss):
                arrays = {"seen": batch.seen.numpy(), "first": batch.first, "lengths": batch.lengths}
                raise run.keep_bad_batch(loss, step, arrays)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(learner.parameters(), how.clip)
            optimiser.step()
            follow_weights(average, learner, how.average, step)
            curve.append([aligned.item(), embedded.item(), hits.item()])
            progress(len(curve), how.steps)
            stopped = stop.heard
            if stopped or len(curve) % SAVE_EVERY == 0 or len(curve) == how.steps:
                _save(run, setup, parts, curve)
            if stopped:
                raise KeyboardInterrupt
    return average.coder.eval()


def _save(run: RunFolder, setup: dict[str, Any], parts: dict[str, Any], curve: list[list[float]]) -> None:
    run.save(setup, parts, {"curve": torch.tensor(curve, dtype=torch.float64)})
    rows = [(step, *(f"{value:.5f}" for value in values)) for step, values in enumerate(curve, 1)]
    run.write_curve(("step", "alignment", "embedding", "hits"), rows)
    give_back()  # batches differ in size, and what they leave behind does not fit the next ones
    recent = np.mean(curve[-SAVE_EVERY:], axis=0)
    logger.info("step %d: alignment %.3f, embedding %.3f, hits %.3f", len(curve), *recent)


def _setup(config: FrameCodesConfig) -> dict[str, Any]:
    """Settings that the weights follow from; folders by their names, as places differ from machine to machine."""
    named = {key: Path(value).name for key, value in (("wlasl", config.wlasl), ("lsa64", config.lsa64))}
    return {**config.as_dict(), **named, "landmark_features": FEATURES_VERSION}


def _optimiser(learner: PairLearner, how: CoderOptimiser) -> torch.optim.Optimizer:
    """The linear map, which begins at the principal axes, is changed more slowly; nothing draws it to zero."""
    linear = learner.coder.linear.weight
    rest = [each for each in learner.parameters() if each is not linear and each is not learner.sharpness]
    groups = [
        {"params": [linear], "highest": how.rate * how.linear_rate, "weight_decay": 0.0},
        {"params": rest, "highest": how.rate, "weight_decay": how.weight_decay},
        {"params": [learner.sharpness], "highest": how.rate, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, how.rate)


def open_sources(
    config: FrameCodesConfig, left_out: Mapping[str, Collection[str]] = NOBODY_LEFT_OUT
) -> tuple[list[PairSource], list[IsolatedClip]]:
    """Open all that batches are drawn from, and the clips that decoys are drawn from: of WLASL, or of the world.

    Args:
        config: names the sources.
        left_out: signers of "wlasl" and "lsa64" whose clips are neither learned from nor decoys.

    Raises:
        OptionsError: a source has a share and no folder.
    """
    shares, recombined = config.shares, config.recombined
    sources: list[PairSource] = []
    decoys: list[IsolatedClip] = []
    if shares.wlasl:
        decoys = _without(read_wlasl(_folder(config.wlasl, "wlasl")), left_out.get("wlasl", ()))
        store = store_clips(decoys)
        store.partners = kept_partners(store, cache_folder() / "training")
        sources.append(PairSource(store, shares.wlasl, recombined.wlasl, config.change))
    if shares.lsa64:
        store = store_clips(_without(read_lsa64(_folder(config.lsa64, "lsa64")), left_out.get("lsa64", ())))
        sources.append(PairSource(store, shares.lsa64, recombined.lsa64, config.change))
    if shares.world:
        store = store_bank(open_world_bank(cache_folder() / "training", config.bank))
        sources.append(PairSource(store, shares.world, recombined.world, config.change))
    return sources, decoys or world_clips(WORLD_WORDS, SIGNERS, config.seed)


def _without(clips: list[IsolatedClip], signers: Collection[str]) -> list[IsolatedClip]:
    return [clip for clip in clips if clip.signer not in signers]


def _folder(named: str, source: str) -> str:
    if not named:
        raise OptionsError(f"{source} has a share and no folder. Name it with --{source}, or set its share to 0")
    return named
