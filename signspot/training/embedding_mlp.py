"""Trains an embedding MLP on a frozen trunk, with any loss of the paper (Sec. 3.3, Optimization).

Several processes may share the work.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from signspot.corpus.corpus import Corpus
from signspot.io.progress import Stage, quiet
from signspot.losses.watch_read_lookup import classification, info_nce, watch_lookup, watch_read_lookup
from signspot.metrics.localisation import ClipRetrieval
from signspot.models.batch_norm import Domain
from signspot.models.encoder import Encoder
from signspot.models.encoder_network import find_device, make_encoder
from signspot.models.mlp import DomainMlp, EmbeddingMlp, MlpOptions
from signspot.models.registry import build
from signspot.training.corpus_subset import Item, find_training_subset, validation_labels
from signspot.training.distributed import ALONE, Group, current_group
from signspot.training.item_batches import EmbeddingConfig, EmbeddingData, FeatureBatch, Standard, synonym_pairs
from signspot.training.loop import Schedule, Task, TrainingResult, device_of, moved_to, stepwise, train
from signspot.training.run_folder import Run, claim
from signspot.training.trunk_features import TrunkFeatures, trunk_features
from signspot.types import TimeMeaning

Mlp = EmbeddingMlp | DomainMlp


class EmbeddingTask(Task[Mlp, FeatureBatch]):
    """An embedding by any loss of the paper; several processes may share each batch."""

    decisive = "mAP"

    def __init__(self, config: EmbeddingConfig, data: EmbeddingData, held_out: Sequence[Item] = ()):
        """Prepare.

        Args:
            config: all that the training follows from, besides the data.
            data: of batches.
            held_out: items to validate on; their videos are among the features.
        """
        self.config, self.data, self.compute, self.held_out = config, data, config.compute, held_out
        self.module, self.standard = initial_mlp(config, data), data.standard()
        self.settings, length = config.as_dict(), len(data)
        decays = stepwise(config.epochs, length, config.decay, config.decays)
        self.schedule = Schedule(config.epochs * length, config.seed, decays, epoch=length, save_every=length)

    def optimiser(self) -> torch.optim.Optimizer:
        """As `Task.optimiser`."""
        return torch.optim.SGD(self.module.parameters(), self.config.lr, self.config.momentum)

    def batch(self, step: int) -> FeatureBatch:
        """As `Task.batch`: the features of this process's share."""
        return self.data.read(step, self.group)

    def loss(self, module: Mlp, batch: FeatureBatch) -> tuple[Tensor, list[Tensor]]:
        """As `Task.loss`, of the whole batch."""
        loss = batch_loss(module, batch, self.standard, self.config, self.group)
        return loss, [loss]

    def finish(self, module: Mlp) -> None:
        """Fold the standardisation of features into the first layers."""
        fold_standard(module, self.standard)

    def validate(self, module: Mlp) -> dict[str, float]:
        """How well held-out clips retrieve the exemplars of their word; see `retrieval`."""
        return retrieval(module, self.data.features, self.held_out, self.data.words) if self.held_out else {}

    def arrays(self, batch: FeatureBatch) -> dict[str, Any]:
        """As `Task.arrays`; of several processes, the share of one."""
        return {
            "clips": batch.clips.numpy(),
            "clip_word": batch.indices.clip_word,
            "exemplars": batch.exemplars.numpy(),
            "exemplar_word": batch.exemplar_words.numpy(),
            "videos": np.array(batch.indices.videos),
        }


def initial_mlp(config: EmbeddingConfig, data: EmbeddingData) -> Mlp:
    """An MLP with random weights that follow from the seed."""
    torch.manual_seed(config.seed)
    words = len(data.words) if config.loss == "classification" else None
    options = MlpOptions(dimension=config.dimension, mlp_classes=words)
    return (DomainMlp if config.domain_specific else EmbeddingMlp)(data.features.dimension, options)


def batch_loss(
    mlp: Mlp, batch: FeatureBatch, standard: Standard, config: EmbeddingConfig, group: Group = ALONE
) -> Tensor:
    """The loss of one whole batch, of which `batch` holds this process's share of features."""
    device, parts = device_of(mlp), (batch.clips, batch.exemplars)
    clips, exemplars = ((part.to(device) - standard.mean.to(device)) / standard.scale for part in parts)
    synonyms = None if batch.synonyms is None else batch.synonyms.to(device)
    indices = batch.indices
    if config.loss == "classification":
        logits = [_logits(mlp, clips, "continuous"), _logits(mlp, exemplars, "dictionary")]
        words = torch.cat([torch.from_numpy(indices.clip_word), batch.exemplar_words]).to(device)
        counts = (len(indices.clip_word), len(indices.exemplars))
        return classification(torch.cat([group.gather(*part) for part in zip(logits, counts, strict=True)]), words)
    embedded = batch.embedded(
        group.gather(mlp(clips, "continuous"), len(indices.clip_word)),
        group.gather(mlp(exemplars, "dictionary"), len(indices.exemplars)),
    )
    if config.loss == "info_nce":
        return info_nce(embedded, config.temperature, synonyms)
    if config.loss == "watch_lookup":
        return watch_lookup(embedded, config.temperature, synonyms)
    return watch_read_lookup(embedded, config.temperature, config.bags, synonyms)


@torch.no_grad()
def fold_standard(mlp: Mlp, standard: Standard) -> None:
    """Make an MLP of standardised features one of features as they are; exact, as leaky ReLUs are linear in a scale."""
    mean = standard.mean.to(device_of(mlp))
    for part in [layers for layers in mlp.modules() if isinstance(layers, EmbeddingMlp)]:
        inner, outer = part.res[0], part.adaptor[0]
        assert isinstance(inner, nn.Linear), "as EmbeddingMlp is built"
        assert isinstance(outer, nn.Linear), "as EmbeddingMlp is built"
        inner.bias.mul_(standard.scale).sub_(inner.weight @ mean)
        outer.bias.sub_(outer.weight @ mean / standard.scale)
        outer.weight.div_(standard.scale)


def retrieval(mlp: Mlp, features: TrunkFeatures, items: Sequence[Item], words: Collection[str]) -> dict[str, float]:
    """Retrieve exemplars by labelled clips (Sec. 4.2): mAP and R@5, each the mean over words.

    Args:
        mlp: of trunk features as they are.
        features: of the videos of the items, and of exemplars.
        items: whose spans are looked at.
        words: whose exemplars are ranked.
    """

    def embedded(rows: NDArray[Any], domain: Domain) -> NDArray[np.float32]:
        embeddings: Tensor = mlp(torch.from_numpy(np.asarray(rows, np.float32)).to(device_of(mlp)), domain)
        return np.asarray(embeddings.cpu().numpy())

    ranked = np.array([exemplar.word in words for exemplar in features.exemplars])
    gallery = embedded(features.exemplar_means()[ranked], "dictionary")
    retrieved = ClipRetrieval([exemplar.word for exemplar in features.exemplars if exemplar.word in words])
    for item in items:
        windows = features.videos[item.video]
        times = windows.grid.times
        inside = (times >= item.span.start) & (times <= item.span.end)
        if inside.any():  # else the label lies beyond the end of its video
            similarity = embedded(windows.features[inside], "continuous") @ gallery.T
            truth = item.time if item.label.at is TimeMeaning.END else item.label.segment
            retrieved.add(item.word, truth, similarity, times[inside])
    queries = retrieved.queries
    return {"mAP": queries.average_precisions.value().per_group, "R@5": queries.hits(5).value().per_group}


def _logits(mlp: Mlp, features: Tensor, domain: Domain) -> Tensor:
    layers = mlp if isinstance(mlp, EmbeddingMlp) else mlp.domains[domain]
    assert isinstance(layers, EmbeddingMlp), "as DomainMlp is built"
    assert layers.logits is not None, "a classifier is built with logits"
    logits: Tensor = layers.logits(layers.adaptor(features + layers.res(features)))
    return logits


def train_embedding_on_corpus(
    config: EmbeddingConfig, encoder: Encoder, corpus: Corpus, run: Run, stage: Stage = quiet
) -> Encoder:
    """Teach an embedding MLP on an encoder's trunk.

    Args:
        config: how to learn.
        encoder: whose trunk is frozen; its own MLP is not used.
        corpus: what to learn from.
        run: the folder; an interrupted run resumes there.
        stage: shows the progress of each stage.

    Returns:
        The trunk with the new MLP; its threshold is not calibrated.

    Raises:
        OptionsError: the corpus cannot be learned from, or the folder holds another run.
    """
    subset = find_training_subset(corpus, config.words, filmed=encoder.contract.kind == "rgb")
    subset.items(config.items)  # mistakes are reported before hours of features
    group = current_group()
    described = subset.describe() if group.is_first else {}  # of the content of all files
    if group.is_first:
        claim(run, {"corpus": described, "trunk": encoder.hash, "config": config.as_dict()})
    group.wait()
    sure = validation_labels(corpus, subset.words) if config.compute.validate_every else []
    validation = {label.video: corpus.videos[label.video] for label in sure}
    with_validation = replace(corpus, videos={**subset.corpus.videos, **validation})
    with stage("trunk features") as progress:
        folder = run.features or run.out / "features"
        with moved_to(find_device(run.device), encoder.module):
            features = trunk_features(encoder, with_validation, folder, progress)
    visible = {exemplar.word for exemplar in features.exemplars}  # of exemplars that the trunk could see
    items = subset.items(config.items, [word for word in subset.words if word in visible])
    pairs = synonym_pairs(config.synonyms, subset.dictionary, subset.words)
    data = EmbeddingData(features, items, config, pairs)
    held_out = (
        replace(subset, corpus=with_validation, labels=tuple(sure)).items(config.items, data.words) if sure else []
    )
    with stage("training") as progress:
        trained = train(EmbeddingTask(config, data, held_out), run.out, progress, device=run.device)
    counts = {"items": len(items), "words": len({item.word for item in items})}
    card = _card(config, encoder, trained, run, {**described, **counts})
    return attach_mlp(config, encoder, trained.module, card)


def attach_mlp(config: EmbeddingConfig, encoder: Encoder, mlp: Mlp, card: dict[str, Any] | None = None) -> Encoder:
    """The trunk of an encoder with a new MLP; a classifier on the embedding is left out."""
    old = encoder.module
    end = MlpOptions(dimension=config.dimension, domain_specific=config.domain_specific)
    module = build(old.architecture, **{**old.options, **asdict(end)})
    module.trunk.load_state_dict(old.trunk.state_dict())
    module.mlp.load_state_dict(
        {name: value for name, value in mlp.state_dict().items() if "logits" not in name.split(".")}
    )
    contract = encoder.contract
    return make_encoder(config.name, module, fps=contract.fps, threshold=contract.threshold, card=card or {})


def _card(
    config: EmbeddingConfig, encoder: Encoder, trained: TrainingResult[Mlp], run: Run, corpus: dict[str, Any]
) -> dict[str, Any]:
    sentence = f"An embedding MLP by {config.loss} on {corpus['items']:,} items, on the trunk of '{encoder.name}'."
    return {
        "licence": config.licence or encoder.card.get("licence", ""),
        "data": config.data or f"{sentence} The trunk: {encoder.card.get('data', '') or 'unknown'}",
        "config": {"kind": "embedding", **config.as_dict(), "trunk": encoder.hash, "corpus": corpus},
        "metrics": {
            "loss_by_epoch": [round(loss, 6) for (loss,) in trained.curve],
            **({"validation": dict(trained.validation)} if trained.validation else {}),
        },
        "command": run.command,
    }
