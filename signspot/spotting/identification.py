"""Identification of an isolated sign: all words of a gallery, ranked."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery, SignViews
from signspot.models.contract import Encoder
from signspot.spotting.alignment import warping_costs
from signspot.spotting.decoys import Cohort
from signspot.spotting.matching import to_score
from signspot.spotting.similarity import exemplar_curves


@dataclass(frozen=True, slots=True)
class Match:
    """A word that an isolated sign may be."""

    word: str
    score: float  # in [0, 1]
    exemplar: str  # id of the best exemplar
    variant: str = ""
    mirrored: bool = False  # the exemplar matched left-right mirrored


def alignment_scale(encoder: Encoder) -> float:
    """The cost of aligning two different signs, whose score is a half; 1 where the encoder gives no frame codes."""
    if not encoder.contract.codes:
        return 1.0
    from signspot.spotting.weight_facts import typical_cost

    return typical_cost(encoder)


def sign_scores(sign: SignViews, gallery: Gallery, scale: float | None, cohort: Cohort | None) -> NDArray[np.float32]:
    """Compare an isolated sign with every row of a gallery.

    Args:
        sign: as an encoder sees it.
        gallery: by the same encoder.
        scale: the cost of a path whose score is a half; None: compare embeddings, not frame codes.
        cohort: decoys, by which exemplars that are near to everything are known; None: none are.

    Returns:
        (V,) scores in [0, 1].
    """
    if scale is None or sign.codes is None or gallery.codes is None:
        found: NDArray[np.float32] = exemplar_curves(sign.embeddings[:1], gallery.embeddings)[:, 0]
        return found
    corrections = 0.0 if cohort is None else cohort.corrections_in(gallery)
    return to_score(warping_costs(sign.codes[:1], gallery.codes)[0] + corrections, scale)


def rank_words(scores: NDArray[np.float32], gallery: Gallery) -> list[Match]:
    """The words of a gallery by their best row, the best first; equal ones in order of the gallery."""
    found = []
    for word, rows in gallery.words.items():
        row = int(rows[scores[rows].argmax()])
        exemplar, mirrored = gallery.exemplar(row)
        found.append(Match(word, round(float(scores[row]), 6), exemplar.id, exemplar.variant, mirrored))
    return sorted(found, key=lambda match: -match.score)
