"""Evaluation of the mouthing spotter: unseen words and signers, words alike or only begun, nobody mouthing."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from experiments.mouthing.clips import ClipOptions, LipClip, make_clips, read_vocabulary
from experiments.mouthing.real_faces import lips_of, read_faces
from experiments.mouthing.trials import Answers, Floats, Trial, answer, draw_trials
from signspot.corpus.isolated import IsolatedClip
from signspot.errors import OptionsError
from signspot.io.progress import Progress, silent
from signspot.mouthing.model import MouthingModel
from signspot.mouthing.spotter import MouthingSpotter
from signspot.mouthing.visemes import visemes_of
from signspot_synthetic.body.signers import Role

THRESHOLDS = (0.3, 0.5, 0.7, 0.8, 0.9)
MAIN = "unseen words, unseen signers"
_BINS = np.linspace(0, 1, 11)


@dataclass(frozen=True, slots=True)
class MouthingSize:
    """Amounts that are measured."""

    clips: int = 60  # of the synthetic corpus, for each row
    each: int = 12  # questions to each clip
    real: int = 4000  # questions to each corpus of real faces

    def __post_init__(self) -> None:
        if min(self.clips, self.each, self.real) < 2:
            raise OptionsError(f"a measurement needs at least 2 clips and questions; got {self}")


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
    reliability: dict[str, tuple[ReliabilityBin, ...]]  # by spotter, of unseen words by unseen signers
    homophenes: float  # share of the words that look exactly like another word of the vocabulary


def measure_mouthing(
    models: Sequence[MouthingModel],
    size: MouthingSize | None = None,
    *,
    seed: int = 1000,
    lsa64: str | PathLike[str] | None = None,
    wlasl: str | PathLike[str] | None = None,
    progress: Progress = silent,
) -> MouthingReport:
    """Ask spotters for words in csynthetic lips and, where they are named, of real faces.

    Args:
        models: the spotters; all are asked the same.
        size: how much is measured.
        seed: of all chance; signers and clips of the training come from its own seed.
        lsa64: folder of LSA64 landmarks: signers of Argentinian Sign Language, who mouth no English.
        wlasl: folder of WLASL landmarks: signers of ASL, some of whom mouth.
        progress: told the rows done.
    """
    chosen = size or MouthingSize()
    trained = next((int(model.card["config"]["seed"]) for model in models if "config" in model.card), 0)
    rows = [*_synthetic_rows(chosen, seed, trained)]
    rows += [(f"real faces, {name}", *_real_row(real, chosen.real, seed)) for name, real in read_faces(lsa64, wlasl)]
    scores: list[MouthingScore] = []
    reliability = {}
    for done, ((name, clips, trials), model) in enumerate(product(rows, models), 1):
        answers = answer(MouthingSpotter(model), clips, trials)
        scores += score((model.name, name), trials, answers)
        if name == MAIN:
            reliability[model.name] = tuple(bin_reliability(answers.sure, answers.right))
            begun = np.array([not trial.ends or trial.share < 1 for trial in trials])
            kept = [trial for trial, wanted in zip(trials, begun, strict=True) if wanted]
            scores += score((model.name, "unseen words, only begun"), kept, answers.only(begun))
        progress(done, len(rows) * len(models))
    ordered = sorted(scores, key=lambda row: [model.name for model in models].index(row.spotter))
    return MouthingReport(tuple(ordered), reliability, _homophenes())


def _synthetic_rows(size: MouthingSize, seed: int, trained: int) -> Iterator[tuple[str, list[LipClip], list[Trial]]]:
    """Each row of the table with its clips and questions."""
    seen, unseen = read_vocabulary(unseen=False), read_vocabulary(unseen=True)
    others = [f"test {number}" for number in range(size.clips)]
    test = ClipOptions(role=Role.TEST)
    # The signers of a training are made from its seed and their numbers; their clips here are others than those.
    known_people = [str(number) for number in range(size.clips)]
    known = list(make_clips(size.clips, trained, seen, known_people, ClipOptions(chance=seed)))
    yield "seen words, seen signers", known, draw_trials(known, seen, seed, each=size.each)
    people = list(make_clips(size.clips, seed, seen, others, test))
    yield "seen words, unseen signers", people, draw_trials(people, seen, seed, each=size.each)
    new = list(make_clips(size.clips, seed + 1, unseen, others, test))
    plain = draw_trials(new, unseen, seed, each=size.each)
    yield MAIN, new, plain
    yield "unseen words against words alike", new, draw_trials(new, unseen, seed, each=size.each, hard=1.0)
    yield "homophenes of mouthed words", new, homophene_trials(plain)
    silent_people = list(make_clips(size.clips, seed + 2, seen, others, ClipOptions(mouthing=0.0, role=Role.TEST)))
    yield "nobody mouths", silent_people, draw_trials(silent_people, seen, seed, each=size.each)


def homophene_trials(trials: Sequence[Trial]) -> list[Trial]:
    """Mouthed words that have a homophene, half of them asked for as they are, half as the word that looks the same."""
    alike = _words_by_look()
    found: list[Trial] = []
    for trial in trials:
        others = [word for word in alike[visemes_of(trial.word)] if word != trial.word]
        if trial.ends and others:
            other = Trial(trial.clip, trial.start, others[len(found) % len(others)])  # which is not mouthed
            found.append(trial if len(found) % 2 else other)
    return found


@cache
def _words_by_look() -> dict[tuple[str, ...], list[str]]:
    """Visemes → all words of the vocabularies that show them."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for unseen in (False, True):
        for word, shapes in read_vocabulary(unseen=unseen).visemes.items():
            found[shapes].append(word)
    return found


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
        found = answers.sure >= threshold
        right = found & answers.right
        late = np.abs(answers.late[right])
        rows.append(
            MouthingScore(
                *name,
                threshold=threshold,
                asked=len(trials),
                mouthed=int(mouthed.sum()),
                precision=float(right.sum() / found.sum()) if found.any() else float("nan"),
                recall=float(right.sum() / mouthed.sum()) if mouthed.any() else float("nan"),
                false_alarms_per_hour=float((found & ~mouthed).sum() / hours) if hours else float("nan"),
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
            said, share = float(sure[inside].mean()), float(right[inside].mean())
            bins.append(ReliabilityBin(float(low), float(high), int(inside.sum()), said, share))
    return bins


def _real_row(clips: Sequence[IsolatedClip], questions: int, seed: int) -> tuple[list[LipClip], list[Trial]]:
    """Random words in clips of people who hardly mouth them: every label is a false alarm."""
    random, vocabulary = np.random.default_rng((seed, 5)), read_vocabulary(unseen=True)
    tracks = lips_of([clips[i] for i in random.permutation(len(clips))[: max(2, questions // 2)]])
    lips = [LipClip(track, (), "") for track in tracks]
    trials = []
    for number in range(questions):
        place = number % len(lips)
        word = vocabulary.words[int(random.integers(len(vocabulary.words)))]
        trials.append(Trial(place, lips[place].lips.start, word))
    return lips, trials
