"""Trains an RGB trunk to tell words apart, on labelled clips and exemplars jointly (Sec. 3.3, Joint pretraining).

Before that it may learn to regress the keypoints of the signer (pose distillation, Appendix C.1).
"""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from signspot.corpus.corpus import Corpus
from signspot.errors import CheckpointError
from signspot.io.progress import Stage, quiet
from signspot.losses.watch_read_lookup import classification
from signspot.metrics.classification import ClassificationAccuracy
from signspot.models.batch_norm import features_by_domain, reinitialise_batch_norm
from signspot.models.encoder import Encoder
from signspot.models.encoder_network import SignEncoder, find_device, make_encoder
from signspot.models.inception import InceptionTrunk, use_channels_last
from signspot.models.registry import build
from signspot.recognition.recogniser import VOCABULARY
from signspot.training.corpus_subset import find_training_subset, validation_labels
from signspot.training.distributed import ALONE, Group, current_group
from signspot.training.loop import Schedule, Task, TrainingResult, device_of, moved_to, stepwise, train
from signspot.training.rgb_clips import (
    KEYPOINTS,
    ImageStore,
    RgbBatch,
    RgbBatches,
    RgbConfig,
    RgbSigns,
    SignReader,
    collect_rgb_signs,
    plain,
    with_keypoints,
)
from signspot.training.run_folder import Run, claim
from signspot.types import Label

logger = logging.getLogger(__name__)

SETTLING = 30  # batches over which batch norms are averaged in the end


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Accuracy on clips of signers and footage that were not trained on; logits are averaged over windows."""

    clips: int
    words: int  # that there are to choose from
    top_1: float  # share of clips
    top_5: float
    top_1_by_word: float  # mean over words


def initial_trunk(config: RgbConfig, words: int) -> SignEncoder:
    """An encoder without an MLP, with random weights that follow from the seed."""
    torch.manual_seed(config.seed)
    module = build(config.architecture, **{**config.model, "mlp": False, "classes": words})
    assert isinstance(module.trunk, InceptionTrunk), "the configuration allows rgb architectures only"
    use_channels_last(module.trunk)
    return module


def start_from(module: SignEncoder, encoder: Encoder) -> None:
    """Take over the weights of a trunk, all but its classifier.

    Raises:
        CheckpointError: it is of another architecture or size.
    """
    old = encoder.module
    if old.architecture != module.architecture:
        raise CheckpointError(
            f"the encoder '{encoder.name}' is of another architecture: '{old.architecture}' instead of "
            f"'{module.architecture}'. Name that one in the configuration, or start from nothing."
        )
    state = module.trunk.state_dict()
    weights = {name: value for name, value in old.trunk.state_dict().items() if not name.startswith("logits.")}
    other = [name for name, value in weights.items() if name not in state or state[name].shape != value.shape]
    if other:
        raise CheckpointError(f"the trunk of '{encoder.name}' is of another size, such as in {other[0]}: see [model]")
    module.trunk.load_state_dict(weights, strict=False)


class RgbTask(Task[SignEncoder, RgbBatch]):
    """Classification of words by a trunk that sees pixels; before it, if asked for, regression of keypoints."""

    columns = ("loss", "accuracy")
    decisive = "top_1"

    def __init__(self, config: RgbConfig, module: SignEncoder, batches: RgbBatches, held_out: RgbSigns | None = None):
        """Prepare.

        Args:
            config: all that the training follows from, besides the signs.
            module: as it starts.
            batches: of clips.
            held_out: signs to validate on; none of the test videos, as the best weights may be chosen by them.
        """
        self.config, self.module, self.batches, self.held_out = config, module, batches, held_out
        if config.words_from:
            module.keypoints = nn.Linear(module.trunk.dimension, 2 * KEYPOINTS * module.trunk.frames)
        self.settings, self.compute, length = config.as_dict(), config.compute, len(batches)
        self.trunk = module.trunk
        decays = stepwise(config.epochs, length, config.decay, config.decays)
        self.schedule = Schedule(config.epochs * length, config.seed, decays, config.clip, epoch=length)

    def optimiser(self) -> torch.optim.Optimizer:
        """As `Task.optimiser`."""
        config, weights, decay = self.config, self.module.parameters(), self.config.weight_decay
        if config.optimiser == "adam":
            return torch.optim.AdamW(weights, config.lr, (config.momentum, 0.999), weight_decay=decay)
        return torch.optim.SGD(weights, config.lr, config.momentum, weight_decay=decay)

    def batch(self, step: int) -> RgbBatch:
        """As `Task.batch`."""
        return self.batches[step]

    def before_step(self, step: int) -> None:
        """Reinitialise batch norms when the dictionary joins, if asked to."""
        config = self.config
        if config.reinitialise and config.dictionary_from and step == config.dictionary_from * len(self.batches):
            count = reinitialise_batch_norm(self.module.trunk)
            logger.info("the dictionary joins; %d batch norms are initialised again", count)

    def loss(self, module: SignEncoder, batch: RgbBatch) -> tuple[Tensor, list[float]]:
        """As `Task.loss`."""
        loss, accuracy = batch_loss(module, batch.to(device_of(module)), self.group)
        return loss, [loss.item(), accuracy]

    def finish(self, module: SignEncoder) -> None:
        """Estimate the statistics of batch norms for the final weights; keypoints are not needed any more."""
        if self.config.words_from:
            del module.keypoints
        settle_batch_norm(module, self.batches, self.schedule.steps)

    def validate(self, module: SignEncoder) -> dict[str, float]:
        """Accuracy on held-out signs; see `HeldOut`."""
        if self.held_out is None:
            return {}
        return asdict(score_held_out(module, self.held_out, self.batches.frames, self.batches.image_size))

    def arrays(self, batch: RgbBatch) -> dict[str, Any]:
        """As `Task.arrays`."""
        return {"clips": batch.clips.numpy(), "words": batch.words.numpy()}


def batch_loss(module: SignEncoder, batch: RgbBatch, group: Group = ALONE) -> tuple[Tensor, float]:
    """The loss of one whole batch, of which this process sees its share, and the share of clips that are right.

    While keypoints are regressed that is the mean squared distance of those that are seen, and no clip is right.
    """
    count, mine = len(batch.words), group.share(len(batch.words))
    features = _seen(module, batch.clips[mine], batch.dictionary[mine])
    if batch.keypoints is not None:
        assert isinstance(module.keypoints, nn.Linear), "made by the task"
        missed = group.gather(module.keypoints(features), count).view_as(batch.keypoints) - batch.keypoints
        is_seen = torch.isfinite(missed)
        return missed.where(is_seen, 0).square().sum() / is_seen.sum().clamp(min=1), 0.0
    assert isinstance(module.trunk, InceptionTrunk), "an rgb trunk"
    logits = group.gather(module.trunk.classify(features), count)
    loss = classification(logits, batch.words)
    return loss, float((logits.argmax(dim=1) == batch.words).float().mean())


def _seen(module: SignEncoder, clips: Tensor, dictionary: Tensor) -> Tensor:
    """(N, D) features of clips, each normalised as for its own domain."""
    clips = clips.contiguous(memory_format=torch.channels_last_3d)
    return features_by_domain(module.trunk, clips, dictionary)


@torch.no_grad()
def settle_batch_norm(module: SignEncoder, batches: RgbBatches, first: int) -> None:
    """Measure the statistics of all batch norms anew on fresh batches: they are averages of weights long gone."""
    norms = [layer for layer in module.modules() if isinstance(layer, _BatchNorm)]
    before = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain mean over batches
    module.train()
    for step in range(first, first + min(SETTLING, 2 * len(batches) + 2)):
        torch.manual_seed(step)
        batch = batches[step].to(device_of(module))
        _seen(module, batch.clips, batch.dictionary)
    for norm, momentum in zip(norms, before, strict=True):
        norm.momentum = momentum
    module.eval()


@torch.inference_mode()
def score_held_out(module: SignEncoder, signs: RgbSigns, frames: int, image_size: int) -> HeldOut:
    """Classify segments of continuous signing, logits averaged over all their windows."""
    accuracy = ClassificationAccuracy()
    assert isinstance(module.trunk, InceptionTrunk), "an rgb trunk"
    for sign in signs.continuous:
        starts = range(len(sign.images) - frames + 1)
        clips = np.stack([plain(sign.images[start : start + frames], image_size) for start in starts])
        features = module.trunk(torch.from_numpy(clips).to(device_of(module)))
        logits = module.trunk.classify(features)
        accuracy.add(logits.mean(dim=0, keepdim=True).cpu().numpy(), [sign.word])
    value = accuracy.value((1, 5))
    return HeldOut(
        len(signs.continuous), len(signs.words), value[1].per_instance, value[5].per_instance, value[1].per_group
    )


def train_rgb_on_corpus(
    config: RgbConfig,
    corpus: Corpus,
    run: Run,
    start: Encoder | None = None,
    stage: Stage = quiet,
    labels: Sequence[Label] | None = None,
) -> tuple[Encoder, HeldOut | None]:
    """Teach an RGB trunk.

    Args:
        config: how to learn.
        corpus: with videos, labels and a dictionary of videos; landmarks, too, where keypoints are regressed.
        run: the folder; an interrupted run resumes there.
        start: an encoder whose trunk is trained further; its batch norms start anew, if the configuration says so.
        stage: shows the progress of each stage.
        labels: instead of the corpus's own.

    Returns:
        The encoder, whose file is a recogniser, too, and its accuracy on the labelled clips of the corpus's test
        videos; None where there are none.

    Raises:
        OptionsError: the corpus cannot be learned from, or the folder holds another run.
    """
    subset = find_training_subset(corpus, config.words, filmed=True, labels=labels)
    origin = start.hash if start is not None else None
    described = subset.describe()
    group = current_group()
    if group.is_first:
        claim(run, {"corpus": described, "start": origin, "config": config.as_dict()})
    shape = initial_trunk(config, 2).contract(fps=config.fps)
    assert shape.image_size is not None, "an rgb trunk has one"
    store = ImageStore(run.features or run.out / "features", config.fps, shape.image_size)
    reader = SignReader(store, shape.frames, config.batch)
    with stage("images") as progress, group.first_ahead():
        signs = collect_rgb_signs(subset, reader, progress)
    if config.words_from:
        signs = with_keypoints(signs, subset.corpus, config.fps)
    module = initial_trunk(config, len(signs.words))
    if start is not None:
        start_from(module, start)
        if config.reinitialise and not config.dictionary_from:
            reinitialise_batch_norm(module.trunk)
    with stage("held-out clips"), group.first_ahead():
        labels_of = partial(_held_out, corpus, signs=signs, reader=reader)
        validation = labels_of(validation_labels(corpus, signs.words)) if config.compute.validate_every else None
        held_out = labels_of(corpus.sure_labels("test", signs.words))
    with stage("training") as progress:
        task = RgbTask(config, module, RgbBatches(signs, config, shape.frames, shape.image_size), validation)
        trained = train(task, run.out, progress, device=run.device, workers=run.workers)
    tested = None
    if held_out is not None and group.is_first:
        with stage("tested"), moved_to(find_device(run.device), trained.module):
            tested = score_held_out(trained.module, held_out, shape.frames, shape.image_size)
    card = _card(config, described, signs, run, trained, tested)
    return make_encoder(config.name, trained.module, fps=config.fps, card=card), tested


def _held_out(corpus: Corpus, labels: Sequence[Label], signs: RgbSigns, reader: SignReader) -> RgbSigns | None:
    """The signs of labels that are not learned from; None: there are none."""
    number = {word: index for index, word in enumerate(signs.words)}
    return replace(signs, continuous=tuple(reader.continuous(corpus, labels, number))) if labels else None


def _card(
    config: RgbConfig,
    described: dict[str, Any],
    signs: RgbSigns,
    run: Run,
    trained: TrainingResult[SignEncoder],
    tested: HeldOut | None,
) -> dict[str, Any]:
    counts = {"words": len(signs.words), "clips": len(signs.continuous), "exemplars": len(signs.dictionary)}
    sentence = f"{counts['clips']:,} labelled clips and {counts['exemplars']:,} exemplars of {counts['words']:,} words."
    return {
        "licence": config.licence,
        "data": config.data or sentence,
        "config": {"kind": "rgb", **config.as_dict(), "corpus": {**described, **counts}, VOCABULARY: list(signs.words)},
        "metrics": {
            "held_out": None if tested is None else asdict(tested),
            **({"validation": dict(trained.validation)} if trained.validation else {}),
            "loss_by_epoch": [round(loss, 5) for loss, _ in trained.curve],
            "accuracy_by_epoch": [round(accuracy, 4) for _, accuracy in trained.curve],
        },
        "command": run.command,
    }
