"""A batch as the losses see it: embedded clips and exemplars, with whose and which word each one is."""

from dataclasses import dataclass

import torch
from torch import Tensor

BACKGROUND = -1


@dataclass(frozen=True, slots=True)
class Batch:
    """Clips of subtitled videos, and the exemplars of their subtitles' words. Words are any whole numbers ≥ 0."""

    clips: Tensor  # (N, D) unit norm
    clip_item: Tensor  # (N,) which item a clip is of
    clip_word: Tensor  # (N,) its word; -1: background
    exemplars: Tensor  # (V, D) unit norm
    exemplar_item: Tensor  # (V,) which item an exemplar was looked up for
    exemplar_word: Tensor  # (V,)
    exemplar_foreground: Tensor  # (V,) bool: its word is the item's labelled one

    def __post_init__(self) -> None:
        n, v = len(self.clips), len(self.exemplars)
        assert self.clip_item.shape == self.clip_word.shape == (n,)
        assert self.exemplar_item.shape == self.exemplar_word.shape == self.exemplar_foreground.shape == (v,)

    @property
    def is_foreground(self) -> Tensor:
        """(N,) bool: the clip is labelled."""
        return self.clip_word != BACKGROUND

    def foreground_only(self) -> "Batch":
        """Labelled clips and their words' exemplars: what there is without subtitles."""
        rows, columns = self.is_foreground, self.exemplar_foreground
        return Batch(
            self.clips[rows],
            self.clip_item[rows],
            self.clip_word[rows],
            self.exemplars[columns],
            self.exemplar_item[columns],
            self.exemplar_word[columns],
            self.exemplar_foreground[columns],
        )

    def one_exemplar_an_item(self) -> "Batch":
        """Labelled clips, and of each item the first exemplar of its labelled word."""
        fore = self.foreground_only()
        position = torch.arange(len(fore.exemplar_item), device=fore.exemplar_item.device)
        same = fore.exemplar_item[:, None] == fore.exemplar_item
        first = (same & (position < position[:, None])).sum(dim=1) == 0
        return Batch(
            fore.clips,
            fore.clip_item,
            fore.clip_word,
            fore.exemplars[first],
            fore.exemplar_item[first],
            fore.exemplar_word[first],
            fore.exemplar_foreground[first],
        )


@dataclass(frozen=True, slots=True)
class Membership:
    """Which words a batch has, and what holds which: the masks from which all bags are cut."""

    words: Tensor  # (K,) the words of the exemplars, sorted
    column_word: Tensor  # (V,) index into words
    row_words: Tensor  # (N, K) bool: a foreground clip has its own word, a background clip its item's background words
    row_subtitle: Tensor  # (N, K) bool: all words that were looked up for the clip's item

    @classmethod
    def of(cls, batch: Batch) -> "Membership":
        """Work out the masks of a batch."""
        words, column_word = torch.unique(batch.exemplar_word, return_inverse=True)
        _, both = torch.unique(torch.cat([batch.clip_item, batch.exemplar_item]), return_inverse=True)
        clip_item, exemplar_item = both[: len(batch.clip_item)], both[len(batch.clip_item) :]
        items = int(both.max()) + 1 if len(both) else 0
        background = torch.zeros(items, len(words), dtype=torch.bool, device=words.device)
        subtitle = background.clone()
        subtitle[exemplar_item, column_word] = True
        back = ~batch.exemplar_foreground
        background[exemplar_item[back], column_word[back]] = True
        own = batch.clip_word[:, None] == words
        row_words = torch.where(batch.is_foreground[:, None], own, background[clip_item])
        return cls(words, column_word, row_words, subtitle[clip_item])

    @property
    def match(self) -> Tensor:
        """(N, V) bool: the clip's words hold the exemplar's."""
        return self.row_words[:, self.column_word]
