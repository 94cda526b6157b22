"""How unlike a clip is to the exemplars of a word, against how unlike these are to each other."""

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery, SignViews
from signspot.spotting.alignment import warping_costs
from signspot.spotting.identification import Match

_TYPICAL = 0.42  # of what two different signs cost: two signers with one sign, on the worlds of seeds 51 and 61
_PRIOR = 3.0  # pairs of exemplars that what is typical counts as, beside those of the word itself
_WORDS, _EACH, _FEWEST = 60, 3, 8  # words of a dictionary, and exemplars of each, that say what is typical; at least
Costs = NDArray[np.float32]


def unlikeness(sign: SignViews, gallery: Gallery, match: Match, scale: float) -> float:
    """The cost of aligning a sign with the exemplars of a word, over what it costs to align these with each other.

    Args:
        sign: as an encoder sees it.
        gallery: with the exemplars of the word and of others.
        match: the word, and the exemplar, variant and mirroring that fit best.
        scale: what it costs to align two different signs.

    Returns:
        About 1 for the word, more for another sign; NaN where there are no frame codes.
    """
    if sign.codes is None or gallery.codes is None:
        return float("nan")
    rows = [row for row in gallery.words[match.word].tolist() if _is_shown(gallery, row, match)]
    own = float(warping_costs(sign.codes[:1], gallery.codes[rows]).mean())
    pairs = _between(gallery, rows)
    expected = (sum(pairs) + _PRIOR * _typical(gallery, scale)) / (len(pairs) + _PRIOR)
    return own / expected


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


def _typical(gallery: Gallery, scale: float) -> float:
    """What it typically costs to align two exemplars of one word of a gallery, or of any."""
    words = list(gallery.words)
    found = []
    for word in words[:: max(1, len(words) // _WORDS)]:
        plain = [row for row in gallery.words[word].tolist() if not gallery.exemplar(row)[1]]
        variant = gallery.exemplar(plain[0])[0].variant
        pairs = _between(gallery, [row for row in plain if gallery.exemplar(row)[0].variant == variant][:_EACH])
        found += [float(np.mean(pairs))] if pairs else []
    return float(np.median(found)) if len(found) >= _FEWEST else _TYPICAL * scale
