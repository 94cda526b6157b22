"""What the mouthing spotter is worth: unseen words and signers, words alike or only begun, nobody mouthing."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.mouthing.checkpoints import MouthingModel
from signspot.mouthing.lips import FPS
from signspot.mouthing.network import MouthingNetwork
from signspot.progress import Progress, silent
from signspot_lab.isolated.clips import IsolatedClip
from signspot_lab.mouthing.clips import ClipOptions, LipClip, make_clips, read_vocabulary
from signspot_lab.mouthing.real_faces import lips_of, read_faces
from signspot_lab.mouthing.trials import WINDOW, Answers, Floats, Trial, answer, draw_trials
from signspot_world.body.signers import Role

THRESHOLDS = (0.3, 0.5, 0.7, 0.8, 0.9)
_BINS = np.linspace(0, 1, 11)


@dataclass(frozen=True, slots=True)
class MouthingSize:
    """How much is measured."""

    clips: int = 60  # of the world, for each row
    each: int = 12  # questions to each clip
    real: int = 4000  # questions to each corpus of real faces

    def __post_init__(self) -> None:
        if min(self.clips, self.each, self.real) < 2:
            raise OptionsError(f"a measurement needs at least 2 clips and questions; got {self}")


@dataclass(frozen=True, slots=True)
class MouthingScore:
    """One row at one threshold."""

    trials: str  # what was asked
    threshold: float
    asked: int
    mouthed: int
    precision: float  # NaN where nothing was found
    recall: float  # NaN where nothing was mouthed
    false_alarms_per_hour: float  # of one word that is not mouthed; NaN where every word is
    late: float  # seconds, the median of the distances of right peaks


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Peaks of about one probability, and how often they are right."""

    low: float
    high: float
    peaks: int
    said: float  # mean probability
    right: float  # share


@dataclass(frozen=True, slots=True)
class MouthingReport:
    """All that was measured."""

    model: str
    scores: tuple[MouthingScore, ...]
    reliability: tuple[ReliabilityBin, ...]  # of unseen words by unseen signers
    homophenes: float  # share of the words that look exactly like another word of the vocabulary


def measure_mouthing(
    model: MouthingModel,
    size: MouthingSize | None = None,
    *,
    seed: int = 1000,
    lsa64: str | PathLike[str] | None = None,
    wlasl: str | PathLike[str] | None = None,
    progress: Progress = silent,
) -> MouthingReport:
    """Ask the spotter for words in clips of the signing world and, where they are named, of real faces.

    Args:
        model: the spotter.
        size: how much is measured.
        seed: of all chance; signers and clips of the training come from its own seed.
        lsa64: folder of LSA64 landmarks: signers of Argentinian Sign Language, who mouth no English.
        wlasl: folder of WLASL landmarks: signers of ASL, some of whom mouth.
        progress: told the rows done.
    """
    chosen = size or MouthingSize()
    rows = [*_world_rows(chosen, seed, int(model.card.get("config", {}).get("seed", 0)))]
    total = len(rows) + (lsa64 is not None) + (wlasl is not None)
    scores: list[MouthingScore] = []
    reliability: tuple[ReliabilityBin, ...] = ()
    for done, (name, clips, trials) in enumerate(rows, 1):
        answers = answer(model.network, clips, trials)
        sure = probabilities(model.network, answers.logit)
        scores += score(name, trials, answers, sure)
        if name == _MAIN:
            reliability = tuple(bin_reliability(sure, answers.right))
            begun = np.array([not trial.ends or trial.share < 1 for trial in trials])
            part = Answers(answers.logit[begun], answers.late[begun])
            kept = [trial for trial, wanted in zip(trials, begun, strict=True) if wanted]
            scores += score("unseen words, only begun", kept, part, sure[begun])
        progress(done, total)
    for done, (name, real) in enumerate(read_faces(lsa64, wlasl), len(rows) + 1):
        scores += _real_rows(f"real faces, {name}", model.network, real, chosen.real, seed)
        progress(done, total)
    return MouthingReport(model.name, tuple(scores), reliability, _homophenes())


_MAIN = "unseen words, unseen signers"


def _world_rows(size: MouthingSize, seed: int, trained: int) -> list[tuple[str, list[LipClip], list[Trial]]]:
    """Each row of the table with its clips and questions."""
    seen, unseen = read_vocabulary(unseen=False), read_vocabulary(unseen=True)
    others = [f"test {number}" for number in range(size.clips)]
    test = ClipOptions(role=Role.TEST)
    # The signers of a training are made from its seed and their numbers; their clips here are others than those.
    known_people = [str(number) for number in range(size.clips)]
    known = list(make_clips(size.clips, trained, seen, known_people, ClipOptions(chance=seed)))
    people = list(make_clips(size.clips, seed, seen, others, test))
    new = list(make_clips(size.clips, seed + 1, unseen, others, test))
    silent_people = list(make_clips(size.clips, seed + 2, seen, others, ClipOptions(mouthing=0.0, role=Role.TEST)))
    rows = [
        ("seen words, seen signers", known, draw_trials(known, seen, seed, each=size.each)),
        ("seen words, unseen signers", people, draw_trials(people, seen, seed, each=size.each)),
        (_MAIN, new, draw_trials(new, unseen, seed, each=size.each)),
        ("unseen words against words alike", new, draw_trials(new, unseen, seed, each=size.each, hard=1.0)),
        ("homophenes of mouthed words", new, _homophene_trials(draw_trials(new, unseen, seed, each=size.each))),
        ("nobody mouths", silent_people, draw_trials(silent_people, seen, seed, each=size.each)),
    ]
    return rows


def _homophene_trials(trials: Sequence[Trial]) -> list[Trial]:
    """Half of the mouthed words asked for as they are, half as another word that looks the same."""
    mouthed = [trial for trial in trials if trial.ends]
    return [
        trial if number % 2 else Trial(trial.clip, trial.start, trial.shapes)  # the other word is not mouthed
        for number, trial in enumerate(mouthed)
    ]


def _homophenes() -> float:
    """Share of all words of three visemes or more that look exactly like another one."""
    every = [shapes for unseen in (False, True) for shapes in read_vocabulary(unseen=unseen).visemes.values()]
    _, counts = np.unique([" ".join(shapes) for shapes in every], return_counts=True)
    return float(counts[counts > 1].sum() / counts.sum())


def probabilities(network: MouthingNetwork, logits: Floats) -> Floats:
    """Calibrated probabilities (n,) of peaks."""
    gain, offset = (float(value) for value in network.scale)
    return np.asarray(1 / (1 + np.exp(-np.clip(gain * logits + offset, -60, 60))))


def score(
    name: str, trials: Sequence[Trial], answers: Answers, sure: Floats, hours: float | None = None
) -> list[MouthingScore]:
    """Precision, recall, false alarms and time error at each threshold.

    Args:
        name: of the row.
        trials: what was asked.
        answers: what the spotter said.
        sure: (n,) calibrated probabilities of the peaks.
        hours: that were searched for words that are not mouthed; None: a window for each.
    """
    mouthed = np.array([bool(trial.ends) for trial in trials])
    searched = hours if hours is not None else float((~mouthed).sum()) * WINDOW / 3600
    rows = []
    for threshold in THRESHOLDS:
        found = sure >= threshold
        right = found & answers.right
        late = np.abs(answers.late[right])
        rows.append(
            MouthingScore(
                trials=name,
                threshold=threshold,
                asked=len(trials),
                mouthed=int(mouthed.sum()),
                precision=float(right.sum() / found.sum()) if found.any() else float("nan"),
                recall=float(right.sum() / mouthed.sum()) if mouthed.any() else float("nan"),
                false_alarms_per_hour=float((found & ~mouthed).sum() / searched) if searched else float("nan"),
                late=float(np.median(late)) if len(late) else float("nan"),
            )
        )
    return rows


def bin_reliability(sure: Floats, right: NDArray[np.bool_]) -> list[ReliabilityBin]:
    """How often peaks of about one probability are right, in ten bins; empty ones are left out."""
    bins = []
    for low, high in pairwise(_BINS):
        inside = (sure >= low) & ((sure < high) | (high == 1))
        if inside.any():
            said, share = float(sure[inside].mean()), float(right[inside].mean())
            bins.append(ReliabilityBin(float(low), float(high), int(inside.sum()), said, share))
    return bins


def _real_rows(
    name: str, network: MouthingNetwork, clips: Sequence[IsolatedClip], questions: int, seed: int
) -> list[MouthingScore]:
    """Ask for random words in clips of people who hardly mouth them: every peak is a false alarm."""
    random, vocabulary = np.random.default_rng((seed, 5)), read_vocabulary(unseen=True)
    tracks = lips_of([clips[i] for i in random.permutation(len(clips))[: max(2, questions // 2)]])
    lips = [LipClip(track, (), "") for track in tracks]
    trials = []
    for number in range(questions):
        place = number % len(lips)
        word = vocabulary.words[int(random.integers(len(vocabulary.words)))]
        trials.append(Trial(place, lips[place].lips.start, vocabulary.visemes[word]))
    answers = answer(network, lips, trials)
    hours = sum(min(len(lips[trial.clip].lips) / FPS, WINDOW) for trial in trials) / 3600
    return score(name, trials, answers, probabilities(network, answers.logit), hours)
