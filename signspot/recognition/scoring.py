"""Accuracy of a classifier on the signs of test videos: over clips and over words (Sec. 4.5)."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from signspot.corpus.corpus import Corpus, CorpusVideo
from signspot.corpus.labels import SignWindow
from signspot.errors import FormatError, LandmarksError, VideoError
from signspot.io.progress import Progress, silent
from signspot.metrics.bootstrap import Interval, bootstrap_mean
from signspot.metrics.classification import ClassificationAccuracy
from signspot.types import Label, LabelSource, Segment

logger = logging.getLogger(__name__)

MOUTHED, ALL, LABELLED = "mouthed signs", "all signs", "labels of test videos"
Floats = NDArray[np.float32]


class Classifier(Protocol):
    """Anything that says of a segment of footage how likely each of its words is; recognisers do."""

    @property
    def words(self) -> tuple[str, ...]:
        """K."""

    def of_video(self, video: CorpusVideo, segments: Sequence[Segment]) -> Floats:
        """(N, K) scores of segments of one video, higher is likelier."""


@dataclass(frozen=True, slots=True)
class RecogniserScores:
    """Shares of signs whose right word is the best guess, and among the best five."""

    tested: str  # on which signs
    clips: int
    words: int  # that the classifier knows
    instance: tuple[float, float]  # top 1 and top 5 over clips
    classes: tuple[float, float]  # over words
    interval: Interval  # of top 1 over words
    ranks: Mapping[str, tuple[int, ...]] = field(default_factory=dict, repr=False)  # of the right word, by word

    def __str__(self) -> str:
        top_1, top_5 = self.instance
        per_class = f"per word {self.classes[0]:.3f} and {self.classes[1]:.3f}"
        return f"{self.tested} ({self.clips:,} clips): top 1 {top_1:.3f}, top 5 {top_5:.3f}; {per_class}"


def signs_to_test(corpus: Corpus, words: set[str]) -> dict[str, list[Label]]:
    """Signs to test: every sign and every mouthed sign where the truth is known, else sure M and V; never D.

    Args:
        corpus: with test videos; without any, there is nothing to test.
        words: whose signs count.
    """
    videos = [video.id for video in corpus.in_split("test")]
    signs = [sign for video in videos for sign in corpus.signs(video) if sign.word in words]
    if not signs:
        return {LABELLED: corpus.sure_labels("test", words)}
    labels = {
        sign: Label(sign.word, sign.video, sign.segment.middle, 1.0, LabelSource.VERIFIED, sign.start, sign.end)
        for sign in signs
    }
    return {MOUTHED: [label for sign, label in labels.items() if sign.mouthed], ALL: list(labels.values())}


def taught_window(card: Mapping[str, Any]) -> SignWindow:
    """The window in which a recogniser was taught that signs lie, out of its card."""
    config = card.get("config", {})
    clips = config.get("clips") or config.get("batch") or {}  # of landmarks, or of pixels
    return SignWindow(**{name: int(clips[name]) for name in ("before", "after", "around") if name in clips})


def score_classifier(
    classifier: Classifier,
    corpus: Corpus,
    tested: Mapping[str, Sequence[Label]],
    window: SignWindow | None = None,
    progress: Progress = silent,
) -> list[RecogniserScores]:
    """Test a classifier.

    Args:
        classifier: signs of words that it does not know count as missed.
        corpus: whose videos are looked at.
        tested: sets of signs by name; each sign is classified once, whatever sets it is in. Those of a video that
            cannot be read, or that shows no signer, are left out.
        window: where the signs lie.
        progress: called with the number of videos that are done.
    """
    chosen = window or SignWindow()
    labels_once = {label for labels in tested.values() for label in labels}
    every = sorted(labels_once, key=lambda label: (label.video, label.time))
    videos = list(dict.fromkeys(label.video for label in every))
    scores: dict[Label, Floats] = {}
    for done, video in enumerate(videos):
        progress(done, len(videos))
        of_video = [label for label in every if label.video == video]
        try:
            logits = classifier.of_video(corpus.videos[video], [chosen.of(label) for label in of_video])
        except (VideoError, LandmarksError, FormatError) as error:
            logger.warning("left out %d signs of the test video '%s': %s", len(of_video), video, error)
            continue
        scores.update(zip(of_video, logits, strict=True))
    progress(len(videos), len(videos))
    scored = {name: [label for label in labels if label in scores] for name, labels in tested.items()}
    return [_scores(classifier.words, name, labels, scores) for name, labels in scored.items() if labels]


def _scores(
    words: Sequence[str], name: str, tested: Sequence[Label], scores: Mapping[Label, Floats]
) -> RecogniserScores:
    accuracy = ClassificationAccuracy()
    number = {word: index for index, word in enumerate(words)}
    learned = [label for label in tested if label.word in number]
    if learned:
        accuracy.add(np.stack([scores[label] for label in learned]), [number[label.word] for label in learned])
    for label in tested:
        if label.word not in number:
            accuracy.ranks.add(label.word, max(len(words), 5) + 1)
    value = accuracy.value((1, 5))
    return RecogniserScores(
        name,
        len(tested),
        len(words),
        (value[1].per_instance, value[5].per_instance),
        (value[1].per_group, value[5].per_group),
        bootstrap_mean(accuracy.hits(1)),
        {
            words[group] if isinstance(group, int) else str(group): tuple(int(rank) for rank in ranks)
            for group, ranks in accuracy.ranks.items()
        },
    )
