"""Table 2, the effect of the loss: one frozen trunk, an MLP by each loss, on test words seen and unseen in training."""

import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch.nn.functional as functional

from signspot.errors import OptionsError
from signspot.experiments.protocol import Embed, Query, find_queries, retrieve
from signspot.files import write_beside
from signspot.models.encoder import Encoder
from signspot.progress import Progress, silent
from signspot.training.embedding import train_embedding
from signspot.training.embedding_config import EmbeddingConfig, Loss
from signspot.training.embedding_data import EmbeddingData, read_words, training_items
from signspot.training.trunk_features import TrunkFeatures
from signspot.world.layout import Corpus

SETTINGS = ("seen", "unseen")
Number = tuple[float, float | None]  # a mean and a deviation, in per cent


@dataclass(frozen=True, slots=True)
class Row:
    """One row: how the embedding is learned, and the paper's mAP and R@5 for seen and for unseen words."""

    title: str
    loss: Loss | None  # None: nothing is learned
    paper: dict[str, tuple[Number, Number]] | None = None


ROWS = {
    "trunk": Row("trunk alone", None, {"seen": ((19.81, None), (25.57, None)), "unseen": ((4.81, None), (6.89, None))}),
    "encoder": Row("trunk with its own MLP", None),
    "classification": Row(
        "+ MLP, classification",
        "classification",
        {"seen": ((37.13, 0.29), (39.68, 0.57)), "unseen": ((10.33, 0.43), (13.33, 1.11))},
    ),
    "info_nce": Row(
        "+ MLP, InfoNCE",
        "info_nce",
        {"seen": ((43.59, 0.76), (52.59, 0.75)), "unseen": ((11.40, 0.42), (14.76, 0.40))},
    ),
    "watch_lookup": Row(
        "+ MLP, Watch-Lookup",
        "watch_lookup",
        {"seen": ((44.72, 0.85), (55.51, 2.17)), "unseen": ((11.02, 0.27), (15.03, 0.45))},
    ),
    "watch_read_lookup": Row(
        "+ MLP, Watch-Read-Lookup",
        "watch_read_lookup",
        {"seen": ((47.93, 0.20), (60.76, 1.45)), "unseen": ((14.86, 1.29), (19.85, 1.94))},
    ),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One cell of the table, by one seed: shares in [0, 1], averaged over words."""

    row: str
    setting: str
    seed: int
    mean_average_precision: float
    recall_5: float
    queries: int
    words: int


@dataclass(frozen=True, slots=True)
class Job:
    """One cell that is to be measured."""

    row: str
    setting: str
    seed: int

    @property
    def name(self) -> str:
        """As its files are called."""
        return f"{self.row}-{self.setting}-{self.seed}"


class Table2:
    """Measures the cells of the table, one after the other; those that are done are read from disk."""

    def __init__(self, corpus: Corpus, encoder: Encoder, features: TrunkFeatures, config: EmbeddingConfig, out: Path):
        """Prepare.

        Args:
            corpus: with splits and with exact truth about its test videos.
            encoder: the frozen trunk, with the MLP that it came with.
            features: the trunk's, of the corpus.
            config: of the trainings; its loss and its seed are set by the row.
            out: folder of the results; a run that was stopped there goes on.

        Raises:
            OptionsError: the folder holds results of another corpus, encoder or configuration.
        """
        self.corpus, self.encoder, self.features, self.config, self.out = corpus, encoder, features, config, out
        self.splits = corpus.splits()
        _claim(out / "setup.json", {"corpus": corpus.options, "encoder": encoder.hash, "config": config.as_dict()})
        self._queries: list[Query] | None = None

    def run(self, seeds: int, progress: Progress = silent) -> list[Outcome]:
        """Measure all cells; progress counts cells."""
        jobs = list(_jobs(seeds))
        outcomes = []
        for done, job in enumerate(jobs):
            progress(done, len(jobs))
            outcomes.append(self._measure(job))
        progress(len(jobs), len(jobs))
        return outcomes

    def _measure(self, job: Job) -> Outcome:
        path = self.out / "cells" / f"{job.name}.json"
        if path.is_file():
            return Outcome(**json.loads(path.read_text()))
        words = self.splits.words.test
        if self._queries is None:
            self._queries = find_queries(self.corpus, self.features, words)
        result = retrieve(self._embedding(job), self.features, self._queries, words)
        shares = (result.average_precision.per_group, result.recall[5].per_group)
        outcome = Outcome(job.row, job.setting, job.seed, *shares, result.queries, result.words)
        with write_beside(path) as beside:
            beside.write_text(json.dumps(asdict(outcome)) + "\n")
        return outcome

    def _embedding(self, job: Job) -> Embed:
        loss = ROWS[job.row].loss
        if loss is None:
            return _unit_norm if job.row == "trunk" else self.encoder.module.mlp
        config = replace(self.config, loss=loss, seed=job.seed)
        words = self.splits.words.all if job.setting == "seen" else self.splits.words.train
        items = training_items(self.corpus, read_words(self.corpus, words, self.splits.train), words, config)
        return train_embedding(config, EmbeddingData(self.features, items, config), self.out / "runs" / job.name)


def _unit_norm(features: Any) -> Any:
    return functional.normalize(features, dim=-1)


def _jobs(seeds: int) -> Iterator[Job]:
    """All cells, seed by seed, so that a run that is stopped has whole tables; nothing learned needs no seeds."""
    for seed in range(seeds):
        for key, row in ROWS.items():
            if row.loss is not None or seed == 0:
                yield from (Job(key, setting, seed) for setting in SETTINGS)


def _claim(path: Path, setup: dict[str, Any]) -> None:
    """Write what the results follow from, or see that the folder's results follow from the same."""
    wanted = json.loads(json.dumps(setup))
    if path.is_file():
        there = json.loads(path.read_text())
        for name, value in wanted.items():
            if there.get(name) != value:
                raise OptionsError(f"{path.parent} holds results of another {name}. Name another folder with --out")
        return
    with write_beside(path) as beside:
        beside.write_text(json.dumps(wanted, indent=1) + "\n")


def summary(outcomes: Sequence[Outcome], row: str, setting: str) -> tuple[Number, Number]:
    """Mean and deviation over seeds of mAP and of R@5, in per cent."""
    mine = [each for each in outcomes if (each.row, each.setting) == (row, setting)]
    return _number([o.mean_average_precision for o in mine]), _number([o.recall_5 for o in mine])


def _number(shares: Sequence[float]) -> Number:
    return 100 * statistics.mean(shares), 100 * statistics.stdev(shares) if len(shares) > 1 else None


def as_markdown(outcomes: Sequence[Outcome]) -> str:
    """The table: ours, and the paper's in brackets."""
    lines = ["| embedding | seen mAP | seen R@5 | unseen mAP | unseen R@5 |", "|---|---|---|---|---|"]
    for key, row in ROWS.items():
        cells = []
        for setting in SETTINGS:
            theirs = row.paper[setting] if row.paper else (None, None)
            cells += [_cell(ours, paper) for ours, paper in zip(summary(outcomes, key, setting), theirs, strict=True)]
        lines.append(f"| {row.title} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(ours: Number, paper: Number | None) -> str:
    return _shown(ours, 1) + (f" ({_shown(paper, 2)})" if paper else "")


def _shown(number: Number, digits: int) -> str:
    mean, deviation = number
    return f"{mean:.{digits}f}" + (f" ± {deviation:.{digits}f}" if deviation is not None else "")


def draw(outcomes: Sequence[Outcome], path: Path) -> Path:
    """Our mAP and R@5 as bars, seen and unseen, with deviations; the paper's as marks."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    titles = [row.title for row in ROWS.values()]
    picks: tuple[tuple[str, Callable[[tuple[Number, Number]], Number]], ...] = (
        ("mAP, %", lambda pair: pair[0]),
        ("R@5, %", lambda pair: pair[1]),
    )
    for axes, (label, pick) in zip(figure.subplots(1, 2, sharey=True), picks, strict=True):
        for shift, setting, colour in ((-0.2, "seen", "#0072b2"), (0.2, "unseen", "#e69f00")):
            ours = [pick(summary(outcomes, key, setting)) for key in ROWS]
            places = [place + shift for place in range(len(ROWS))]
            bars = {"height": 0.38, "color": colour, "label": setting}
            axes.barh(places, [mean for mean, _ in ours], xerr=[sd or 0.0 for _, sd in ours], **bars)
            paper = [
                (p, pick(row.paper[setting])[0]) for p, row in zip(places, ROWS.values(), strict=True) if row.paper
            ]
            marks = {"marker": "|", "s": 120, "color": "black", "label": "paper, BSL-1K" if shift > 0 else None}
            axes.scatter([mean for _, mean in paper], [place for place, _ in paper], **marks)
        axes.set(xlabel=label, yticks=range(len(titles)), yticklabels=titles, ylim=(len(titles) - 0.5, -0.5))
    axes.legend()
    with write_beside(path) as beside:
        figure.savefig(beside, dpi=110)
    return path
