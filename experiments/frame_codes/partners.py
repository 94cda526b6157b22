"""Likely pairs: which clips of a word show the same sign, since English glosses hide variants and left-handed signers.

Hand-crafted features decide, before anything is learned: two clips by different signers that are no nearer to each
other than to clips of other words are taken to show different signs, and are not used as a pair.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from experiments.frame_codes.changes import MIRRORED
from experiments.frame_codes.sources import NOBODY, PairStore, Partners
from signspot.io.files import atomic_write, text_digest
from signspot.models.frame_coder import PLAIN, describe, stretched
from signspot.spotting.matching import warping_costs

Codes = NDArray[np.float32]

MOST_NEARER = 0.25  # share of other words' clips that may be nearer; of two different signs it is about a half
MIRRORED_COST = 0.93  # a mirrored clip must cost at most this share to be taken for that of a left-handed signer
_COHORT = 300  # clips of other words that a clip is compared with
_AXES = 64  # principal axes of the features that are compared
_SPACING = 2  # frames in a step of the features
_BLOCK = 200  # clips that are described at once


def kept_partners(store: PairStore, folder: Path) -> Partners:
    """As `likely_partners`, which takes a minute for a corpus: kept in a folder, by the contents of the store."""
    content = hashlib.sha256(np.ascontiguousarray(store.frames.numpy()).tobytes())
    for part in (store.first, store.segments, store.words, store.signers):
        content.update(np.ascontiguousarray(part, np.int64).tobytes())
    rule = [MOST_NEARER, MIRRORED_COST, _COHORT, _AXES, _SPACING]
    path = folder / f"partners-{text_digest(json.dumps([content.hexdigest(), rule]))}.npy"
    if not path.is_file():
        found = likely_partners(store)
        rows = [(one, two, mirrored) for one, others in found.items() for two, mirrored in others]
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as temporary, temporary.open("wb") as file:
            np.save(file, np.array(rows, np.int32).reshape(-1, 3))
    partners: Partners = {}
    for one, two, mirrored in np.load(path).tolist():
        partners.setdefault(one, []).append((two, bool(mirrored)))
    return partners


def likely_partners(store: PairStore, seed: int = 0) -> Partners:
    """Clip → clips of the same word by other signers that likely show the same sign, and whether mirrored.

    Args:
        store: of performances; its own partners are not looked at.
        seed: of the cohort that clips are compared with.
    """
    codes, mirrored = _principal(_features(store, mirror=False), _features(store, mirror=True))
    cohort = np.sort(np.random.default_rng(seed).permutation(len(codes))[:_COHORT])
    apart = np.minimum(warping_costs(codes, codes[cohort]), warping_costs(codes, mirrored[cohort]))
    apart[store.words[:, None] == store.words[cohort]] = np.nan
    apart.sort(axis=1)  # NaN last
    partners: Partners = {}
    for word in np.unique(store.words):
        own = np.flatnonzero((store.words == word) & (store.signers != NOBODY))
        plain, turned = warping_costs(codes[own], codes[own]), warping_costs(codes[own], mirrored[own])
        cost = np.minimum(plain, turned)
        nearer = np.stack([_share_below(apart[clip], cost[row]) for row, clip in enumerate(own)]) if len(own) else cost
        is_likely = (nearer + nearer.T) / 2 < MOST_NEARER
        is_likely &= store.signers[own][:, None] != store.signers[own]
        for row, column in np.argwhere(is_likely):
            is_mirrored = bool(turned[row, column] < MIRRORED_COST * plain[row, column])
            partners.setdefault(int(own[row]), []).append((int(own[column]), is_mirrored))
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
