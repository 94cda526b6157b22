"""Evaluation of mouthing spotters: precision, recall, false alarms and time error of words asked for in known lips.

Every question asks for one word in a window of ten seconds, through the search that users use. About half of the words
are mouthed there.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signspot.errors import LandmarksError, OptionsError
from signspot.io.files import atomic_write
from signspot.io.progress import Progress, silent
from signspot.landmarks.landmarks import Landmarks
from signspot.mouthing.lips import FPS, LipTrack, follow_lips
from signspot.mouthing.mouthing_spotter import MouthingSpotter
from signspot.mouthing.network import MouthingModel
from signspot.mouthing.trials import Answers, Floats, LipClip, Trial, answer, draw_trials, read_vocabulary
from signspot.mouthing.visemes import visemes_of

THRESHOLDS = (0.3, 0.5, 0.7, 0.8, 0.9)
MAIN = "words against any other words"
_BINS = np.linspace(0, 1, 11)


@dataclass(frozen=True, slots=True)
class MouthingScore:
    """One row at one threshold."""

    spotter: str
    trials: str  # what was asked
    threshold: float
    asked: int
    mouthed: int
    precision: float  # NaN where nothing was found
    recall: float  # NaN where nothing was mouthed
    false_alarms_per_hour: float  # of one word that is not mouthed; NaN where every word is
    late: float  # seconds, the median of the distances of right labels


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Labels of about one probability, and how often they are right."""

    low: float
    high: float
    labels: int
    said: float  # mean probability
    right: float  # share


@dataclass(frozen=True, slots=True)
class MouthingReport:
    """All measurements."""

    scores: tuple[MouthingScore, ...]
    reliability: dict[str, tuple[ReliabilityBin, ...]]  # by spotter, of the first row of questions
    homophenes: float  # share of the words that look exactly like another word of the vocabulary


def measure_mouthing(
    models: Sequence[MouthingModel],
    clips: Sequence[LipClip],
    silent_faces: Mapping[str, Sequence[LipTrack]] | None = None,
    *,
    questions: int = 12,
    silent_questions: int = 4000,
    seed: int = 1000,
    progress: Progress = silent,
) -> MouthingReport:
    """Ask spotters for words in lips whose mouthings are known and, where there are any, in lips that mouth none.

    Args:
        models: the spotters; all are asked the same.
        clips: lips with their mouthings.
        silent_faces: name → lips of people who mouth none of the words: every label is a false alarm.
        questions: to each clip.
        silent_questions: to all lips of one name of `silent_faces`.
        seed: of the questions.
        progress: called with the number of rows done.

    Raises:
        OptionsError: there are fewer than 2 questions.
    """
    if min(questions, silent_questions) < 2:
        raise OptionsError(f"a measurement needs at least 2 questions; got {min(questions, silent_questions)}")
    unseen = read_vocabulary(unseen=True)
    plain = draw_trials(clips, unseen, seed, per_clip=questions)
    hard = draw_trials(clips, unseen, seed, per_clip=questions, hard=1.0)
    rows = [(MAIN, clips, plain), ("words against words alike", clips, hard)]
    rows.append(("homophenes of mouthed words", clips, homophene_trials(plain)))
    for name, tracks in (silent_faces or {}).items():
        faces = [LipClip(track, ()) for track in tracks]
        rows.append((f"nobody mouths, {name}", faces, _silent_trials(faces, silent_questions, seed)))
    question_sets = [row for row in rows if row[2]]
    scores: list[MouthingScore] = []
    reliability = {}
    for done, ((name, asked_clips, trials), model) in enumerate(product(question_sets, models), 1):
        answers = answer(MouthingSpotter(model), asked_clips, trials)
        scores += score((model.name, name), trials, answers)
        if name == MAIN:
            reliability[model.name] = tuple(bin_reliability(answers.sure, answers.right))
            begun = np.array([not trial.ends or trial.share < 1 for trial in trials])
            if any(trial.ends and trial.share < 1 for trial in trials):
                begun_trials = [trial for trial, is_begun in zip(trials, begun, strict=True) if is_begun]
                scores += score((model.name, "words only begun"), begun_trials, answers.only(begun))
        progress(done, len(question_sets) * len(models))
    ordered = sorted(scores, key=lambda row: [model.name for model in models].index(row.spotter))
    return MouthingReport(tuple(ordered), reliability, _homophenes())


def lips_of(clips: Sequence[Landmarks]) -> list[LipTrack]:
    """The lips of clips of isolated signs; frames in which the face only repeats the last one seen are cut off."""
    tracks = []
    for marks in clips:
        moves = np.flatnonzero(np.abs(np.diff(np.nan_to_num(marks.face), axis=0)).max(axis=(1, 2)) > 0)
        if len(moves) < 2:
            continue
        try:
            tracks.append(follow_lips([marks[: int(moves[-1]) + 2].resampled(FPS)]))
        except LandmarksError:
            continue
    return tracks


def _silent_trials(clips: Sequence[LipClip], questions: int, seed: int) -> list[Trial]:
    """Random words in clips of people who do not mouth them."""
    random, vocabulary = np.random.default_rng((seed, 5)), read_vocabulary(unseen=True)
    order = random.permutation(len(clips))[: max(2, questions // 2)]
    trials = []
    for number in range(questions if len(clips) else 0):
        clip = int(order[number % len(order)])
        word = vocabulary.words[int(random.integers(len(vocabulary.words)))]
        trials.append(Trial(clip, clips[clip].lips.start, word))
    return trials


def homophene_trials(trials: Sequence[Trial]) -> list[Trial]:
    """Mouthed words that have a homophene, half of them asked for as they are, half as the word that looks the same."""
    alike = _words_by_look()
    chosen: list[Trial] = []
    for trial in trials:
        others = [word for word in alike[visemes_of(trial.word)] if word != trial.word]
        if trial.ends and others:
            other = Trial(trial.clip, trial.start, others[len(chosen) % len(others)])  # which is not mouthed
            chosen.append(trial if len(chosen) % 2 else other)
    return chosen


@cache
def _words_by_look() -> dict[tuple[str, ...], list[str]]:
    """Visemes → all words of the vocabularies that show them."""
    words: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for unseen in (False, True):
        for word, shapes in read_vocabulary(unseen=unseen).visemes.items():
            words[shapes].append(word)
    return words


def _homophenes() -> float:
    """Share of all words of three visemes or more that look exactly like another one."""
    counts = np.array([len(words) for words in _words_by_look().values()])
    return float(counts[counts > 1].sum() / counts.sum())


def score(name: tuple[str, str], trials: Sequence[Trial], answers: Answers) -> list[MouthingScore]:
    """Precision, recall, false alarms and time error at each threshold.

    Args:
        name: of the spotter and of the row.
        trials: what was asked.
        answers: what the spotter said.
    """
    mouthed = np.array([bool(trial.ends) for trial in trials])
    hours = float(answers.searched[~mouthed].sum()) / 3600  # that were searched for words that are not mouthed
    rows = []
    for threshold in THRESHOLDS:
        labelled = answers.sure >= threshold
        right = labelled & answers.right
        late = np.abs(answers.late[right])
        rows.append(
            MouthingScore(
                *name,
                threshold=threshold,
                asked=len(trials),
                mouthed=int(mouthed.sum()),
                precision=float(right.sum() / labelled.sum()) if labelled.any() else float("nan"),
                recall=float(right.sum() / mouthed.sum()) if mouthed.any() else float("nan"),
                false_alarms_per_hour=float((labelled & ~mouthed).sum() / hours) if hours else float("nan"),
                late=float(np.median(late)) if len(late) else float("nan"),
            )
        )
    return rows


def bin_reliability(sure: Floats, right: NDArray[np.bool_]) -> list[ReliabilityBin]:
    """Share of right labels of about one probability, in ten bins; empty ones are left out."""
    bins = []
    for low, high in pairwise(_BINS):
        inside = (sure >= low) & ((sure < high) | (high == 1))
        if inside.any():
            probability, share = float(sure[inside].mean()), float(right[inside].mean())
            bins.append(ReliabilityBin(float(low), float(high), int(inside.sum()), probability, share))
    return bins


def score_table(scores: Sequence[MouthingScore]) -> str:
    """Precision, recall, false alarms and time error in Markdown."""
    titles = (
        *("spotter", "asked", "threshold", "questions", "mouthed", "precision", "recall"),
        *("false alarms/h/word", "median time error s"),
    )
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|", *(_row(score) for score in scores)]
    return "\n".join(lines) + "\n"


def as_text(report: MouthingReport) -> str:
    """All tables in Markdown."""
    lines = [
        score_table(report.scores),
        f"Words that look exactly like another word: {report.homophenes:.0%}.",
        "",
        "| spotter | probability | labels | mean probability | right |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {b.low:.1f} to {b.high:.1f} | {b.labels} | {b.said:.2f} | {b.right:.2f} |"
            for name, bins in report.reliability.items()
            for b in bins
        ),
    ]
    return "\n".join(lines) + "\n"


def _row(score: MouthingScore) -> str:
    numbers = (score.precision, score.recall, score.false_alarms_per_hour, score.late)
    measures = [
        "–" if value != value else f"{value:.{digits}f}" for value, digits in zip(numbers, (2, 2, 1, 2), strict=True)
    ]
    cells = (score.spotter, score.trials, f"{score.threshold:g}", str(score.asked), str(score.mouthed), *measures)
    return f"| {' | '.join(cells)} |"


def write_report(report: MouthingReport, path: Path) -> None:
    """Write the tables, and beside them a plot with the suffix `.png`: reliability, precision and recall."""
    from matplotlib.figure import Figure

    with atomic_write(path) as temporary:
        temporary.write_text(as_text(report), encoding="utf-8")
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    reliable, traded = figure.subplots(1, 2)
    reliable.set(xlabel="probability of a label", ylabel="share of labels that are right")
    reliable.plot([0, 1], [0, 1], "--", color="grey", label="calibrated")
    for name, bins in report.reliability.items():
        reliable.plot([b.said for b in bins], [b.right for b in bins], "o-", label=name)
        rows = [row for row in report.scores if (row.spotter, row.trials) == (name, MAIN)]
        thresholds = [row.threshold for row in rows]
        traded.plot(thresholds, [row.precision for row in rows], "o-", label=f"precision, {name}")
        traded.plot(thresholds, [row.recall for row in rows], "s--", label=f"recall, {name}")
    traded.set(xlabel="threshold", title=MAIN, ylim=(0, 1.02))
    reliable.set_title(MAIN)
    for axes in (reliable, traded):
        axes.legend(fontsize="small")
    with atomic_write(path.with_suffix(".png")) as temporary:
        figure.savefig(temporary, dpi=100, format="png")
