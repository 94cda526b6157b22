"""Trunks: their pretraining on both domains (Appendix C.1), and their architecture (Table A.4).

C.1: a trunk learns labelled clips of continuous signing first, then these and the dictionary's exemplars in equal
parts. The paper tells how well the exemplars that were trained on are classified in the end; beside it stands how well
exemplars are that were held out, and signs of test videos, from neither of which anything was learnt.

A.4: the paper's trunks see 16 frames of 224 x 224 pixels and tell 1,064 words apart; they know pictures from Kinetics.
Ours are a quarter as wide, begin with nothing, see 8 frames of 64 x 64 pixels at half the frame rate, and tell the few
words of a small rendered corpus apart. They see only what moves: from so little they would learn clothes and rooms.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from experiments.paper.cells import Cell, Result, WordValues, changed
from experiments.paper.page import Claim, Column, Row, Table
from experiments.paper.recognition import LabelledCorpus
from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.io.files import text_digest
from signspot.io.progress import Stage
from signspot.metrics.classification import ClassificationAccuracy
from signspot.recognition.recogniser import Recogniser
from signspot.recognition.scoring import score_classifier, signs_to_test
from signspot.training.landmark_clips import ClipOptions, LabelledSigns, collect_signs
from signspot.training.recogniser import RecogniserConfig, train_recogniser
from signspot.training.rgb import train_rgb_on_corpus
from signspot.training.rgb_clips import Architecture, RgbAugmentation, RgbBatchOptions, RgbConfig
from signspot.training.run_folder import Run
from signspot.types import Exemplar
from signspot_synthetic.corpus_plan import CorpusOptions, options_as_json
from signspot_synthetic.corpus_writer import GENERATOR_VERSION, make_corpus

_STAGES = {"continuous_only_fraction": 0.5, "clips.dictionary": 0.5, "clips.surer": 0.8}
_FORGET = {**_STAGES, "reinitialise": True}
_ALIKE = "After 100 steps from random weights the two trainings differ in the loss, by too little to change an answer"
_TIMES_AS_LONG = 2  # as a recogniser of Tables 6 to 8: half of it without the dictionary
RECIPES: dict[str, tuple[Mapping[str, object], float | None]] = {  # changes to the training, the paper's accuracy
    "batch norms re-initialised, labels at 0.5, then 0.8": (_FORGET, 78.94),
    "batch norms kept": (_STAGES, 48.09),
    "domain-specific batch norms": ({**_STAGES, "model.domain_norm": True}, 62.73),
    "re-initialised, exemplars by consecutive frames": ({**_FORGET, "clips.exemplars": "consecutive"}, 72.26),
    "re-initialised, labels at 0.5 throughout": ({**_FORGET, "clips.surer": 0.0}, None),
    "re-initialised, labels at 0.8 throughout": ({**_FORGET, "clips.least.mouthing": 0.8}, None),
    "both domains from the beginning": ({"clips.dictionary": 0.5, "clips.surer": 0.8}, None),
}


def table_c1(labelled: LabelledCorpus, training: RecogniserConfig, seeds: int) -> Table:
    """Every recipe of pretraining by every seed on one corpus."""
    clips = RecipeClips(labelled)
    rows = []
    for title, (changes, paper) in RECIPES.items():
        cells = [_recipe_cell(clips, recipe(changes, training, seed)) for seed in range(seeds)]
        rows.append(Row((title,), {"": cells}, {} if paper is None else {"exemplars, training": paper}))
    columns = (
        Column("", "exemplars", "exemplars, training", "instance"),
        Column("", "held", "exemplars, held out", "instance"),
        Column("", "signs", "test signs, words' top-1"),
    )
    exemplars, signs = columns[0].heading, columns[2].heading
    text = "Batch norms re-initialised are above"
    claims = (
        Claim(f"{text} kept ones", exemplars, 0, 1, remark=_ALIKE),
        Claim(f"{text} domain-specific ones", exemplars, 0, 2),
        Claim("A random rate of exemplars is above consecutive frames", exemplars, 0, 3),
        Claim(f"{text} kept ones", signs, 0, 1, remark=_ALIKE),
    )
    title = "Appendix C.1: how a trunk is pretrained on both domains"
    return Table("table-c1", title, ("recipe",), columns, tuple(rows), claims)


def recipe(changes: Mapping[str, object], training: RecogniserConfig, seed: int) -> RecogniserConfig:
    """The training of a row."""
    plain = replace(training, steps=_TIMES_AS_LONG * training.steps, seed=seed, name="table-c1")
    models = {name.partition(".")[2]: value for name, value in changes.items() if name.startswith("model.")}
    others = {name: value for name, value in changes.items() if not name.startswith("model.")}
    return replace(changed(plain, others), model={**plain.model, **models})


def _recipe_cell(clips: "RecipeClips", config: RecogniserConfig) -> Cell:
    key = {"kind": "pretraining", "corpus": clips.labelled.identity, "config": config.as_dict()}
    setup = clips.labelled.setup
    run = setup.out / "runs" / f"c1-{text_digest(json.dumps(key))}"
    return Cell(0, config.seed, key, lambda: clips.measure(config, run, setup.size.device))


def hold_out(exemplars: Sequence[Exemplar]) -> tuple[list[Exemplar], list[Exemplar]]:
    """Exemplars to train on, and to hold out: of every variant with two or more the last one, by id."""
    groups: dict[tuple[str, str], list[Exemplar]] = {}
    for exemplar in sorted(exemplars, key=lambda exemplar: exemplar.id):
        groups.setdefault((exemplar.word, exemplar.variant or ""), []).append(exemplar)
    held = {group[-1].id for group in groups.values() if len(group) > 1}
    return [exemplar for exemplar in exemplars if exemplar.id not in held], [
        exemplar for exemplar in exemplars if exemplar.id in held
    ]


class RecipeClips:
    """Clips that all recipes learn from and are tested on; the same labels are cut out of the footage once."""

    def __init__(self, labelled: LabelledCorpus):
        self.labelled = labelled
        self._cut: dict[str, LabelledSigns] = {}

    @cached_property
    def words(self) -> list[str]:
        """Words that may have labels M."""
        return sorted(self.labelled.words("mouthed"))

    @cached_property
    def exemplars(self) -> tuple[list[Exemplar], list[Exemplar]]:
        """To train on, and held out."""
        listed = self.labelled.corpus.dictionary().exemplars
        return hold_out([exemplar for exemplar in listed if exemplar.word in set(self.words)])

    def signs(self, clips: ClipOptions) -> LabelledSigns:
        """Labelled clips and the exemplars that are trained on."""
        key = json.dumps(asdict(replace(clips, exemplars="rate")))  # sampled later, from the same
        if key not in self._cut:
            videos, exemplars = sorted(self.labelled.training), self.exemplars[0]
            self._cut[key] = collect_signs(self.labelled.corpus, self.words, videos, clips, exemplars=exemplars)
        return self._cut[key]

    @cached_property
    def _held_out(self) -> LabelledSigns:
        options, held = ClipOptions(dictionary=1.0), self.exemplars[1]
        return collect_signs(self.labelled.corpus, self.words, [], options, exemplars=held)

    def measure(self, config: RecogniserConfig, run: Path, device: str) -> Result:
        """Train by one recipe, and test; 1 where the best guess is right, else 0."""
        signs = self.signs(config.clips)
        trained = train_recogniser(config, signs, run, device=device)
        tested = signs_to_test(self.labelled.corpus, set(self.words))
        name = list(tested)[-1]  # all signs, or sure labels where the truth is not known
        (scores,) = score_classifier(trained, self.labelled.corpus, {name: tested[name]})
        right = {word: [float(rank == 1) for rank in ranks] for word, ranks in scores.ranks.items()}
        exemplars, held = (_exemplars_right(trained, tested, config) for tested in (signs, self._held_out))
        return Result({"exemplars": exemplars, "held": held, "signs": right})


def _exemplars_right(trained: Recogniser, signs: LabelledSigns, config: RecogniserConfig) -> WordValues:
    """Classify exemplars, each by clips that are sampled as in training."""
    accuracy = ClassificationAccuracy()
    for number, exemplars in enumerate(signs.dictionary):
        for sign in exemplars:
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


RENDERED = CorpusOptions(
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
RGB = RgbConfig(
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
PAPER_A4: dict[Architecture, tuple[float, float, float]] = {"s3d": (64.76, 81.88, 46.27), "i3d": (75.51, 88.83, 52.76)}


def table_a4(seeds: int, out: Path, corpus: Corpus | None, stage: Stage, device: str = "cpu") -> Table:
    """Both architectures by every seed, as classifiers of labelled clips; on a corpus with videos, or a rendered one.

    Raises:
        OptionsError: the corpus has no videos.
    """
    if corpus is not None and any(video.video is None for video in corpus.videos.values()):
        raise OptionsError(f"Table A.4 trains trunks that see pixels, and {corpus.folder} has landmarks without videos")
    columns = tuple(Column("", name, name, "instance") for name in ("top-1", "top-5", "words' top-1"))
    rows = []
    for architecture, paper in PAPER_A4.items():
        reported = dict(zip((column.heading for column in columns), paper, strict=True))
        cells = [
            _rgb_cell(replace(RGB, architecture=architecture, seed=s), out, corpus, stage, device) for s in range(seeds)
        ]
        rows.append(Row((architecture.upper(),), {"": cells}, reported))
    claims = (Claim("I3D is above S3D", "top-1", 1, 0),)
    note = "One number a training: the interval is over seeds." if seeds > 1 else ""
    return Table(
        "table-a4",
        "Table A.4: the trunk's architecture, classification of labelled clips",
        ("trunk",),
        columns,
        tuple(rows),
        claims,
        ("clips",),
        note,
    )


def _rgb_cell(config: RgbConfig, out: Path, own_corpus: Corpus | None, stage: Stage, device: str) -> Cell:
    made_of = [options_as_json(RENDERED), GENERATOR_VERSION] if own_corpus is None else str(own_corpus.folder.resolve())
    name = f"rendered-{text_digest(json.dumps(made_of))}"
    key = {"kind": "architecture", "corpus": name, "config": config.as_dict()}

    def compute() -> Result:
        with stage("rendered corpus") as progress:
            corpus = make_corpus(RENDERED, out / name, progress) if own_corpus is None else own_corpus
        run = Run(out / "runs" / f"a4-{text_digest(json.dumps(key))}", out / f"{name}-images", device=device)
        _, tested = train_rgb_on_corpus(config, corpus, run, stage=stage)
        if tested is None:
            raise OptionsError(f"the test videos of {corpus.folder} have no labels")
        # One number a training: seeds take the place of words.
        shares = {"top-1": tested.top_1, "top-5": tested.top_5, "words' top-1": tested.top_1_by_word}
        return Result({n: {f"seed {config.seed}": [v]} for n, v in shares.items()}, {"clips": tested.clips})

    return Cell(0, config.seed, key, compute)
