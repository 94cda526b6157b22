"""A recogniser trained on the labels of a corpus, and tested on signs of its test videos."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np

from signspot.corpus.corpus import Corpus
from signspot.corpus.labels import LeastConfidence
from signspot.errors import OptionsError
from signspot.landmarks.pose_file import open_landmarks
from signspot.metrics.bootstrap import Interval, bootstrap_mean
from signspot.metrics.classification import ClassificationAccuracy
from signspot.progress import Progress, Stage, quiet, silent
from signspot.recognition.recogniser import FPS, Recogniser
from signspot.records import Label, LabelSource
from signspot.training.embedding.trunk_features import as_right_handed
from signspot.training.recogniser.clips import ClipOptions, collect_signs
from signspot.training.recogniser.training import TrunkConfig, train_recogniser
from signspot.training.run_folder import CPU

_TESTED = LeastConfidence(mouthing=0.9)  # the paper's test


@dataclass(frozen=True, slots=True)
class RecogniserScores:
    """How often the right word is the best guess, and among the best five."""

    tested: str  # on which signs
    clips: int
    words: int  # that the recogniser knows
    instance: tuple[float, float]  # top 1 and top 5 over clips
    classes: tuple[float, float]  # over words
    interval: Interval  # of top 1 over words

    def __str__(self) -> str:
        one, five = self.instance
        per_class = f"per word {self.classes[0]:.3f} and {self.classes[1]:.3f}"
        return f"{self.tested} ({self.clips:,} clips): top 1 {one:.3f}, top 5 {five:.3f}; {per_class}"


def train_on_labels(
    config: TrunkConfig,
    corpus: Corpus,
    folder: str | PathLike[str],
    *,
    labels: Sequence[Label] | None = None,
    stage: Stage = quiet,
    device: str = CPU,
) -> tuple[Recogniser, list[RecogniserScores]]:
    """Train a recogniser of the words that are labelled, and test it on the corpus's test videos.

    Args:
        config: how to learn; its `clips.sources` say which labels count.
        corpus: with landmarks; without splits all videos are for training and nothing is tested.
        folder: where the state is kept; a run that was stopped there goes on.
        labels: instead of the corpus's own.
        stage: shows the progress of each stage.
        device: where it is trained.

    Returns:
        The recogniser, and its scores: on the signs of the test videos as far as the truth is known, all and those
        that are mouthed; else on their labels.

    Raises:
        OptionsError: fewer than two words are labelled.
    """
    training = [video.id for video in corpus.in_split("train")] or list(corpus.videos)
    known = corpus.labels(training) if labels is None else [label for label in labels if label.video in set(training)]
    options = config.clips
    admitted = [each for each in known if options.least.admits(each) and each.source.value in options.sources]
    words = sorted({label.word for label in admitted})
    if len(words) < 2:
        raise OptionsError(
            f"nothing can be learnt: {len(words)} words have labels of {options.sources} in {len(training)} training "
            "videos, and a recogniser needs two. Spot mouthings or signs in the corpus first"
        )
    with stage("signs") as progress:
        signs = collect_signs(corpus, words, training, options, progress=progress, labels=known)
    with stage("training") as progress:
        trained = train_recogniser(config, signs, folder, progress, device)
    with stage("tested") as progress:
        return trained, score_recogniser(trained, corpus, options, progress)


def score_recogniser(
    recogniser: Recogniser, corpus: Corpus, options: ClipOptions | None = None, progress: Progress = silent
) -> list[RecogniserScores]:
    """Test a recogniser on the signs of the test videos; none, where there are no test videos."""
    chosen = options or ClipOptions()
    sets = _test_sets(corpus, set(recogniser.words))
    return [_score(recogniser, corpus, name, own, chosen, progress) for name, own in sets.items() if own]


def _test_sets(corpus: Corpus, words: set[str]) -> dict[str, list[Label]]:
    """What is tested: every sign and every mouthed sign where the truth is known, else what is labelled."""
    videos = [video.id for video in corpus.in_split("test")]
    signs = [sign for video in videos for sign in corpus.signs(video) if sign.word in words]
    if not signs:
        labelled = [label for label in corpus.labels(videos, _TESTED) if label.word in words]
        return {"labels of test videos": labelled}
    labels = {
        sign: Label(sign.word, sign.video, sign.segment.middle, 1.0, LabelSource.VERIFIED, sign.start, sign.end)
        for sign in signs
    }
    mouthed = [label for sign, label in labels.items() if sign.mouthed]
    return {"mouthed signs": mouthed, "all signs": list(labels.values())}


def _score(
    recogniser: Recogniser, corpus: Corpus, name: str, tested: Sequence[Label], options: ClipOptions, progress: Progress
) -> RecogniserScores:
    accuracy = ClassificationAccuracy()
    place = {word: number for number, word in enumerate(recogniser.words)}
    videos = sorted({label.video for label in tested})
    for done, video in enumerate(videos):
        progress(done, len(videos))
        path = corpus.videos[video].landmarks
        if path is None:
            raise OptionsError(f"the video '{video}' has no landmarks. Make them with: signspot landmarks")
        landmarks = open_landmarks(path).resampled(FPS)
        seen, origin = as_right_handed(landmarks), float(landmarks.times[0])
        for label in (each for each in tested if each.video == video):
            stretch = label.stretch(options.before / FPS, options.after / FPS, options.around / FPS)
            frames = round((stretch.start - origin) * FPS) + np.arange(round(stretch.duration * FPS))
            logits = recogniser.of_frames(seen[np.clip(frames, 0, len(seen) - 1)])
            accuracy.add(logits[None], [place[label.word]])
    value = accuracy.value((1, 5))
    return RecogniserScores(
        name,
        len(tested),
        len(recogniser.words),
        (value[1].per_instance, value[5].per_instance),
        (value[1].per_group, value[5].per_group),
        bootstrap_mean(accuracy.hits(1)),
    )
