"""Pairs of performances of one sign by two signers: stores of clips, likely partners, and batches.

A batch has every `spacing`-th frame only, as the coder sees no others around a frame, and each performance has the
context that the coder needs on both sides. English glosses hide variants and left-handed signers, so hand-crafted
features decide before training which clips of a word are partners: two clips by different signers that are not nearer
to each other than to clips of other words are taken to show different signs.
"""

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.corpus.isolated import FPS, IsolatedClip
from signspot.embedding.inputs import sign_in_context
from signspot.errors import OptionsError, SignspotError
from signspot.io.files import atomic_write, text_digest
from signspot.models.frame_coder import PLAIN, describe, stretched
from signspot.spotting.matching import warping_costs
from signspot.training.pair_augmentation import (
    MIRRORED,
    Change,
    Flags,
    Floats,
    Ints,
    NewSigns,
    change,
    mirror_some,
    recombine,
)

logger = logging.getLogger(__name__)

Partners = dict[int, list[tuple[int, bool]]]  # clip → other signers' clips that show the same sign, mirrored or not

NOBODY = -1  # the signer of a clip whose signer is not known
LENGTHS = (5, 36)  # fewest and most steps of a sign
SHORTEST_CUT = 3  # steps of a sign that is cut out of continuous signing
_TRIES = 8  # draws of a clip until there is one with likely partners
_FARTHEST_TRIM = 0.2  # of a sign's length
_STRONGEST_WARP = 0.6
_TEMPO_SPREAD = 0.35  # of the log of how much faster signs in continuous signing are


Codes = NDArray[np.float32]
MOST_NEARER = 0.25  # share of other words' clips that may be nearer; of two different signs it is about a half
MIRRORED_COST = 0.93  # a mirrored clip must cost at most this share to be taken for that of a left-handed signer
_OTHERS = 300  # clips of other words that a clip is compared with
_AXES = 64  # principal axes of the features that are compared
_SPACING = 2  # frames in a step of the features
_BLOCK = 200  # clips that are described at once


class PairStore:
    """Performances of signs, each the features of a whole clip and the place of the sign in it."""

    def __init__(
        self,
        frames: NDArray[np.float16],
        first: Ints,
        segments: Ints,
        words: Ints,
        signers: Ints,
        partners: Partners | None = None,
        is_timed: Flags | None = None,
    ):
        """Keep N performances.

        Args:
            frames: (frames, 69, 4) features at 25 fps, of all clips one after the other.
            first: (N + 1,) first frame of every clip.
            segments: (N, 2) of the sign in its clip: its first frame and the one after its last.
            words: (N,) what is signed.
            signers: (N,) by whom; `NOBODY`: not known, such a clip is never drawn.
            partners: of every clip; None: all clips of its word by other signers.
            is_timed: (N,) whether a clip's frame rate is known; None: all are.

        Raises:
            OptionsError: no word is performed by two signers.
        """
        self.frames = torch.from_numpy(np.ascontiguousarray(frames))
        self.first, self.segments, self.words, self.signers, self.partners = first, segments, words, signers, partners
        self.is_timed = np.ones(len(words), bool) if is_timed is None else is_timed
        self.by_word = [signed for word in np.unique(words) if len(signed := self._by_signer(word)) > 1]
        if not self.by_word:
            raise OptionsError(f"none of {len(words)} clips shows a word that another signer shows: no pairs to learn")

    def _by_signer(self, word: int) -> list[Ints]:
        clips = np.flatnonzero((self.words == word) & (self.signers != NOBODY))
        return [clips[self.signers[clips] == signer] for signer in np.unique(self.signers[clips])]

    def pairs(self, words: Ints, random: np.random.Generator) -> tuple[Ints, Flags]:
        """(K,) places in `by_word` to (2 K,) clips, the first of every pair, then the second, and which to mirror."""
        drawn = [self._pair(int(word), random) for word in words]
        clips = np.array([first for first, _, _ in drawn] + [second for _, second, _ in drawn], np.int64)
        return clips, np.array([False] * len(drawn) + [mirrored for _, _, mirrored in drawn])

    def _pair(self, word: int, random: np.random.Generator) -> tuple[int, int, bool]:
        """Two clips of a word by different signers, and whether one is the other's mirror image."""
        signers = self.by_word[word]
        for _ in range(_TRIES):
            signer, other_signer = random.choice(len(signers), 2, replace=False)
            first = int(random.choice(signers[signer]))
            if self.partners is None:
                break
            if likely := self.partners.get(first):
                second, mirrored = likely[int(random.integers(len(likely)))]
                return first, second, mirrored
        return first, int(random.choice(signers[other_signer])), False

    def fetch(self, clips: Ints, positions: Floats) -> Tensor:
        """(n,) clips and places in their signs, from 0 to 1 and beyond, to (n, 69, 4) interpolated features."""
        lowest, highest = self.first[clips], self.first[clips + 1] - 1
        start, length = self.segments[clips, 0], np.diff(self.segments[clips])[:, 0]
        frame = np.clip(lowest + (start + positions * (length - 1)), lowest, highest)
        below = np.floor(frame).astype(np.int64)
        share = torch.from_numpy((frame - below).astype(np.float32))[:, None, None]
        here = self.frames[torch.from_numpy(below)].float()
        there = self.frames[torch.from_numpy(np.minimum(below + 1, highest))].float()
        both = here[..., 3:] * there[..., 3:] > 0
        return torch.where(both, torch.lerp(here, there, share), torch.where(share < 0.5, here, there))


def store_clips(clips: Sequence[IsolatedClip]) -> PairStore:
    """A store of isolated clips, without those in which no sign can be seen."""
    usable, frames, segments = [], [], []
    for clip in clips:
        try:
            seen, first, last = sign_in_context(clip.landmarks, FPS, clip.segment)
        except SignspotError:
            continue
        usable.append(clip)
        frames.append(seen.astype(np.float16))
        segments.append((first, last + 1))
    if len(usable) < len(clips):
        logger.warning("%d of %d clips show no sign and are left out", len(clips) - len(usable), len(clips))
    if not usable:
        raise OptionsError(f"none of {len(clips)} clips shows a sign: no pairs to learn from")
    starts = np.concatenate([[0], np.cumsum([len(clip_frames) for clip_frames in frames])])
    words = np.unique([clip.word for clip in usable], return_inverse=True)[1]
    signers = np.unique([clip.signer for clip in usable], return_inverse=True)[1]
    signers[[not clip.signer for clip in usable]] = NOBODY
    is_timed = np.array([clip.is_timed for clip in usable])
    return PairStore(np.concatenate(frames), starts, np.array(segments), words, signers, is_timed=is_timed)


@dataclass(frozen=True, slots=True)
class PairSource:
    """A store that batches are drawn from."""

    store: PairStore
    share: float = 1.0  # of the batches
    recombined: float = 0.5  # share of the signs of a batch that are new: made of two real ones
    change: Change = field(default_factory=Change)


@dataclass(frozen=True, slots=True)
class PairBatchOptions:
    """The size of a batch."""

    signs: int = 192
    context: int = 4  # steps on either side of a performance
    spacing: int = 2  # frames in a step, at 25 fps


@dataclass(frozen=True, slots=True)
class PairBatch:
    """2 K performances: the first K of as many signs, and the second K of the same signs by other signers."""

    x: Tensor  # (N, 69, 4) features, all performances one after the other
    first: Ints  # (2 K,) first step of every sign, its context left out
    lengths: Ints  # (2 K,) steps of every sign


def choose_source(sources: Sequence[PairSource], random: np.random.Generator) -> PairSource:
    """One of the sources, by their shares: signs of different sources are too easily told apart by their style."""
    shares = np.array([source.share for source in sources])
    return sources[int(random.choice(len(sources), p=shares / shares.sum()))]


def draw(source: PairSource, options: PairBatchOptions, random: np.random.Generator) -> PairBatch:
    """Draw a batch; it has fewer signs than asked for where the store has fewer words and none is to be made."""
    store, signs, context = source.store, options.signs, options.context
    word_count = len(store.by_word)
    real = min(word_count, round(signs * (1 - source.recombined)))
    invented = signs - real if source.recombined else 0
    words = np.concatenate([random.permutation(word_count)[:real], random.integers(word_count, size=invented)])
    clips, is_mirrored = store.pairs(words, random)
    count = len(words)
    position, lengths, first = _times(store.segments[clips], store.is_timed[clips], options, source.change, random)
    owner = np.repeat(np.arange(2 * count), lengths + 2 * context)
    sign = owner % count
    new = NewSigns.invent(np.arange(count) >= real, random)
    x = store.fetch(clips[owner], np.where(new.backwards[sign], 1 - position, position))
    x = mirror_some(x, is_mirrored[owner])
    if invented:
        others, flips = store.pairs(random.integers(word_count, size=count), random)
        needed = np.flatnonzero(new.need_another[sign])
        who, other = owner[needed], x.clone()
        other[needed] = mirror_some(store.fetch(others[who], position[needed]), flips[who])
        x = recombine(x, other, new, sign, position)
    x = change(x, owner, 2 * count, source.change, random)
    return PairBatch(mirror_some(x, (random.random(count) < 0.5)[sign]), first, lengths)


def _times(
    segments: Ints, is_timed: Flags, options: PairBatchOptions, how: Change, random: np.random.Generator
) -> tuple[Floats, Ints, Ints]:
    """Times at which (n, 2) segments of signs are looked at; the speed of those that are not timed is anybody's guess.

    Returns:
        (N,) the place of every step in its sign, from 0 to 1 and beyond in its context; (n,) steps of every sign; (n,)
        where each begins among the N.
    """
    many = len(segments)
    length = np.maximum(np.diff(segments)[:, 0], 2).astype(float)
    limit = _FARTHEST_TRIM * length
    early, late = np.clip(random.normal(0, how.trim, (2, many)), -limit, limit)
    is_cut = random.random(many) < how.cut_out
    early, late = np.where(is_cut, -random.uniform(0, how.inside, (2, many)) * length, (early, late))
    span = length + early + late
    faster = random.normal(how.tempo, _TEMPO_SPREAD, many)
    speed = random.normal(0, np.where(is_timed, how.speed, np.hypot(how.speed, how.unknown_speed)))
    steps = np.round(span / options.spacing * np.exp(np.where(is_cut, speed - faster, speed)))
    lengths = np.clip(steps, np.where(is_cut, SHORTEST_CUT, LENGTHS[0]), LENGTHS[1]).astype(np.int64)
    whole = lengths + 2 * options.context
    begins = np.concatenate([[0], np.cumsum(whole)[:-1]])
    owner = np.repeat(np.arange(many), whole)
    number = np.arange(whole.sum()) - begins[owner] - options.context
    position = number / np.maximum(lengths[owner] - 1, 1)
    bend, sway = random.normal(0, how.warp, (2, many))[:, owner].clip(-_STRONGEST_WARP, _STRONGEST_WARP)
    inside = np.clip(position, 0, 1)
    position = np.where(is_cut[owner], inside, position)  # as an exemplar's first and last frames are held
    position = position + bend * np.sin(np.pi * inside) / np.pi + sway * np.sin(2 * np.pi * inside) / (2 * np.pi)
    position = (position * span[owner] - early[owner]) / length[owner]
    return position, lengths, begins + options.context


def cached_partners(store: PairStore, folder: Path) -> Partners:
    """As `likely_partners`, which takes a minute for a corpus: kept in a folder, by the contents of the store."""
    content = hashlib.sha256(np.ascontiguousarray(store.frames.numpy()).tobytes())
    for part in (store.first, store.segments, store.words, store.signers):
        content.update(np.ascontiguousarray(part, np.int64).tobytes())
    rule = [MOST_NEARER, MIRRORED_COST, _OTHERS, _AXES, _SPACING]
    path = folder / f"partners-{text_digest(json.dumps([content.hexdigest(), rule]))}.npy"
    if not path.is_file():
        partners_of = likely_partners(store)
        rows = [(first, second, mirrored) for first, others in partners_of.items() for second, mirrored in others]
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as temporary, temporary.open("wb") as file:
            np.save(file, np.array(rows, np.int32).reshape(-1, 3))
    partners: Partners = {}
    for first, second, mirrored in np.load(path).tolist():
        partners.setdefault(first, []).append((second, bool(mirrored)))
    return partners


def likely_partners(store: PairStore, seed: int = 0) -> Partners:
    """Clip → clips of the same word by other signers that likely show the same sign, and whether mirrored.

    Args:
        store: of performances; its own partners are not looked at.
        seed: of the others that clips are compared with.
    """
    codes, mirrored = _principal(_features(store, mirror=False), _features(store, mirror=True))
    others = np.sort(np.random.default_rng(seed).permutation(len(codes))[:_OTHERS])
    apart = np.minimum(warping_costs(codes, codes[others]), warping_costs(codes, mirrored[others]))
    apart[store.words[:, None] == store.words[others]] = np.nan
    apart.sort(axis=1)  # NaN last
    partners: Partners = {}
    for word in np.unique(store.words):
        clips = np.flatnonzero((store.words == word) & (store.signers != NOBODY))
        plain, turned = warping_costs(codes[clips], codes[clips]), warping_costs(codes[clips], mirrored[clips])
        cost = np.minimum(plain, turned)
        nearer = (
            np.stack([_share_below(apart[clip], cost[row]) for row, clip in enumerate(clips)]) if len(clips) else cost
        )
        is_likely = (nearer + nearer.T) / 2 < MOST_NEARER
        is_likely &= store.signers[clips][:, None] != store.signers[clips]
        for row, column in np.argwhere(is_likely):
            is_mirrored = bool(turned[row, column] < MIRRORED_COST * plain[row, column])
            partners.setdefault(int(clips[row]), []).append((int(clips[column]), is_mirrored))
    return partners


def _share_below(ascending: Codes, values: Codes) -> NDArray[np.float64]:
    """(V,) the share of ascending numbers, NaN last, that are below each of V values; 0 where there are no numbers."""
    count = int(np.isfinite(ascending).sum())
    share: NDArray[np.float64] = np.searchsorted(ascending[:count], values) / max(1, count)
    return share


def _features(store: PairStore, *, mirror: bool) -> Tensor:
    """(N, 16, PLAIN) hand-crafted features of all signs."""
    every = range(len(store.words))
    return torch.cat([_features_of(store, every[at : at + _BLOCK], mirror=mirror) for at in every[::_BLOCK]])


def _features_of(store: PairStore, clips: range, *, mirror: bool) -> Tensor:
    """(n, 16, PLAIN) of some clips: all described at once, with their ends repeated for the context."""
    padded, first = [], [0]
    for clip in clips:
        x = store.frames[store.first[clip] : store.first[clip + 1]]
        padded += [x[:1].expand(_SPACING, -1, -1), x, x[-1:].expand(_SPACING, -1, -1)]
        first.append(first[-1] + len(x) + 2 * _SPACING)
    whole = torch.cat(padded).float()
    if mirror:
        whole = whole[:, MIRRORED] * torch.tensor([-1.0, 1.0, 1.0, 1.0])
    described = describe(whole[None], _SPACING)[0, :, :PLAIN]  # row `first[i]` is frame 0 of clip i
    segments = store.segments[clips.start : clips.stop].tolist()
    return torch.stack(
        [stretched(described, at + start, at + end - 1) for at, (start, end) in zip(first, segments, strict=False)]
    )


def _principal(features: Tensor, mirrored: Tensor) -> tuple[Codes, Codes]:
    """Twice (N, 16, PLAIN) features to (N, 16, _AXES), along the principal axes of the first."""
    flat = features.flatten(0, 1)
    flat = flat - flat.mean(dim=0)
    axes = torch.linalg.eigh(flat.T @ flat)[1][:, -_AXES:]
    return (features @ axes).numpy(), (mirrored @ axes).numpy()
