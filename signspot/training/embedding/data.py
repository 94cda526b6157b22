"""Training data of an embedding MLP: batches of items with their trunk features, and pairs of synonyms."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.dictionary.dictionary import Dictionary
from signspot.errors import FormatError
from signspot.losses.watch_read_lookup import Batch
from signspot.training.distributed import ALONE, Group
from signspot.training.embedding.batches import ItemBatches, Places
from signspot.training.embedding.config import EmbeddingConfig, Synonyms
from signspot.training.embedding.trunk_features import TrunkFeatures
from signspot.training.items import Item
from signspot.words.synonyms import WordNet

_THINNED = 8  # of neighbouring windows, which are nearly the same, one is measured


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
    known = set(words)
    net = WordNet() if how == "english" else None
    pairs = set()
    for word in known & set(dictionary):
        others = net.synonyms(word) if net is not None else dictionary.synonyms(word)
        pairs |= {(min(word, other), max(word, other)) for other in others if other in known and other != word}
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
    places: Places  # of the whole batch
    synonyms: Tensor | None = None  # (P, 2) words of which pairs are neither positive nor negative

    def embedded(self, clips: Tensor, exemplars: Tensor) -> Batch:
        """The batch as losses see it, of embedded (N, D) clips and (E, D) exemplars."""
        places = self.places

        def there(values: NDArray[Any]) -> Tensor:
            return torch.from_numpy(values).to(clips.device)

        return Batch(
            clips,
            there(places.clip_item),
            there(places.clip_word),
            exemplars[there(places.exemplar_row)],
            there(places.exemplar_item),
            there(places.exemplar_word),
            there(places.exemplar_foreground),
        )

    @property
    def exemplar_words(self) -> Tensor:
        """(E,) the word of each exemplar."""
        words = np.zeros(len(self.places.exemplars), np.int64)
        words[self.places.exemplar_row] = self.places.exemplar_word
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
        pairs = [(number[one], number[two]) for one, two in synonyms if one in number and two in number]
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
        places = self.batches[step]
        if self.config.loss != "watch_read_lookup":
            places = places.foreground_only()
        mine = group.share(len(places.clip_window))
        windows, items = places.clip_window[mine], places.clip_item[mine]
        clips = np.zeros((len(windows), self.features.dimension), np.float32)
        for item in np.unique(items):
            video = self.features.videos[places.videos[item]].features
            clips[items == item] = video[windows[items == item]]
        mine = group.share(len(places.exemplars))
        rows = self._rows[places.exemplars[mine]]
        drawn = self.features.clips[rows[:, None], places.exemplar_clips[mine]]  # (E, n, D)
        exemplars = drawn.mean(axis=1, dtype=np.float32)
        return FeatureBatch(torch.from_numpy(clips), torch.from_numpy(exemplars), places, self._synonyms)

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
