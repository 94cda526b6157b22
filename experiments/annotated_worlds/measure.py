"""Annotation on signing worlds with exact truth: Fig. 9, Table 7, and which words to ask for (Sec. 4.8)."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.annotated_worlds.abstaining import (
    EVERYTHING,
    SCORE,
    Flags,
    GroupCount,
    Ordering,
    calibration,
    compare,
    half_by_group,
    share_correlation,
)
from experiments.annotated_worlds.probe import Accuracy, Probe
from experiments.annotated_worlds.worlds import AnnotatedWorld, WorldsRun, WorldsSize, annotate_world
from signspot.annotation.abstention import Contrast, Judgement, contrast
from signspot.annotation.records import Candidate
from signspot.annotation.statistics import Count, Mouthings, Truth, YieldRow, count_yield
from signspot.annotation.store import open_store
from signspot.corpus.corpus import Corpus
from signspot.corpus.labels import LeastConfidence
from signspot.errors import OptionsError
from signspot.io.files import atomic_write
from signspot.io.progress import Stage, quiet
from signspot.models.checkpoints import load_encoder
from signspot.models.encoder import Encoder
from signspot.training.embedding.trunk_features import trunk_features
from signspot.types import Label, LabelSource

THRESHOLDS = (0.6, 0.7, 0.75, 0.8, 0.83, 0.86, 0.88, 0.9, 0.93)
PROBED = (0.9, 0.87, 0.8)  # thresholds of Table 7; the paper's are 0.9, 0.8 and 0.7 on its own scale
CUTS = (0.5, 0.8, 0.9, 0.95)  # confidences
BELIEVED = 0.9  # confidence
TAUGHT = LeastConfidence(mouthing=0.5)  # of the mouthings that a classifier learns from, as in the paper's training
UNSIGNED, ELSEWHERE = "the word is not signed in the window", "it is signed there, at another place"
FINGERSPELLED, SELDOM, OTHERS = "fingerspelled words", "words signed in less than half of their mentions", "others"


@dataclass(frozen=True, slots=True)
class LabelSet:
    """A row of Table 7: labels, how many of them are right, and what a classifier learns from them."""

    title: str
    precision: float
    accuracy: Accuracy


@dataclass(frozen=True, slots=True)
class Promise:
    """Precision that decoys promise of the candidates above a cut, and the true one."""

    confidence: float
    answered: float  # share of the queries
    precision: float
    promised: float


@dataclass(frozen=True, slots=True)
class Measured:
    """All numbers of one world."""

    encoder: str
    queries: int
    right: float  # share of the queries whose best place is right
    learned: float  # the same, as learned without truth
    correlation: float  # of the learned with the true share of each word's mentions that are signed
    rows: tuple[YieldRow, ...]
    sets: tuple[LabelSet, ...]  # of the first world
    orders: dict[str, Ordering]
    bins: tuple[tuple[float, float, int], ...]  # confidence, share that is right, candidates
    promises: tuple[Promise, ...]
    mistakes: dict[str, int]  # what is wrong with candidates of the confidence BELIEVED
    groups: dict[str, dict[str, GroupCount]]  # order by → group of words → what is answered if half of all queries are


def measure_worlds(
    size: WorldsSize,
    out: Path,
    encoder: str | None = None,
    workers: int = 1,
    stage: Stage = quiet,
    device: str = "cpu",
) -> list[Measured]:
    """Make, annotate and measure all worlds; each that is done is read from its file.

    Args:
        size: of the worlds.
        out: folder; a run that was stopped there goes on.
        encoder: name or file; None: the shipped one.
        workers: processes at once.
        stage: shows the progress of each stage.
        device: where the encoder runs.

    Raises:
        OptionsError: the folder holds worlds of another size.
    """
    loaded = load_encoder(encoder, device=device)

    run = WorldsRun(encoder, device, workers)

    def annotated(number: int) -> AnnotatedWorld:
        return annotate_world(size, number, out / f"world-{number + 1}", run, stage)

    measured: list[Measured] = []
    for number in range(size.worlds):
        path = out / f"world-{number + 1}" / f"measured-{loaded.hash}-{size.words}-{size.hours:g}.json"
        if not path.is_file():
            other = known_contrast(annotated(number - 1)) if number else None
            world = annotated(number)
            with stage(f"world {number + 1}: measurements"):
                _write(_measure(world, loaded, path.parent / "features", other), path)
        measured.append(_read(path))
    return measured


def known_contrast(world: AnnotatedWorld) -> tuple[Contrast, Flags]:
    """A run beside its decoys, and (Q,) the truth about the run's candidates."""
    truth = Truth(world.corpus)
    with open_store(world.run) as run, open_store(world.decoys) as decoys:
        right = np.array([truth.is_right(candidate) for candidate in run.candidates(rank=1)])
        return contrast(run, decoys), right


def _measure(
    world: AnnotatedWorld,
    encoder: Encoder,
    features: Path,
    other: tuple[Contrast, Flags] | None,
) -> Measured:
    found, right = known_contrast(world)
    truth, mouthings = Truth(world.corpus), Mouthings(world.corpus.labels())
    with open_store(world.run) as run:
        rows = count_yield(run.evidence(rank=1), THRESHOLDS, mouthings, truth.is_right)
        queries = sum(1 for _ in run.queries())
        candidates = list(run.candidates(rank=1))
    orders, judged = compare(found, right, queries, other)
    mentions = _signed_mentions(world.corpus)
    groups = _groups(world.corpus, mentions, candidates)
    return Measured(
        encoder=f"{encoder.name} ({encoder.hash})",
        queries=queries,
        right=float(right.sum() / queries),
        learned=judged.share,
        correlation=share_correlation(judged.word_shares, mentions),
        rows=tuple(rows),
        sets=tuple(_table7(world, world.unpadded, encoder, features, candidates, judged)) if world.unpadded else (),
        orders=orders,
        bins=tuple(calibration(judged.asked, right)),
        promises=tuple(_promise(judged, right, queries, cut) for cut in CUTS),
        mistakes=_mistakes(world, judged, right),
        groups={
            SCORE: half_by_group(found.score[found.asked], right, groups, queries),
            EVERYTHING: half_by_group(judged.asked, right, groups, queries),
        },
    )


def _promise(judged: Judgement, right: Flags, queries: int, cut: float) -> Promise:
    passing = judged.asked >= cut
    precision = float(right[passing].mean()) if passing.any() else float("nan")
    return Promise(cut, float(passing.sum() / queries), precision, judged.promised_precision(judged.confidence, cut))


def _signed_mentions(corpus: Corpus) -> dict[str, list[bool]]:
    """Word → for each of its mentions whether it is signed."""
    signed: dict[str, list[bool]] = defaultdict(list)
    for video in corpus.videos:
        for mention in corpus.mentions(video):
            signed[mention.word].append(bool(mention.signs))
    return signed


def _mistakes(world: AnnotatedWorld, judged: Judgement, right: Flags) -> dict[str, int]:
    """Count the believed and wrong candidates whose word is signed in the search window."""
    counts = {UNSIGNED: 0, ELSEWHERE: 0}
    believed = judged.asked >= BELIEVED
    with open_store(world.run) as run:
        pairs = zip(run.evidence(rank=1), believed & ~right, strict=True)
        wrong = [query for (query, _), is_mistake in pairs if is_mistake]
    for query in wrong:
        signs = world.corpus.signs(query.video)
        there = any(s.word == query.word and s.start < query.end and query.start < s.end for s in signs)
        counts[ELSEWHERE if there else UNSIGNED] += 1
    return counts


def _groups(
    corpus: Corpus, mentions: dict[str, list[bool]], candidates: Sequence[Candidate]
) -> np.ndarray[Any, np.dtype[np.str_]]:
    """(Q,) what kind of word each candidate's is: the paper's two failures, and the others."""
    spelled = {truth.word for truth in corpus.exemplar_truths().values() if truth.fingerspelled}
    seldom = {word for word, signed in mentions.items() if 2 * sum(signed) < len(signed)}
    names = [
        FINGERSPELLED if each.word in spelled else SELDOM if each.word in seldom else OTHERS for each in candidates
    ]
    return np.array(names)


def _table7(
    world: AnnotatedWorld,
    without_padding: Path,
    encoder: Encoder,
    features: Path,
    candidates: Sequence[Candidate],
    judged: Judgement,
) -> Iterable[LabelSet]:
    """Learn from the labels of the training videos, test on the true signs of the test videos."""
    corpus, truth = world.corpus, Truth(world.corpus)
    train = {video.id for video in corpus.in_split("train")}
    mouthed = [label for label in corpus.labels(sorted(train), TAUGHT) if label.source is LabelSource.MOUTHING]
    tested = [sign for video in corpus.in_split("test") for sign in corpus.signs(video.id)]
    words = sorted({label.word for label in mouthed})
    probe = Probe(trunk_features(encoder, corpus, features).videos, words, tested)
    with open_store(without_padding) as unpadded:
        own_time = list(unpadded.candidates(threshold=PROBED[-1], rank=1))
    sets = {f"D, score ≥ {least:g}": [c for c in candidates if c.score >= least] for least in PROBED}
    sets[f"D, score ≥ {PROBED[-1]:g}, no padding"] = own_time
    for cut in (0.9, 0.5):
        chosen = (c for c, confidence in zip(candidates, judged.asked, strict=True) if confidence >= cut)
        sets[f"D, confidence ≥ {cut:g}"] = list(chosen)
    wanted = frozenset(words)
    for title, chosen_ones in sets.items():
        kept = {(c.video, c.word, c.time): c for c in chosen_ones if c.video in train and c.word in wanted}
        right = sum(truth.is_right(candidate) for candidate in kept.values())
        labels = [
            Label(word, video, time, kept[video, word, time].score, LabelSource.DICTIONARY)
            for video, word, time in sorted(kept)
        ]
        yield LabelSet(title, right / max(1, len(kept)), probe.accuracy(labels))
    yield LabelSet(f"M, confidence ≥ {TAUGHT.mouthing:g}", float("nan"), probe.accuracy(mouthed))


def _write(measured: Measured, path: Path) -> None:
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(asdict(measured), ensure_ascii=False) + "\n", encoding="utf-8")


def _read(path: Path) -> Measured:
    try:
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        rows = [YieldRow(r["threshold"], Count(**r["mouthed"]), Count(**r["full"])) for r in values["rows"]]
        sets = [LabelSet(s["title"], s["precision"], Accuracy(**s["accuracy"])) for s in values["sets"]]
        orders = {name: Ordering(**{k: _tuple(v) for k, v in o.items()}) for name, o in values["orders"].items()}
        bins = tuple((float(low), float(share), int(count)) for low, share, count in values["bins"])
        promises = tuple(Promise(**promise) for promise in values["promises"])
        groups = {o: {g: GroupCount(**c) for g, c in by.items()} for o, by in values["groups"].items()}
        made = {"rows": tuple(rows), "sets": tuple(sets), "orders": orders, "bins": bins, "promises": promises}
        return Measured(**{**values, **made, "groups": groups})
    except (ValueError, KeyError, TypeError) as error:
        raise OptionsError(f"{path} holds no measurements ({error}). Remove it, and they are made again") from error


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
