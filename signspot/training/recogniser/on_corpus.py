"""A recogniser trained on the labels of a corpus, and tested on signs of its test videos."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from os import PathLike

from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.io.progress import Progress, Stage, quiet, silent
from signspot.recognition.recogniser import Recogniser
from signspot.recognition.scoring import (
    RecogniserClassifier,
    RecogniserScores,
    SignWindow,
    score_classifier,
    signs_to_test,
)
from signspot.training.recogniser.clips import ClipOptions, collect_signs
from signspot.training.recogniser.training import TrunkConfig, train_recogniser
from signspot.training.run_folder import CPU
from signspot.types import Exemplar, Label

logger = logging.getLogger(__name__)


def train_on_labels(
    config: TrunkConfig,
    corpus: Corpus,
    folder: str | PathLike[str],
    *,
    labels: Sequence[Label] | None = None,
    exemplars: Sequence[Exemplar] | None = None,
    asked: Collection[str] | None = None,
    stage: Stage = quiet,
    device: str = CPU,
) -> tuple[Recogniser, list[RecogniserScores]]:
    """Train a recogniser of the words that are labelled, and test it on the corpus's test videos.

    Args:
        config: how to learn; its `clips.sources` say which labels count.
        corpus: films or landmarks; without splits all videos are for training and nothing is tested.
        folder: where the state is kept; a run that was stopped there goes on.
        labels: instead of the corpus's own.
        exemplars: instead of those of the corpus's dictionary.
        asked: words that are tested, known or not; None: those that are labelled.
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
    if 0 < options.dictionary < 1:
        exemplars = corpus.dictionary().exemplars if exemplars is None else exemplars
        shown = {each.word for each in exemplars if each.path is not None} & set(words)
        if len(shown) < 2:
            logger.warning("%d of %d labelled words have an exemplar: only labels are learnt", len(shown), len(words))
            options = replace(options, dictionary=0.0)
            config = replace(config, clips=options)
    with stage("signs") as progress:
        signs = collect_signs(corpus, words, training, options, progress=progress, labels=known, exemplars=exemplars)
    with stage("training") as progress:
        trained = train_recogniser(config, signs, folder, progress, device)
    with stage("tested") as progress:
        return trained, score_recogniser(trained, corpus, options, progress, asked)


def score_recogniser(
    recogniser: Recogniser,
    corpus: Corpus,
    options: ClipOptions | None = None,
    progress: Progress = silent,
    asked: Collection[str] | None = None,
) -> list[RecogniserScores]:
    """Test a recogniser on the signs of the test videos; none, where there are no test videos."""
    chosen = options or ClipOptions()
    window = SignWindow(chosen.before, chosen.after, chosen.around)
    tested = signs_to_test(corpus, set(recogniser.words if asked is None else asked))
    return score_classifier(RecogniserClassifier(recogniser), corpus, tested, window, progress)
