"""From items to batches (Sec. 3.3): which windows and which exemplars; every batch follows from the seed and its step.

A sign lies between 20 frames before its end and 5 after, or within 11 frames of its middle: a label says which of them
it marks. The foreground clip is a random window inside that stretch; background clips are windows whose middle
lies outside it.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.training.configuration import check_numbers
from signspot.training.items import Item
from signspot.types import Grid

IntArray = NDArray[np.int64]
BACKGROUND = -1  # the word of a clip without a label


@dataclass(frozen=True, slots=True)
class ItemBatchOptions:
    """Composition of a batch. The defaults are the paper's."""

    items: int = 128
    distinct: bool = True  # each labelled word at most once in a batch: all words are drawn equally often
    background: int = 10  # background clips per item
    before: int = 20  # frames before the end of a sign from which it may begin
    after: int = 5  # frames after a label of its end until which it may last
    around: int = 11  # frames on either side of the middle of a sign, where a label marks that or the span
    clips: int = 6  # clips of an exemplar that are drawn and averaged

    def __post_init__(self) -> None:
        check_numbers(self, "items", least=2)
        check_numbers(self, "clips", least=1)
        check_numbers(self, "background", "before", "after", "around", least=0)


@dataclass(frozen=True, slots=True)
class Places:
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

    def foreground_only(self) -> "Places":
        """Labelled clips and their words' exemplars: what there is without subtitles."""
        rows, columns = self.clip_word != BACKGROUND, self.exemplar_foreground
        kept, renumbered = np.unique(self.exemplar_row[columns], return_inverse=True)
        return Places(
            self.videos,
            self.clip_window[rows],
            self.clip_item[rows],
            self.clip_word[rows],
            self.exemplars[kept],
            self.exemplar_clips[kept],
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

    def __getitem__(self, step: int) -> Places:
        """Make batch number `step`, which may lie in any epoch."""
        random = np.random.default_rng([self.seed, step])
        chosen = [self.items[index] for index in self._choose(step, random)]
        windows = [self._windows(item, random) for item in chosen]
        looked_up = [self._look_up(item, random) for item in chosen]
        used, rows = np.unique([index for pairs in looked_up for index, _ in pairs], return_inverse=True)
        flat = [(item, word, word == chosen[item].word) for item, pairs in enumerate(looked_up) for _, word in pairs]
        counts = [len(each) for each in windows]
        words = [[self.number[item.word], *[BACKGROUND] * (n - 1)] for item, n in zip(chosen, counts, strict=True)]
        return Places(
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
        epoch, place = divmod(step, len(self))
        order = np.random.default_rng([self.seed, epoch, 1]).permutation(len(self.items))
        return [int(index) for index in order[place * self.size : (place + 1) * self.size]]

    def _windows(self, item: Item, random: np.random.Generator) -> IntArray:
        """The window of the labelled sign, then those of the background: (1 + n,)."""
        grid, options = self.grids[item.video], self.options
        before, after, around = (frames / grid.fps for frames in (options.before, options.after, options.around))
        stretch = item.label.stretch(before, after, around)
        begin = round((stretch.start - grid.origin) * grid.fps)
        length = round(stretch.duration * grid.fps)
        front = begin + int(random.integers(0, max(0, length - grid.window) + 1))
        first, last = (round((t - grid.origin) * grid.fps) - grid.window // 2 for t in (item.span.start, item.span.end))
        starts = np.arange(max(0, first), min(grid.count - 1, last) + 1)
        middles = starts + grid.window // 2 - begin
        outside = starts[(middles < 0) | (middles > length)]
        count = min(options.background, len(outside))
        behind = np.sort(random.choice(outside, count, replace=False)) if count else outside[:0]
        return np.concatenate([[min(max(front, 0), grid.count - 1)], behind]).astype(np.int64)

    def _look_up(self, item: Item, random: np.random.Generator) -> list[tuple[int, str]]:
        """The exemplars of the item's words, the labelled one's first, those of a word in random order."""
        found: list[tuple[int, str]] = []
        for word in (item.word, *item.background):
            found += [(int(index), word) for index in random.permutation(self.exemplars_of[word])]
        return found

    def _clips(self, count: int, random: np.random.Generator) -> IntArray:
        """Clips of each exemplar that are averaged: (E, n), different ones."""
        drawn = min(self.options.clips, self.bank)
        return random.random((count, self.bank)).argsort(axis=1)[:, :drawn].astype(np.int64)
