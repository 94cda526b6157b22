"""Teaches an embedding MLP on a frozen trunk, with any loss of the paper (Sec. 3.3, Optimization).

The loop can be stopped at any step and goes on to the very same weights: batch i follows from the seed and i, and
the state (weights, momentum, curve) is saved beside the result. Several processes may share the work.
"""

import logging
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from signspot.corpus.corpus import Corpus
from signspot.errors import CheckpointError
from signspot.io.progress import Progress, Stage, quiet, silent
from signspot.losses.watch_read_lookup import classification, info_nce, watch_lookup, watch_read_lookup
from signspot.models.encoder import Encoder, find_device, make_encoder
from signspot.models.mlp import DomainMlp, EmbeddingMlp, MlpOptions
from signspot.models.registry import build
from signspot.training.distributed import ALONE, Group
from signspot.training.embedding.config import EmbeddingConfig
from signspot.training.embedding.data import EmbeddingData, FeatureBatch, Standard, synonym_pairs
from signspot.training.embedding.trunk_features import TrunkFeatures, trunk_features
from signspot.training.items import Item, TrainingSubset, find_training_subset
from signspot.training.run_folder import CPU, Run, RunFolder, StopSign, claim, device_of, moved_to

logger = logging.getLogger(__name__)

Mlp = EmbeddingMlp | DomainMlp


def train_embedding(
    config: EmbeddingConfig,
    data: EmbeddingData,
    folder: str | PathLike[str],
    progress: Progress = silent,
    group: Group = ALONE,
    device: str = CPU,
) -> Mlp:
    """Train an embedding MLP.

    Args:
        config: all that the training follows from, besides the data.
        data: batches of trunk features.
        folder: where state, curve.csv and curve.png are kept; a training that was stopped there goes on.
        progress: told the steps done.
        group: the processes that train together; they see the same folder, and the first one writes.
        device: where it is trained.

    Returns:
        The MLP, for the trunk's features as they are.

    Raises:
        SignspotError: the loss is no number; the batch is saved for inspection.
        CheckpointError: the folder holds a state that does not fit.
        KeyboardInterrupt: it was stopped; the state is saved.
    """
    run, place = RunFolder(Path(folder)), find_device(device)
    mlp, standard = new_mlp(config, data), data.standard()
    length, total = len(data), config.epochs * len(data)
    with moved_to(place, mlp), StopSign() as stop:
        optimiser = torch.optim.SGD(mlp.parameters(), config.rate, config.momentum)
        first, losses = _resume(run, mlp, optimiser, config, group)
        mlp.train()
        for step in range(first, total):
            for settings in optimiser.param_groups:
                settings["lr"] = config.rate_at(step // length)
            batch = data.read(step, group)
            loss = loss_of(mlp, batch, standard, config, group)
            if not torch.isfinite(loss):
                raise run.keep_bad_batch(loss, step, _arrays(data[step]))
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            group.sum_gradients(mlp)
            optimiser.step()
            losses.append(loss.item())
            progress(step + 1, total)
            stopped = group.any(is_so=stop.heard)
            if group.is_first and (stopped or (step + 1) % length == 0):
                _save(run, mlp, optimiser, config, losses, length)
            if stopped:
                raise KeyboardInterrupt
    if group.is_first:
        run.draw_curve(_by_epoch(losses, length), config.loss.replace("_", " "))
    group.wait()  # until all is written
    return folded(mlp, standard).eval()


def new_mlp(config: EmbeddingConfig, data: EmbeddingData) -> Mlp:
    """An MLP with random weights that follow from the seed."""
    torch.manual_seed(config.seed)
    words = len(data.words) if config.loss == "classification" else None
    options = MlpOptions(dimension=config.dimension, mlp_classes=words)
    return (DomainMlp if config.domain_specific else EmbeddingMlp)(data.features.dimension, options)


def loss_of(mlp: Mlp, batch: FeatureBatch, standard: Standard, config: EmbeddingConfig, group: Group = ALONE) -> Tensor:
    """The loss of one whole batch, of which `batch` holds this process's share of features."""
    place, parts = device_of(mlp), (batch.clips, batch.exemplars)
    clips, exemplars = ((part.to(place) - standard.mean.to(place)) / standard.scale for part in parts)
    synonyms = None if batch.synonyms is None else batch.synonyms.to(place)
    watched, shown = parts_of(mlp)
    places = batch.places
    if config.loss == "classification":
        logits = [_logits(watched, clips), _logits(shown, exemplars)]
        words = torch.cat([torch.from_numpy(places.clip_word), batch.exemplar_words]).to(place)
        counts = (len(places.clip_word), len(places.exemplars))
        return classification(torch.cat([group.gather(*each) for each in zip(logits, counts, strict=True)]), words)
    made = batch.embedded(
        group.gather(watched(clips), len(places.clip_word)), group.gather(shown(exemplars), len(places.exemplars))
    )
    if config.loss == "info_nce":
        return info_nce(made, config.temperature, synonyms)
    if config.loss == "watch_lookup":
        return watch_lookup(made, config.temperature, synonyms)
    return watch_read_lookup(made, config.temperature, config.bags, synonyms)


def parts_of(mlp: Mlp) -> tuple[EmbeddingMlp, EmbeddingMlp]:
    """The layers for continuous signing and those for the dictionary: the same, unless they are domain-specific."""
    if isinstance(mlp, EmbeddingMlp):
        return mlp, mlp
    continuous, dictionary = mlp.domains["continuous"], mlp.domains["dictionary"]
    assert isinstance(continuous, EmbeddingMlp), "as DomainMlp is built"
    assert isinstance(dictionary, EmbeddingMlp), "as DomainMlp is built"
    return continuous, dictionary


@torch.no_grad()
def folded(mlp: Mlp, standard: Standard) -> Mlp:
    """The same MLP for features that are not standardised; exact, as a leaky ReLU is linear in a scale above 0."""
    for part in dict.fromkeys(parts_of(mlp)):
        inner, outer = part.res[0], part.adaptor[0]
        assert isinstance(inner, nn.Linear), "as EmbeddingMlp is built"
        assert isinstance(outer, nn.Linear), "as EmbeddingMlp is built"
        inner.bias.mul_(standard.scale).sub_(inner.weight @ standard.mean)
        outer.bias.sub_(outer.weight @ standard.mean / standard.scale)
        outer.weight.div_(standard.scale)
    return mlp


def _logits(mlp: EmbeddingMlp, features: Tensor) -> Tensor:
    assert mlp.logits is not None, "a classifier is built with logits"
    logits: Tensor = mlp.logits(mlp.adaptor(features + mlp.res(features)))
    return logits


def _arrays(batch: FeatureBatch) -> dict[str, Any]:
    """A whole batch, as it is saved for inspection."""
    return {
        "clips": batch.clips.numpy(),
        "clip_word": batch.places.clip_word,
        "exemplars": batch.exemplars.numpy(),
        "exemplar_word": batch.exemplar_words.numpy(),
        "videos": np.array(batch.places.videos),
    }


def _by_epoch(losses: list[float], length: int) -> list[float]:
    """The mean loss of every whole epoch."""
    return [float(np.mean(losses[i : i + length])) for i in range(0, len(losses) - length + 1, length)]


def _save(run: RunFolder, mlp: Mlp, optimiser: Any, config: EmbeddingConfig, losses: list[float], length: int) -> None:
    run.save(config.as_dict(), {"mlp": mlp, "optimiser": optimiser}, {"losses": losses})
    rows = [(i + 1, f"{config.rate_at(i):g}", f"{loss:.6f}") for i, loss in enumerate(_by_epoch(losses, length))]
    run.write_curve(("epoch", "rate", "loss"), rows)


def _resume(run: RunFolder, mlp: Mlp, optimiser: Any, config: EmbeddingConfig, group: Group) -> tuple[int, list[float]]:
    """Load a saved state; give the step to go on from, and the losses of all steps so far."""
    saved = run.load(config.as_dict(), {"mlp": mlp, "optimiser": optimiser}, ("losses",))
    losses = [float(loss) for loss in saved["losses"]] if saved else []
    if not group.agrees(len(losses)):
        raise CheckpointError(f"the processes do not see the same {run.home}. Name a folder that all of them share.")
    if losses:
        logger.info("going on from step %d", len(losses))
    return len(losses), losses


def train_on_corpus(
    config: EmbeddingConfig, encoder: Encoder, corpus: Corpus, run: Run, stage: Stage = quiet
) -> Encoder:
    """Teach an embedding MLP on an encoder's trunk.

    Args:
        config: how to learn.
        encoder: whose trunk is frozen; its own MLP is not used.
        corpus: what to learn from.
        run: the folder; a run that was stopped there goes on.
        stage: shows the progress of each stage.

    Returns:
        The trunk with the new MLP; its threshold is not calibrated.

    Raises:
        OptionsError: the corpus cannot be learned from, or the folder holds another run.
    """
    subset = find_training_subset(corpus, config.words, filmed=encoder.contract.kind == "rgb")
    subset.items(config.items)  # mistakes are told before hours of features
    claim(run, {"corpus": subset.describe(), "trunk": encoder.hash, "config": config.as_dict()})
    with stage("trunk features") as progress:
        folder = run.features or run.out / "features"
        with moved_to(find_device(run.device), encoder.module):
            features = trunk_features(encoder, subset.corpus, folder, progress, run.group)
    items = usable_items(subset, features, config)
    pairs = synonym_pairs(config.synonyms, subset.dictionary, subset.words)
    data = EmbeddingData(features, items, config, pairs)
    with stage("training") as progress:
        mlp = train_embedding(config, data, run.out, progress, run.group, run.device)
    said = {**subset.describe(), "items": len(items), "words": len({item.word for item in items})}
    return _assemble(config, encoder, mlp, run, said)


def usable_items(subset: TrainingSubset, features: TrunkFeatures, config: EmbeddingConfig) -> list[Item]:
    """The items whose words have an exemplar that the trunk could see."""
    seen = {exemplar.word for exemplar in features.exemplars}
    return subset.items(config.items, [word for word in subset.words if word in seen])


def _assemble(config: EmbeddingConfig, encoder: Encoder, mlp: Mlp, run: Run, corpus: dict[str, Any]) -> Encoder:
    """Trunk, new MLP and card; a classifier on the embedding is left out."""
    old = encoder.module
    end = MlpOptions(dimension=config.dimension, domain_specific=config.domain_specific)
    module = build(old.architecture, **{**old.options, **asdict(end)})
    module.trunk.load_state_dict(old.trunk.state_dict())
    weights = {name: value for name, value in mlp.state_dict().items() if "logits" not in name.split(".")}
    module.mlp.load_state_dict(weights)
    seen, card = encoder.contract, _card(config, encoder, run, corpus)
    return make_encoder(config.name, module, fps=seen.fps, threshold=seen.threshold, card=card)


def _card(config: EmbeddingConfig, encoder: Encoder, run: Run, corpus: dict[str, Any]) -> dict[str, Any]:
    rows = (run.out / "curve.csv").read_text().splitlines()[1:]
    sentence = f"An embedding MLP by {config.loss} on {corpus['items']:,} items, on the trunk of '{encoder.name}'."
    return {
        "licence": config.licence or encoder.card.get("licence", ""),
        "data": config.data or f"{sentence} The trunk: {encoder.card.get('data', '') or 'unknown'}",
        "config": {"kind": "embedding", **config.as_dict(), "trunk": encoder.hash, "corpus": corpus},
        "metrics": {"loss_by_epoch": [float(row.split(",")[2]) for row in rows]},
        "command": run.command,
    }
