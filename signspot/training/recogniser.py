"""Trains a landmark trunk as a classifier of labelled clips and exemplars: stage one of Sec. 3.3.

First on continuous signing alone, if asked to, then jointly with the dictionary; in between batch norms may be
initialised again (Appendix C.1).
"""

import logging
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.io.checks import check_numbers
from signspot.io.progress import Progress, Stage, quiet, silent
from signspot.landmarks.features import VERSION as FEATURES_VERSION
from signspot.models.batch_norm import features_by_domain, reinitialise_batch_norm
from signspot.models.encoder_network import SignEncoder
from signspot.models.landmark_trunk import LandmarkOptions
from signspot.models.registry import build
from signspot.recognition.recogniser import Recogniser, RgbRecogniser
from signspot.recognition.scoring import RecogniserScores, score_classifier, signs_to_test, taught_window
from signspot.training.configuration import Compute, plain_values
from signspot.training.corpus_subset import validation_labels
from signspot.training.landmark_clips import (
    Augmentation,
    ClipOptions,
    CutSigns,
    LabelledSigns,
    SignBatches,
    SignFeatures,
    collect_signs,
)
from signspot.training.loop import Schedule, Task, device_of, train
from signspot.training.run_folder import CPU
from signspot.types import Exemplar, Label

logger = logging.getLogger(__name__)

_RECENT = 50  # steps, over which the card's training accuracies are averaged


@dataclass(frozen=True, slots=True)
class RecogniserConfig:
    """Settings of a training, besides its signs."""

    name: str = "classifier"
    seed: int = 0
    steps: int = 3000
    continuous_only_fraction: float = 0.0  # share of the steps on continuous signing alone, before the dictionary joins
    reinitialise: bool = False  # reset batch norms when the dictionary joins
    lr: float = 2e-3  # the highest learning rate; it falls as a cosine to 0
    warm_up: int = 100  # steps until the highest learning rate
    weight_decay: float = 0.05
    clip: float = 1.0  # maximum norm of the gradient
    clips: ClipOptions = field(default_factory=ClipOptions)
    augmentation: Augmentation = field(default_factory=Augmentation)
    model: dict[str, Any] = field(default_factory=dict)  # options of the landmark trunk
    compute: Compute = field(default_factory=Compute)

    def __post_init__(self) -> None:
        check_numbers(self, "steps", least=1)
        check_numbers(self, "lr", "clip", above=0)
        check_numbers(self, "seed", "warm_up", "weight_decay", least=0)
        check_numbers(self, "continuous_only_fraction", least=0, most=1)
        norm = self.model.get("norm", LandmarkOptions().norm)
        if self.reinitialise and norm != "batch":
            raise OptionsError(f"reinitialise makes batch norms forget, and there are none with norm = '{norm}'")
        if self.reinitialise and not 0 < self.dictionary_from < self.steps:
            raise OptionsError(
                "reinitialise acts when the dictionary joins, after continuous_only_fraction of the steps; got "
                f"{self.continuous_only_fraction}"
            )

    def lr_scale(self, step: int) -> float:
        """The learning rate of a step, as a factor of the highest one."""
        return min(1.0, (step + 1) / max(1, self.warm_up)) * (1 + math.cos(math.pi * step / self.steps)) / 2

    @property
    def dictionary_from(self) -> int:
        """The step from which on the dictionary is trained on, too."""
        return round(self.continuous_only_fraction * self.steps)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for checkpoints and cards; with the version of the features that it learns from."""
        return {**plain_values(self), "landmark_features": FEATURES_VERSION}


def train_recogniser(
    config: RecogniserConfig,
    signs: LabelledSigns,
    folder: str | PathLike[str],
    progress: Progress = silent,
    device: str = CPU,
    held_out: LabelledSigns | None = None,
) -> Recogniser:
    """Train a trunk to tell words apart; arguments and errors are those of `loop.train`.

    Args:
        config: all that the training follows from, besides the signs.
        signs: what there is to learn from.
        folder: of the run.
        progress: called with the number of steps done.
        device: where it is trained.
        held_out: signs of the same words by which the best weights are chosen, if the configuration asks for that.
    """
    result = train(RecogniserTask(config, signs, held_out), folder, progress, device=device)
    classifier, card = result.module, _card(config, signs, result.curve)
    return Recogniser(config.name, signs.words, classifier.encoder, classifier.head, card)


class Classifier(nn.Module):
    """A landmark trunk with one linear layer from features to words."""

    def __init__(self, encoder: SignEncoder, words: int):
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(encoder.trunk.dimension, words)

    def forward(self, clips: Tensor, dictionary: Tensor) -> Tensor:
        """(N, F, J, C) clips, of exemplars where (N,) `dictionary` is True, to (N, K) logits."""
        logits: Tensor = self.head(features_by_domain(self.encoder.trunk, clips, dictionary))
        return logits


class RecogniserTask(Task[Classifier, tuple[Tensor, Tensor, Tensor]]):
    """Classification of words. A batch is (N, F, J, C) clips, (N,) words and (N,) whether a clip is of an exemplar."""

    columns = ("loss", "continuous accuracy", "dictionary accuracy")
    decisive = "accuracy"

    def __init__(self, config: RecogniserConfig, signs: LabelledSigns, held_out: LabelledSigns | None = None):
        torch.manual_seed(config.seed)
        self.config, self.compute, self.held_out = config, config.compute, held_out
        self.module = Classifier(build("landmark", mlp=False, **config.model), len(signs.words))
        self.trunk = self.module.encoder.trunk
        frames = self.trunk.frames
        self.batches = SignBatches(signs, frames, config.seed, config.clips, config.augmentation)
        self.settings = {**config.as_dict(), "words": signs.words}
        self.schedule = Schedule(config.steps, config.seed, config.lr_scale, config.clip)

    def optimiser(self) -> torch.optim.Optimizer:
        """As `Task.optimiser`."""
        return torch.optim.AdamW(self.module.parameters(), self.config.lr, weight_decay=self.config.weight_decay)

    def batch(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """As `Task.batch`."""
        return self.batches.make(step, 0.0 if step < self.config.dictionary_from else None)

    def before_step(self, step: int) -> None:
        """Reinitialise batch norms when the dictionary joins, if asked to."""
        if self.config.reinitialise and step == self.config.dictionary_from:
            count = reinitialise_batch_norm(self.module.encoder.trunk)
            logger.info("the dictionary joins; %d batch norms are initialised again", count)

    def loss(self, module: Classifier, batch: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, list[float]]:
        """As `Task.loss`; the accuracy of a kind of clips is nan where there are none."""
        clips, words, dictionary = (part.to(device_of(module)) for part in batch)
        mine = self.group.share(len(clips))
        logits = self.group.gather(module(clips[mine], dictionary[mine]), len(clips))
        loss = functional.cross_entropy(logits, words)
        right = (logits.argmax(dim=1) == words).float()
        return loss, [loss.item(), *(float(right[kind].mean()) for kind in (~dictionary, dictionary))]

    def validate(self, module: Classifier) -> dict[str, float]:
        """The mean over words of the share of held-out signs that are right, logits averaged over windows."""
        if self.held_out is None:
            return {}
        shares = []
        for word, signs in enumerate(self.held_out.continuous):
            right = [int(self._logits(module, sign).argmax()) == word for sign in signs]
            shares += [np.mean(right)] if right else []
        return {"accuracy": float(np.mean(shares))}

    def _logits(self, module: Classifier, sign: SignFeatures) -> Tensor:
        """(T, J, C) frames of a sign to (K,) logits, averaged over all windows."""
        frames = module.encoder.trunk.frames
        padded = sign[np.minimum(np.arange(max(len(sign), frames)), len(sign) - 1)].astype(np.float32)
        windows = np.lib.stride_tricks.sliding_window_view(padded, frames, axis=0)
        clips = torch.from_numpy(np.ascontiguousarray(np.moveaxis(windows, -1, 1))).to(device_of(module))
        logits: Tensor = module(clips, torch.zeros(len(clips), dtype=torch.bool, device=clips.device)).mean(dim=0)
        return logits

    def arrays(self, batch: tuple[Tensor, Tensor, Tensor]) -> dict[str, Any]:
        """As `Task.arrays`."""
        return {name: part.numpy() for name, part in zip(("clips", "words", "dictionary"), batch, strict=True)}


def _card(config: RecogniserConfig, signs: LabelledSigns, curve: list[tuple[float, ...]]) -> dict[str, Any]:
    last = np.array(curve[-_RECENT:])
    reached = {"training accuracy, continuous": last[:, 1].mean(), "training accuracy, dictionary": last[:, 2].mean()}
    return {
        "config": config.as_dict(),
        "data": f"{signs.labels:,} labelled signs and {sum(map(len, signs.dictionary)):,} exemplars "
        f"of {len(signs.words):,} words",
        "metrics": {name: round(float(share), 4) for name, share in reached.items() if share == share},
    }


def train_recogniser_on_corpus(
    config: RecogniserConfig,
    corpus: Corpus,
    folder: str | PathLike[str],
    *,
    labels: Sequence[Label] | None = None,
    exemplars: Sequence[Exemplar] | None = None,
    cut: CutSigns | None = None,
    tested_words: Collection[str] | None = None,
    stage: Stage = quiet,
    device: str = CPU,
) -> tuple[Recogniser, list[RecogniserScores]]:
    """Train a recogniser of the words that are labelled, and test it on the corpus's test videos.

    Args:
        config: how to learn; its `clips.sources` say which labels count.
        corpus: videos or landmarks; without splits all videos are for training and nothing is tested.
        folder: where the state is kept; an interrupted run resumes there.
        labels: instead of the corpus's own.
        exemplars: instead of those of the corpus's dictionary.
        cut: the signs of these labels and exemplars, where they were cut out before.
        tested_words: words that are tested, known or not; None: those that are labelled.
        stage: shows the progress of each stage.
        device: where it is trained.

    Returns:
        The recogniser, and its scores: on the signs of the test videos as far as the truth is known, all and those
        that are mouthed; else on their labels.

    Raises:
        OptionsError: fewer than two words are labelled.
    """
    training = [video.id for video in corpus.in_split("train")]
    training_labels = (
        corpus.labels(training) if labels is None else [label for label in labels if label.video in set(training)]
    )
    options = config.clips
    admitted = [
        label for label in training_labels if options.least.admits(label) and label.source.value in options.sources
    ]
    words = sorted({label.word for label in admitted})
    if len(words) < 2:
        raise OptionsError(
            f"nothing can be learnt: {len(words)} words have labels of {options.sources} in {len(training)} training "
            "videos, and a recogniser needs two. Spot mouthings or signs in the corpus first"
        )
    if 0 < options.dictionary < 1:
        exemplars = corpus.dictionary().exemplars if exemplars is None else exemplars
        with_exemplar = {exemplar.word for exemplar in exemplars if exemplar.path is not None} & set(words)
        if len(with_exemplar) < 2:
            logger.warning(
                "%d of %d labelled words have an exemplar: only labels are learnt", len(with_exemplar), len(words)
            )
            options = replace(options, dictionary=0.0)
            config = replace(config, clips=options)
    with stage("signs") as progress:
        signs = collect_signs(corpus, words, training, options, progress, training_labels, exemplars, cut)
    held_out = None
    if config.compute.validate_every:
        sure, only_labels = validation_labels(corpus, words), replace(options, dictionary=0.0)
        videos = list(dict.fromkeys(label.video for label in sure))
        held_out = collect_signs(corpus, words, videos, only_labels, labels=sure)
    with stage("training") as progress:
        trained = train_recogniser(config, signs, folder, progress, device, held_out)
    with stage("tested") as progress:
        return trained, score_recogniser(trained, corpus, progress, tested_words)


def score_recogniser(
    recogniser: Recogniser | RgbRecogniser,
    corpus: Corpus,
    progress: Progress = silent,
    tested_words: Collection[str] | None = None,
) -> list[RecogniserScores]:
    """Test a recogniser on the signs of the test videos; none, where there are no test videos."""
    tested = signs_to_test(corpus, set(recogniser.words if tested_words is None else tested_words))
    return score_classifier(recogniser, corpus, tested, taught_window(recogniser.card), progress)
