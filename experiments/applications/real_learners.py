"""Feedback on real signs: by one signer, against exemplars by up to three others, for their word and another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from experiments.applications.learners import EXEMPLARS, gallery_of, sign_of
from signspot.applications.feedback import doubt, evidence, is_right, measure_sign, strengths, typical_cost, unlikeness
from signspot.applications.movement import SeenSign, see_sign
from signspot.corpus.isolated import IsolatedClip
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.errors import SignspotError
from signspot.io.progress import Progress, silent
from signspot.landmarks.features import mirror_features
from signspot.plots.skeletons import Frames
from signspot.spotting.options import SpotOptions
from signspot.spotting.spotter import Match, Spotter
from signspot.types import Exemplar

REAL_HEADS = (
    "verdict",
    "words",
    "clips",
    "right taken for right",
    "the nearest other word taken for right",
    "the same, where the dictionary has not the right one",
    "MRR",
)


@dataclass
class _Shown:
    """Exemplars of a corpus, and clips that are asked about."""

    exemplars: list[Exemplar] = field(default_factory=list)
    views: list[SignViews] = field(default_factory=list)
    signs: dict[str, list[Frames]] = field(default_factory=dict)  # by word
    asked: list[tuple[str, IsolatedClip]] = field(default_factory=list)


def _show(embedder: ExemplarEmbedder, clips: Sequence[IsolatedClip], seed: int, progress: Progress) -> _Shown:
    """For each word a learner by chance, and others who show it."""
    random, shown = np.random.default_rng(seed), _Shown()
    by_word: dict[str, list[IsolatedClip]] = {}
    for clip in clips:
        by_word.setdefault(clip.word, []).append(clip)
    for done, (word, own) in enumerate(sorted(by_word.items())):
        progress(done, len(by_word))
        signers = random.permutation(sorted({clip.signer for clip in own})).tolist()
        if len(signers) < 2:
            continue
        shown.asked += [(word, clip) for clip in own if clip.signer == signers[0]][:2]
        for lender in signers[1 : 1 + EXEMPLARS]:
            landmarks = next(clip for clip in own if clip.signer == lender).landmarks
            try:
                shown.views.append(embedder.embed_source(landmarks, mirror=True))
            except SignspotError:
                continue
            shown.exemplars.append(Exemplar(word, f"{word}-{lender}"))
            shown.signs.setdefault(word, []).append(sign_of(landmarks))
    chosen = random.permutation(len(shown.asked)).tolist()
    shown.asked = [shown.asked[number] for number in chosen if shown.asked[number][0] in shown.signs]
    return shown


def _against(sign: SeenSign, match: Match, shown: _Shown, unlike: float) -> float:
    """Weight of what speaks against a sign's being the word of a match, as `feedback_on` weighs it."""
    own = shown.signs[match.word]
    examples = [see_sign(mirror_features(each) if match.mirrored else each) for each in own]
    return doubt(evidence(strengths(measure_sign(sign, examples), unlike)))


def _doubts(
    views: SignViews, sign: SeenSign, match: Match, gallery: Gallery, shown: _Shown, typical: float
) -> tuple[float, float]:
    """Weight of what speaks against a word: by the verdict, and by alignment alone."""
    unlike = unlikeness(views, gallery, match, typical)
    return _against(sign, match, shown, unlike), float(np.log(unlike))


def real_verdicts(
    spotter: Spotter, clips: Sequence[IsolatedClip], queries: int = 300, seed: int = 0, progress: Progress = silent
) -> Iterator[tuple[str, ...]]:
    """Two rows, by the verdict and by alignment alone: cells as `REAL_HEADS` names them."""
    embedder = ExemplarEmbedder(spotter.encoder)
    shown = _show(embedder, clips, seed, progress)
    gallery = gallery_of(shown.exemplars, shown.views)
    typical = typical_cost(gallery, spotter.encoder)
    counts: tuple[list[list[bool]], ...] = ([[], [], []], [[], [], []])
    ranks: list[float] = []
    for word, clip in shown.asked[:queries]:
        try:
            views = embedder.embed_source(clip.landmarks)
        except SignspotError:
            continue
        sign = see_sign(sign_of(clip.landmarks))
        found = spotter.identify_views(views, gallery, SpotOptions())
        rank = next(place for place, match in enumerate(found, 1) if match.word == word)
        other = next(match for match in found if match.word != word)
        mine = _doubts(views, sign, found[rank - 1], gallery, shown, typical)
        theirs = _doubts(views, sign, other, gallery, shown, typical)
        for count, own, wrong in zip(counts, mine, theirs, strict=True):
            count[0].append(is_right(rank, found[rank - 1].score, own))
            count[1].append(is_right(1 + (found[0].word != other.word), other.score, wrong))
            count[2].append(is_right(1, other.score, wrong))
        ranks.append(1 / rank)
    for verdict, count in zip(("as shipped", "alignment alone"), counts, strict=True):
        shares = [*(float(np.mean(each)) for each in count), float(np.mean(ranks))]
        yield verdict, str(len(gallery.words)), str(len(ranks)), *(f"{share:.2f}" for share in shares)
