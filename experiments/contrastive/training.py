"""Teaches a landmark trunk signing, by contrast: performances of one sign attract, all others repel.

The loop can be stopped at any step and goes on to the very same weights: batch i follows from the seed and i, and
the state (weights, their mean, the optimiser) is saved beside the result.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from experiments.contrastive.batches import ContrastiveBatches
from experiments.contrastive.config import NOTHING, ContrastiveConfig
from experiments.contrastive.linear_path import fit_linear_path
from experiments.contrastive.performances import MixedSource, PerformanceSource
from experiments.isolated.lsa64 import SEEN_WORDS, TRAIN_SIGNERS, read_lsa64
from experiments.isolated.recombination import RealWords, Recombinations, collect
from experiments.isolated.semi_synthetic import HandPool, SemiSynthetic
from experiments.isolated.world_bank import open_world_bank
from signspot.errors import CheckpointError, OptionsError
from signspot.io.files import cache_folder
from signspot.io.progress import Progress, silent
from signspot.landmarks.features import VERSION as FEATURES_VERSION
from signspot.losses.contrastive import supervised_contrastive
from signspot.models.batch_norm import features_by_domain
from signspot.models.checkpoints import load_encoder
from signspot.models.encoder import Encoder, SignEncoder, find_device, make_encoder
from signspot.models.landmark_trunk import LandmarkTrunk, LinearPath
from signspot.models.mlp import TwoPartMlp
from signspot.models.registry import build
from signspot.training.run_folder import CPU, RunFolder, StopSign, moved_to
from signspot.training.steps import follow_weights, numbered_batches, warm_cosine

logger = logging.getLogger(__name__)

SAVE_EVERY = 100  # steps

ContrastiveBatch = tuple[Tensor, ...]  # exemplars, continuous, beside


def train_contrastive(
    config: ContrastiveConfig,
    folder: str | PathLike[str],
    progress: Progress = silent,
    *,
    workers: int = 1,
    device: str = CPU,
    check: Callable[[int, SignEncoder], None] | None = None,
) -> Encoder:
    """Train a landmark encoder.

    Args:
        config: all that the training follows from.
        folder: where its state and its curve are kept; a training that was stopped there goes on.
        progress: told the steps done.
        workers: processes that make batches.
        device: where it is trained.
        check: called with the step and the averaged module each time the state is saved.

    Raises:
        SignspotError: the loss is no number; the batch is saved for inspection.
        CheckpointError: the folder holds a state that does not fit.
        KeyboardInterrupt: it was stopped; the state is saved.
    """
    run, how, place = RunFolder(Path(folder)), config.optimiser, find_device(device)
    torch.manual_seed(config.seed)
    module, average = build("landmark", **config.model), build("landmark", **config.model)
    batches = ContrastiveBatches(open_source(config), how.steps, config.seed, config.batch, config.augmentation)
    if not run.state.is_file():
        _begin(module, config, batches)
    if (fixed := _linear_path(module)) is not None:
        fixed.requires_grad_(requires_grad=False)
    average.load_state_dict(module.state_dict())
    with moved_to(place, module, average), StopSign() as stop:
        learned = [parameter for parameter in module.parameters() if parameter.requires_grad]
        optimiser = torch.optim.AdamW(learned, how.rate, weight_decay=how.weight_decay)
        setup, parts = _setup(config), {"module": module, "average": average, "optimiser": optimiser}
        saved = run.load(setup, parts, ["curve"])
        curve: list[float] = saved["curve"].tolist() if saved else []
        module.train()
        for batch in numbered_batches(batches, range(len(curve), how.steps), workers):
            step = len(curve)
            torch.manual_seed(config.seed * 1_000_003 + step)  # dropout follows from the step, too
            for group in optimiser.param_groups:
                group["lr"] = how.rate * warm_cosine(step, how.steps, how.warm_up, lowest=0.01)
            loss = contrast(module, tuple(part.to(place) for part in batch), how.temperature)
            if not torch.isfinite(loss):
                arrays = zip(("exemplars", "continuous", "beside"), batch, strict=True)
                raise run.keep_bad_batch(loss, step, {name: part.numpy() for name, part in arrays})
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(learned, how.clip)
            optimiser.step()
            follow_weights(average, module, how.average, step)
            curve.append(loss.item())
            progress(len(curve), how.steps)
            stopped = stop.heard
            if stopped or len(curve) % SAVE_EVERY == 0 or len(curve) == how.steps:
                run.save(setup, parts, {"curve": torch.tensor(curve, dtype=torch.float64)})
                run.write_curve(("step", "loss"), [(i + 1, f"{value:.5f}") for i, value in enumerate(curve)])
                if check is not None:
                    check(len(curve), average.eval())
            if stopped:
                raise KeyboardInterrupt
    return make_encoder(config.name, average.eval(), card=_card(config))


def contrast(module: SignEncoder, batch: ContrastiveBatch, temperature: float) -> Tensor:
    """The loss of one batch: (K, 2, n, F, J, C) exemplars, (K, F, J, C) continuous, (K, F, J, C) beside."""
    exemplars, continuous, beside = batch
    signs, takes, clips_each = exemplars.shape[:3]
    clips = torch.cat([exemplars.flatten(0, 2), continuous, beside])
    features = features_by_domain(
        module.trunk, clips, torch.arange(len(clips), device=clips.device) < signs * takes * clips_each
    )
    isolated = features[: signs * takes * clips_each].view(signs, takes, clips_each, -1).mean(dim=2)
    rest = features[signs * takes * clips_each :]
    features = torch.cat([isolated[:, 0], isolated[:, 1], rest])
    known = torch.arange(signs, device=features.device)
    labels = torch.cat([known, known, known, torch.full_like(known, -1)])
    # The network must know signs by itself, not only where a linear path beside it fails.
    embedded = module.mlp.parts(features)[0] if isinstance(module.mlp, TwoPartMlp) else module.mlp(features)
    return supervised_contrastive(embedded, labels, temperature)


def _begin(module: SignEncoder, config: ContrastiveConfig, batches: ContrastiveBatches) -> None:
    """Prepare the first step: take over a network, fit a linear path."""
    if config.network:
        take_network(module, load_encoder(config.network).module)
    if (fixed := _linear_path(module)) is not None:
        _fit(fixed, config, batches)


def _setup(config: ContrastiveConfig) -> dict[str, Any]:
    """Settings that the weights follow from; files by their names, as folders differ from machine to machine."""
    named = {key: Path(value).name for key, value in (("network", config.network), ("lsa64", config.lsa64))}
    return {**config.as_dict(), **named, "landmark_features": FEATURES_VERSION}


def _card(config: ContrastiveConfig) -> dict[str, Any]:
    card = {"config": _setup(config), "licence": config.licence, "data": config.data}
    if config.network:
        card["network"] = load_encoder(config.network).card.get("config", {})
    return card


def take_network(module: SignEncoder, donor: SignEncoder) -> None:
    """Take over the network of another landmark encoder: everything but its linear path, if it has one."""
    state = {name.replace("mlp.network.", "mlp."): value for name, value in donor.state_dict().items()}
    own = {name: name.replace("mlp.network.", "mlp.") for name in module.state_dict() if "trunk.linear." not in name}
    strange = [name for name, known in own.items() if known not in state]
    strange += [n for n, known in own.items() if known in state and state[known].shape != module.state_dict()[n].shape]
    if strange:
        raise CheckpointError(f"the network does not fit this model at {strange[0]}: set [model] as it was trained")
    module.load_state_dict({name: state[known] for name, known in own.items()}, strict=False)


def _fit(path: LinearPath, config: ContrastiveConfig, batches: ContrastiveBatches) -> None:
    """Fit the linear path on batches of its own, beyond those of the training."""
    linear, steps = config.linear, config.optimiser.steps
    weaker = config.augmentation.times(linear.augmentation)
    is_other = config.linear_shares not in (NOTHING, config.shares)
    source = open_source(replace(config, shares=config.linear_shares)) if is_other else batches.source
    own = ContrastiveBatches(source, steps + linear.batches, config.seed, config.batch, weaker)
    fit_linear_path(path, (own[steps + number] for number in range(linear.batches)), linear)


def _linear_path(module: SignEncoder) -> LinearPath | None:
    return module.trunk.linear if isinstance(module.trunk, LandmarkTrunk) else None


def open_source(config: ContrastiveConfig) -> PerformanceSource:
    """Open all that batches are drawn from."""
    shares, minimal_pairs = config.shares, config.batch.minimal_pairs
    sources: list[PerformanceSource] = []
    weights: list[float] = []
    if shares.world:
        sources.append(open_world_bank(cache_folder() / "training", config.bank, minimal_pairs=minimal_pairs))
        weights.append(shares.world)
    real = shares.semi_synthetic + shares.recombined + shares.real
    if real:
        if not config.lsa64:
            raise OptionsError("shares of real subset need its folder: set lsa64, or set these shares to 0")
        found = read_lsa64(config.lsa64, TRAIN_SIGNERS)
        clips = collect((int(c.signer), int(c.word), c.sign) for c in found if c.word in SEEN_WORDS)
        random = np.random.default_rng(config.seed)
        makers: list[tuple[float, Callable[[], PerformanceSource]]] = [
            (shares.semi_synthetic, lambda: SemiSynthetic(clips, HandPool(clips, random), minimal_pairs)),
            (shares.recombined, lambda: Recombinations(clips, minimal_pairs)),
            (shares.real, lambda: RealWords(clips)),
        ]
        sources += [make() for share, make in makers if share]
        weights += [share for share, _ in makers if share]
    if not sources:
        raise OptionsError("all shares are 0: there is nothing to learn from")
    return MixedSource(sources, weights)
