"""Retrieval queries of a corpus (Sec. 4.2): segments of test videos whose subtitle has a word that is signed there.

The paper's test labels are mouthings of confidence above 0.9. A synthetic corpus has few of those and knows
every sign exactly, so each true use of a test word is a query, labelled at the end of the sign, as mouthings are.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from signspot.corpus.corpus import Corpus
from signspot.corpus.labels import TEST_MOUTHING, is_test_truth
from signspot.errors import OptionsError
from signspot.training.items import Item, ItemOptions, collect_items, read_words
from signspot.types import Grid, Label, LabelSource, Segment, TimeMeaning


@dataclass(frozen=True, slots=True)
class RetrievalQuery:
    """A subtitled segment of a test video in which a word is signed."""

    video: str
    word: str
    first: int  # window
    last: int  # window, included
    times: tuple[float, ...]  # where the labelled signs end, seconds: each is right
    span: Segment  # the segment, seconds
    shown: frozenset[str] = frozenset()  # exemplars of the variant that is signed; empty: of which, is not known


def find_queries(corpus: Corpus, grids: Mapping[str, Grid], words: Collection[str]) -> list[RetrievalQuery]:
    """Every segment of the test videos whose subtitle has a test word that is signed there.

    Raises:
        OptionsError: there is none, as in a corpus whose truth is not known.
    """
    videos = [video.id for video in corpus.in_split("test")]
    labels = [
        Label(sign.word, name, sign.end, 1.0, LabelSource.VERIFIED, at=TimeMeaning.END)
        for name in videos
        for sign in corpus.signs(name)
        if sign.word in set(words)
    ]
    if not labels:
        raise OptionsError(f"no test word is known to be signed in the {len(videos)} test videos of {corpus.folder}")
    items = collect_items(labels, read_words(corpus, words, videos), words, words, ItemOptions())
    exemplars = {(s.video, s.word, s.end): frozenset(s.exemplars) for name in videos for s in corpus.signs(name)}
    return merged(items, grids, exemplars)


def merged(
    items: Sequence[Item],
    grids: Mapping[str, Grid],
    exemplars: Mapping[tuple[str, str, float], frozenset[str]] = MappingProxyType({}),
) -> list[RetrievalQuery]:
    """One query per segment and word, however often the word is signed in it.

    Args:
        items: labelled signs in subtitled segments.
        grids: where the windows of each video lie.
        exemplars: by video, word and end of the sign, the exemplars of the variant that is signed, where that is known.
    """
    times = defaultdict(list)
    for item in items:
        times[item.video, item.word, item.span].append(item.label.segment.end)  # whatever the label's time means
    queries = []
    for (video, word, span), ends in times.items():
        grid = grids[video]
        inside = np.flatnonzero((grid.times >= span.start) & (grid.times <= span.end))
        if len(inside):
            variant = frozenset[str]().union(*(exemplars.get((video, word, time), frozenset()) for time in ends))
            queries.append(RetrievalQuery(video, word, int(inside[0]), int(inside[-1]), tuple(ends), span, variant))
    return queries


def labelled_queries(corpus: Corpus, grids: Mapping[str, Grid], words: Collection[str]) -> list[RetrievalQuery]:
    """Every segment of a video whose subtitle has a word that a sure label, M of 0.9 or more or V, locates there.

    Labels D are what an encoder found: they are no truth to test an encoder by.

    Raises:
        OptionsError: there is none.
    """
    videos = list(corpus.videos)
    subtitles = read_words(corpus, words, videos)
    labels = [label for label in corpus.labels(videos) if is_test_truth(label)]
    if not labels:
        raise OptionsError(
            f"no sign of {corpus.folder} is known: there is neither truth/signs, nor a label M of {TEST_MOUTHING:g} or "
            "more, nor a label V. Labels D are what an encoder found, and test none"
        )
    items = collect_items(labels, subtitles, words, words)
    return merged(items, grids)
