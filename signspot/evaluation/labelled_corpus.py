"""Evaluation of an encoder on a corpus: retrieval (Sec. 4.2), localisation, and spotting in long untrimmed footage.

Where every sign is known (`truth/signs`), all of it is measured. Where only labels are, mouthings (M) of confidence
0.9 or more are looked up, as in the paper, and verified ones (V), never D; labels are sparse, so what is spotted
besides cannot be called false: it is not counted.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from signspot.corpus.corpus import Corpus
from signspot.corpus.labels import TEST_MOUTHING, is_test_truth
from signspot.corpus.truth import WordSplit
from signspot.embedding.exemplars import Gallery
from signspot.errors import OptionsError
from signspot.io.progress import Progress, silent
from signspot.metrics.bootstrap import Interval, bootstrap_mean, bootstrap_ratio
from signspot.metrics.detection import Detection
from signspot.metrics.localisation import ClipRetrieval, Tolerance
from signspot.metrics.ranking import Group, GroupedValues
from signspot.models.encoder import Encoder
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.spotting.track_search import SearchResult
from signspot.training.corpus_subset import Item, ItemOptions, collect_items, read_words
from signspot.types import Grid, Label, LabelSource, Segment, TimeMeaning

Tested = Literal["test", "all"]

LOWEST = 0.5  # score from which spottings enter the precision-recall curve


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

    The paper's test labels are mouthings of confidence above 0.9. A synthetic corpus has few of those and knows every
    sign exactly, so each true use of a test word is a query, labelled at the end of the sign, as mouthings are.

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

    Labels D are what an encoder found: they are not truth to test an encoder by.

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


@dataclass(frozen=True, slots=True)
class SpottingScores:
    """Spotting all words in all footage; counts and ratios at the encoder's threshold."""

    threshold: float
    signs: int  # that there are
    found: int
    mean_average_precision: Interval  # over words
    precision: Interval  # over videos, as all that follow
    recall: Interval
    false_alarms_per_hour: Interval  # of one word
    iou: Interval  # of the spans found with the true ones


@dataclass(frozen=True, slots=True)
class CorpusScores:
    """Scores of an encoder on a corpus, with 95 % bootstrap intervals."""

    encoder: str
    hash: str
    videos: int
    hours: float
    words: int  # looked up
    exemplars: int  # ranked
    queries: int
    mean_average_precision: Interval  # over words, as both that follow
    recall_5: Interval
    localisation: Interval  # the word is known: how often its greatest similarity lies where it is signed
    spotting: SpottingScores | None  # None: the truth is not known

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: what is not known is null."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def part_to_test(corpus: Corpus, tested: Tested = "test") -> tuple[Corpus, tuple[str, ...]]:
    """The test videos and the words that are looked up in them; all of them, where a corpus has no splits.

    Args:
        corpus: any.
        tested: of a corpus with splits, the test words, or all words.

    Raises:
        OptionsError: there is no video, or no word.
    """
    videos = corpus.in_split("test") or list(corpus.videos.values())
    listed = list(corpus.dictionary())
    split = corpus.splits().words if corpus.layout.splits.is_file() else WordSplit()
    if split.all:
        chosen = set(split.test if tested == "test" else split.all)
        listed = [word for word in listed if word in chosen]
    if not listed:
        raise OptionsError(f"no {tested} word of {corpus.folder} has an exemplar in its dictionary")
    return replace(corpus, videos={video.id: replace(video, split="test") for video in videos}), tuple(sorted(listed))


def evaluate_corpus(
    spotter: Spotter,
    corpus: Corpus,
    words: Collection[str],
    options: SpotOptions,
    progress: Progress = silent,
) -> CorpusScores:
    """Measure a spotter on a corpus, by the very search that its users run.

    Args:
        spotter: what is measured.
        corpus: all its videos are searched.
        words: that are looked up.
        options: how to spot; the threshold decides what counts as spotted.
        progress: called with the videos done.

    Raises:
        OptionsError: no word has a usable exemplar, or none is known to be signed in any video.
    """
    by_video = spotter.encoder.contract.kind == "rgb"
    dictionary = corpus.dictionary(video=by_video)
    listed = [word for word in sorted(set(words)) if word in dictionary]
    if not listed:
        raise OptionsError(f"none of the {len(set(words))} words has an exemplar that '{spotter.encoder.name}' can see")
    gallery = spotter.gallery(dictionary.select(listed), options)
    low = replace(options, threshold=LOWEST)

    def searched() -> Iterator[tuple[str, SearchResult]]:
        for done, (name, video) in enumerate(corpus.videos.items()):
            progress(done, len(corpus.videos))
            path = video.video if by_video or video.landmarks is None else video.landmarks
            if path is None:
                raise OptionsError(f"video '{name}' of {corpus.folder} has no file that this encoder can see")
            yield name, spotter.search(path, gallery, low)
        progress(len(corpus.videos), len(corpus.videos))

    threshold = spotter.threshold(options, len(gallery.words))
    return score(spotter.encoder, corpus, gallery, searched(), threshold, by_rate=options.threshold is None)


def score(
    encoder: Encoder,
    corpus: Corpus,
    gallery: Gallery,
    searched: Iterable[tuple[str, SearchResult]],
    threshold: float,
    *,
    by_rate: bool = False,
) -> CorpusScores:
    """Measure what was found, video by video, against what a corpus knows.

    Args:
        encoder: that is measured.
        corpus: that was searched.
        gallery: that it was searched for.
        searched: each video's name and what was found in it at a low threshold.
        threshold: from which on a spotting counts.
        by_rate: instead, it is one that a search with default options finds.
    """
    words = {exemplar.word for exemplar in gallery.exemplars}
    results = list(searched)
    grids = {name: result.track.grid for name, result in results}
    has_truth = any(corpus.signs(name) for name in corpus.videos)
    queries = find_queries(corpus, grids, words) if has_truth else labelled_queries(corpus, grids, words)
    by_video: defaultdict[str, list[RetrievalQuery]] = defaultdict(list)
    for query in queries:
        by_video[query.video].append(query)
    retrieval, localised = ClipRetrieval([exemplar.word for exemplar in gallery.exemplars]), GroupedValues()
    detection, decided = (Detection(), Detection()) if has_truth else (None, None)
    for name, result in results:
        _look_up(result, by_video[name], retrieval, localised)
        if detection is not None and decided is not None:
            truths = [sign for sign in corpus.signs(name) if sign.word in words]
            spottings = [replace(spotting, video=name) for spotting in result.spottings]
            decided_spottings = [replace(s, video=name) for s in result.decided(None if by_rate else threshold)]
            for several, into in ((spottings, detection), (decided_spottings, decided)):
                into.add(name, result.track.grid.frames / result.track.grid.fps, several, truths)
    return CorpusScores(
        encoder.name,
        encoder.hash,
        len(grids),
        math.fsum(grid.frames / grid.fps for grid in grids.values()) / 3600,
        len(words),
        len(gallery.exemplars),
        len(queries),
        bootstrap_mean(retrieval.queries.average_precisions),
        bootstrap_mean(retrieval.queries.hits(5)),
        bootstrap_mean(localised),
        None if detection is None or decided is None else _spotting_scores(detection, decided, threshold, len(words)),
    )


def _look_up(
    result: SearchResult, queries: Sequence[RetrievalQuery], retrieval: ClipRetrieval, localised: GroupedValues
) -> None:
    """Rank all exemplars for each query of a video, and look where its own word is most similar."""
    if not queries:
        return
    exemplars, times = result.gallery.exemplars, result.times
    scores = np.stack([result.curve(number) for number in range(len(exemplars))], axis=1)
    for query in queries:
        window = slice(*np.searchsorted(times, (query.span.start, query.span.end + 1e-9)).tolist())
        retrieval.add(query.word, query.times, scores[window], times[window])
        peak = times[window][result.word_curve(query.word)[window].argmax()]
        localised.add(query.word, float(Tolerance().accepts(peak, query.times)))


def _spotting_scores(detection: Detection, decided: Detection, threshold: float, words: int) -> SpottingScores:
    points = decided.by_video(threshold).values()
    counts = np.array([point.found for point in points], float)
    false = np.array([point.false_alarms for point in points], float)
    signs = np.array([point.truths for point in points], float)
    hours = np.array([point.hours for point in points])
    overlap = np.array([point.overlap for point in points])
    precisions: dict[Group, list[float]] = {word: [ap] for word, ap in detection.average_precision().items()}
    return SpottingScores(
        threshold,
        int(signs.sum()),
        int(counts.sum()),
        bootstrap_mean(precisions),
        _ratio(counts, counts + false),
        _ratio(counts, signs),
        _ratio(false, hours * words),
        _ratio(overlap, counts),
    )


def _ratio(numerators: NDArray[np.float64], denominators: NDArray[np.float64]) -> Interval:
    """A ratio with its interval over videos; of one video there is no telling."""
    interval = bootstrap_ratio(numerators, denominators)
    return interval if len(numerators) > 1 else replace(interval, low=math.nan, high=math.nan)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
