"""Linear adapters of frame codes and of embeddings, trained by Watch-Read-Lookup and folded into an encoder's weights.

Both adapters begin as the identity. An adapter of codes W is folded into the layers that make codes; the layer that
pools codes into an embedding undoes it, so that embeddings change by their own adapter alone. Decoys are codes, so they
are adapted, too.

A subtitled segment is cut into clips by where signs in it may end. Where a word of it is labelled, the ends around the
label are the foreground clip and its word the foreground word; all other clips and words are background.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from signspot.corpus.labels import SignWindow
from signspot.embedding.exemplars import Gallery
from signspot.errors import OptionsError
from signspot.io.progress import Progress, silent
from signspot.losses.alignment import ClipEnds, clip_costs
from signspot.losses.watch_read_lookup import BACKGROUND, Batch, watch_read_lookup
from signspot.models.encoder import Encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.frame_coder import SIGN_FRAMES, FrameCoder
from signspot.models.registry import build
from signspot.spotting.matching import STEPS, warping_costs
from signspot.training.adaptation_data import AdaptOptions, EmbeddedFootage, SubtitledSegment, frame_range
from signspot.training.distributed import ALONE, Group
from signspot.training.loop import Schedule, Task, train, warm_cosine
from signspot.types import Grid, Label, Track

_WORST_CONDITION = 1e4  # of a map of codes that may still be undone in float32


CLIP = 16  # frames of ends that are one clip
Mask = NDArray[np.bool_]
_WARM_UP = 10  # steps
_LOWEST_LR = 0.05  # as a share of the highest
_AVERAGE = 0.95  # decay of the running mean of the adapters, which is what is kept


class Adapters(nn.Module):
    """A linear map of codes and one of embeddings, each as what it differs from the identity by."""

    def __init__(self, codes: int, embedding: int):
        super().__init__()
        self.codes = nn.Parameter(torch.zeros(codes, codes))
        self.embedding = nn.Parameter(torch.zeros(embedding, embedding))

    def adapt_codes(self, codes: Tensor) -> Tensor:
        """(..., C) frame codes to (..., C)."""
        return codes + codes @ self.codes.T

    def adapt_embeddings(self, embeddings: Tensor) -> Tensor:
        """(..., D) embeddings to (..., D) of unit norm."""
        return nn.functional.normalize(embeddings + embeddings @ self.embedding.T, dim=-1)


@dataclass(frozen=True, slots=True)
class AdapterChoice:
    """The adapters that an encoder gets."""

    codes: bool
    embedding: bool

    def __bool__(self) -> bool:
        return self.codes or self.embedding


def frame_coder(encoder: Encoder) -> FrameCoder:
    """The frame coder of an encoder.

    Raises:
        OptionsError: it has none.
    """
    trunk = encoder.module.trunk
    if not isinstance(trunk, FrameCoder):
        raise OptionsError(
            f"the encoder '{encoder.name}' gives no frame codes, which is what is adapted. Choose 'landmark', or "
            "teach an embedding on it with: signspot train configs/embedding.toml"
        )
    return trunk


@torch.no_grad()
def fold(
    encoder: Encoder, adapters: Adapters, choice: AdapterChoice, gallery: Gallery, name: str, card: Mapping[str, Any]
) -> Encoder:
    """An encoder like another one, with adapters in its weights, its decoys mapped and its typical cost measured anew.

    Args:
        encoder: as it was; it is not changed.
        adapters: that were learned.
        choice: which of them to fold.
        gallery: exemplars by this encoder, whose costs tell how the typical one changes where there are no decoys.
        name: of the new encoder.
        card: of the new encoder.
    """
    module = build(encoder.module.architecture, **encoder.module.options)
    module.load_state_dict(encoder.module.state_dict())
    trunk = module.trunk
    assert isinstance(trunk, FrameCoder), "see frame_coder"
    if choice.codes:
        turn = torch.eye(trunk.codes, dtype=torch.float64) + adapters.codes.double()
        if float(torch.linalg.cond(turn)) > _WORST_CONDITION:
            raise OptionsError(
                "the learned map cannot be inverted, so different signs would look alike: there is too little footage "
                "for so many steps, or the learning rate is too high"
            )
        before = _typical_cost(trunk, gallery)
        _turn_codes(trunk, turn)
        turned = Gallery.of((), np.empty((0, 1), np.float32)) if trunk.options.decoys else _turned(gallery, turn)
        trunk.typical_cost.mul_(_typical_cost(trunk, turned) / before)
    if choice.embedding:
        turn = torch.eye(trunk.dimension, dtype=torch.float64) + adapters.embedding.double()
        trunk.pool.weight.copy_(turn @ trunk.pool.weight.double())
        trunk.pool.bias.copy_(turn @ trunk.pool.bias.double())
    contract = encoder.contract
    return make_encoder(name, module, fps=contract.fps, threshold=contract.threshold, card=card)


@torch.no_grad()
def adapt_track(track: Track, adapters: Adapters, encoder: str) -> Track:
    """A track as the encoder with these adapters makes it, without its video."""
    assert track.codes is not None, "the encoder gives frame codes"
    codes = adapters.adapt_codes(torch.from_numpy(np.asarray(track.codes, np.float32))).numpy()
    rows = adapters.adapt_embeddings(torch.from_numpy(np.asarray(track.embeddings, np.float32))).numpy()
    return replace(track, codes=codes.astype(np.float16), embeddings=rows.astype(np.float16), encoder=encoder)


@torch.no_grad()
def adapt_gallery(gallery: Gallery, adapters: Adapters) -> Gallery:
    """A gallery as the encoder with these adapters makes it."""
    assert gallery.codes is not None, "the encoder gives frame codes"
    codes = adapters.adapt_codes(torch.from_numpy(np.asarray(gallery.codes, np.float32))).numpy()
    rows = adapters.adapt_embeddings(torch.from_numpy(gallery.embeddings)).numpy()
    return Gallery(gallery.exemplars, rows, gallery.rows, gallery.mirrored, codes)


def _turn_codes(trunk: FrameCoder, turn: Tensor) -> None:
    """Fold a map of codes into all layers that make codes, and undo it where they are pooled."""
    trunk.linear.weight.copy_(turn @ trunk.linear.weight.double())
    if trunk.options.width:
        trunk.last.weight.copy_(turn @ trunk.last.weight.double())
        trunk.last.bias.copy_(turn @ trunk.last.bias.double())
    by_frame = trunk.pool.weight.double().view(trunk.dimension, SIGN_FRAMES, trunk.codes)
    trunk.pool.weight.copy_((by_frame @ torch.linalg.inv(turn)).flatten(1))
    trunk.set_decoys((trunk.decoys.double() @ turn.T).float())


def _turned(gallery: Gallery, turn: Tensor) -> Gallery:
    assert gallery.codes is not None, "the encoder gives frame codes"
    codes = (torch.from_numpy(np.asarray(gallery.codes, np.float64)) @ turn.T).numpy()
    return Gallery(gallery.exemplars, gallery.embeddings, gallery.rows, gallery.mirrored, codes.astype(np.float32))


def _typical_cost(trunk: FrameCoder, gallery: Gallery) -> float:
    """The median cost of aligning two different signs: decoys of different words, or else exemplars."""
    if trunk.options.decoys:
        codes, words = trunk.decoys[:, 0].numpy(), trunk.decoy_words.numpy()
    else:
        assert gallery.codes is not None, "the encoder gives frame codes"
        plain = np.flatnonzero(~gallery.mirrored)[:300]
        codes = np.asarray(gallery.codes[plain])
        words = np.unique([gallery.exemplar(int(row))[0].word for row in plain], return_inverse=True)[1]
    return float(np.median(warping_costs(codes, codes)[words[:, None] != words]))


@dataclass(frozen=True, slots=True, eq=False)
class SegmentBatch:
    """B segments and the exemplars of their words."""

    codes: Tensor  # (B, T, C) frame codes, padded
    embeddings: Tensor  # (B, T, D) of the window in whose middle each frame is
    seen: Tensor  # (B, T) bool: the frame is none of the padding
    clips: ClipEnds  # N clips
    clip_word: Tensor  # (N,) -1: background
    exemplars: Tensor  # (L, M, E, C) frame codes of exemplars, each once
    exemplar_embeddings: Tensor  # (M, E, D)
    row: Tensor  # (V,) index into the exemplars
    item: Tensor  # (V,) which segment an exemplar was looked up for
    word: Tensor  # (V,)
    foreground: Tensor  # (V,) bool


class SegmentBatches:
    """All batches, by number."""

    def __init__(self, footage: EmbeddedFootage, options: AdaptOptions):
        self.footage, self.options = footage, options
        gallery = footage.gallery
        assert gallery.codes is not None, "the encoder gives frame codes"
        views = len(gallery.rows) // len(gallery.exemplars)
        codes, embeddings = (np.asarray(rows, np.float32) for rows in (gallery.codes, gallery.embeddings))
        self._codes = torch.from_numpy(codes.reshape(-1, views, *codes.shape[1:]))
        self._embeddings = torch.from_numpy(embeddings.reshape(-1, views, embeddings.shape[1]))
        self._number = {word: number for number, word in enumerate(sorted(gallery.words))}
        self._shown: defaultdict[str, list[int]] = defaultdict(list)
        for index, exemplar in enumerate(gallery.exemplars):
            if exemplar.word in footage.words:
                self._shown[exemplar.word].append(index)

    def __getitem__(self, step: int) -> SegmentBatch:
        """Make batch number `step`."""
        random = np.random.default_rng([self.options.seed, step])
        order = random.permutation(len(self.footage.learned))[: self.options.segments]
        chosen = [self.footage.learned[int(number)] for number in order]
        marked = [self._label(segment, random) for segment in chosen]
        looked_up = [
            (int(index), item, self._number[word], label is not None and label.word == word)
            for item, (segment, label) in enumerate(zip(chosen, marked, strict=True))
            for word in dict.fromkeys(segment.words)
            for index in random.permutation(np.array(self._shown.get(word, []), np.int64))[: self.options.exemplars]
        ]
        used, row = np.unique([index for index, *_ in looked_up], return_inverse=True)
        codes, embeddings, is_frame = self._frames(chosen)
        clips, words = self._clips(chosen, marked, is_frame)
        return SegmentBatch(
            codes,
            embeddings,
            is_frame,
            clips,
            words,
            self._codes[torch.from_numpy(used)].permute(2, 1, 0, 3),
            self._embeddings[torch.from_numpy(used)].transpose(0, 1),
            torch.from_numpy(row),
            torch.tensor([item for _, item, _, _ in looked_up]),
            torch.tensor([word for _, _, word, _ in looked_up]),
            torch.tensor([front for *_, front in looked_up]),
        )

    def _label(self, segment: SubtitledSegment, random: np.random.Generator) -> Label | None:
        usable = [label for label in segment.labels if label.word in self._shown]
        return usable[int(random.integers(len(usable)))] if usable else None

    def _frames(self, segments: list[SubtitledSegment]) -> tuple[Tensor, Tensor, Tensor]:
        """Codes and embeddings of segments, (B, T, C) and (B, T, D), and (B, T) which frames are there."""
        tracks = [self.footage.tracks[segment.video] for segment in segments]
        ranges = [frame_range(segment, track.grid) for segment, track in zip(segments, tracks, strict=True)]
        longest = max(last - first for first, last in ranges)
        codes = torch.zeros(len(segments), longest, self._codes.shape[-1])
        embeddings = torch.zeros(len(segments), longest, self._embeddings.shape[-1])
        is_frame = torch.zeros(len(segments), longest, dtype=torch.bool)
        for item, (track, (first, last)) in enumerate(zip(tracks, ranges, strict=True)):
            assert track.codes is not None, "the encoder gives frame codes"
            window = np.clip(np.arange(first, last) - track.grid.window // 2, 0, len(track) - 1)
            codes[item, : last - first] = torch.from_numpy(np.asarray(track.codes[first:last], np.float32))
            embeddings[item, : last - first] = torch.from_numpy(np.asarray(track.embeddings[window], np.float32))
            is_frame[item, : last - first] = True
        return codes, embeddings, is_frame

    def _clips(
        self, segments: list[SubtitledSegment], marked: list[Label | None], is_frame: Tensor
    ) -> tuple[ClipEnds, Tensor]:
        """The clips of all segments, and (N,) their words."""
        shortest = self._codes.shape[2] // 2  # frames before which no sign ends
        ends: list[tuple[int, int, NDArray[np.int64]]] = []
        for item, (segment, label) in enumerate(zip(segments, marked, strict=True)):
            frames = np.arange(shortest, int(is_frame[item].sum()))
            if label is not None:
                inside = _is_labelled(frames, label, segment, self.footage.tracks[segment.video].grid)
                if inside.any():
                    ends.append((item, self._number[label.word], frames[inside]))
                frames = frames[~inside]
            ends += [(item, BACKGROUND, frames[frames // CLIP == part]) for part in np.unique(frames // CLIP)]
        most = max(len(frames_of_end) for *_, frames_of_end in ends)
        frames_of_clips, is_end = np.zeros((len(ends), most), np.int64), np.zeros((len(ends), most), bool)
        for number, (_, _, frames_of_end) in enumerate(ends):
            frames_of_clips[number, : len(frames_of_end)], is_end[number, : len(frames_of_end)] = frames_of_end, True
        owner = torch.tensor([item for item, *_ in ends])
        clips = ClipEnds(owner, torch.from_numpy(frames_of_clips), torch.from_numpy(is_end))
        return clips, torch.tensor([word for _, word, _ in ends])


def _is_labelled(frames: NDArray[np.int64], label: Label, segment: SubtitledSegment, grid: Grid) -> Mask:
    """Mask of the ends of signs that fit a label: those whose sign has its middle where the label says it is."""
    within = SignWindow().of(label)
    first, _ = frame_range(segment, grid)
    middles = grid.origin + (first + frames - CLIP // 2) / grid.fps
    return np.asarray((middles >= within.start) & (middles <= within.end))


def train_adapters(
    encoder: Encoder, batches: SegmentBatches, folder: str | PathLike[str], progress: Progress = silent
) -> Adapters:
    """Learn a map of frame codes and one of embeddings; arguments and errors are those of `loop.train`.

    Args:
        encoder: whose codes and embeddings the batches hold.
        batches: of segments and exemplars.
        folder: of the run.
        progress: called with the number of steps done.
    """
    return train(AdaptationTask(encoder, batches), folder, progress).module


class AdaptationTask(Task[Adapters, SegmentBatch]):
    """Watch-Read-Lookup over alignments of frame codes, and over embeddings of windows where asked to."""

    columns = ("alignment", "embedding")

    def __init__(self, encoder: Encoder, batches: SegmentBatches):
        options, coder = batches.options, frame_coder(encoder)
        self.batches, self.options, self.typical_cost = batches, options, float(coder.typical_cost)
        self.module = Adapters(coder.codes, coder.dimension)
        self.settings = {**options.as_dict(), "encoder": encoder.hash, "footage": batches.footage.digest}
        lr_scale = warm_cosine(options.steps, _WARM_UP, _LOWEST_LR)
        self.schedule = Schedule(options.steps, options.seed, lr_scale, average=_AVERAGE, save_every=25)

    def optimiser(self) -> torch.optim.Optimizer:
        """As `Task.optimiser`."""
        return torch.optim.Adam(self.module.parameters(), self.options.lr)

    def batch(self, step: int) -> SegmentBatch:
        """As `Task.batch`."""
        return self.batches[step]

    def loss(self, module: Adapters, batch: SegmentBatch) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """As `Task.loss`."""
        aligned, embedded = losses(module, batch, self.options, self.typical_cost, self.group)
        return aligned + embedded if self.options.embeddings else aligned, (aligned, embedded)

    def arrays(self, batch: SegmentBatch) -> dict[str, Any]:
        """As `Task.arrays`."""
        return {"codes": batch.codes.numpy(), "row": batch.row.numpy()}


def losses(
    adapters: Adapters, batch: SegmentBatch, options: AdaptOptions, typical: float, group: Group = ALONE
) -> tuple[Tensor, Tensor]:
    """The loss of alignments and that of embeddings of one batch; 0 where no map of embeddings is learned.

    Args:
        adapters: as learned so far.
        batch: of segments.
        options: bags and temperatures.
        typical: the cost of aligning two different signs, the unit of costs.
        group: the processes, each of which compares the clips with its share of the exemplars.
    """
    count = batch.exemplars.shape[2]
    mine = group.share(count)
    exemplars, signed = adapters.adapt_codes(batch.exemplars[:, :, mine]), adapters.adapt_codes(batch.codes)
    costs = clip_costs(exemplars, signed, batch.seen, batch.clips, STEPS.times(typical).costs) / typical
    costs = group.gather(costs.T, count).T
    aligned = watch_read_lookup(_bags(batch, 1 - costs), options.temperature, options.bags)
    if not options.embeddings:
        return aligned, aligned.new_zeros(())
    windows = adapters.adapt_embeddings(batch.embeddings)[batch.clips.segment[:, None], batch.clips.frames]  # (N, E, D)
    exemplars_embedded = adapters.adapt_embeddings(batch.exemplar_embeddings[:, mine])  # (M, V, D)
    alike = torch.einsum("ned,mvd->nemv", windows, exemplars_embedded).amax(dim=2)  # (N, E, V): the better view
    best = alike.masked_fill(~batch.clips.is_end[:, :, None], -1.0).amax(dim=1)  # (N, V): the best window
    best = group.gather(best.T, count).T
    embedded = watch_read_lookup(_bags(batch, best), options.embedding_temperature, options.bags)
    return aligned, embedded


def _bags(batch: SegmentBatch, similarity: Tensor) -> Batch:
    """(N, E) similarities of clips and exemplars as the paper's loss sees them."""
    nothing = similarity.new_zeros(1, 0)
    return Batch(
        nothing.expand(len(batch.clip_word), 0),
        batch.clips.segment,
        batch.clip_word,
        nothing.expand(len(batch.row), 0),
        batch.item,
        batch.word,
        batch.foreground,
        similarity[:, batch.row],
    )
