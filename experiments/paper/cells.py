"""The cells of all tables: what is learned and measured in one, each done once and kept on disk."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from experiments.paper.protocol import Embed, retrieve
from experiments.paper.setup import Setting, Setup, TrunkKind, Vocabulary
from signspot.io.files import atomic_write, text_digest
from signspot.io.progress import Progress, silent
from signspot.models.mlp import UnitNorm
from signspot.training.embedding import train_embedding
from signspot.training.item_batches import EmbeddingConfig, EmbeddingData, synonym_pairs

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class CellRecipe:
    """Training and test of an embedding: the changes of a row to the settings that all rows share."""

    trunk: TrunkKind = "joint"
    learn: Mapping[str, Any] | None = field(default_factory=dict)  # changes to the training, by name; None: no MLP
    vocabulary: Vocabulary = "labelled"  # whose exemplars are looked up
    stride: int = 1  # frames between the windows that are tested


@dataclass(frozen=True, slots=True)
class Outcome:
    """One cell by one seed: shares in [0, 1], averaged over words."""

    mean_average_precision: float
    recall_5: float
    variant_precision: float  # mAP where only exemplars of the signed variant are right
    queries: int
    words: int
    items: int  # that were trained on


def changed(config: _T, changes: Mapping[str, Any]) -> _T:
    """A record with some values changed; `batch.items` is the value `items` of the record `batch`."""
    made: Any = config
    for name, value in changes.items():
        head, _, rest = name.partition(".")
        part = getattr(made, head)
        made = replace(made, **{head: changed(part, {rest: value}) if rest and is_dataclass(part) else value})
    return made  # type: ignore[no-any-return]


class Cells:
    """Measures cells; those that are done are read from disk, and trainings are shared between tables."""

    def __init__(self, setup: Setup):
        self.setup = setup

    def prepare(self, recipe: CellRecipe, setting: Setting, seed: int) -> None:
        """Make the features that a cell needs, unless it is done."""
        if not self._place(recipe, setting, seed)[0].is_file():
            self.setup.features(recipe.trunk, setting)

    def measure(self, recipe: CellRecipe, setting: Setting, seed: int, progress: Progress = silent) -> Outcome:
        """Train what a recipe asks for and test it.

        Args:
            recipe: what is done.
            setting: whether the test words have labels in training.
            seed: of the training.
            progress: told the steps of a training.
        """
        path, learned = self._place(recipe, setting, seed)
        if path.is_file():
            return Outcome(**json.loads(path.read_text())["outcome"])
        config = self._config(recipe, seed)
        outcome = self._measure(recipe, setting, config, text_digest(json.dumps(learned)), progress)
        with atomic_write(path) as temporary:
            said = {**learned, "stride": recipe.stride, "outcome": asdict(outcome)}
            temporary.write_text(json.dumps(said, indent=1) + "\n")
        return outcome

    def _place(self, recipe: CellRecipe, setting: Setting, seed: int) -> tuple[Path, dict[str, Any]]:
        """The file of a cell, and the settings that the embedding in it follows from."""
        config = self._config(recipe, seed)
        learned = {
            **self.setup.identity(recipe.trunk, setting),
            "setting": setting,
            "vocabulary": recipe.vocabulary,
            "config": config.as_dict() if config else None,
        }
        return self.setup.out / "cells" / f"{text_digest(json.dumps([learned, recipe.stride]))}.json", learned

    def _config(self, recipe: CellRecipe, seed: int) -> EmbeddingConfig | None:
        if recipe.learn is None:
            return None
        return changed(self.setup.size.embedding, {**recipe.learn, "seed": seed})

    def _measure(
        self, recipe: CellRecipe, setting: Setting, config: EmbeddingConfig | None, run: str, progress: Progress
    ) -> Outcome:
        features = self.setup.features(recipe.trunk, setting)
        embed: Embed = UnitNorm(features.dimension)
        items = []
        if config is not None:
            items = self.setup.items(setting, config, recipe.vocabulary)
            pairs = synonym_pairs(config.synonyms, self.setup.corpus.dictionary(), self.setup.words(setting))
            data = EmbeddingData(features, items, config, pairs)
            folder = self.setup.out / "runs" / run
            embed = train_embedding(config, data, folder, progress, device=self.setup.size.device).module
        words = self.setup.corpus.splits().words.test
        found = retrieve(embed, features, self.setup.queries(features), words, recipe.stride)
        by_word, by_variant = found.words, found.variants.average_precision.per_group
        shares = (by_word.average_precision.per_group, by_word.recall[5].per_group, by_variant)
        return Outcome(*shares, by_word.queries, by_word.words, len(items))
