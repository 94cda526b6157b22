"""Retrieval by many embeddings of the same kept trunk features: the measure of the paper's tables (Sec. 4.2)."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.evaluation.queries import RetrievalQuery
from signspot.metrics.localisation import Tolerance
from signspot.metrics.ranking import RankedQueries, RetrievalResult, ranks_of
from signspot.metrics.retrieval import ClipRetrieval
from signspot.models.batch_norm import Domain
from signspot.training.trunk_features import TrunkFeatures
from signspot.types import Exemplar, Grid

FloatArray = NDArray[np.float32]
Embed = Callable[[Tensor, Domain], Tensor]  # (N, D) trunk features of a domain → (N, d) embeddings of unit norm


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Retrieval by the paper's measure, and by one that the paper's labels did not allow."""

    words: RetrievalResult  # every exemplar of the word is right
    variants: RetrievalResult  # those of the signed variant are right; the word's others are left out
    ranked: RankedQueries  # the first, query by query, so that words can be drawn again


def retrieve(
    embed: Embed, features: TrunkFeatures, queries: Sequence[RetrievalQuery], words: Collection[str], stride: int = 1
) -> Retrieved:
    """Rank all exemplars of the test words for every query.

    Args:
        embed: what turns trunk features into embeddings.
        features: of the corpus.
        queries: to be answered.
        words: whose exemplars are ranked: the test vocabulary.
        stride: frames between the windows that are looked at.
    """
    rows = [row for row, exemplar in enumerate(features.exemplars) if exemplar.word in set(words)]
    gallery = embedded(embed, features.exemplar_means()[rows], "dictionary")
    exemplars = [features.exemplars[row] for row in rows]
    by_word, by_variant = ClipRetrieval([exemplar.word for exemplar in exemplars]), RankedQueries()
    for name in dict.fromkeys(query.video for query in queries):
        windows = features.videos[name]
        similarity = embedded(embed, np.asarray(windows.features, np.float32), "continuous") @ gallery.T
        for query in (each for each in queries if each.video == name):
            place = slice(query.first, query.last + 1, stride)
            times = windows.grid.times[place]
            maxima, peaks = similarity[place].max(axis=0), times[similarity[place].argmax(axis=0)]
            by_word.add_maxima(query.word, query.times, maxima, peaks)
            _rank_variant(by_variant, query, exemplars, maxima, peaks)
    return Retrieved(by_word.value((5,)), by_variant.value((5,)), by_word.queries)


def _rank_variant(
    ranked: RankedQueries, query: RetrievalQuery, exemplars: Sequence[Exemplar], maxima: FloatArray, peaks: FloatArray
) -> None:
    """Rank the exemplars of the signed variant among those of other words."""
    own = np.array([exemplar.word == query.word for exemplar in exemplars])
    same = own & np.array([not query.shown or exemplar.id in query.shown for exemplar in exemplars])
    kept = np.flatnonzero(same | ~own)
    right = np.flatnonzero((same & Tolerance().accepts(peaks, query.times))[kept])
    if same.any():
        ranked.add(query.word, ranks_of(maxima[kept], right), int(same.sum()))


@torch.inference_mode()
def embedded(embed: Embed, features: FloatArray, domain: Domain) -> FloatArray:
    """(N, D) trunk features as (N, d) embeddings."""
    made: FloatArray = embed(torch.from_numpy(np.ascontiguousarray(features)), domain).numpy()
    return made


def grids_of(features: TrunkFeatures) -> dict[str, Grid]:
    """Grids of the windows of each video."""
    return {name: windows.grid for name, windows in features.videos.items()}
