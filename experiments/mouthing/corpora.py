"""The mouthing spotter on a corpus whose truth is known, beside the labels that the corpus came with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from signspot.annotation.options import RunOptions
from signspot.annotation.run import MouthingJob, annotate_mouthings
from signspot.corpus.corpus import Corpus
from signspot.corpus.truth import SignTruth
from signspot.errors import OptionsError
from signspot.io.processes import WorkerPool
from signspot.io.progress import Stage, quiet
from signspot.mouthing.spotter import LEAST
from signspot.types import Label, LabelSource

TOLERANCE = 0.4  # seconds between a label and the end of a sign, at most
THRESHOLDS = (0.5, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class LabelScore:
    """Precision and yield of the labels from one confidence on."""

    source: str
    threshold: float
    labels: int
    words: int
    precision: float  # share at the end of a sign of the word
    recall: float  # share of the mouthed signs that a subtitle mentions
    late: float  # seconds, the median of the distances of right labels


def label_corpus(
    corpus: Corpus, model: str | None, out: Path, least: float = LEAST, stages: Stage = quiet
) -> list[Label]:
    """Labels M for the words of a corpus's own dictionary, by a run of annotation; of every word, sure or not.

    Args:
        corpus: with subtitles.
        model: name or file of a mouthing spotter; None: the shipped one.
        out: folder of the run.
        least: probability of a label.
        stages: as `annotate_mouthings` takes them.
    """
    words = tuple(corpus.dictionary())
    job = MouthingJob(corpus, out, words, model=model, threshold=least, word_threshold=0.0)
    report = annotate_mouthings(job, RunOptions(keep=least, peaks=1, negatives=0), WorkerPool(1), stages)
    return [candidate.as_label() for candidate in report.spottings]


def measure_labels(
    corpus: Corpus, models: Sequence[str], least: float = LEAST, stages: Stage = quiet
) -> list[LabelScore]:
    """Compare the labels of spotters, and those that the corpus came with, with the truth.

    Args:
        corpus: whose signs are known.
        models: names or files of mouthing spotters.
        least: probability of a label.
        stages: as `annotate_mouthings` takes them.

    Raises:
        OptionsError: the corpus does not know its signs.
    """
    truth = {video: corpus.signs(video) for video in corpus.videos}
    if not any(truth.values()):
        raise OptionsError(f"{corpus.folder} does not know its signs (truth/signs). Make one: signspot synthetic make")
    kinds = {}
    for model in models:
        with TemporaryDirectory(prefix="signspot-mouthing-") as folder:
            kinds[Path(model).stem] = label_corpus(corpus, model, Path(folder), least, stages)
    kinds["the generator's labels"] = [label for label in corpus.labels() if label.source is LabelSource.MOUTHING]
    rows = []
    for name, labels in kinds.items():
        for threshold in THRESHOLDS:
            rows.append(score_labels(name, threshold, [each for each in labels if each.confidence >= threshold], truth))
    return rows


def score_labels(name: str, threshold: float, labels: Sequence[Label], truth: dict[str, list[SignTruth]]) -> LabelScore:
    """Hold labels against the truth about their videos.

    Args:
        name: whose labels they are.
        threshold: confidence that they reach.
        labels: M, each at the end of a sign.
        truth: video → its signs.
    """
    distances = [_distance(label, truth[label.video]) for label in labels]
    right = [distance for distance in distances if distance <= TOLERANCE]
    wanted = [sign for signs in truth.values() for sign in signs if sign.mouthed and sign.subtitle is not None]
    hit = sum(_is_found(sign, labels) for sign in wanted)
    return LabelScore(
        source=name,
        threshold=threshold,
        labels=len(labels),
        words=len({label.word for label in labels}),
        precision=len(right) / len(labels) if labels else float("nan"),
        recall=hit / len(wanted) if wanted else float("nan"),
        late=float(np.median(right)) if right else float("nan"),
    )


def _distance(label: Label, signs: Iterable[SignTruth]) -> float:
    return min((abs(sign.end - label.time) for sign in signs if sign.word == label.word), default=float("inf"))


def _is_found(sign: SignTruth, labels: Iterable[Label]) -> bool:
    return any(
        label.word == sign.word and label.video == sign.video and abs(label.time - sign.end) <= TOLERANCE
        for label in labels
    )


def as_text(rows: Sequence[LabelScore]) -> str:
    """The scores as a Markdown table."""
    lines = [
        "| labels of | threshold | labels | words | precision | recall | median time error s |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        values = (row.precision, row.recall, row.late)
        numbers = " | ".join("–" if value != value else f"{value:.2f}" for value in values)
        lines.append(f"| {row.source} | {row.threshold:g} | {row.labels} | {row.words} | {numbers} |")
    return "\n".join(lines) + "\n"
