"""Trains a landmark trunk as a classifier of labelled clips and exemplars: stage one of Sec. 3.3.

First on continuous signing alone, if asked to, then jointly with the dictionary; in between batch norms may forget what
one domain taught them (Appendix C.1). The loop can be stopped at any step and goes on to the very same weights.
"""

import logging
import math
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from signspot.io.progress import Progress, silent
from signspot.landmarks.features import VERSION as FEATURES_VERSION
from signspot.models.batch_norm import features_by_domain, reinitialise_batch_norm
from signspot.models.encoder import Encoder, find_device, make_encoder
from signspot.models.registry import build
from signspot.recognition.recogniser import Recogniser
from signspot.training.augment import Augmentation
from signspot.training.configuration import check_numbers
from signspot.training.recogniser.clips import ClipOptions, TrunkBatches, TrunkSigns
from signspot.training.run_folder import CPU, RunFolder, StopSign, moved_to

logger = logging.getLogger(__name__)

_COLUMNS = ("step", "loss", "continuous accuracy", "dictionary accuracy")


@dataclass(frozen=True, slots=True)
class TrunkConfig:
    """Settings of a training, besides its signs."""

    name: str = "classifier"
    seed: int = 0
    steps: int = 3000
    continuous_only_fraction: float = 0.0  # share of the steps on continuous signing alone, before the dictionary joins
    reinitialise: bool = False  # batch norms forget, when the dictionary joins
    rate: float = 2e-3  # the highest learning rate; it falls as a cosine to nothing
    warm_up: int = 100  # steps until the highest rate
    weight_decay: float = 0.05
    clip: float = 1.0  # longest gradient
    save_every: int = 200  # steps
    clips: ClipOptions = field(default_factory=ClipOptions)
    augmentation: Augmentation = field(default_factory=Augmentation)
    model: dict[str, Any] = field(default_factory=dict)  # options of the landmark trunk

    def __post_init__(self) -> None:
        check_numbers(self, "steps", "save_every", least=1)
        check_numbers(self, "rate", "clip", above=0)
        check_numbers(self, "seed", "warm_up", "weight_decay", least=0)
        check_numbers(self, "continuous_only_fraction", least=0, most=1)

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        warm = min(1.0, (step + 1) / max(1, self.warm_up))
        return self.rate * warm * (1 + math.cos(math.pi * step / self.steps)) / 2

    @property
    def dictionary_from(self) -> int:
        """The step from which on the dictionary is trained on, too."""
        return round(self.continuous_only_fraction * self.steps)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for checkpoints and cards; with the version of the features that it learns from."""
        return {**asdict(self), "landmark_features": FEATURES_VERSION}


def train_trunk(
    config: TrunkConfig,
    signs: TrunkSigns,
    folder: str | PathLike[str],
    progress: Progress = silent,
    device: str = CPU,
) -> Encoder:
    """As `train_recogniser`; give an encoder: the trunk's features before the classifier, at unit norm."""
    trained = train_recogniser(config, signs, folder, progress, device)
    return make_encoder(config.name, trained.module, card=trained.card)


def train_recogniser(
    config: TrunkConfig,
    signs: TrunkSigns,
    folder: str | PathLike[str],
    progress: Progress = silent,
    device: str = CPU,
) -> Recogniser:
    """Train a trunk to tell words apart.

    Args:
        config: all that the training follows from, besides the signs.
        signs: what there is to learn from.
        folder: where state and curve.csv are kept; a training that was stopped there goes on.
        progress: told the steps done.
        device: where it is trained.

    Raises:
        SignspotError: the loss is no number; the batch is saved for inspection.
        CheckpointError: the folder holds a state that does not fit.
        KeyboardInterrupt: it was stopped; the state is saved.
    """
    run, place = RunFolder(Path(folder)), find_device(device)
    torch.manual_seed(config.seed)
    module = build("landmark", mlp=False, **config.model)
    head = nn.Linear(module.trunk.dimension, len(signs.words))
    batches = TrunkBatches(signs, module.trunk.frames, config.seed, config.clips, config.augmentation)
    with moved_to(place, module, head), StopSign() as stop:
        weights = [*module.parameters(), *head.parameters()]
        optimiser = torch.optim.AdamW(weights, config.rate, weight_decay=config.weight_decay)
        setup = {**config.as_dict(), "words": signs.words}
        parts = {"trunk": module, "head": head, "optimiser": optimiser}
        saved = run.load(setup, parts, ["curve"])
        curve: list[list[float]] = saved["curve"].tolist() if saved else []
        module.train()
        for step in range(len(curve), config.steps):
            torch.manual_seed(config.seed * 1_000_003 + step)  # dropout follows from the step, too
            for group in optimiser.param_groups:
                group["lr"] = config.rate_at(step)
            if config.reinitialise and step == config.dictionary_from > 0:
                logger.info("%d batch norms forget", reinitialise_batch_norm(module.trunk))
            made = batches.make(step, 0.0 if step < config.dictionary_from else None)
            clips, words, dictionary = (part.to(place) for part in made)
            logits = head(features_by_domain(module.trunk, clips, dictionary))
            loss = functional.cross_entropy(logits, words)
            if not torch.isfinite(loss):
                arrays = zip(("clips", "words", "dictionary"), made, strict=True)
                raise run.keep_bad_batch(loss, step, {name: part.numpy() for name, part in arrays})
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(weights, config.clip)
            optimiser.step()
            curve.append([loss.item(), *_accuracies(logits, words, dictionary)])
            progress(step + 1, config.steps)
            stopped = stop.heard
            if stopped or (step + 1) % config.save_every == 0 or step + 1 == config.steps:
                run.save(setup, parts, {"curve": torch.tensor(curve, dtype=torch.float64)})
                run.write_curve(_COLUMNS, [(i + 1, *(f"{value:.4f}" for value in row)) for i, row in enumerate(curve)])
            if stopped:
                raise KeyboardInterrupt
    return Recogniser(config.name, signs.words, module.eval(), head.eval(), _card(config, signs, curve))


def _accuracies(logits: Tensor, words: Tensor, dictionary: Tensor) -> list[float]:
    """The share of right answers among continuous clips, and among exemplars; nan where there are none."""
    right = (logits.argmax(dim=1) == words).float()
    return [float(right[kind].mean()) for kind in (~dictionary, dictionary)]


def _card(config: TrunkConfig, signs: TrunkSigns, curve: list[list[float]]) -> dict[str, Any]:
    last = np.array(curve[-config.save_every :])
    reached = {"training accuracy, continuous": last[:, 1].mean(), "training accuracy, dictionary": last[:, 2].mean()}
    return {
        "config": config.as_dict(),
        "data": f"{signs.labels:,} labelled signs and {sum(map(len, signs.dictionary)):,} exemplars "
        f"of {len(signs.words):,} words",
        "metrics": {name: round(float(share), 4) for name, share in reached.items() if share == share},
    }
