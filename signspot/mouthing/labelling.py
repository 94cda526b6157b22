"""Labels M for a whole corpus, by the paper's procedure (Sec. 3.1)."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from signspot.corpus.corpus import Corpus
from signspot.corpus.videos import CorpusVideo
from signspot.errors import OptionsError, SignspotError
from signspot.mouthing.candidates import find_candidates
from signspot.mouthing.reading import read_lips
from signspot.mouthing.spotter import LEAST, WORD_LEAST, MouthingSpotter
from signspot.progress import Progress, silent
from signspot.records import Label
from signspot.subtitles.reading import read_subtitles

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """How a corpus is searched for mouthings."""

    words: tuple[str, ...] | None = None  # to look for; None: all that the subtitles say
    padding: float = 4.0  # seconds around a subtitle
    least: float = LEAST  # probability of a peak, from which it is a label
    word_least: float = WORD_LEAST  # that some label of a word must reach in the training videos
    language: str = "en"


@dataclass(frozen=True, slots=True)
class CorpusMouthings:
    """What was found in a corpus."""

    labels: tuple[Label, ...]  # in order of video and time
    queries: int  # words looked for, once per window
    failed: tuple[str, ...] = field(default=())  # videos that could not be read, each with the reason


def label_corpus(
    spotter: MouthingSpotter,
    corpus: Corpus,
    options: LabelOptions | None = None,
    cache: Path | None = None,
    progress: Progress = silent,
) -> CorpusMouthings:
    """Look for the words of all subtitles; a video that cannot be read is reported, and the others go on.

    Args:
        spotter: finds mouthings in one video.
        corpus: videos or landmarks with subtitles; where it has a training split, the vocabulary follows from that.
        options: how it is searched.
        cache: folder of landmarks of videos; None: no cache.
        progress: told the videos done.
    """
    chosen = options or LabelOptions()
    labels: list[Label] = []
    failed, queries = [], 0
    for done, video in enumerate(corpus.videos.values(), 1):
        try:
            found, asked = _label_video(spotter, video, chosen, cache)
        except SignspotError as error:
            logger.warning("%s: %s", video.id, error)
            failed.append(f"{video.id}: {error}")
        else:
            labels += found
            queries += asked
        progress(done, len(corpus.videos))
    return CorpusMouthings(tuple(_of_vocabulary(labels, corpus, chosen.word_least)), queries, tuple(failed))


def _label_video(
    spotter: MouthingSpotter, video: CorpusVideo, options: LabelOptions, cache: Path | None
) -> tuple[Iterable[Label], int]:
    source = video.landmarks or video.video
    if video.subtitles is None or source is None:
        raise OptionsError("there are no subtitles beside it. Put them there, with the same name")
    subtitles = read_subtitles(video.subtitles)
    candidates = find_candidates(subtitles, options.words, options.padding, options.language)
    lips = read_lips(source, cache)
    found = spotter.search(lips, candidates, video.id, least=options.least, language=options.language)
    return found.labels, found.queries


def _of_vocabulary(labels: Iterable[Label], corpus: Corpus, least: float) -> list[Label]:
    """Labels of words that some training video shows surely; of all videos, where there is no training split."""
    every = sorted(labels, key=lambda label: (label.video, label.time, label.word))
    train = {video.id for video in corpus.in_split("train")} or set(corpus.videos)
    sure = {label.word for label in every if label.video in train and label.confidence >= least}
    return [label for label in every if label.word in sure]
