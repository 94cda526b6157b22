"""The paper's protocol (Sec. 4.2): which exemplars continuous signing of a test word retrieves, and where.

The paper's test labels are mouthings of confidence above 0.9. A corpus of the signing world has few of those and knows
every sign exactly, so each true use of a test word is a query, labelled at the end of the sign, as mouthings are.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.errors import OptionsError
from signspot.metrics.ranking import RetrievalResult
from signspot.metrics.retrieval import ClipRetrieval
from signspot.models.batch_norm import Domain
from signspot.records import Label, LabelSource
from signspot.sampling.items import Item, ItemOptions, collect_items
from signspot.training.embedding_data import read_words
from signspot.training.trunk_features import TrunkFeatures
from signspot.world.layout import Corpus

FloatArray = NDArray[np.float32]
Embed = Callable[[Tensor, Domain], Tensor]  # (N, D) trunk features of a domain → (N, d) embeddings of unit norm


@dataclass(frozen=True, slots=True)
class Query:
    """A subtitled stretch of a test video in which a word is signed."""

    video: str
    word: str
    first: int  # window
    last: int  # window, included
    times: tuple[float, ...]  # where the word is labelled, seconds: each is right


def find_queries(corpus: Corpus, features: TrunkFeatures, words: Collection[str]) -> list[Query]:
    """Every stretch of the test videos whose subtitle has a test word that is signed there.

    Raises:
        OptionsError: there is none, as in a corpus whose truth is not known.
    """
    videos = [video.id for video in corpus.in_split("test")]
    labels = [
        Label(sign.word, name, sign.end, 1.0, LabelSource.VERIFIED)
        for name in videos
        for sign in corpus.signs(name)
        if sign.word in set(words)
    ]
    if not labels:
        raise OptionsError(f"no test word is known to be signed in the {len(videos)} test videos of {corpus.folder}")
    items = collect_items(labels, read_words(corpus, words, videos), words, words, ItemOptions())
    return _merge(items, features)


def _merge(items: Sequence[Item], features: TrunkFeatures) -> list[Query]:
    """One query a stretch and word, however often the word is signed in it."""
    times = defaultdict(list)
    for item in items:
        times[item.video, item.word, item.span].append(item.time)
    queries = []
    for (video, word, span), found in times.items():
        grid = features.videos[video].grid
        inside = np.flatnonzero((grid.times >= span.start) & (grid.times <= span.end))
        if len(inside):
            queries.append(Query(video, word, int(inside[0]), int(inside[-1]), tuple(found)))
    return queries


def retrieve(
    embed: Embed, features: TrunkFeatures, queries: Sequence[Query], words: Collection[str], stride: int = 1
) -> RetrievalResult:
    """Rank all exemplars of the test words for every query.

    Args:
        embed: what turns trunk features into embeddings.
        features: of the corpus.
        queries: to be answered.
        words: whose exemplars are ranked: the test vocabulary.
        stride: frames between the windows that are looked at.
    """
    rows = [row for row, exemplar in enumerate(features.exemplars) if exemplar.word in set(words)]
    gallery = _embedded(embed, features.exemplar_means()[rows], "dictionary")
    retrieval = ClipRetrieval([features.exemplars[row].word for row in rows])
    for name in dict.fromkeys(query.video for query in queries):
        windows = features.videos[name]
        similarity = _embedded(embed, np.asarray(windows.features, np.float32), "continuous") @ gallery.T
        for query in (each for each in queries if each.video == name):
            place = slice(query.first, query.last + 1, stride)
            retrieval.add(query.word, query.times, similarity[place], windows.grid.times[place])
    return retrieval.value((5,))


@torch.inference_mode()
def _embedded(embed: Embed, features: FloatArray, domain: Domain) -> FloatArray:
    embedded: FloatArray = embed(torch.from_numpy(np.ascontiguousarray(features)), domain).numpy()
    return embedded
