"""From subtitled video to look-up with no label given: M by the mouthing spotter, then Watch-Read-Lookup.

The same training on the same corpus: with the labels M that the spotter reads off the lips, with those of all signs
that are really mouthed, with those that the world hands out by dice, and with none: then nothing is learned. Run with
`python -m signspot_lab.without_labels --out FOLDER`; what is there already is not made again.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from signspot.corpus.corpus import Corpus, open_corpus
from signspot.corpus.truth import write_records
from signspot.errors import OptionsError
from signspot.models.checkpoints import load_encoder
from signspot.records import Label, LabelSource
from signspot_lab.mouthing.corpora import LabelScore, label_corpus, score_labels
from signspot_lab.paper.cells import CellRecipe, Cells, Outcome
from signspot_lab.paper.reproduce import QUICK
from signspot_lab.paper.setup import ReproductionSize, Setup
from signspot_world.corpus_writer import make_corpus
from signspot_world.knobs import Knobs
from signspot_world.options import CorpusOptions

CONFIDENCES = (0.9, 0.8, 0.7, 0.6, 0.5)  # of Table 4
_READ = CellRecipe(learn={"loss": "watch_read_lookup", "items.least.mouthing": 0.5})


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """Size of the world, and length of the training."""

    words: int = 60
    hours: float = 0.4
    seed: int = 41  # of the world
    epochs: int = 10  # of each training
    encoder: str | None = None  # whose trunk is frozen; None: the shipped one
    model: str | None = None  # the mouthing spotter; None: the shipped one


@dataclass(frozen=True, slots=True)
class LoopRow:
    """Scores of one kind of labels."""

    labels_of: str
    score: LabelScore | None  # of the labels of training videos; None: there are none
    outcome: Outcome | None  # None: too few labels to learn from


def make_world(options: LoopOptions, out: Path) -> Corpus:
    """A corpus of the signing world whose lips are hard to read."""
    world = CorpusOptions(
        words=options.words, hours=options.hours, seed=options.seed, test_share=0.3, knobs=Knobs(variants=0.5, lips=1.0)
    )
    return make_corpus(world, out / "world")


def with_labels(corpus: Corpus, labels: Iterable[Label], folder: Path) -> Corpus:
    """The same corpus with other labels, in a folder of its own that shares its files."""
    if not folder.is_dir():
        shutil.copytree(corpus.folder, folder, copy_function=os.link, ignore=shutil.ignore_patterns("labels"))
    write_records(labels, folder / "labels" / "M.jsonl")
    return open_corpus(folder)


def true_mouthings(corpus: Corpus) -> list[Label]:
    """A label at the end of every sign that is mouthed and that a subtitle mentions."""
    signs = [sign for video in corpus.videos for sign in corpus.signs(video)]
    return [Label(sign.word, sign.video, sign.end) for sign in signs if sign.mouthed and sign.subtitle is not None]


def run_loop(options: LoopOptions, out: Path) -> tuple[list[LoopRow], list[LoopRow]]:
    """Learn from labels of each kind; then from the spotter's of each least confidence (Table 4)."""
    world = make_world(options, out)
    given = [label for label in world.labels() if label.source is LabelSource.MOUTHING]
    kinds = {
        "this spotter": label_corpus(world, options.model, out / "mouthings"),
        "the truth: every mouthed sign": true_mouthings(world),
        "the world's dice": [label for label in given if label.confidence >= _LEAST],
    }
    rows, table_4 = [], []
    for number, (name, labels) in enumerate(kinds.items()):
        corpus = with_labels(world, labels, out / f"labels-{number}")
        setup = _setup(options, corpus, out, f"cells-{number}")
        rows.append(_row(name, setup, labels, _READ))
        if number == 0:
            for least in CONFIDENCES:
                kept = [label for label in labels if label.confidence >= least]
                recipe = CellRecipe(learn={"loss": "watch_lookup", "items.least.mouthing": least})
                table_4.append(_row(f"{least:g}", setup, kept, recipe))
    nothing = _setup(options, world, out, "cells-none")
    untaught = Cells(nothing).measure(CellRecipe(learn=None), "seen", 0)
    rows.append(LoopRow("nobody: nothing is learned", None, untaught))
    return rows, table_4


_LEAST = 0.5


def _setup(options: LoopOptions, corpus: Corpus, out: Path, name: str) -> Setup:
    """Setup for learning from one kind of labels; the features of the trunk are shared."""
    size = ReproductionSize(
        QUICK.corpus, QUICK.trunk, replace(QUICK.embedding, epochs=options.epochs), seeds=1, device="cpu"
    )
    place, seen = out / name, out / "features"
    place.mkdir(parents=True, exist_ok=True)
    seen.mkdir(exist_ok=True)
    if not (place / "features").exists():
        (place / "features").symlink_to(seen.resolve())
    return Setup(size, place, corpus, load_encoder(options.encoder))


def _row(name: str, setup: Setup, labels: Sequence[Label], recipe: CellRecipe) -> LoopRow:
    train = set(setup.corpus.splits().train)
    truth = {video: setup.corpus.signs(video) for video in train}
    score = score_labels(name, _LEAST, [label for label in labels if label.video in train], truth)
    try:
        outcome = Cells(setup).measure(recipe, "seen", 0)
    except OptionsError:  # none of these labels is usable, or all are of one word
        return LoopRow(name, score, None)
    return LoopRow(name, score, outcome)


def as_text(rows: Sequence[LoopRow], title: str) -> str:
    """The rows as a Markdown table."""
    lines = [
        f"| {title} | labels | words | precision | items | mAP | R@5 |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        known = row.score
        cells = [str(known.labels), str(known.words), _share(known.precision)] if known else ["0", "0", "–"]
        found = row.outcome
        learned = [str(found.items), _share(found.mean_average_precision), _share(found.recall_5)] if found else ["0"]
        lines.append(f"| {' | '.join([row.labels_of, *cells, *learned, *(['–'] * (3 - len(learned)))])} |")
    return "\n".join(lines) + "\n"


def _share(value: float) -> str:
    return "–" if value != value else f"{100 * value:.1f} %"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of everything")
    parser.add_argument("--words", type=int, default=LoopOptions().words)
    parser.add_argument("--hours", type=float, default=LoopOptions().hours)
    parser.add_argument("--seed", type=int, default=LoopOptions().seed, help="of the world")
    parser.add_argument("--epochs", type=int, default=LoopOptions().epochs)
    parser.add_argument("--encoder", help="whose trunk is frozen")
    parser.add_argument("--model", help="name or file of a mouthing spotter")
    chosen = parser.parse_args(arguments)
    options = LoopOptions(chosen.words, chosen.hours, chosen.seed, chosen.epochs, chosen.encoder, chosen.model)
    rows, table_4 = run_loop(options, chosen.out)
    sys.stdout.write(as_text(rows, "labels of") + "\n" + as_text(table_4, "least confidence, Watch-Lookup"))


if __name__ == "__main__":
    main()
