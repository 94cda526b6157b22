"""The pretraining recipe of Appendix C.1: batch norms across domains, sampling of exemplars, surer labels.

A trunk learns labelled clips of continuous signing first, then these and the dictionary's exemplars in equal parts. The
paper tells how well the exemplars that were trained on are classified in the end; beside it stands how well exemplars
are that were held out, and signs of test videos, from neither of which anything was learnt.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from experiments.paper.cells import changed
from experiments.paper.labelled_corpora import LabelledCorpus, RecognitionSize, make_labelled_corpus
from signspot.io.files import atomic_write, text_digest
from signspot.io.progress import Stage
from signspot.metrics.bootstrap import Interval, bootstrap_mean
from signspot.metrics.classification import ClassificationAccuracy
from signspot.metrics.ranking import Group
from signspot.plots.curves import plural
from signspot.recognition.recogniser import Recogniser
from signspot.recognition.scoring import ALL, RecogniserClassifier, score_classifier, signs_to_test
from signspot.training.recogniser import RecogniserConfig, train_recogniser
from signspot.training.sign_clips import ClipOptions, LabelledSigns, collect_signs
from signspot.types import Exemplar

NAME, TITLE = "table-c1", "Appendix C.1: how a trunk is pretrained on both domains"
_STAGES = {"continuous_only_fraction": 0.5, "clips.dictionary": 0.5, "clips.surer": 0.8}
_FORGET = {**_STAGES, "reinitialise": True}
_STEPS = 2  # times as long as a recogniser of Tables 6 to 8: half of it without the dictionary
_KINDS = {"exemplars": "exemplars, training", "held": "exemplars, held out", "signs": "test signs, by word"}
_BAR = 0.27  # how thick
_COLOURS = {"exemplars": "#0072b2", "held": "#009e73", "signs": "#e69f00"}


@dataclass(frozen=True, slots=True)
class RecipeRow:
    """One recipe: its changes to the training, and the paper's accuracy on the dictionary's training videos."""

    title: str
    changes: Mapping[str, object]
    paper: float | None = None


ROWS = (
    RecipeRow("batch norms re-initialised, labels at 0.5, then 0.8", _FORGET, 78.94),
    RecipeRow("batch norms kept", _STAGES, 48.09),
    RecipeRow("domain-specific batch norms", {**_STAGES, "model.domain_norm": True}, 62.73),
    RecipeRow("re-initialised, exemplars by consecutive frames", {**_FORGET, "clips.exemplars": "consecutive"}, 72.26),
    RecipeRow("re-initialised, labels at 0.5 throughout", {**_FORGET, "clips.surer": 0.0}),
    RecipeRow("re-initialised, labels at 0.8 throughout", {**_FORGET, "clips.least.mouthing": 0.8}),
    RecipeRow("both domains from the beginning", {"clips.dictionary": 0.5, "clips.surer": 0.8}),
)


@dataclass(frozen=True, slots=True)
class RecipeOutcome:
    """One recipe by one seed: word → 1 where the best guess is right, else 0."""

    exemplars: dict[str, list[float]]  # of the dictionary, which were trained on
    held: dict[str, list[float]]  # that were not
    signs: dict[str, list[float]]  # of test videos


def recipe(row: RecipeRow, size: RecognitionSize, seed: int) -> RecogniserConfig:
    """The training of a row."""
    plain = replace(size.training, steps=_STEPS * size.training.steps, seed=seed, name=NAME)
    models = {name.partition(".")[2]: value for name, value in row.changes.items() if name.startswith("model.")}
    others = {name: value for name, value in row.changes.items() if not name.startswith("model.")}
    return replace(changed(plain, others), model={**plain.model, **models})


def measure(size: RecognitionSize, out: Path, stage: Stage) -> dict[int, list[RecipeOutcome]]:
    """Train every recipe by every seed on one corpus."""
    material = RecipeClips(make_labelled_corpus(size, 0, out, stage))
    found: dict[int, list[RecipeOutcome]] = {}
    jobs = [(seed, number) for seed in range(size.seeds) for number in range(len(ROWS))]
    with stage(NAME) as progress:
        for done, (seed, number) in enumerate(jobs):
            progress(done, len(jobs))
            config = recipe(ROWS[number], size, seed)
            name = text_digest(json.dumps([material.labelled.identity, config.as_dict(), "held"]))
            path = out / "cells" / f"c1-{name}.json"
            if not path.is_file():
                outcome = material.measure(config, out / "runs" / f"c1-{name}", size.device)
                with atomic_write(path) as temporary:
                    temporary.write_text(json.dumps(asdict(outcome)) + "\n", encoding="utf-8")
            found.setdefault(number, []).append(RecipeOutcome(**json.loads(path.read_text(encoding="utf-8"))))
        progress(len(jobs), len(jobs))
    return found


def hold_out(exemplars: Sequence[Exemplar]) -> tuple[list[Exemplar], list[Exemplar]]:
    """Exemplars to train on, and to hold out: of every variant with two or more the last one, by id."""
    groups: dict[tuple[str, str], list[Exemplar]] = {}
    for exemplar in sorted(exemplars, key=lambda each: each.id):
        groups.setdefault((exemplar.word, exemplar.variant or ""), []).append(exemplar)
    held = {own[-1].id for own in groups.values() if len(own) > 1}
    return [each for each in exemplars if each.id not in held], [each for each in exemplars if each.id in held]


class RecipeClips:
    """Clips that all recipes learn from and are tested on; the same labels are cut out of the footage once."""

    def __init__(self, labelled: LabelledCorpus):
        self.labelled, self.words = labelled, sorted(labelled.words("mouthed"))
        listed = [each for each in labelled.corpus.dictionary().exemplars if each.word in set(self.words)]
        self.shown, self.held = hold_out(listed)
        self._cut: dict[str, LabelledSigns] = {}

    def signs(self, clips: ClipOptions) -> LabelledSigns:
        """Labelled clips and the exemplars that are trained on."""
        key = json.dumps(asdict(replace(clips, exemplars="rate")))  # sampled later, from the same
        if key not in self._cut:
            videos = sorted(self.labelled.training)
            self._cut[key] = collect_signs(self.labelled.corpus, self.words, videos, clips, exemplars=self.shown)
        return self._cut[key]

    @cached_property
    def _held_out(self) -> LabelledSigns:
        return collect_signs(self.labelled.corpus, self.words, [], ClipOptions(dictionary=1.0), exemplars=self.held)

    def measure(self, config: RecogniserConfig, run: Path, device: str) -> RecipeOutcome:
        """Train by one recipe, and test."""
        signs = self.signs(config.clips)
        trained = train_recogniser(config, signs, run, device=device)
        tested = {ALL: signs_to_test(self.labelled.corpus, set(self.words)).get(ALL, [])}
        (scores,) = score_classifier(RecogniserClassifier(trained), self.labelled.corpus, tested)
        right = {word: [float(rank == 1) for rank in ranks] for word, ranks in scores.ranks.items()}
        own, others = (_exemplars_right(trained, each, config) for each in (signs, self._held_out))
        return RecipeOutcome(own, others, right)


def _exemplars_right(trained: Recogniser, signs: LabelledSigns, config: RecogniserConfig) -> dict[str, list[float]]:
    """Classify exemplars, each by clips that are sampled as in training."""
    accuracy = ClassificationAccuracy()
    for number, own in enumerate(signs.dictionary):
        for sign in own:
            frames = sign.astype(np.float32)
            if config.clips.exemplars == "rate":
                logits = trained.of_sign(frames)
            else:
                logits = trained.logits(_consecutive(frames, trained.module.trunk.frames), "dictionary").mean(axis=0)
            accuracy.add(logits[None], [number])
    return {signs.words[int(str(group))]: list(hits) for group, hits in accuracy.hits(1).items()}


def _consecutive(sign: np.ndarray, length: int) -> np.ndarray:
    """(n, length, J, C) all clips of frames that follow each other; a short sign holds its last frame."""
    starts = range(max(1, len(sign) - length + 1))
    return np.stack([sign[np.minimum(np.arange(start, start + length), len(sign) - 1)] for start in starts])


def as_markdown(outcomes: Mapping[int, Sequence[RecipeOutcome]], size: RecognitionSize) -> str:
    """Top 1 on exemplars, those that were trained on and those that were not, and on signs of test videos."""
    lines = [
        "| recipe | exemplars, training, top-1 | exemplars, held out, top-1 | test signs, words' top-1 |",
        "|---|---|---|---|",
    ]
    for number, row in enumerate(ROWS):
        shown, held, signed = (_percent(_interval(outcomes[number], kind)) for kind in _KINDS)
        paper = f" ({row.paper})" if row.paper is not None else ""
        lines.append(f"| {row.title} | {shown}{paper} | {held} | {signed} |")
    first = outcomes[0][0]
    counts = [sum(map(len, getattr(first, kind).values())) for kind in _KINDS]
    said = (
        f"{len(first.exemplars)} words; {counts[0]:,} exemplars to train on, {counts[1]:,} held out, "
        f"{counts[2]:,} test signs; {plural(size.seeds, 'seed')}, {_STEPS * size.training.steps} steps; "
        "per cent; 95 % intervals over words in square brackets, the paper's (1,064 words) in round ones."
    )
    gaps = [_order(outcomes, number, kind) for kind in ("held", "signs") for number in range(1, len(ROWS))]
    return "\n".join([*lines, "", f"{ROWS[0].title}, against:", "", *gaps, "", said]) + "\n"


def _order(outcomes: Mapping[int, Sequence[RecipeOutcome]], number: int, kind: str) -> str:
    """By how much the first recipe is above another, word by word."""
    one, other = (_joined(outcomes[row], kind) for row in (0, number))
    gap = bootstrap_mean({word: [float(np.mean(one[word]) - np.mean(other[word]))] for word in one})
    judgement = "better" if gap.low > 0 else "worse" if gap.high < 0 else "not decided"
    low, high = 100 * gap.low, 100 * gap.high
    return f"* {ROWS[number].title}, {_KINDS[kind]}: {judgement} ({100 * gap.value:+.1f} [{low:+.1f}, {high:+.1f}])"


def _joined(outcomes: Sequence[RecipeOutcome], kind: str) -> dict[Group, list[float]]:
    """Word → hits, of all seeds."""
    joined: dict[Group, list[float]] = {}
    for each in outcomes:
        for word, own in getattr(each, kind).items():
            joined.setdefault(word, []).extend(own)
    return joined


def _interval(outcomes: Sequence[RecipeOutcome], kind: str) -> Interval:
    return bootstrap_mean(_joined(outcomes, kind), weighting="group" if kind == "signs" else "instance")


def _percent(interval: Interval) -> str:
    return f"{100 * interval.value:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def draw(outcomes: Mapping[int, Sequence[RecipeOutcome]], path: Path) -> Path:
    """All accuracies as bars, the paper's as marks."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1.4 + 0.6 * len(ROWS)), layout="constrained")
    figure.suptitle(TITLE, fontsize=11)
    titles = [row.title for row in ROWS]
    axes = figure.add_subplot(xlabel="top-1, %", yticks=range(len(titles)), yticklabels=titles)
    for place, kind in enumerate(_KINDS):
        found = [_interval(outcomes[n], kind) for n in range(len(ROWS))]
        errors = np.array([(each.value - each.low, each.high - each.value) for each in found]).T
        places = [index + _BAR * (place - 1) for index in range(len(ROWS))]
        bars: dict[str, Any] = {"height": 0.9 * _BAR, "color": _COLOURS[kind], "label": _KINDS[kind]}
        axes.barh(places, [100 * each.value for each in found], xerr=100 * np.maximum(errors, 0), **bars)
    known = [(row.paper, index - _BAR) for index, row in enumerate(ROWS) if row.paper is not None]
    marks: dict[str, Any] = {"marker": "|", "s": 140, "color": "black", "zorder": 3, "label": "the paper, exemplars"}
    axes.scatter([value for value, _ in known], [place for _, place in known], **marks)
    axes.set_ylim(len(ROWS) - 0.5, -0.5)
    figure.legend(loc="outside lower center", ncols=4, fontsize=8)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, dpi=100)
    return path
