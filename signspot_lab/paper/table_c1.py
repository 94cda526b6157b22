"""The pretraining recipe of Appendix C.1: batch norms across domains, sampling of exemplars, surer labels.

A trunk learns labelled clips of continuous signing first, then these and the dictionary's exemplars in equal parts. The
paper tells how well the exemplars that were trained on are classified in the end; beside it stands how well signs of
test videos are, which nothing was learnt from.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from signspot.files import text_digest, write_beside
from signspot.metrics.bootstrap import Interval, bootstrap_mean
from signspot.metrics.classification import ClassificationAccuracy
from signspot.metrics.ranking import Group
from signspot.progress import Stage
from signspot.recognition.recogniser import Recogniser
from signspot.recognition.scoring import ALL, RecogniserClassifier, score_classifier, signs_to_test
from signspot.training.recogniser.clips import TrunkSigns, collect_signs
from signspot.training.recogniser.training import TrunkConfig, train_recogniser
from signspot_lab.paper.cells import changed
from signspot_lab.paper.recognition_worlds import LabelledWorld, RecognitionSize, make_world

NAME, TITLE = "table-c1", "Appendix C.1: how a trunk is pretrained on both domains"
_STAGES = {"continuous_only_fraction": 0.5, "clips.dictionary": 0.5, "clips.surer": 0.8}
_FORGET = {**_STAGES, "reinitialise": True}
_STEPS = 2  # times as long as a recogniser of Tables 6 to 8: half of it without the dictionary


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

    exemplars: dict[str, list[float]]  # of the dictionary, which was trained on
    signs: dict[str, list[float]]  # of test videos


def recipe(row: RecipeRow, size: RecognitionSize, seed: int) -> TrunkConfig:
    """The training of a row."""
    plain = replace(size.training, steps=_STEPS * size.training.steps, seed=seed, name=NAME)
    models = {name.partition(".")[2]: value for name, value in row.changes.items() if name.startswith("model.")}
    others = {name: value for name, value in row.changes.items() if not name.startswith("model.")}
    return replace(changed(plain, others), model={**plain.model, **models})


def measure(size: RecognitionSize, out: Path, stage: Stage) -> dict[int, list[RecipeOutcome]]:
    """Train every recipe by every seed on the first world of Tables 6 to 8."""
    world = make_world(size, 0, out, stage)
    found: dict[int, list[RecipeOutcome]] = {}
    jobs = [(seed, number) for seed in range(size.seeds) for number in range(len(ROWS))]
    with stage(NAME) as progress:
        for done, (seed, number) in enumerate(jobs):
            progress(done, len(jobs))
            config = recipe(ROWS[number], size, seed)
            name = text_digest(json.dumps([world.identity, config.as_dict()]))
            path = out / "cells" / f"c1-{name}.json"
            if not path.is_file():
                outcome = _measure(world, config, out / "runs" / f"c1-{name}", size.device)
                with write_beside(path) as beside:
                    beside.write_text(json.dumps(asdict(outcome)) + "\n", encoding="utf-8")
            found.setdefault(number, []).append(RecipeOutcome(**json.loads(path.read_text(encoding="utf-8"))))
        progress(len(jobs), len(jobs))
    return found


def _measure(world: LabelledWorld, config: TrunkConfig, run: Path, device: str) -> RecipeOutcome:
    words = sorted(world.words("mouthed"))
    signs = collect_signs(world.corpus, words, sorted(world.training), config.clips)
    trained = train_recogniser(config, signs, run, device=device)
    tested = {ALL: signs_to_test(world.corpus, set(words)).get(ALL, [])}
    (scores,) = score_classifier(RecogniserClassifier(trained), world.corpus, tested)
    right = {word: [float(rank == 1) for rank in ranks] for word, ranks in scores.ranks.items()}
    return RecipeOutcome(_exemplars_right(trained, signs, config), right)


def _exemplars_right(trained: Recogniser, signs: TrunkSigns, config: TrunkConfig) -> dict[str, list[float]]:
    """Classify the exemplars that were trained on, each by clips that are sampled as in training."""
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
    """Top 1 on the dictionary's training exemplars, and on signs of test videos."""
    lines = ["| recipe | exemplars, training, top-1 | test signs, words' top-1 |", "|---|---|---|"]
    for number, row in enumerate(ROWS):
        shown = _interval([o.exemplars for o in outcomes[number]], "instance")
        signed = _interval([o.signs for o in outcomes[number]], "group")
        paper = f" ({row.paper})" if row.paper is not None else ""
        lines.append(f"| {row.title} | {_percent(shown)}{paper} | {_percent(signed)} |")
    first = outcomes[0][0]
    said = (
        f"{len(first.exemplars)} words, {sum(map(len, first.exemplars.values()))} exemplars, "
        f"{sum(map(len, first.signs.values())):,} test signs, {size.seeds} seeds, "
        f"{_STEPS * size.training.steps} steps; "
        "per cent; 95 % intervals over words in square brackets, the paper's (1,064 words) in round ones."
    )
    return "\n".join([*lines, "", said]) + "\n"


def _interval(values: Sequence[Mapping[str, Sequence[float]]], weighting: str) -> Interval:
    joined: dict[Group, list[float]] = {}
    for each in values:
        for word, own in each.items():
            joined.setdefault(word, []).extend(own)
    return bootstrap_mean(joined, weighting="instance" if weighting == "instance" else "group")


def _percent(interval: Interval) -> str:
    return f"{100 * interval.value:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def draw(outcomes: Mapping[int, Sequence[RecipeOutcome]], path: Path) -> Path:
    """Both accuracies as bars, the paper's as marks."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1.4 + 0.5 * len(ROWS)), layout="constrained")
    figure.suptitle(TITLE, fontsize=11)
    titles = [row.title for row in ROWS]
    axes = figure.add_subplot(xlabel="top-1, %", yticks=range(len(titles)), yticklabels=titles)
    kinds = (("exemplars", "exemplars, training", "#0072b2", -0.2), ("signs", "test signs, by word", "#e69f00", 0.2))
    for name, label, colour, shift in kinds:
        weighting = "instance" if name == "exemplars" else "group"
        found = [_interval([getattr(o, name) for o in outcomes[n]], weighting) for n in range(len(ROWS))]
        errors = np.array([(each.value - each.low, each.high - each.value) for each in found]).T
        places = [index + shift for index in range(len(ROWS))]
        bars: dict[str, Any] = {"height": 0.36, "color": colour, "label": label, "xerr": 100 * np.maximum(errors, 0)}
        axes.barh(places, [100 * each.value for each in found], **bars)
    known = [(row.paper, index - 0.2) for index, row in enumerate(ROWS) if row.paper is not None]
    marks: dict[str, Any] = {"marker": "|", "s": 140, "color": "black", "zorder": 3, "label": "the paper, exemplars"}
    axes.scatter([value for value, _ in known], [place for _, place in known], **marks)
    axes.set_ylim(len(ROWS) - 0.5, -0.5)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    with write_beside(path) as beside:
        figure.savefig(beside, dpi=100)
    return path
