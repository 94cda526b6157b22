"""How well an encoder does on a corpus: retrieval (Sec. 4.2), localisation, and spotting in long untrimmed footage.

Where every sign is known (`truth/signs`), all of it is measured. Where only labels are, those of confidence 0.9 or more
are looked up, as in the paper; labels are sparse, so what is spotted besides cannot be called false: it is not counted.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.evaluation.protocol import Query, find_queries, merged
from signspot.metrics.bootstrap import Interval, bootstrap_mean, bootstrap_ratio
from signspot.metrics.detection import Detection
from signspot.metrics.localisation import LocalisationAccuracy
from signspot.metrics.ranking import Group
from signspot.metrics.retrieval import ClipRetrieval
from signspot.models.batch_norm import Domain
from signspot.models.encoder import Encoder
from signspot.progress import Progress, silent
from signspot.records import Exemplar, Spotting
from signspot.spotting.peaks import find_peaks
from signspot.spotting.similarity import to_score
from signspot.timeline import Grid
from signspot.training.embedding.data import read_words
from signspot.training.embedding.trunk_features import TrunkFeatures
from signspot.training.items import ItemOptions, collect_items

FloatArray = NDArray[np.float32]
Tested = Literal["test", "all"]

LOWEST = 0.5  # score from which spottings enter the precision-recall curve
SURE = 0.9  # least confidence of a label that is looked up where the truth is not known


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
    """What an encoder reaches on a corpus, with 95 % bootstrap intervals."""

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
    if corpus.layout.splits.is_file():
        split = corpus.splits().words
        chosen = set(split.test if tested == "test" else split.all)
        listed = [word for word in listed if word in chosen]
    if not listed:
        raise OptionsError(f"no {tested} word of {corpus.folder} has an exemplar in its dictionary")
    return replace(corpus, videos={video.id: replace(video, split="test") for video in videos}), tuple(sorted(listed))


def evaluate_corpus(
    encoder: Encoder, corpus: Corpus, words: Collection[str], features: TrunkFeatures, progress: Progress = silent
) -> CorpusScores:
    """Measure an encoder on a corpus.

    Args:
        encoder: what is measured; its threshold decides what counts as spotted.
        corpus: all its videos are searched.
        words: that are looked up.
        features: what the encoder's trunk sees of the corpus.
        progress: told the videos that are done.

    Raises:
        OptionsError: no word is known to be signed in any video.
    """
    rows = [row for row, exemplar in enumerate(features.exemplars) if exemplar.word in set(words)]
    shown = [features.exemplars[row] for row in rows]
    if not shown:
        raise OptionsError(f"none of the {len(set(words))} words has an exemplar that '{encoder.name}' can see")
    gallery = _embedded(encoder, features.exemplar_means()[rows], "dictionary")
    found = {exemplar.word for exemplar in shown}
    known = any(corpus.signs(name) for name in corpus.videos)
    queries = find_queries(corpus, features, found) if known else labelled_queries(corpus, features, found)
    retrieval, localisation = ClipRetrieval([exemplar.word for exemplar in shown]), LocalisationAccuracy()
    detection = Detection() if known else None
    for done, (name, windows) in enumerate(features.videos.items()):
        progress(done, len(features.videos))
        similarity = _embedded(encoder, np.asarray(windows.features, np.float32), "continuous") @ gallery.T
        curves = _by_word(shown, similarity)
        for query in (each for each in queries if each.video == name):
            place, times = slice(query.first, query.last + 1), windows.grid.times
            retrieval.add(query.word, query.times, similarity[place], times[place])
            localisation.add_curve(query.word, times[place], curves[query.word][place], query.times)
        if detection is not None:
            truths = [sign for sign in corpus.signs(name) if sign.word in found]
            detection.add(name, windows.grid.frames / windows.grid.fps, _spot(name, windows.grid, curves), truths)
    progress(len(features.videos), len(features.videos))
    grids = [windows.grid for windows in features.videos.values()]
    return CorpusScores(
        encoder.name,
        encoder.hash,
        len(grids),
        math.fsum(grid.frames / grid.fps for grid in grids) / 3600,
        len(found),
        len(shown),
        len(queries),
        bootstrap_mean(retrieval.queries.average_precisions),
        bootstrap_mean(retrieval.queries.hits(5)),
        bootstrap_mean(localisation.hits),
        None if detection is None else _spotting_scores(detection, encoder.contract.threshold, len(found)),
    )


def labelled_queries(corpus: Corpus, features: TrunkFeatures, words: Collection[str]) -> list[Query]:
    """Every stretch of a video whose subtitle has a word that is labelled there with confidence 0.9 or more.

    Raises:
        OptionsError: there is none.
    """
    videos = list(corpus.videos)
    subtitles = read_words(corpus, words, videos)
    items = collect_items(corpus.labels(videos), subtitles, words, words, ItemOptions(confidence=SURE))
    return merged(items, features)


@torch.inference_mode()
def _embedded(encoder: Encoder, features: FloatArray, domain: Domain) -> FloatArray:
    embedded: FloatArray = encoder.module.mlp(torch.from_numpy(np.ascontiguousarray(features)), domain).numpy()
    return embedded


def _by_word(exemplars: Sequence[Exemplar], similarity: FloatArray) -> dict[str, FloatArray]:
    """(T,) for each word: the greatest similarity over its exemplars."""
    columns: defaultdict[str, list[int]] = defaultdict(list)
    for column, exemplar in enumerate(exemplars):
        columns[exemplar.word].append(column)
    return {word: similarity[:, own].max(axis=1) for word, own in columns.items()}


def _spot(video: str, grid: Grid, curves: Mapping[str, FloatArray]) -> Iterator[Spotting]:
    """Everything that a low threshold spots."""
    longest = 2 * grid.window / grid.fps
    for word, similarity in curves.items():
        for peak in find_peaks(grid.times, to_score(similarity), threshold=LOWEST, longest=longest):
            yield Spotting(word, video, peak.time, peak.start, peak.end, peak.score)


def _spotting_scores(detection: Detection, threshold: float, words: int) -> SpottingScores:
    points = detection.by_video(threshold).values()
    found = np.array([point.found for point in points], float)
    false = np.array([point.false_alarms for point in points], float)
    signs = np.array([point.truths for point in points], float)
    hours = np.array([point.hours for point in points])
    overlap = np.array([point.overlap for point in points])
    precisions: dict[Group, list[float]] = {word: [ap] for word, ap in detection.value().average_precision.items()}
    return SpottingScores(
        threshold,
        int(signs.sum()),
        int(found.sum()),
        bootstrap_mean(precisions),
        _ratio(found, found + false),
        _ratio(found, signs),
        _ratio(false, hours * words),
        _ratio(overlap, found),
    )


def _ratio(numerators: NDArray[np.float64], denominators: NDArray[np.float64]) -> Interval:
    """A ratio with its interval over videos; of one video there is no telling."""
    made = bootstrap_ratio(numerators, denominators)
    return made if len(numerators) > 1 else replace(made, low=math.nan, high=math.nan)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
