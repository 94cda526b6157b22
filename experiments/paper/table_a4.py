"""Table A.4, the trunk's architecture: I3D against S3D as classifiers of signs, at a size that a CPU can train.

The paper's trunks see 16 frames of 224 x 224 pixels and tell 1,064 words apart; they know pictures from Kinetics. Ours
are a quarter as wide, begin with nothing, see 8 frames of 64 x 64 pixels at half the frame rate, and tell the few words
of a small rendered corpus apart. They see only what moves: from so little they would learn clothes and rooms.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from experiments.paper.setup import Setup
from experiments.paper.table import Number, mean_and_deviation, shown
from signspot.errors import OptionsError
from signspot.io.files import atomic_write, text_digest
from signspot.training.rgb import HeldOut, train_rgb_on_corpus
from signspot.training.rgb_clips import Architecture, RgbAugmentation, RgbBatchOptions, RgbConfig
from signspot.training.run_folder import Run
from signspot_synthetic.corpus_writer import GENERATOR_VERSION, make_corpus
from signspot_synthetic.options import CorpusOptions, options_as_json

NAME, TITLE = "table-a4", "Table A.4: the trunk's architecture, classification of labelled clips"
CORPUS = CorpusOptions(
    words=8,
    hours=0.5,
    seed=11,
    render=True,
    size=(96, 96),
    video_seconds=15.0,
    train_signers=64,
    test_signers=12,
    exemplars=3.0,
    variants=1,
)
CONFIG = RgbConfig(
    model={"frames": 8, "image_size": 64, "width": 0.25, "motion": True},
    fps=12.5,
    epochs=32,
    optimiser="adam",
    lr=1e-3,
    weight_decay=0.02,
    decays=(0.6, 0.85),
    batch=RgbBatchOptions(clips=16, dictionary=0.0),
    augmentation=RgbAugmentation(flip=0.0),
)
PAPER: dict[Architecture, tuple[float, float, float]] = {"s3d": (64.76, 81.88, 46.27), "i3d": (75.51, 88.83, 52.76)}
_METRICS = ("top_1", "top_5", "top_1_by_word")
_TITLES = ("top-1", "top-5", "top-1, mean over words")

Outcomes = Mapping[Architecture, Sequence[HeldOut]]  # architecture → one outcome a seed


def measure(setup: Setup) -> Outcomes:
    """Train both trunks on labelled clips, by each seed, and test them on those of the test signers."""
    name = f"rendered-{text_digest(json.dumps([options_as_json(CORPUS), GENERATOR_VERSION]))}"
    found: dict[Architecture, list[HeldOut]] = {}
    for seed in range(setup.size.seeds):
        for architecture in PAPER:
            config = replace(CONFIG, architecture=architecture, seed=seed)
            key = text_digest(json.dumps([name, config.as_dict()]))
            path = setup.out / "cells" / f"a4-{key}.json"
            if not path.is_file():
                with setup.stage("rendered corpus") as progress:
                    corpus = make_corpus(CORPUS, setup.out / name, progress, workers=2)
                run = Run(setup.out / "runs" / f"a4-{key}", setup.out / f"{name}-pictures", device=setup.size.device)
                _, tested = train_rgb_on_corpus(config, corpus, run, stage=setup.stage)
                if tested is None:
                    raise OptionsError(f"the test videos of {corpus.folder} have no labels")
                with atomic_write(path) as temporary:
                    temporary.write_text(json.dumps({"config": config.as_dict(), "outcome": asdict(tested)}) + "\n")
            found.setdefault(architecture, []).append(HeldOut(**json.loads(path.read_text())["outcome"]))
    return found


def as_markdown(outcomes: Outcomes) -> str:
    """Both trunks: ours, and the paper's in brackets."""
    lines = [f"| trunk | {' | '.join(_TITLES)} |", "|---|" + "---|" * len(_TITLES)]
    for architecture, paper in PAPER.items():
        cells = [
            f"{shown(ours, 1)} ({theirs:.2f})"
            for ours, theirs in zip(_numbers(outcomes[architecture]), paper, strict=True)
        ]
        lines.append(f"| {architecture.upper()} | {' | '.join(cells)} |")
    first = outcomes["i3d"][0]
    said = f"{first.clips:,} clips of {first.words:,} words; per cent; the paper's, of 1,064 words, in brackets."
    return "\n".join([*lines, "", said]) + "\n"


def draw(outcomes: Outcomes, path: Path) -> Path:
    """Both trunks as bars, the paper's as marks."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3), layout="constrained")
    figure.suptitle(TITLE, fontsize=11)
    axes = figure.add_subplot(ylabel="%", xticks=range(len(_TITLES)), xticklabels=_TITLES)
    marks: dict[str, Any] = {"marker": "_", "s": 300, "color": "black", "zorder": 3}
    colours: dict[Architecture, tuple[float, str]] = {"s3d": (-0.2, "#e69f00"), "i3d": (0.2, "#0072b2")}
    for architecture, (shift, colour) in colours.items():
        places = [index + shift for index in range(len(_TITLES))]
        means, deviations = zip(*_numbers(outcomes[architecture]), strict=True)
        errors = [deviation or 0.0 for deviation in deviations]
        axes.bar(places, means, 0.38, yerr=errors, color=colour, label=architecture.upper())
        axes.scatter(places, PAPER[architecture], **marks)
    axes.scatter([], [], label="the paper, BSL-1K", **marks)
    axes.legend(fontsize=8)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, dpi=100)
    return path


def _numbers(outcomes: Sequence[HeldOut]) -> list[Number]:
    return [mean_and_deviation([getattr(outcome, metric) for outcome in outcomes]) for metric in _METRICS]
