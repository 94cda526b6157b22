"""From a corpus and a frozen trunk to an encoder with a new MLP: subset, features made once, training, weights."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.files import write_beside
from signspot.models.encoder import Encoder, find_device, make_encoder
from signspot.models.mlp import MlpOptions
from signspot.models.registry import build
from signspot.progress import Stage, quiet
from signspot.training.distributed import ALONE, Group
from signspot.training.embedding.config import EmbeddingConfig
from signspot.training.embedding.data import EmbeddingData, synonym_pairs
from signspot.training.embedding.training import Mlp, train_embedding
from signspot.training.embedding.trunk_features import TrunkFeatures, trunk_features
from signspot.training.items import Item
from signspot.training.run_folder import CPU, moved_to
from signspot.training.subset import TrainingSubset, find_training_subset


@dataclass(frozen=True, slots=True)
class Run:
    """Where a training keeps its things, and who takes part."""

    out: Path  # state, curve and what the run follows from
    features: Path | None = None  # of the trunk; None: in `out`
    command: str = ""  # for the card
    group: Group = ALONE
    device: str = CPU  # where it is trained

    def __post_init__(self) -> None:
        if self.group.size > 1 and self.device != CPU:
            raise OptionsError(
                f"several processes train on the CPU; got the device '{self.device}'. Leave out torchrun"
            )


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


def claim(run: Run, setup: dict[str, Any]) -> None:
    """Write what a run follows from, or see that the folder's run follows from the same.

    Raises:
        OptionsError: the folder holds a run with another corpus, trunk or configuration.
    """
    path, wanted = run.out / "run.json", json.loads(json.dumps(setup))
    if path.is_file():
        there = json.loads(path.read_text())
        for name, value in wanted.items():
            if there.get(name) != value:
                raise OptionsError(f"{run.out} holds a training with another {name}. Name another folder with --out")
    elif run.group.is_first:
        with write_beside(path) as beside:
            beside.write_text(json.dumps(wanted, indent=1) + "\n")


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
