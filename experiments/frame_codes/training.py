"""Trains a frame coder by contrast: two performances of one sign align better than those of two signs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from experiments.frame_codes.assembling import assemble
from experiments.frame_codes.changes import Ints
from experiments.frame_codes.config import FrameCodesConfig
from experiments.frame_codes.partners import kept_partners
from experiments.frame_codes.sources import PairBatchOptions, PairSource, choose_source, draw, store_bank, store_clips
from experiments.frame_codes.world_clips import SIGNERS, world_clips
from experiments.isolated.clips import IsolatedClip
from experiments.isolated.lsa64 import read_lsa64
from experiments.isolated.wlasl import read_wlasl
from experiments.isolated.world_bank import open_world_bank
from signspot.errors import OptionsError
from signspot.io.files import cache_folder
from signspot.io.progress import Progress, silent
from signspot.landmarks.features import VERSION as FEATURES_VERSION
from signspot.losses.warping import warping_cost
from signspot.models.encoder import Encoder
from signspot.models.frame_coder import SIGN_FRAMES, CoderOptions, FrameCoder, describe
from signspot.training.loop import Schedule, Task, device_of, train, warm_cosine
from signspot.training.run_folder import CPU

WORLD_WORDS = 120  # of the signing world, of which decoys are drawn where WLASL has no share
_LOWEST_LR = 0.02  # as a share of the highest
_SHARPNESS = (8.0, 12.0)  # of alignment and of embedding, at the first step
NOBODY_LEFT_OUT: Mapping[str, Collection[str]] = {}
_BEGINNING = 1 << 40  # the number of the batches from which a coder begins: beyond all steps


@dataclass(frozen=True, slots=True)
class CodedPairs:
    """A batch of pairs as the coder sees it."""

    seen: Tensor  # (N - 2, SEEN) described frames
    first: Ints  # (2 K,) as in a `PairBatch`
    lengths: Ints


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
    task = FrameCodesTask(config, sources)
    return train(task, folder, progress, device=device, workers=workers).module.coder


class FrameCodesTask(Task[PairLearner, CodedPairs]):
    """Contrast: two performances of one sign align better than those of two signs."""

    columns = ("alignment", "embedding", "hits")

    def __init__(self, config: FrameCodesConfig, sources: Sequence[PairSource]):
        how = self.how = config.optimiser
        torch.manual_seed(config.seed)
        self.config, self.sources, self.module = config, list(sources), PairLearner(config.coder)
        self.options = PairBatchOptions(how.signs, self.module.context, config.coder.spacing)
        self.settings = _setup(config)
        lr_scale = warm_cosine(how.steps, how.warm_up, _LOWEST_LR)
        self.schedule = Schedule(how.steps, config.seed, lr_scale, how.clip, how.average)

    def initialise(self) -> None:
        """Start from the principal axes of a batch of every source, which is none of the training's."""
        random = np.random.default_rng((self.config.seed, _BEGINNING))
        self.module.coder.begin(torch.cat([self._pairs(source, random).seen for source in self.sources]))

    def optimiser(self) -> torch.optim.Optimizer:
        """The linear map, which begins at the principal axes, is changed more slowly; nothing draws it to zero."""
        how, linear, sharpness = self.how, self.module.coder.linear.weight, self.module.sharpness
        rest = [weight for weight in self.module.parameters() if weight is not linear and weight is not sharpness]
        groups: list[dict[str, Any]] = [
            {"params": [linear], "lr": how.lr * how.linear_lr, "weight_decay": 0.0},
            {"params": rest, "weight_decay": how.weight_decay},
            {"params": [sharpness], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, how.lr)

    def batch(self, step: int) -> CodedPairs:
        """As `Task.batch`, of one of the sources."""
        random = np.random.default_rng((self.config.seed, step))
        return self._pairs(choose_source(self.sources, random), random)

    def _pairs(self, source: PairSource, random: np.random.Generator) -> CodedPairs:
        batch = draw(source, self.options, random)
        return CodedPairs(describe(batch.x[None], 1)[0], batch.first, batch.lengths)

    def loss(self, module: PairLearner, batch: CodedPairs) -> tuple[Tensor, tuple[Tensor, ...]]:
        """As `Task.loss`."""
        aligned, embedded, hits = module.losses(batch, self.how.smoothing)
        return aligned + self.how.embedding * embedded, (aligned, embedded, hits)

    def arrays(self, batch: CodedPairs) -> dict[str, Any]:
        """As `Task.arrays`."""
        return {"seen": batch.seen.numpy(), "first": batch.first, "lengths": batch.lengths}


def _setup(config: FrameCodesConfig) -> dict[str, Any]:
    """Settings that the weights follow from; folders by their names, as places differ from machine to machine."""
    named = {key: Path(value).name for key, value in (("wlasl", config.wlasl), ("lsa64", config.lsa64))}
    return {**config.as_dict(), **named, "landmark_features": FEATURES_VERSION}


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
