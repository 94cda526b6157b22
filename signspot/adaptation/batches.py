"""Batches of stretches with the exemplars of their words, for Watch-Read-Lookup over alignments.

A stretch is cut into clips by where signs in it may end. Where a word of it is labelled, the ends around the label are
the foreground clip and its word the foreground word; all other clips and words are background. A stretch without a
label is background as a whole. Batch i follows from the seed and i alone.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.adaptation.footage import EmbeddedFootage, SubtitledStretch, frame_range
from signspot.adaptation.options import AdaptOptions
from signspot.losses.alignment import ClipEnds
from signspot.losses.watch_read_lookup import BACKGROUND
from signspot.types import Grid, Label

CLIP = 16  # frames of ends that are one clip
_BEFORE, _AFTER, _AROUND = 20, 5, 11  # frames in which a labelled sign lies, as in Sec. 3.3 of the paper

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class StretchBatch:
    """B stretches and the exemplars of their words."""

    codes: Tensor  # (B, T, C) frame codes, padded
    embeddings: Tensor  # (B, T, D) of the window in whose middle each frame is
    seen: Tensor  # (B, T) bool: the frame is none of the padding
    clips: ClipEnds  # N clips
    clip_word: Tensor  # (N,) -1: background
    exemplars: Tensor  # (L, M, E, C) frame codes of exemplars, each once
    exemplar_embeddings: Tensor  # (M, E, D)
    row: Tensor  # (V,) index into the exemplars
    item: Tensor  # (V,) which stretch an exemplar was looked up for
    word: Tensor  # (V,)
    foreground: Tensor  # (V,) bool


class StretchBatches:
    """All batches, by number."""

    def __init__(self, footage: EmbeddedFootage, options: AdaptOptions):
        self.footage, self.options = footage, options
        gallery = footage.gallery
        assert gallery.codes is not None, "the encoder gives frame codes"
        views = len(gallery.rows) // len(gallery.exemplars)
        codes, embeddings = (np.asarray(each, np.float32) for each in (gallery.codes, gallery.embeddings))
        self._codes = torch.from_numpy(codes.reshape(-1, views, *codes.shape[1:]))
        self._embeddings = torch.from_numpy(embeddings.reshape(-1, views, embeddings.shape[1]))
        self._number = {word: number for number, word in enumerate(sorted(gallery.words))}
        self._shown: defaultdict[str, list[int]] = defaultdict(list)
        for index, exemplar in enumerate(gallery.exemplars):
            if exemplar.word in footage.words:
                self._shown[exemplar.word].append(index)

    def __getitem__(self, step: int) -> StretchBatch:
        """Make batch number `step`."""
        random = np.random.default_rng([self.options.seed, step])
        order = random.permutation(len(self.footage.learned))[: self.options.stretches]
        chosen = [self.footage.learned[int(place)] for place in order]
        marked = [self._label(stretch, random) for stretch in chosen]
        looked_up = [
            (int(index), item, self._number[word], label is not None and label.word == word)
            for item, (stretch, label) in enumerate(zip(chosen, marked, strict=True))
            for word in dict.fromkeys(stretch.words)
            for index in random.permutation(np.array(self._shown.get(word, []), np.int64))[: self.options.exemplars]
        ]
        used, row = np.unique([index for index, *_ in looked_up], return_inverse=True)
        codes, embeddings, seen = self._frames(chosen)
        clips, words = self._clips(chosen, marked, seen)
        return StretchBatch(
            codes,
            embeddings,
            seen,
            clips,
            words,
            self._codes[torch.from_numpy(used)].permute(2, 1, 0, 3),
            self._embeddings[torch.from_numpy(used)].transpose(0, 1),
            torch.from_numpy(row),
            torch.tensor([item for _, item, _, _ in looked_up]),
            torch.tensor([word for _, _, word, _ in looked_up]),
            torch.tensor([front for *_, front in looked_up]),
        )

    def _label(self, stretch: SubtitledStretch, random: np.random.Generator) -> Label | None:
        known = [label for label in stretch.labels if label.word in self._shown]
        return known[int(random.integers(len(known)))] if known else None

    def _frames(self, stretches: list[SubtitledStretch]) -> tuple[Tensor, Tensor, Tensor]:
        """Codes and embeddings of stretches, (B, T, C) and (B, T, D), and (B, T) which frames are there."""
        tracks = [self.footage.tracks[stretch.video] for stretch in stretches]
        ranges = [frame_range(stretch, track.grid) for stretch, track in zip(stretches, tracks, strict=True)]
        longest = max(last - first for first, last in ranges)
        codes = torch.zeros(len(stretches), longest, self._codes.shape[-1])
        embeddings = torch.zeros(len(stretches), longest, self._embeddings.shape[-1])
        seen = torch.zeros(len(stretches), longest, dtype=torch.bool)
        for item, (track, (first, last)) in enumerate(zip(tracks, ranges, strict=True)):
            assert track.codes is not None, "the encoder gives frame codes"
            window = np.clip(np.arange(first, last) - track.grid.window // 2, 0, len(track) - 1)
            codes[item, : last - first] = torch.from_numpy(np.asarray(track.codes[first:last], np.float32))
            embeddings[item, : last - first] = torch.from_numpy(np.asarray(track.embeddings[window], np.float32))
            seen[item, : last - first] = True
        return codes, embeddings, seen

    def _clips(
        self, stretches: list[SubtitledStretch], marked: list[Label | None], seen: Tensor
    ) -> tuple[ClipEnds, Tensor]:
        """The clips of all stretches, and (N,) their words."""
        shortest = self._codes.shape[2] // 2  # frames before which no sign ends
        ends: list[tuple[int, int, NDArray[np.int64]]] = []
        for item, (stretch, label) in enumerate(zip(stretches, marked, strict=True)):
            frames = np.arange(shortest, int(seen[item].sum()))
            if label is not None:
                inside = _is_labelled(frames, label, stretch, self.footage.tracks[stretch.video].grid)
                if inside.any():
                    ends.append((item, self._number[label.word], frames[inside]))
                frames = frames[~inside]
            ends += [(item, BACKGROUND, frames[frames // CLIP == part]) for part in np.unique(frames // CLIP)]
        most = max(len(each) for *_, each in ends)
        places, is_end = np.zeros((len(ends), most), np.int64), np.zeros((len(ends), most), bool)
        for number, (_, _, each) in enumerate(ends):
            places[number, : len(each)], is_end[number, : len(each)] = each, True
        owner = torch.tensor([item for item, *_ in ends])
        clips = ClipEnds(owner, torch.from_numpy(places), torch.from_numpy(is_end))
        return clips, torch.tensor([word for _, word, _ in ends])


def _is_labelled(frames: NDArray[np.int64], label: Label, stretch: SubtitledStretch, grid: Grid) -> Mask:
    """Mask of the ends of signs that fit a label: those whose sign has its middle where the label says it is."""
    before, after, around = (count / grid.fps for count in (_BEFORE, _AFTER, _AROUND))
    place = label.stretch(before, after, around)
    first, _ = frame_range(stretch, grid)
    middles = grid.origin + (first + frames - CLIP // 2) / grid.fps
    return np.asarray((middles >= place.start) & (middles <= place.end))
