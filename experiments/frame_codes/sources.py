"""Sources of the training of frame codes: pairs of performances of one sign by two signers, drawn in batches.

A batch has every `spacing`-th frame only, as the coder sees no others around a frame, and each performance has the
context that the coder needs on both sides.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from experiments.frame_codes.changes import Change, Flags, Floats, Ints, NewSigns, change, mirror_some, recombine
from experiments.isolated.clips import FPS, IsolatedClip
from experiments.isolated.world_bank import WorldBank
from signspot.embedding.inputs import sign_in_context
from signspot.errors import OptionsError, SignspotError

logger = logging.getLogger(__name__)

Partners = dict[int, list[tuple[int, bool]]]  # clip → other signers' clips that show the same sign, mirrored or not

NOBODY = -1  # the signer of a clip whose signer is not known
LENGTHS = (5, 36)  # fewest and most steps of a sign
_TRIES = 8  # draws of a clip until there is one with likely partners
_FARTHEST_TRIM = 0.2  # of a sign's length
_STRONGEST_WARP = 0.6


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
    ):
        """Keep N performances.

        Args:
            frames: (frames, 69, 4) features at 25 fps, of all clips one after the other.
            first: (N + 1,) first frame of every clip.
            segments: (N, 2) of the sign in its clip: its first frame and the one after its last.
            words: (N,) what is signed.
            signers: (N,) by whom; `NOBODY`: not known, such a clip is never drawn.
            partners: of every clip; None: all clips of its word by other signers.

        Raises:
            OptionsError: no word is performed by two signers.
        """
        self.frames = torch.from_numpy(np.ascontiguousarray(frames))
        self.first, self.segments, self.words, self.signers, self.partners = first, segments, words, signers, partners
        self.by_word = [signed for word in np.unique(words) if len(signed := self._by_signer(word)) > 1]
        if not self.by_word:
            raise OptionsError(f"none of {len(words)} clips shows a word that another signer shows: no pairs to learn")

    def _by_signer(self, word: int) -> list[Ints]:
        clips = np.flatnonzero((self.words == word) & (self.signers != NOBODY))
        return [clips[self.signers[clips] == signer] for signer in np.unique(self.signers[clips])]

    def pairs(self, words: Ints, random: np.random.Generator) -> tuple[Ints, Flags]:
        """(K,) places in `by_word` to (2 K,) clips, the first of every pair, then the second, and which to mirror."""
        drawn = [self._pair(int(word), random) for word in words]
        clips = np.array([one for one, _, _ in drawn] + [two for _, two, _ in drawn], np.int64)
        return clips, np.array([False] * len(drawn) + [mirrored for _, _, mirrored in drawn])

    def _pair(self, word: int, random: np.random.Generator) -> tuple[int, int, bool]:
        """Two clips of a word by different signers, and whether one is the other's mirror image."""
        signers = self.by_word[word]
        for _ in range(_TRIES):
            one, two = random.choice(len(signers), 2, replace=False)
            first = int(random.choice(signers[one]))
            if self.partners is None:
                break
            if likely := self.partners.get(first):
                second, mirrored = likely[int(random.integers(len(likely)))]
                return first, second, mirrored
        return first, int(random.choice(signers[two])), False

    def fetch(self, clips: Ints, places: Floats) -> Tensor:
        """(n,) clips and places in their signs, from 0 to 1 and beyond, to (n, 69, 4) interpolated features."""
        lowest, highest = self.first[clips], self.first[clips + 1] - 1
        start, length = self.segments[clips, 0], np.diff(self.segments[clips])[:, 0]
        frame = np.clip(lowest + (start + places * (length - 1)), lowest, highest)
        below = np.floor(frame).astype(np.int64)
        share = torch.from_numpy((frame - below).astype(np.float32))[:, None, None]
        here = self.frames[torch.from_numpy(below)].float()
        there = self.frames[torch.from_numpy(np.minimum(below + 1, highest))].float()
        both = here[..., 3:] * there[..., 3:] > 0
        return torch.where(both, torch.lerp(here, there, share), torch.where(share < 0.5, here, there))


def store_clips(clips: Sequence[IsolatedClip]) -> PairStore:
    """A store of isolated clips, without those in which no sign can be seen."""
    kept, frames, segments = [], [], []
    for clip in clips:
        try:
            seen, first, last = sign_in_context(clip.landmarks, FPS)
        except SignspotError:
            continue
        kept.append(clip)
        frames.append(seen.astype(np.float16))
        segments.append((first, last + 1))
    if len(kept) < len(clips):
        logger.warning("%d of %d clips show no sign and are left out", len(clips) - len(kept), len(clips))
    if not kept:
        raise OptionsError(f"none of {len(clips)} clips shows a sign: no pairs to learn from")
    starts = np.concatenate([[0], np.cumsum([len(each) for each in frames])])
    words = np.unique([clip.word for clip in kept], return_inverse=True)[1]
    signers = np.unique([clip.signer for clip in kept], return_inverse=True)[1]
    signers[[not clip.signer for clip in kept]] = NOBODY
    return PairStore(np.concatenate(frames), starts, np.array(segments), words, signers)


def store_bank(bank: WorldBank) -> PairStore:
    """A store of all performances of a bank of the signing world, each by a signer of its own."""
    signs, _, first, lengths, starts, ends = bank.rows.T
    assert (first[1:] == first[:-1] + lengths[:-1]).all()
    every = np.concatenate([first, first[-1:] + lengths[-1:]])
    return PairStore(np.array(bank.frames), every, np.stack([starts, ends], axis=1), signs, np.arange(len(signs)))


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
    known = len(store.by_word)
    real = min(known, round(signs * (1 - source.recombined)))
    invented = signs - real if source.recombined else 0
    words = np.concatenate([random.permutation(known)[:real], random.integers(known, size=invented)])
    clips, is_mirrored = store.pairs(words, random)
    count = len(words)
    place, lengths, first = _times(store.segments[clips], options, source.change, random)
    owner = np.repeat(np.arange(2 * count), lengths + 2 * context)
    sign = owner % count
    new = NewSigns.invent(np.arange(count) >= real, random)
    x = store.fetch(clips[owner], np.where(new.backwards[sign], 1 - place, place))
    x = mirror_some(x, is_mirrored[owner])
    if invented:
        others, flips = store.pairs(random.integers(known, size=count), random)
        needed = np.flatnonzero(new.need_another[sign])
        who, other = owner[needed], x.clone()
        other[needed] = mirror_some(store.fetch(others[who], place[needed]), flips[who])
        x = recombine(x, other, new, sign, place)
    x = change(x, owner, 2 * count, source.change, random)
    return PairBatch(mirror_some(x, (random.random(count) < 0.5)[sign]), first, lengths)


def _times(
    segments: Ints, options: PairBatchOptions, how: Change, random: np.random.Generator
) -> tuple[Floats, Ints, Ints]:
    """Times at which (n, 2) segments of signs are looked at.

    Returns:
        (N,) the place of every step in its sign, from 0 to 1 and beyond in its context; (n,) steps of every sign; (n,)
        where each begins among the N.
    """
    many = len(segments)
    length = np.maximum(np.diff(segments)[:, 0], 2).astype(float)
    limit = _FARTHEST_TRIM * length
    early, late = np.clip(random.normal(0, how.trim, (2, many)), -limit, limit)
    span = length + early + late
    steps = np.round(span / options.spacing * np.exp(random.normal(0, how.speed, many)))
    lengths = np.clip(steps, *LENGTHS).astype(np.int64)
    whole = lengths + 2 * options.context
    begins = np.concatenate([[0], np.cumsum(whole)[:-1]])
    owner = np.repeat(np.arange(many), whole)
    number = np.arange(whole.sum()) - begins[owner] - options.context
    place = number / np.maximum(lengths[owner] - 1, 1)
    bend, sway = random.normal(0, how.warp, (2, many))[:, owner].clip(-_STRONGEST_WARP, _STRONGEST_WARP)
    inside = np.clip(place, 0, 1)
    place = place + bend * np.sin(np.pi * inside) / np.pi + sway * np.sin(2 * np.pi * inside) / (2 * np.pi)
    place = (place * span[owner] - early[owner]) / length[owner]
    return place, lengths, begins + options.context
