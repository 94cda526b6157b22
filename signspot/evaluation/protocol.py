"""The paper's protocol (Sec. 4.2): which exemplars continuous signing of a test word retrieves, and where.

The paper's test labels are mouthings of confidence above 0.9. A corpus of the signing world has few of those and knows
every sign exactly, so each true use of a test word is a query, labelled at the end of the sign, as mouthings are.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.metrics.localisation import Tolerance
from signspot.metrics.ranking import RankedQueries, RetrievalResult, ranks_of
from signspot.metrics.retrieval import ClipRetrieval
from signspot.models.batch_norm import Domain
from signspot.records import Exemplar, Label, LabelSource
from signspot.training.embedding.data import read_words
from signspot.training.embedding.trunk_features import TrunkFeatures
from signspot.training.items import Item, ItemOptions, collect_items

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
    shown: frozenset[str] = frozenset()  # exemplars of the variant that is signed; empty: of which, is not known


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What was retrieved: by the paper's measure, and by one that the paper's labels did not allow."""

    words: RetrievalResult  # every exemplar of the word is right
    variants: RetrievalResult  # those of the signed variant are right; the word's others are left out


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
    shown = {(s.video, s.word, s.end): frozenset(s.exemplars) for name in videos for s in corpus.signs(name)}
    return merged(items, features, shown)


def merged(
    items: Sequence[Item],
    features: TrunkFeatures,
    shown: Mapping[tuple[str, str, float], frozenset[str]] = MappingProxyType({}),
) -> list[Query]:
    """One query a stretch and word, however often the word is signed in it.

    Args:
        items: labelled signs in subtitled stretches.
        features: of the videos.
        shown: by video, word and time, the exemplars of the variant that is signed, where that is known.
    """
    times = defaultdict(list)
    for item in items:
        times[item.video, item.word, item.span].append(item.time)
    queries = []
    for (video, word, span), found in times.items():
        grid = features.videos[video].grid
        inside = np.flatnonzero((grid.times >= span.start) & (grid.times <= span.end))
        if len(inside):
            exemplars = frozenset[str]().union(*(shown.get((video, word, time), frozenset()) for time in found))
            queries.append(Query(video, word, int(inside[0]), int(inside[-1]), tuple(found), exemplars))
    return queries


def retrieve(
    embed: Embed, features: TrunkFeatures, queries: Sequence[Query], words: Collection[str], stride: int = 1
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
    gallery = _embedded(embed, features.exemplar_means()[rows], "dictionary")
    exemplars = [features.exemplars[row] for row in rows]
    by_word, by_variant = ClipRetrieval([exemplar.word for exemplar in exemplars]), RankedQueries()
    for name in dict.fromkeys(query.video for query in queries):
        windows = features.videos[name]
        similarity = _embedded(embed, np.asarray(windows.features, np.float32), "continuous") @ gallery.T
        for query in (each for each in queries if each.video == name):
            place = slice(query.first, query.last + 1, stride)
            times = windows.grid.times[place]
            maxima, peaks = similarity[place].max(axis=0), times[similarity[place].argmax(axis=0)]
            by_word.add_maxima(query.word, query.times, maxima, peaks)
            _rank_variant(by_variant, query, exemplars, maxima, peaks)
    return Retrieved(by_word.value((5,)), by_variant.value((5,)))


def _rank_variant(
    ranked: RankedQueries, query: Query, exemplars: Sequence[Exemplar], maxima: FloatArray, peaks: FloatArray
) -> None:
    """Rank the exemplars of the signed variant among those of other words."""
    own = np.array([exemplar.word == query.word for exemplar in exemplars])
    same = own & np.array([not query.shown or exemplar.id in query.shown for exemplar in exemplars])
    kept = np.flatnonzero(same | ~own)
    right = np.flatnonzero((same & Tolerance().accepts(peaks, query.times))[kept])
    if same.any():
        ranked.add(query.word, ranks_of(maxima[kept], right), int(same.sum()))


@torch.inference_mode()
def _embedded(embed: Embed, features: FloatArray, domain: Domain) -> FloatArray:
    embedded: FloatArray = embed(torch.from_numpy(np.ascontiguousarray(features)), domain).numpy()
    return embedded
