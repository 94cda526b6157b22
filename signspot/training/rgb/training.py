"""Teaches an RGB trunk to tell words apart, on labelled clips and exemplars jointly (Sec. 3.3, Joint pretraining).

The loop can be stopped at any step and goes on to the very same weights: batch i follows from the seed and i, and
the state is saved beside the result. With a teacher, the embedding is also drawn towards what a landmark encoder sees.
"""

import logging
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm

from signspot.corpus.corpus import Corpus
from signspot.errors import CheckpointError, OptionsError
from signspot.io.progress import Progress, Stage, quiet, silent
from signspot.losses.watch_read_lookup import classification
from signspot.metrics.classification import ClassificationAccuracy
from signspot.models.batch_norm import DOMAINS, features_by_domain, reinitialise_batch_norm
from signspot.models.checkpoints import load_encoder
from signspot.models.encoder import Encoder, SignEncoder, find_device, make_encoder
from signspot.models.inception import InceptionTrunk, use_channels_last
from signspot.models.registry import build
from signspot.training.embedding.trunk_features import trunk_features
from signspot.training.items import TrainingSubset, find_training_subset
from signspot.training.rgb.batches import RgbBatch, RgbBatches, plain
from signspot.training.rgb.config import RgbConfig
from signspot.training.rgb.signs import PictureStore, RgbSigns, SignReader, collect_rgb_signs, with_targets
from signspot.training.run_folder import CPU, Run, RunFolder, StopSign, claim, device_of, moved_to

logger = logging.getLogger(__name__)

SAVE_EVERY = 100  # steps
SETTLING = 30  # batches over which batch norms are averaged in the end
_COLUMNS = ("epoch", "rate", "loss", "accuracy")


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Accuracy on clips of signers and footage that were not trained on; logits are averaged over windows."""

    clips: int
    words: int  # that there are to choose from
    top_1: float  # share of clips
    top_5: float
    top_1_by_word: float  # mean over words


def new_trunk(config: RgbConfig, words: int, teacher: Encoder | None = None) -> SignEncoder:
    """An encoder with random weights that follow from the seed; its MLP is there only if there is a teacher."""
    torch.manual_seed(config.seed)
    end: dict[str, Any] = {"mlp": False} if teacher is None else {"dimension": teacher.contract.dimension}
    module = build(config.architecture, **{**config.model, **end, "classes": words})
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
    wanted = module.trunk.state_dict()
    given = {name: value for name, value in old.trunk.state_dict().items() if not name.startswith("logits.")}
    other = [name for name, value in given.items() if name not in wanted or wanted[name].shape != value.shape]
    if other:
        raise CheckpointError(f"the trunk of '{encoder.name}' is of another size, such as in {other[0]}: see [model]")
    module.trunk.load_state_dict(given, strict=False)


def train_rgb(
    config: RgbConfig,
    module: SignEncoder,
    batches: RgbBatches,
    folder: Path,
    progress: Progress = silent,
    device: str = CPU,
) -> SignEncoder:
    """Train a trunk, in place.

    Args:
        config: all that the training follows from, besides the signs.
        module: as it starts.
        batches: clips.
        folder: where state, curve.csv and curve.png are kept; a training that was stopped there goes on.
        progress: told the steps done.
        device: where it is trained.

    Raises:
        SignspotError: the loss is no number; the batch is saved for inspection.
        CheckpointError: the folder holds a state that does not fit.
        KeyboardInterrupt: it was stopped; the state is saved.
    """
    run, place = RunFolder(folder), find_device(device)
    length, total = len(batches), config.epochs * len(batches)
    with moved_to(place, module), StopSign() as stop:
        optimiser = _optimiser(config, module)
        parts = {"module": module, "optimiser": optimiser}
        saved = run.load(config.as_dict(), parts, ("curve",))
        curve: list[tuple[float, float]] = [(float(a), float(b)) for a, b in saved["curve"]] if saved else []
        module.train()
        for step in range(len(curve), total):
            _prepare(config, module, optimiser, step, length)
            batch = batches[step].to(place)
            loss, right = loss_of(module, batch, config.distil)
            if not torch.isfinite(loss):
                raise run.keep_bad_batch(
                    loss, step, {"clips": batch.clips.cpu().numpy(), "words": batch.words.cpu().numpy()}
                )
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(module.parameters(), config.clip)
            optimiser.step()
            curve.append((loss.item(), right))
            progress(step + 1, total)
            stopped = stop.heard
            if stopped or (step + 1) % SAVE_EVERY == 0 or step + 1 == total:
                run.save(config.as_dict(), parts, {"curve": curve})
                run.write_curve(_COLUMNS, _rows(config, curve, length))
            if stopped:
                raise KeyboardInterrupt
        settle_batch_norm(module, batches, total)
    run.draw_curve([loss for loss, _ in _by_epoch(curve, length)], config.architecture)
    return module.eval()


def loss_of(module: SignEncoder, batch: RgbBatch, distil: float) -> tuple[Tensor, float]:
    """The loss of one batch, and the share of its clips whose word is right."""
    features = _seen(module, batch)
    assert isinstance(module.trunk, InceptionTrunk), "an rgb trunk"
    logits = module.trunk.logits(features)  # type: ignore[operator]  # built with a classifier
    loss = classification(logits, batch.words)
    if distil and batch.targets is not None:
        of_domain = [module.mlp(features, domain) for domain in DOMAINS]
        embedded = torch.where(batch.dictionary[:, None], of_domain[1], of_domain[0])
        loss = loss + distil * (1 - functional.cosine_similarity(embedded, batch.targets)).mean()
    return loss, float((logits.argmax(dim=1) == batch.words).float().mean())


def _seen(module: SignEncoder, batch: RgbBatch) -> Tensor:
    """(N, D) features of a batch, each clip normalised as for its own domain."""
    clips = batch.clips.contiguous(memory_format=torch.channels_last_3d)
    return features_by_domain(module.trunk, clips, batch.dictionary)


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
        _seen(module, batches[step].to(device_of(module)))
    for norm, momentum in zip(norms, before, strict=True):
        norm.momentum = momentum
    module.eval()


@torch.inference_mode()
def held_out(module: SignEncoder, signs: RgbSigns, frames: int, image_size: int) -> HeldOut:
    """Classify stretches of continuous signing, logits averaged over all their windows."""
    accuracy = ClassificationAccuracy()
    assert isinstance(module.trunk, InceptionTrunk), "an rgb trunk"
    for sign in signs.continuous:
        starts = range(len(sign.pictures) - frames + 1)
        clips = np.stack([plain(sign.pictures[start : start + frames], image_size) for start in starts])
        logits = module.trunk.logits(module.trunk(torch.from_numpy(clips)))  # type: ignore[operator]
        accuracy.add(logits.mean(dim=0, keepdim=True).numpy(), [sign.word])
    value = accuracy.value((1, 5))
    return HeldOut(
        len(signs.continuous), len(signs.words), value[1].per_instance, value[5].per_instance, value[1].per_group
    )


def _optimiser(config: RgbConfig, module: SignEncoder) -> torch.optim.Optimizer:
    weights, decay = module.parameters(), config.weight_decay
    if config.optimiser == "adam":
        return torch.optim.AdamW(weights, config.rate, (config.momentum, 0.999), weight_decay=decay)
    return torch.optim.SGD(weights, config.rate, config.momentum, weight_decay=decay)


def _prepare(config: RgbConfig, module: SignEncoder, optimiser: Any, step: int, length: int) -> None:
    """Prepare a step: the rate, the random numbers of dropout, batch norms when the dictionary joins."""
    torch.manual_seed(config.seed * 1_000_003 + step)
    for settings in optimiser.param_groups:
        settings["lr"] = config.rate_at(step // length)
    if config.reinitialise and config.dictionary_from and step == config.dictionary_from * length:
        count = reinitialise_batch_norm(module.trunk)
        logger.info("the dictionary joins; %d batch norms start anew", count)


def _rows(config: RgbConfig, curve: list[tuple[float, float]], length: int) -> list[tuple[object, ...]]:
    means = enumerate(_by_epoch(curve, length))
    return [(i + 1, f"{config.rate_at(i):g}", f"{loss:.5f}", f"{right:.4f}") for i, (loss, right) in means]


def _by_epoch(curve: list[tuple[float, float]], length: int) -> list[tuple[float, float]]:
    """The mean loss and accuracy of every whole epoch."""
    means = [np.mean(curve[i : i + length], axis=0) for i in range(0, len(curve) - length + 1, length)]
    return [(float(loss), float(right)) for loss, right in means]


def train_rgb_on_corpus(
    config: RgbConfig, corpus: Corpus, run: Run, start: Encoder | None = None, stage: Stage = quiet
) -> tuple[Encoder, HeldOut | None]:
    """Teach an RGB trunk.

    Args:
        config: how to learn.
        corpus: with videos, labels and a dictionary of videos; landmarks, too, where there is a teacher.
        run: the folder; a run that was stopped there goes on.
        start: an encoder whose trunk is trained further; its batch norms start anew, if the configuration says so.
        stage: shows the progress of each stage.

    Returns:
        The encoder, and its accuracy on the labelled clips of the corpus's test videos; None where there are none.

    Raises:
        OptionsError: the corpus cannot be learned from, or the folder holds another run.
    """
    subset = find_training_subset(corpus, config.words, filmed=True)
    origin = start.hash if start is not None else None
    claim(run, {"corpus": subset.describe(), "start": origin, "config": config.as_dict()})
    teacher = _teacher(config)
    shape = new_trunk(config, 2).contract(fps=config.fps)
    assert shape.image_size is not None, "an rgb trunk has one"
    store = PictureStore(run.features or run.out / "pictures", config.fps, shape.image_size)
    reader = SignReader(store, shape.frames, config.batch)
    with stage("pictures") as progress:
        signs = collect_rgb_signs(subset, reader, progress)
    if teacher is not None:
        with stage("what the teacher sees") as progress:
            seen = trunk_features(teacher, subset.corpus, run.out / "teacher", progress)
        signs = with_targets(signs, teacher, seen, reader)
    module = new_trunk(config, len(signs.words), teacher)
    if start is not None:
        start_from(module, start)
        if config.reinitialise and not config.dictionary_from:
            reinitialise_batch_norm(module.trunk)
    with stage("training") as progress:
        batches = RgbBatches(signs, config, shape.frames, shape.image_size)
        train_rgb(config, module, batches, run.out, progress, run.device)
    with stage("held-out clips"):
        tested = _held_out(module, corpus, subset, signs, reader)
    return make_encoder(config.name, module, fps=config.fps, card=_card(config, subset, signs, run, tested)), tested


def _teacher(config: RgbConfig) -> Encoder | None:
    if not config.distil:
        return None
    teacher = load_encoder(config.teacher)
    if teacher.contract.kind != "landmarks":
        raise OptionsError(f"the teacher must be a landmark encoder; '{config.teacher}' sees pixels")
    return teacher


def _held_out(
    module: SignEncoder, corpus: Corpus, subset: TrainingSubset, signs: RgbSigns, reader: SignReader
) -> HeldOut | None:
    """Accuracy on the labels of the test videos, of the words that were learned."""
    videos = {video.id: video for video in corpus.in_split("test")}
    number = {word: index for index, word in enumerate(signs.words)}
    labels = [label for label in corpus.labels(list(videos), reader.options.least) if label.word in number]
    if not labels:
        return None
    tested = reader.continuous(replace(subset.corpus, videos=videos), labels, number)
    return held_out(module, replace(signs, continuous=tuple(tested)), reader.frames, reader.store.image_size)


def _card(
    config: RgbConfig, subset: TrainingSubset, signs: RgbSigns, run: Run, tested: HeldOut | None
) -> dict[str, Any]:
    counts = {"words": len(signs.words), "clips": len(signs.continuous), "exemplars": len(signs.dictionary)}
    sentence = f"{counts['clips']:,} labelled clips and {counts['exemplars']:,} exemplars of {counts['words']:,} words."
    rows = [row.split(",") for row in Path(run.out / "curve.csv").read_text().splitlines()[1:]]
    return {
        "licence": config.licence,
        "data": config.data or sentence,
        "config": {"kind": "rgb", **config.as_dict(), "corpus": {**subset.describe(), **counts}},
        "metrics": {
            "held_out": None if tested is None else asdict(tested),
            "loss_by_epoch": [float(row[2]) for row in rows],
            "accuracy_by_epoch": [float(row[3]) for row in rows],
        },
        "command": run.command,
    }
