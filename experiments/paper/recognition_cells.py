"""The cells of Tables 6 to 8: a fresh trunk learns from one set of labels and is tested; each is kept on disk."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.paper.labelled_corpora import LabelledCorpus, Vocabulary
from signspot.corpus.truth import right_labels
from signspot.evaluation.recognition import NearestExemplar
from signspot.io.files import atomic_write, text_digest
from signspot.io.progress import Progress, silent
from signspot.recognition.recogniser import FPS
from signspot.recognition.scoring import (
    RecogniserClassifier,
    RecogniserScores,
    SignWindow,
    score_classifier,
    signs_to_test,
)
from signspot.spotting.spotter import load
from signspot.training.recogniser import RecogniserConfig, train_recogniser
from signspot.training.sign_clips import collect_signs
from signspot.types import Label, LabelSource

Ranks = dict[str, list[int]]  # word → the rank of the right word of each of its test signs


@dataclass(frozen=True, slots=True)
class LabelChoice:
    """Labels that a row learns from."""

    mouthing: float | None = None  # least confidence of M; None: no M
    dictionary: float | None = None  # least score of D; None: no D
    padded: bool = True  # D is searched for 4 s before and after its subtitle, too
    vocabulary: Vocabulary = "mouthed"  # of D

    def of(self, labelled: LabelledCorpus) -> list[Label]:
        """The labels of a synthetic corpus's training videos."""
        found = []
        if self.mouthing is not None:
            found += labelled.labels(LabelSource.MOUTHING, self.mouthing, self.vocabulary)
        if self.dictionary is not None:
            found += labelled.labels(LabelSource.DICTIONARY, self.dictionary, self.vocabulary, padded=self.padded)
        return found


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """One cell: the labels, and how their classifier does on every set of test signs."""

    labels: int
    words: int  # that the classifier knows
    right: float | None  # share of the labels that are right; None: it is not known
    ranks: dict[str, Ranks]  # by set of test signs


class RecognitionCells:
    """Measures cells; those that are done are read from disk."""

    def __init__(self, out: Path, training: RecogniserConfig, device: str = "cpu"):
        self.out, self.training, self.device = out, training, device

    def measure(
        self, labelled: LabelledCorpus, choice: LabelChoice, seed: int, progress: Progress = silent
    ) -> CellOutcome:
        """Train a fresh trunk on the labels of a choice and test it on the words that may have labels M."""
        config = replace(self.training, seed=seed)
        labels = sorted(choice.of(labelled), key=lambda label: _clip(label, config))
        known = {
            "labelled": labelled.identity,
            "clips": [_clip(label, config) for label in labels],
            "config": config.as_dict(),
        }
        name = text_digest(json.dumps(known))
        path = self.out / "cells" / f"recognition-{name}.json"
        if not path.is_file():
            outcome = self._train(labelled, labels, config, self.out / "runs" / f"recognition-{name}", progress)
            _write(outcome, path, {"labelled": labelled.name, "seed": seed, "choice": str(choice)})
        return _read(path)

    def nearest(self, labelled: LabelledCorpus, encoder: str) -> CellOutcome:
        """Test the nearest exemplar, which learns nothing, on the same signs."""
        spotter = load(encoder)
        name = text_digest(json.dumps([labelled.identity, spotter.encoder.hash]))
        path = self.out / "cells" / f"nearest-{name}.json"
        if not path.is_file():
            words = sorted(labelled.words("mouthed"))
            classifier = NearestExemplar.among(
                replace(spotter, cache=labelled.folder / "cache"), labelled.corpus, words
            )
            scores = score_classifier(classifier, labelled.corpus, signs_to_test(labelled.corpus, set(words)))
            _write(CellOutcome(0, len(words), None, _ranks(scores)), path, {"labelled": labelled.name})
        return _read(path)

    def _train(
        self, labelled: LabelledCorpus, labels: Sequence[Label], config: RecogniserConfig, run: Path, progress: Progress
    ) -> CellOutcome:
        learnt = sorted({label.word for label in labels})
        words = learnt if len(learnt) > 1 else []  # one word alone cannot be told from others
        ranks: dict[str, Ranks] = {}
        if words:
            signs = collect_signs(labelled.corpus, words, sorted(labelled.training), config.clips, labels=labels)
            trained = train_recogniser(config, signs, run, progress, self.device)
            tested = signs_to_test(labelled.corpus, set(words) & labelled.words("mouthed"))
            window = SignWindow(config.clips.before, config.clips.after, config.clips.around)
            ranks = _ranks(score_classifier(RecogniserClassifier(trained), labelled.corpus, tested, window))
        # A word of which no label was found is never named: its signs count as missed.
        for name, own in signs_to_test(labelled.corpus, set(labelled.words("mouthed")) - set(words)).items():
            for label in own:
                ranks.setdefault(name, {}).setdefault(label.word, []).append(len(words) + len(labelled.words("full")))
        truth = {video: labelled.corpus.signs(video) for video in {label.video for label in labels}}
        flags = right_labels([label for label in labels if truth[label.video]], truth)
        return CellOutcome(len(labels), len(words), sum(flags) / len(flags) if flags else None, ranks)


def _clip(label: Label, config: RecogniserConfig) -> tuple[str, int, int, str]:
    """The very stretch that is learnt from: the same label out of another file makes the same cell."""
    place = SignWindow(config.clips.before, config.clips.after, config.clips.around).of(label)
    return label.video, round(place.start * FPS), round(place.duration * FPS), label.word


def _ranks(scores: Sequence[RecogniserScores]) -> dict[str, Ranks]:
    return {each.tested: {word: list(ranks) for word, ranks in each.ranks.items()} for each in scores}


def _write(outcome: CellOutcome, path: Path, remarks: dict[str, Any]) -> None:
    values = {"labels": outcome.labels, "words": outcome.words, "right": outcome.right, "ranks": outcome.ranks}
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps({**remarks, "outcome": values}) + "\n", encoding="utf-8")


def _read(path: Path) -> CellOutcome:
    return CellOutcome(**json.loads(path.read_text(encoding="utf-8"))["outcome"])
