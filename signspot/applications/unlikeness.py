"""Unlikeness of a clip to the exemplars of a word, against that of these exemplars to each other."""

import numpy as np

from signspot.embedding.exemplars import Gallery, SignViews
from signspot.models.encoder import Encoder
from signspot.spotting.alignment import warping_costs
from signspot.spotting.decoys import cohort_of
from signspot.spotting.identification import Match, alignment_scale

_LIMITS = (1.34, 1.27, 1.19)  # with 1, 2, 3 or more exemplars: nine of ten right signs are below, on the same worlds
_TYPICAL = 0.42  # of what two different signs cost: two signers with one sign, on the worlds of seeds 51 and 61
_PRIOR = 3.0  # pairs of exemplars that what is typical counts as, beside those of the word itself
_WORDS, _EACH, _FEWEST = 60, 3, 8  # words of a dictionary, and exemplars of each, that say what is typical; at least


def unlikeness(sign: SignViews, gallery: Gallery, match: Match, typical: float) -> float:
    """The cost of aligning a sign with the exemplars of a word, over what it costs to align these with each other.

    Args:
        sign: as an encoder sees it.
        gallery: with the exemplars of the word.
        match: the word, and the exemplar, variant and mirroring that fit best.
        typical: what it costs to align two performances of one sign, by `typical_cost`.

    Returns:
        Above 1 for a sign that is more unlike than nine of ten right ones; NaN where there are no frame codes.
    """
    if sign.codes is None or gallery.codes is None:
        return float("nan")
    rows = [row for row in gallery.words[match.word].tolist() if _is_shown(gallery, row, match)]
    own = float(warping_costs(sign.codes[:1], gallery.codes[rows]).mean())
    pairs = _between(gallery, rows)
    expected = (sum(pairs) + _PRIOR * typical) / (len(pairs) + _PRIOR)
    return own / expected / _LIMITS[min(len(rows), len(_LIMITS)) - 1]


def _is_shown(gallery: Gallery, row: int, match: Match) -> bool:
    exemplar, mirrored = gallery.exemplar(row)
    return mirrored == match.mirrored and exemplar.variant == match.variant


def _between(gallery: Gallery, rows: list[int]) -> list[float]:
    """The costs of all pairs of some rows that are not known to be of one signer."""
    assert gallery.codes is not None, "asked before"
    costs = warping_costs(gallery.codes[rows], gallery.codes[rows])
    signers = [gallery.exemplar(row)[0].signer for row in rows]
    return [
        float(costs[one, other])
        for one in range(len(rows))
        for other in range(one)
        if not signers[one] or signers[one] != signers[other]
    ]


def typical_cost(gallery: Gallery, encoder: Encoder) -> float:
    """The typical cost of aligning two signers with one sign: by a gallery, else by the encoder's decoys."""
    if gallery.codes is None:
        return 1.0
    cohort = cohort_of(encoder)
    for known in (gallery, None if cohort is None else cohort.gallery(_EACH, mirror=False)):
        found = [] if known is None else _costs_within_words(known)
        if len(found) >= _FEWEST:
            return float(np.median(found))
    return _TYPICAL * alignment_scale(encoder)


def _costs_within_words(gallery: Gallery) -> list[float]:
    """Of some words: the mean cost of aligning two of their exemplars."""
    words, found = list(gallery.words), []
    for word in words[:: max(1, len(words) // _WORDS)]:
        plain = [row for row in gallery.words[word].tolist() if not gallery.exemplar(row)[1]]
        variant = gallery.exemplar(plain[0])[0].variant
        pairs = _between(gallery, [row for row in plain if gallery.exemplar(row)[0].variant == variant][:_EACH])
        found += [float(np.mean(pairs))] if pairs else []
    return found
