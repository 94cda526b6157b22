"""Batches of items for an embedding MLP (Sec. 3.3), and its configuration.

A sign lies between 20 frames before its end and 5 after, or within 11 frames of its middle: a label says which of them
it marks. The foreground clip is a random window inside that segment; background clips are windows that share no frame
with it. Every batch follows from the seed and its step.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.corpus.labels import SignWindow
from signspot.dictionary.dictionary import Dictionary
from signspot.errors import FormatError, OptionsError
from signspot.io.checks import check_numbers
from signspot.losses.watch_read_lookup import Bags, Batch
from signspot.training.configuration import FOR_PEOPLE, Compute, plain_values
from signspot.training.corpus_subset import Item, ItemOptions, Words
from signspot.training.distributed import ALONE, Group
from signspot.training.trunk_features import TrunkFeatures
from signspot.types import Grid
from signspot.words.synonyms import WordNet

IntArray = NDArray[np.int64]
BACKGROUND = -1  # the word of a clip without a label


Loss = Literal["classification", "info_nce", "watch_lookup", "watch_read_lookup"]
Synonyms = Literal["keep", "sign", "english"]
_THINNED = 8  # of neighbouring windows, which are nearly the same, one is measured


@dataclass(frozen=True, slots=True)
class ItemBatchOptions(SignWindow):
    """Composition of a batch. The defaults are the paper's."""

    items: int = 128
    distinct: bool = True  # each labelled word at most once in a batch: all words are drawn equally often
    background: int = 10  # background clips per item
    clips: int = 6  # clips of an exemplar that are drawn and averaged

    def __post_init__(self) -> None:
        SignWindow.__post_init__(self)
        check_numbers(self, "items", least=2)
        check_numbers(self, "clips", least=1)
        check_numbers(self, "background", least=0)


@dataclass(frozen=True, slots=True)
class BatchIndices:
    """A batch, before any feature is read: where its clips and exemplars are to be found."""

    videos: tuple[str, ...]  # (B,) the items' videos
    clip_window: IntArray  # (N,) window of the item's video
    clip_item: IntArray  # (N,)
    clip_word: IntArray  # (N,) -1: background
    exemplars: IntArray  # (E,) those of the batch, each once
    exemplar_clips: IntArray  # (E, n) which of its clips are averaged
    exemplar_row: IntArray  # (V,) index into exemplars
    exemplar_item: IntArray  # (V,)
    exemplar_word: IntArray  # (V,)
    exemplar_foreground: NDArray[np.bool_]  # (V,)

    def foreground_only(self) -> "BatchIndices":
        """Labelled clips and their words' exemplars: what there is without subtitles."""
        rows, columns = self.clip_word != BACKGROUND, self.exemplar_foreground
        used, renumbered = np.unique(self.exemplar_row[columns], return_inverse=True)
        return BatchIndices(
            self.videos,
            self.clip_window[rows],
            self.clip_item[rows],
            self.clip_word[rows],
            self.exemplars[used],
            self.exemplar_clips[used],
            renumbered.astype(np.int64),
            self.exemplar_item[columns],
            self.exemplar_word[columns],
            self.exemplar_foreground[columns],
        )


class ItemBatches:
    """All batches of all epochs, by number; any process may make any of them."""

    def __init__(
        self,
        items: Sequence[Item],
        grids: Mapping[str, Grid],
        exemplars: Sequence[str],
        bank: int,
        seed: int = 0,
        options: ItemBatchOptions | None = None,
    ):
        """Prepare.

        Args:
            items: what to draw from.
            grids: video → where its windows lie, stride 1.
            exemplars: (E,) the word of every exemplar; words are numbered in sorted order.
            bank: clips there are of every exemplar.
            seed: of all that is random.
            options: composition of a batch.

        Raises:
            OptionsError: an item's word has no exemplar, or its video no windows.
        """
        self.items, self.grids, self.seed, self.bank = tuple(items), grids, seed, bank
        self.options = options or ItemBatchOptions()
        self.words = tuple(sorted(set(exemplars)))
        self.number = {word: number for number, word in enumerate(self.words)}
        self.exemplars_of: dict[str, list[int]] = defaultdict(list)
        for index, word in enumerate(exemplars):
            self.exemplars_of[word].append(index)
        self.items_of: dict[str, list[int]] = defaultdict(list)
        for index, item in enumerate(self.items):
            self._check(item)
            self.items_of[item.word].append(index)
        self._labelled = sorted(self.items_of)

    def _check(self, item: Item) -> None:
        for word in (item.word, *item.background):
            if word not in self.exemplars_of:
                raise OptionsError(f"the word '{word}' has no exemplar. Leave its labels out, or add an exemplar.")
        if item.video not in self.grids:
            raise OptionsError(f"the video '{item.video}' of a label of '{item.word}' is not in the corpus")

    @property
    def size(self) -> int:
        """Items in a batch: fewer than asked for where there are not enough of them."""
        return min(self.options.items, len(self._labelled) if self.options.distinct else len(self.items))

    def __len__(self) -> int:
        """Batches in an epoch, in which about as many items are drawn as there are."""
        return math.ceil(len(self.items) / self.size)

    def __getitem__(self, step: int) -> BatchIndices:
        """Make batch number `step`, which may lie in any epoch."""
        random = np.random.default_rng([self.seed, step])
        chosen = [self.items[index] for index in self._choose(step, random)]
        windows = [self._windows(item, random) for item in chosen]
        looked_up = [self._look_up(item, random) for item in chosen]
        used, rows = np.unique([index for pairs in looked_up for index, _ in pairs], return_inverse=True)
        flat = [(item, word, word == chosen[item].word) for item, pairs in enumerate(looked_up) for _, word in pairs]
        counts = [len(starts) for starts in windows]
        words = [[self.number[item.word], *[BACKGROUND] * (n - 1)] for item, n in zip(chosen, counts, strict=True)]
        return BatchIndices(
            tuple(item.video for item in chosen),
            np.concatenate(windows),
            np.repeat(np.arange(len(chosen)), counts),
            np.concatenate(words).astype(np.int64),
            used.astype(np.int64),
            self._clips(len(used), random),
            rows.astype(np.int64),
            np.array([item for item, _, _ in flat], np.int64),
            np.array([self.number[word] for _, word, _ in flat], np.int64),
            np.array([front for _, _, front in flat], np.bool_),
        )

    def _choose(self, step: int, random: np.random.Generator) -> list[int]:
        """The items of a batch: a random one of random words, or the next ones of the epoch's random order."""
        if self.options.distinct:
            words = random.permutation(len(self._labelled))[: self.size]
            pools = [self.items_of[self._labelled[word]] for word in words]
            return [pool[int(random.integers(len(pool)))] for pool in pools]
        epoch, number = divmod(step, len(self))
        order = np.random.default_rng([self.seed, epoch, 1]).permutation(len(self.items))
        return [int(index) for index in order[number * self.size : (number + 1) * self.size]]

    def _windows(self, item: Item, random: np.random.Generator) -> IntArray:
        """The window of the labelled sign, then those of the background: (1 + n,)."""
        grid, options = self.grids[item.video], self.options
        segment = options.of(item.label)
        begin = round((segment.start - grid.origin) * grid.fps)
        length = round(segment.duration * grid.fps)
        front = begin + int(random.integers(0, max(0, length - grid.window) + 1))
        first, last = (round((t - grid.origin) * grid.fps) - grid.window // 2 for t in (item.span.start, item.span.end))
        starts = np.arange(max(0, first), min(grid.count - 1, last) + 1)
        sign = item.label.segment  # which may be longer than the stretch around its middle
        signed = [round((time - grid.origin) * grid.fps) for time in (sign.start, sign.end)]
        ahead, behind_sign = min(begin, signed[0]), max(begin + length, signed[1])
        outside = starts[(starts + grid.window <= ahead) | (starts >= behind_sign)]
        count = min(options.background, len(outside))
        behind = np.sort(random.choice(outside, count, replace=False)) if count else outside[:0]
        return np.concatenate([[min(max(front, 0), grid.count - 1)], behind]).astype(np.int64)

    def _look_up(self, item: Item, random: np.random.Generator) -> list[tuple[int, str]]:
        """The exemplars of the item's words, the labelled one's first, those of a word in random order."""
        looked_up: list[tuple[int, str]] = []
        for word in (item.word, *item.background):
            looked_up += [(int(index), word) for index in random.permutation(self.exemplars_of[word])]
        return looked_up

    def _clips(self, count: int, random: np.random.Generator) -> IntArray:
        """Clips of each exemplar that are averaged: (E, n), different ones."""
        drawn = min(self.options.clips, self.bank)
        return random.random((count, self.bank)).argsort(axis=1)[:, :drawn].astype(np.int64)


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """Settings of a training, besides its corpus and its trunk. The defaults are the paper's."""

    name: str = "embedding"  # of the encoder
    licence: str = ""  # of its weights; empty: that of the trunk
    data: str = ""  # one sentence for the card; empty: made from trunk and corpus
    words: Words = "all"  # of a corpus with splits: all words, or those for training alone
    loss: Loss = "watch_read_lookup"
    bags: Bags = "appendix"  # variant of Watch-Read-Lookup; see the page on losses
    temperature: float = 0.07
    seed: int = 0
    epochs: int = 50
    lr: float = 1e-2  # learning rate of the first epochs
    momentum: float = 0.9
    decay: float = 0.1  # factor of the learning rate at each of `decays`
    decays: tuple[float, ...] = (0.8, 0.9)  # shares of the epochs: 40 and 45 of 50
    dimension: int = 256  # of the embedding
    domain_specific: bool = False  # one MLP for continuous signing, one for the dictionary (Table A.2)
    synonyms: Synonyms = "keep"  # as negatives, or discard pairs that share a sign or an English meaning (Table A.3)
    items: ItemOptions = field(default_factory=ItemOptions)
    batch: ItemBatchOptions = field(default_factory=ItemBatchOptions)
    compute: Compute = field(default_factory=Compute)

    def __post_init__(self) -> None:
        choices = (("loss", Loss), ("bags", Bags), ("synonyms", Synonyms), ("words", Words))
        for name, allowed in ((name, get_args(kind)) for name, kind in choices):
            if getattr(self, name) not in allowed:
                raise OptionsError(f"no {name} '{getattr(self, name)}'. There are: {', '.join(allowed)}")
        check_numbers(self, "temperature", "lr", "epochs", "dimension", "decay", above=0)
        check_numbers(self, "seed", least=0)
        check_numbers(self, "momentum", "decays", least=0, most=1)

    def as_dict(self) -> dict[str, Any]:
        """Plain values of all that a training follows from, for checkpoints and cards."""
        return plain_values(self, FOR_PEOPLE)


def synonym_pairs(how: Synonyms, dictionary: Dictionary, words: Collection[str]) -> list[tuple[str, str]]:
    """Pairs of words, each once and in order, whose clips and exemplars are to be discarded.

    Args:
        how: "keep": none; "sign": words that share a sign, as the dictionary says; "english": words that share a
            meaning, as WordNet says.
        dictionary: that knows which words share a sign.
        words: of which there may be pairs.

    Raises:
        MissingWordNetError: English meanings are asked for, and WordNet is not installed.
    """
    if how == "keep":
        return []
    chosen = set(words)
    net = WordNet() if how == "english" else None
    pairs = set()
    for word in chosen & set(dictionary):
        others = net.synonyms(word) if net is not None else dictionary.synonyms(word)
        pairs |= {(min(word, other), max(word, other)) for other in others if other in chosen and other != word}
    return sorted(pairs)


@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """A shift and a scale that give trunk features mean 0 and root mean square 1; they are folded into the MLP."""

    mean: Tensor  # (D,)
    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class FeatureBatch:
    """Trunk features at the places of a batch."""

    clips: Tensor  # (N, D), or the rows of one process
    exemplars: Tensor  # (E, D) each exemplar once, or the rows of one process
    indices: BatchIndices  # of the whole batch
    synonyms: Tensor | None = None  # (P, 2) words of which pairs are neither positive nor negative

    def embedded(self, clips: Tensor, exemplars: Tensor) -> Batch:
        """The batch as losses see it, of embedded (N, D) clips and (E, D) exemplars."""
        indices = self.indices

        def there(values: NDArray[Any]) -> Tensor:
            return torch.from_numpy(values).to(clips.device)

        return Batch(
            clips,
            there(indices.clip_item),
            there(indices.clip_word),
            exemplars[there(indices.exemplar_row)],
            there(indices.exemplar_item),
            there(indices.exemplar_word),
            there(indices.exemplar_foreground),
        )

    @property
    def exemplar_words(self) -> Tensor:
        """(E,) the word of each exemplar."""
        words = np.zeros(len(self.indices.exemplars), np.int64)
        words[self.indices.exemplar_row] = self.indices.exemplar_word
        return torch.from_numpy(words)


class EmbeddingData:
    """All batches of a training, by number, with features."""

    def __init__(
        self,
        features: TrunkFeatures,
        items: Sequence[Item],
        config: EmbeddingConfig,
        synonyms: Iterable[tuple[str, str]] = (),
    ):
        """Prepare; the exemplars of all words of the items are used, those of other words are not.

        Args:
            features: of the trunk.
            items: what batches are drawn from.
            config: of the training.
            synonyms: pairs of words whose clips and exemplars are neither positive nor negative.
        """
        used = {word for item in items for word in (item.word, *item.background)}
        self._rows = np.flatnonzero([exemplar.word in used for exemplar in features.exemplars])
        self.features, self.items, self.config = features, tuple(items), config
        grids = {name: windows.grid for name, windows in features.videos.items()}
        words = [features.exemplars[row].word for row in self._rows]
        bank = features.clips.shape[1]
        self.batches = ItemBatches(items, grids, words, bank, config.seed, config.batch)
        number = self.batches.number
        pairs = [(number[word], number[synonym]) for word, synonym in synonyms if word in number and synonym in number]
        self._synonyms = torch.tensor(pairs, dtype=torch.int64) if pairs else None

    @property
    def words(self) -> tuple[str, ...]:
        """The words by number."""
        return self.batches.words

    def __len__(self) -> int:
        """Batches in an epoch."""
        return len(self.batches)

    def __getitem__(self, step: int) -> FeatureBatch:
        """Batch number `step`, of any epoch; without background where the loss reads no subtitles."""
        return self.read(step)

    def read(self, step: int, group: Group = ALONE) -> FeatureBatch:
        """Batch number `step`, with the features of this process's share of clips and exemplars only."""
        indices = self.batches[step]
        if self.config.loss != "watch_read_lookup":
            indices = indices.foreground_only()
        mine = group.share(len(indices.clip_window))
        windows, items = indices.clip_window[mine], indices.clip_item[mine]
        clips = np.zeros((len(windows), self.features.dimension), np.float32)
        for item in np.unique(items):
            video = self.features.videos[indices.videos[item]].features
            clips[items == item] = video[windows[items == item]]
        mine = group.share(len(indices.exemplars))
        rows = self._rows[indices.exemplars[mine]]
        drawn = self.features.clips[rows[:, None], indices.exemplar_clips[mine]]  # (E, n, D)
        exemplars = drawn.mean(axis=1, dtype=np.float32)
        return FeatureBatch(torch.from_numpy(clips), torch.from_numpy(exemplars), indices, self._synonyms)

    def standard(self) -> Standard:
        """The shift and scale of every eighth window of all videos that have items.

        Raises:
            FormatError: the features of a video are NaN or infinite.
        """
        total: NDArray[np.float64] = np.zeros(self.features.dimension)
        squares, count = 0.0, 0
        for name in sorted({item.video for item in self.items}):
            windows = np.asarray(self.features.videos[name].features[::_THINNED], np.float32)
            total += windows.sum(axis=0, dtype=np.float64)
            squares += float(np.square(windows, dtype=np.float64).sum())
            if not np.isfinite(squares):
                raise FormatError(
                    f"the kept features of video '{name}' are NaN or infinite. Remove them to make them anew."
                )
            count += len(windows)
        mean = total / count
        spread = squares / count - float(np.square(mean).sum())
        scale = float(np.sqrt(max(spread / len(mean), 1e-12)))
        return Standard(torch.from_numpy(mean.astype(np.float32)), scale)
