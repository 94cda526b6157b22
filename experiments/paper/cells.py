"""Cells: one training with its test, done once and kept on disk; and the cells of Tables 2 to 5, Fig. 5, A.1 to A.3.

Retrieval (Sec. 4.2): for every query all exemplars of the test words are ranked by their greatest similarity to any of
its windows. One is right if it shows the word, and that similarity is where the word is signed.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from experiments.paper.setup import Setting, Setup, TrunkKind, Vocabulary
from signspot.evaluation.labelled_corpus import RetrievalQuery
from signspot.io.files import text_digest
from signspot.metrics.localisation import ClipRetrieval, Tolerance
from signspot.metrics.ranking import GroupedValues, RankedQueries, ranks_of
from signspot.models.batch_norm import Domain
from signspot.models.encoder import Encoder
from signspot.models.mlp import UnitNorm
from signspot.training.corpus_subset import Item
from signspot.training.embedding_mlp import EmbeddingTask, Mlp, attach_mlp
from signspot.training.item_batches import EmbeddingConfig, EmbeddingData, synonym_pairs
from signspot.training.loop import train
from signspot.training.trunk_features import TrunkFeatures
from signspot.types import Exemplar

PROTOCOL = 1  # raised whenever the same settings would give other numbers: the code of trainings or tests has changed
_DIGITS = 3  # of a word's mean: a thousandth
_T = TypeVar("_T")
FloatArray = NDArray[np.float32]
Embed = Callable[[Tensor, Domain], Tensor]  # (N, D) trunk features of a domain → (N, d) embeddings of unit norm
WordValues = dict[str, list[float]]  # word → the value of each of its queries


@dataclass(frozen=True, slots=True)
class Result:
    """Measurements of one cell."""

    values: dict[str, WordValues]  # by name of the measure
    counts: dict[str, float] = field(default_factory=dict)  # such as the items that were learned from


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement: the settings that it follows from, and how it is done."""

    corpus: int  # its number: words of different corpora are different words
    seed: int
    key: Mapping[str, Any]  # plain values
    compute: Callable[[], Result]


class KeptCells:
    """Cells in a file of JSON lines, one each: measured once, on whatever machine. Of each word its mean is kept."""

    def __init__(self, file: Path):
        self.file = file
        self._results: dict[str, Result] = {}
        for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
            with suppress(json.JSONDecodeError):  # a line that was cut off when a run was killed
                packed = json.loads(line)
                self._results[packed["cell"]] = _unpacked(packed)

    def read(self, cell: Cell) -> Result | None:
        """A result; None: it is not measured yet."""
        return self._results.get(_digest(cell))

    def measure(self, cell: Cell) -> Result:
        """A result, measured now unless it is there."""
        digest = _digest(cell)
        if digest not in self._results:
            packed = {"cell": digest, **_packed(cell.compute())}
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a", encoding="utf-8") as stream:  # one write, so that two runs may share a file
                stream.write("\n" + json.dumps(packed, separators=(",", ":")) + "\n")
            self._results[digest] = _unpacked(packed)
        return self._results[digest]


def _digest(cell: Cell) -> str:
    return text_digest(json.dumps([PROTOCOL, cell.key], sort_keys=True))


def _packed(result: Result) -> dict[str, Any]:
    """A result as it is kept: the words once, and for each measure the number and the mean of every word's values."""
    words = sorted({word for by_word in result.values.values() for word in by_word})
    values = {
        name: [[len(by_word[word]), round(fmean(by_word[word]), _DIGITS)] if by_word.get(word) else 0 for word in words]
        for name, by_word in result.values.items()
    }
    counts = {name: round(count, _DIGITS) for name, count in result.counts.items()}
    return {"counts": counts, "words": words, "values": values}


def _unpacked(packed: Mapping[str, Any]) -> Result:
    values = {
        name: {word: pair[0] * [pair[1]] for word, pair in zip(packed["words"], pairs, strict=True) if pair}
        for name, pairs in packed["values"].items()
    }
    return Result(values, packed["counts"])


@dataclass(frozen=True, slots=True)
class CellRecipe:
    """Training and test of an embedding: the changes of a row to the settings that all rows share."""

    trunk: TrunkKind = "joint"
    learn: Mapping[str, Any] | None = field(default_factory=dict)  # changes to the training, by name; None: no MLP
    vocabulary: Vocabulary = "labelled"  # whose exemplars are looked up
    permuted: bool = False  # control: each item has the other words of another item's subtitle
    stride: int = 1  # frames between the windows that are tested


def changed(config: _T, changes: Mapping[str, Any]) -> _T:
    """A record with some values changed; `batch.items` is the value `items` of the record `batch`."""
    result: Any = config
    for name, value in changes.items():
        head, _, rest = name.partition(".")
        part = getattr(result, head)
        result = replace(result, **{head: changed(part, {rest: value}) if rest and is_dataclass(part) else value})
    return result  # type: ignore[no-any-return]


def permute_subtitles(items: Sequence[Item], seed: int) -> list[Item]:
    """Give each item the background words of a random other one: what is read has nothing to do with what is signed."""
    order = np.random.default_rng(seed).permutation(len(items))
    words = [items[number].background for number in order]
    return [
        replace(item, background=tuple(word for word in read if word != item.word))
        for item, read in zip(items, words, strict=True)
    ]


class Embeddings:
    """Trains and tests embeddings of one corpus; trainings are shared between cells."""

    def __init__(self, setup: Setup, number: int = 0):
        self.setup, self.number = setup, number

    def cell(self, recipe: CellRecipe, setting: Setting, seed: int) -> Cell:
        """The cell of a recipe; the seed is that of the trunk and of the MLP."""
        key = {**self._learned(recipe, setting, seed), "stride": recipe.stride, "kind": "retrieval"}
        return Cell(self.number, seed, key, lambda: self._measure(recipe, setting, seed))

    def encoder(self, recipe: CellRecipe, setting: Setting, seed: int) -> Encoder:
        """The trunk of a recipe with its embedding."""
        trunk, config = self.setup.trunk(recipe.trunk, setting, seed), self._config(recipe, seed)
        if config is None:
            return trunk
        return attach_mlp(config, trunk, self._train(recipe, setting, seed)[0])

    def _config(self, recipe: CellRecipe, seed: int) -> EmbeddingConfig | None:
        if recipe.learn is None:
            return None
        return changed(self.setup.size.embedding, {**recipe.learn, "seed": seed})

    def _learned(self, recipe: CellRecipe, setting: Setting, seed: int) -> dict[str, Any]:
        """Settings that an embedding follows from."""
        config = self._config(recipe, seed)
        return {
            **self.setup.identity(recipe.trunk, setting, seed),
            "setting": setting,
            "vocabulary": recipe.vocabulary,
            "permuted": recipe.permuted,
            "config": config.as_dict() if config else None,
        }

    def _train(self, recipe: CellRecipe, setting: Setting, seed: int) -> tuple[Mlp, int]:
        """The embedding of a recipe that has an MLP, and the number of items that it learned from."""
        setup, config = self.setup, self._config(recipe, seed)
        assert config is not None, "a recipe with an MLP"
        items = setup.items(setting, config, recipe.vocabulary)
        if recipe.permuted:
            items = permute_subtitles(items, seed)
        pairs = synonym_pairs(config.synonyms, setup.corpus.dictionary(), setup.labelled_words(setting))
        data = EmbeddingData(setup.features(recipe.trunk, setting, seed), items, config, pairs)
        run = setup.out / "runs" / text_digest(json.dumps(self._learned(recipe, setting, seed)))
        return train(EmbeddingTask(config, data), run, device=setup.size.device).module, len(items)

    def _measure(self, recipe: CellRecipe, setting: Setting, seed: int) -> Result:
        features = self.setup.features(recipe.trunk, setting, seed)
        embed: Embed = UnitNorm(features.dimension)
        items = 0
        if recipe.learn is not None:
            embed, items = self._train(recipe, setting, seed)
        values: dict[str, WordValues] = {}
        counts: dict[str, float] = {"items": items}
        for tested, queries in self.setup.queries(features).items():
            for name, of_words in retrieve(embed, features, queries, self.setup.words.test, recipe.stride).items():
                values[f"{tested} {name}"] = of_words
            counts[f"{tested} queries"] = len(queries)
        return Result(values, counts)


def retrieve(
    embed: Embed, features: TrunkFeatures, queries: Sequence[RetrievalQuery], words: Collection[str], stride: int = 1
) -> dict[str, WordValues]:
    """Rank all exemplars of the test words for every query.

    Args:
        embed: what turns trunk features into embeddings.
        features: of the corpus.
        queries: to be answered.
        words: whose exemplars are ranked: the test vocabulary.
        stride: frames between the windows that are looked at.

    Returns:
        "mAP" and "R@5" as the paper has them; "variant mAP": only exemplars of the signed variant are right, and the
        word's others are left out.
    """
    rows = [row for row, exemplar in enumerate(features.exemplars) if exemplar.word in set(words)]
    gallery = embedded(embed, features.exemplar_means()[rows], "dictionary")
    exemplars = [features.exemplars[row] for row in rows]
    by_word, by_variant = ClipRetrieval([exemplar.word for exemplar in exemplars]), RankedQueries()
    for name in dict.fromkeys(query.video for query in queries):
        windows = features.videos[name]
        similarity = embedded(embed, np.asarray(windows.features, np.float32), "continuous") @ gallery.T
        for query in (query for query in queries if query.video == name):
            span = slice(query.first, query.last + 1, stride)
            times = windows.grid.times[span]
            maxima, peaks = similarity[span].max(axis=0), times[similarity[span].argmax(axis=0)]
            by_word.add_maxima(query.word, query.times, maxima, peaks)
            _rank_variant(by_variant, query, exemplars, maxima, peaks)
    measures = {
        "mAP": by_word.queries.average_precisions,
        "R@5": by_word.queries.hits(5),
        "variant mAP": by_variant.average_precisions,
    }
    return {name: _by_word(values) for name, values in measures.items()}


def _by_word(values: GroupedValues) -> WordValues:
    return {str(word): list(of_word) for word, of_word in values.items()}


def _rank_variant(
    ranked: RankedQueries, query: RetrievalQuery, exemplars: Sequence[Exemplar], maxima: FloatArray, peaks: FloatArray
) -> None:
    """Rank the exemplars of the signed variant among those of other words."""
    of_word = np.array([exemplar.word == query.word for exemplar in exemplars])
    same = of_word & np.array([not query.shown or exemplar.id in query.shown for exemplar in exemplars])
    ranked_rows = np.flatnonzero(same | ~of_word)
    right = np.flatnonzero((same & Tolerance().accepts(peaks, query.times))[ranked_rows])
    if same.any():
        ranked.add(query.word, ranks_of(maxima[ranked_rows], right), int(same.sum()))


@torch.inference_mode()
def embedded(embed: Embed, features: FloatArray, domain: Domain) -> FloatArray:
    """(N, D) trunk features as (N, d) embeddings."""
    embeddings: FloatArray = embed(torch.from_numpy(np.ascontiguousarray(features)), domain).numpy()
    return embeddings
