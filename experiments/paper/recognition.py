"""Tables 6 to 8, recognisers on labels M, D and both; and the paper's whole story on a corpus without a given label.

Labels M are those of a corpus, or read off the lips; labels D are what `signspot annotate` finds with some encoder in
training videos. A fresh trunk (random weights; never features of the encoder that found D) learns from a row's labels
and is tested on signs of test videos. A word without a label is never named, so its signs count as missed.
"""

import json
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from experiments.paper.cells import Cell, Embeddings, Result, changed
from experiments.paper.page import Claim, Column, Row, Table
from experiments.paper.setup import OtherLabels, ReproductionSize, Setup
from experiments.paper.tables import LOOK_UP_ALL, TRUNK_ALONE, RecipeRow, recipe_row
from signspot.annotation.engines import HereEngine
from signspot.annotation.run import AnnotationJob, MouthingJob, RunReport, annotate, annotate_mouthings
from signspot.annotation.run_options import AnnotateOptions, RunOptions
from signspot.corpus.corpus import Corpus, open_corpus, write_json
from signspot.corpus.truth import read_records, right_labels, write_records
from signspot.errors import OptionsError
from signspot.evaluation.recognition import NearestExemplar
from signspot.io.files import text_digest
from signspot.models.checkpoints import load_encoder, save_encoder
from signspot.mouthing.network import load_mouthing
from signspot.recognition.recogniser import FPS, Recogniser, RgbRecogniser, as_recogniser
from signspot.recognition.scoring import (
    ALL,
    LABELLED,
    MOUTHED,
    RecogniserScores,
    score_classifier,
    signs_to_test,
    taught_window,
)
from signspot.spotting.spotter import load
from signspot.training.corpus_subset import read_words
from signspot.training.landmark_clips import Augmentation, ClipOptions, collect_signs
from signspot.training.recogniser import RecogniserConfig, train_recogniser
from signspot.training.rgb import train_rgb_on_corpus
from signspot.training.rgb_clips import RgbConfig
from signspot.training.run_folder import Run
from signspot.types import Label, LabelSource, TimeMeaning
from signspot_synthetic.corpus_plan import CorpusOptions
from signspot_synthetic.difficulty_knobs import Knobs
from signspot_synthetic.language.english import vocabulary
from signspot_synthetic.random_streams import named_rng

LOOSE, MIDDLE, STRICT = 0.8, 0.86, 0.9  # thresholds of D, on the scale of the shipped encoder
STORY_THRESHOLD = 0.7  # the paper's (Sec. 4.5): its encoder and the one of the story are of one kind
PADDING = 4.0  # seconds around a subtitle (Sec. 4.5)
LIPS = "mouthing-templates"  # hand-written visemes; the two numbers of its calibration come from synthetic lips
LIPS_LEAST = 0.3  # probability from which its finds are labels: those that `signspot annotate` keeps. It never says 0.5
NEAREST = "warping"  # the training-free encoder whose nearest exemplar stands beside
Vocabulary = Literal["mouthed", "full"]  # words that may have labels M, or all words of the dictionary
_COMMON = 1064  # words from which each corpus draws its own
_BOBSL_MIDDLE = 9.5 / 25  # seconds by which a sign's middle lies behind the time that BOBSL records for a D

# A trunk that learns from nothing but the labels: small, so that a cell takes seconds.
TRAINING = RecogniserConfig(
    steps=80,
    lr=3e-3,
    warm_up=10,
    clips=ClipOptions(clips=32, dictionary=0.0),
    augmentation=Augmentation(lost=0.1, dropped=0.2),
    model={"hand_width": 32, "part_width": 16, "width": 64, "last_width": 128, "features": 128, "norm": "batch"},
)


Config = RecogniserConfig | RgbConfig  # of a recogniser that sees landmarks, or pixels


@dataclass(frozen=True, slots=True)
class RecognitionSize:
    """The size of each corpus."""

    words: int = 20
    hours: float = 0.2
    first_seed: int = 71  # of the first corpus
    exemplars: float = 3.0  # of a word, on average


@dataclass(frozen=True, slots=True)
class LabelChoice:
    """Labels that a row learns from."""

    mouthing: float | None = None  # least confidence of M; None: no M
    dictionary: float | None = None  # least score of D; None: no D
    padded: bool = True  # D is searched for 4 s before and after its subtitle, too
    vocabulary: Vocabulary = "mouthed"  # of D


class LabelledCorpus:
    """A corpus, its mouthings, and what the dictionary finds in it with and without padding; made when asked for."""

    loosest = LOOSE  # score from which D are kept

    def __init__(self, number: int, setup: Setup, encoder: str | None):
        """Prepare; nothing is made yet.

        Args:
            number: of the corpus.
            setup: gives the corpus.
            encoder: that finds D, name or file; None: the shipped one.
        """
        self.number, self.setup, self.encoder = number, setup, encoder

    @property
    def folder(self) -> Path:
        """Where labels D and the caches of their search are kept."""
        return self.setup.out / "labelled" / text_digest(json.dumps(self.identity))

    @property
    def corpus(self) -> Corpus:
        """The corpus, with training and test videos."""
        return self.setup.corpus

    @property
    def identity(self) -> dict[str, Any]:
        """Settings that the labels follow from, as plain values."""
        encoder = load_encoder(self.encoder).hash
        return {"corpus": self.setup.corpus_identity, "encoder": encoder, "labels": type(self).__name__}

    @cached_property
    def training(self) -> frozenset[str]:
        """Videos for training."""
        return frozenset(video.id for video in self.corpus.in_split("train"))

    @property
    def _training_part(self) -> Corpus:
        return replace(self.corpus, videos={name: self.corpus.videos[name] for name in sorted(self.training)})

    def words(self, vocabulary: Vocabulary) -> frozenset[str]:
        """Three quarters of the words have labels M in training, as if nobody had looked for the others' mouthings."""
        words = self.corpus.splits().words if self.corpus.layout.splits.is_file() else None
        if words is None or not words.all:
            return frozenset(label.word for label in self._mouthings)
        return frozenset(words.all if vocabulary == "full" else words.train)

    def labels(self, choice: LabelChoice) -> list[Label]:
        """Labels of training videos."""
        mouthings = self.of_source(LabelSource.MOUTHING, choice.mouthing, "mouthed")
        spottings = self.of_source(LabelSource.DICTIONARY, choice.dictionary, choice.vocabulary, padded=choice.padded)
        return mouthings + spottings

    def of_source(
        self, source: LabelSource, least: float | None, vocabulary: Vocabulary, *, padded: bool = True
    ) -> list[Label]:
        """Labels of one source from a confidence on; None: none."""
        if least is None:
            return []
        every = self._mouthings if source is LabelSource.MOUTHING else self._padded if padded else self._unpadded
        return [label for label in every if label.confidence >= least and label.word in self.words(vocabulary)]

    @cached_property
    def _mouthings(self) -> Sequence[Label]:
        return [label for label in self.corpus.labels(sorted(self.training)) if label.source is LabelSource.MOUTHING]

    @cached_property
    def _padded(self) -> Sequence[Label]:
        return self._annotated(PADDING)

    @cached_property
    def _unpadded(self) -> Sequence[Label]:
        return self._annotated(0.0)

    def _annotated(self, padding: float) -> list[Label]:
        """Labels that the dictionary finds in training videos."""
        return self._found_by(self.encoder, padding)

    def _found_by(self, encoder: str | None, padding: float) -> list[Label]:
        """The same by one encoder, name or file; kept in a file."""
        file = self.folder / f"D-padding-{padding:g}.jsonl"
        if not file.is_file():
            job = AnnotationJob(
                self._training_part,
                self.corpus.layout.dictionary,
                self.folder / f"padding-{padding:g}",
                encoder=encoder,
                cache=self.folder / "cache",
                threshold=self.loosest,
            )
            options = AnnotateOptions(padding=padding, keep=self.loosest)
            report = annotate(job, options, HereEngine(), lambda _: self.setup.stage(f"corpus {self.number + 1}: D"))
            _refuse_failures(report)
            write_records([_middle(candidate.as_label()) for candidate in report.spottings], file)
        return list(read_records(Label, file))


class BobslCorpus(LabelledCorpus):
    """A corpus whose labels, D too, are in files as BOBSL publishes its own; they are read by the reader of those."""

    @cached_property
    def _read(self) -> list[Label]:
        return self.corpus.labels(sorted(self.training))

    @cached_property
    def _mouthings(self) -> Sequence[Label]:
        return [label for label in self._read if label.source is LabelSource.MOUTHING]

    @cached_property
    def _padded(self) -> Sequence[Label]:
        return [label for label in self._read if label.source is LabelSource.DICTIONARY]


class LipReadCorpus(LabelledCorpus):
    """A corpus of which no label is given: M are read off the lips, D found by an encoder that learned from these M."""

    loosest = STORY_THRESHOLD

    def __init__(self, number: int, setup: Setup):
        """Prepare; the setup's trunk and embedding learn from labels off the lips."""
        trunk = changed(setup.size.trunk, {"clips.least.mouthing": LIPS_LEAST})
        size = replace(
            setup.size, trunk=trunk, embedding=changed(setup.size.embedding, {"items.least.mouthing": LIPS_LEAST})
        )
        name = f"{LIPS} {load_mouthing(LIPS).hash}"
        super().__init__(number, _with_labels(setup, name, lambda _: self._mouthings, size), None)
        self.embeddings, self.unlabelled = Embeddings(self.setup, number), setup

    @property
    def identity(self) -> dict[str, Any]:
        """As of any labelled corpus; its encoder is named by its training."""
        encoder = self.embeddings.cell(LOOK_UP_ALL, "seen", 0).key
        return {"corpus": self.setup.corpus_identity, "encoder": encoder, "labels": type(self).__name__}

    def words(self, vocabulary: Vocabulary) -> frozenset[str]:
        """All words of the dictionary may be mouthed."""
        return frozenset(self.corpus.dictionary())

    @cached_property
    def _mouthings(self) -> Sequence[Label]:
        """What a spotter of mouthings that has learnt nothing reads off the lips, kept in a file."""
        file = self.folder / "M.jsonl"
        if not file.is_file():
            words = tuple(sorted(self.corpus.dictionary()))
            job = MouthingJob(
                self._training_part,
                self.folder / "mouthings",
                words,
                model=LIPS,
                threshold=LIPS_LEAST,
                word_threshold=LIPS_LEAST,
            )
            options = RunOptions(keep=LIPS_LEAST, peaks=1, negatives=0)
            report = annotate_mouthings(job, options, HereEngine(), lambda _: self.setup.stage("lips"))
            _refuse_failures(report)
            write_records([candidate.as_label() for candidate in report.spottings], file)
        return list(read_records(Label, file))

    def _annotated(self, padding: float) -> list[Label]:
        """As of any labelled corpus, by an encoder of its own: a trunk and Watch-Read-Lookup, both on its labels M."""
        path = self.folder / "encoder.safetensors"
        if not path.is_file():
            save_encoder(self.embeddings.encoder(LOOK_UP_ALL, "seen", 0), path)
        return self._found_by(str(path), padding)


def _refuse_failures(report: RunReport) -> None:
    """A cell with labels of some videos alone would be another cell."""
    if report.failed:
        raise OptionsError(f"a video was not annotated: {report.failed[0]}")


def _with_labels(
    setup: Setup, name: str, find: Callable[[Corpus], Sequence[Label]], size: ReproductionSize | None = None
) -> Setup:
    """The same corpus with other labels, and with other sizes of trainings if they are given."""
    labels = OtherLabels(name, lambda: find(setup.corpus))
    return Setup(size or setup.size, setup.out, setup.given, None, setup.stage, labels)


def corpus_options(size: RecognitionSize, number: int, *, rendered: bool = False) -> CorpusOptions:
    """One corpus before it is made: other signs, signers, sentences and words than the others."""
    seed = size.first_seed + number
    common = [word.word for word in vocabulary(_COMMON)]
    chosen = named_rng(seed, "recognised words").permutation(len(common))[: size.words]
    options = CorpusOptions(
        words=tuple(common[index] for index in sorted(chosen)),
        hours=size.hours,
        seed=seed,
        test_share=0.35,
        video_seconds=90.0,
        exemplars=size.exemplars,
        knobs=Knobs(variants=0.5),
    )
    return replace(options, render=True, size=(96, 96)) if rendered else options


def as_bobsl(labelled: LabelledCorpus) -> BobslCorpus:
    """Write the labels of a corpus as BOBSL files, into a corpus that shares its other files, and open that."""
    target = labelled.folder / "bobsl"
    if not target.is_dir():
        beside = labelled.folder / "bobsl.part"
        shutil.rmtree(beside, ignore_errors=True)
        shutil.copytree(
            labelled.corpus.folder, beside, copy_function=os.link, ignore=shutil.ignore_patterns("labels", ".finished")
        )
        (beside / "labels").mkdir()
        mouthings = labelled.of_source(LabelSource.MOUTHING, 0.0, "mouthed")
        write_json(_spottings(mouthings, 0.0), beside / "labels" / "mouthing_spottings.json")
        spottings = labelled.of_source(LabelSource.DICTIONARY, 0.0, "full")
        write_json(_spottings(spottings, _BOBSL_MIDDLE), beside / "labels" / "dict_spottings.json")
        beside.rename(target)
    setup = labelled.setup
    read = Setup(setup.size, setup.out, open_corpus(target), None, setup.stage)
    return BobslCorpus(labelled.number, read, labelled.encoder)


def _spottings(labels: Collection[Label], middle: float) -> dict[str, Any]:
    """Split → word → names, global_times, probs; nothing that the published files do not have."""
    words: defaultdict[str, dict[str, list[Any]]] = defaultdict(lambda: {"names": [], "global_times": [], "probs": []})
    for label in labels:
        words[label.word]["names"].append(label.video)
        words[label.word]["global_times"].append(round(max(0.0, label.time - middle), 3))
        words[label.word]["probs"].append(round(label.confidence, 6))
    return {"train": dict(words)}


def _middle(label: Label) -> Label:
    """The label at the frame of its sign's middle, which is all that D says in the paper (Sec. 4.5)."""
    return Label(label.word, label.video, round(label.segment.middle * FPS) / FPS, label.confidence, label.source)


@dataclass(frozen=True, slots=True)
class Recognisers:
    """Makes cells: a fresh trunk learns from one choice of labels and is tested."""

    out: Path
    training: Config
    device: str = "cpu"

    def cell(self, labelled: LabelledCorpus, choice: LabelChoice, seed: int, *, bobsl: bool = False) -> Cell:
        """Train on the labels of a choice; with `bobsl` on those that come back from files as BOBSL publishes them."""
        config = replace(self.training, seed=seed)
        key = {"corpus": labelled.identity, "choice": asdict(choice), "config": config.as_dict(), "bobsl": bobsl}

        def compute() -> Result:
            corpus = as_bobsl(labelled) if bobsl and labelled.setup.given is None else labelled
            name = text_digest(json.dumps(key))
            return self._train(corpus, corpus.labels(choice), config, self.out / "runs" / f"recognition-{name}")

        return Cell(labelled.number, seed, {**key, "kind": "recognition"}, compute)

    def nearest(self, labelled: LabelledCorpus, seed: int) -> Cell:
        """Test the nearest exemplar, which learns nothing, on the same signs."""

        def compute() -> Result:
            words = sorted(labelled.words("mouthed"))
            spotter = replace(load(NEAREST), cache=labelled.folder / "cache")
            classifier = NearestExemplar.among(spotter, labelled.corpus, words)
            scores = score_classifier(classifier, labelled.corpus, signs_to_test(labelled.corpus, set(words)))
            return Result(_hits(_ranks(scores)), {"labels": 0})

        return Cell(labelled.number, seed, {"kind": "nearest", "corpus": labelled.identity}, compute)

    def _train(self, labelled: LabelledCorpus, labels: Sequence[Label], config: Config, run: Path) -> Result:
        learnt = sorted({label.word for label in labels})
        words = learnt if len(learnt) > 1 else []  # one word alone cannot be told from others
        ranks: dict[str, dict[str, list[int]]] = {}
        if words:
            trained = self._recogniser(labelled, words, labels, config, run)
            tested = signs_to_test(labelled.corpus, set(words) & labelled.words("mouthed"))
            ranks = _ranks(score_classifier(trained, labelled.corpus, tested, taught_window(trained.card)))
        # A word of which no label was found is never named: its signs count as missed.
        for name, signs_missed in signs_to_test(labelled.corpus, set(labelled.words("mouthed")) - set(words)).items():
            for label in signs_missed:
                ranks.setdefault(name, {}).setdefault(label.word, []).append(len(words) + len(labelled.words("full")))
        truth = {video: labelled.corpus.signs(video) for video in {label.video for label in labels}}
        flags = right_labels([label for label in labels if truth[label.video]], truth)
        right = {"right, %": 100 * sum(flags) / len(flags)} if flags else {}
        return Result(_hits(ranks), {"labels": len(labels), **right})

    def _recogniser(
        self, labelled: LabelledCorpus, words: Sequence[str], labels: Sequence[Label], config: Config, run: Path
    ) -> Recogniser | RgbRecogniser:
        """A recogniser of these words, of landmarks or of pixels."""
        if isinstance(config, RecogniserConfig):
            signs = collect_signs(labelled.corpus, words, sorted(labelled.training), config.clips, labels=labels)
            return train_recogniser(config, signs, run, device=self.device)
        where = Run(run, self.out / "recognition-images", device=self.device)
        encoder, _ = train_rgb_on_corpus(config, labelled.corpus, where, labels=labels)
        return as_recogniser(encoder.to(self.device))


def _ranks(scores: Iterable[RecogniserScores]) -> dict[str, dict[str, list[int]]]:
    return {score.tested: {word: list(ranks) for word, ranks in score.ranks.items()} for score in scores}


def _hits(by_set: Mapping[str, Mapping[str, Sequence[int]]]) -> dict[str, dict[str, list[float]]]:
    return {
        f"{tested}, top-{best}": {word: [float(rank <= best) for rank in ranks] for word, ranks in words.items()}
        for tested, words in by_set.items()
        for best in (1, 5)
    }


_KNOWS_GENERATOR = (  # said where a claim of Table 6 does not hold, or is not decided
    "The shipped encoder has learned from this generator, and more of its D are right than of M (see the table); the "
    "paper does not know how many of either are"
)
Numbers = tuple[float, float, float, float]  # top-1 and top-5 over signs, then over words
_M5, _M8 = LabelChoice(mouthing=0.5), LabelChoice(mouthing=0.8)
_D = {least: LabelChoice(dictionary=least) for least in (STRICT, MIDDLE, LOOSE)}
_BOTH = LabelChoice(0.5, LOOSE)
_COUNTS = ("labels", "right, %")
# Of the paper's Table 6.
_PAPER_M = {MOUTHED: (76.6, 89.2, 54.6, 71.8), ALL: (26.4, 41.3, 19.4, 33.2)}
_PAPER_D = {MOUTHED: (70.8, 84.9, 52.7, 68.1), ALL: (60.9, 80.3, 34.7, 53.5)}
_PAPER_BOTH = {MOUTHED: (80.8, 92.1, 60.5, 79.9), ALL: (62.3, 81.3, 40.2, 60.1)}


def _columns(sets: Sequence[str]) -> tuple[Column, ...]:
    columns = []
    for tested in sets:
        for best in (1, 5):
            columns.append(Column("", f"{tested}, top-{best}", f"{tested}, top-{best}", "instance"))
        for best in (1, 5):
            columns.append(Column("", f"{tested}, top-{best}", f"{tested}, words' top-{best}"))
    return tuple(columns)


@dataclass(frozen=True, slots=True)
class RecognitionTables:
    """Tables 6 to 8 on some labelled corpora, and the story on others."""

    recognisers: Recognisers
    corpora: Sequence[LabelledCorpus]
    seeds: int

    def _row(
        self, title: str, choice: LabelChoice | None, paper: Mapping[str, Numbers] | None = None, *, bobsl: bool = False
    ) -> Row:
        """A row of a choice of labels; None: the nearest exemplar."""
        cells = [
            self.recognisers.nearest(corpus, seed)
            if choice is None
            else self.recognisers.cell(corpus, choice, seed, bobsl=bobsl)
            for seed in range(self.seeds)
            for corpus in self.corpora
        ]
        reported = {
            column.heading: value
            for tested, numbers in (paper or {}).items()
            for column, value in zip(_columns([tested]), numbers, strict=True)
        }
        return Row((title,), {"": cells}, reported)

    def _sets(self, *names: str) -> list[str]:
        """Sets of test signs: those of the truth, or sure labels where it is not known."""
        return list(names) if all(corpus.setup.has_truth for corpus in self.corpora) else [LABELLED]

    @property
    def _note(self) -> str:
        """How a recogniser was trained, if it sees pixels."""
        how = self.recognisers.training
        if isinstance(how, RecogniserConfig):
            return ""
        return f"The recogniser sees pixels: {how.architecture} {how.model or ''}, {how.epochs} epochs."

    def table_6(self) -> Table:
        """M, D and both."""
        rows = (
            self._row("M ≥ 0.5", _M5, _PAPER_M),
            self._row("M ≥ 0.8", _M8),
            self._row(f"D ≥ {LOOSE:g}", _D[LOOSE], _PAPER_D),
            self._row("M + D", _BOTH, _PAPER_BOTH),
            self._row(f"nearest exemplar, {NEAREST}", None),
        )
        sets = self._sets(MOUTHED, ALL)
        claims = [
            Claim(text, f"{tested}, words' top-1", first, second, remark=_KNOWS_GENERATOR)
            for text, first, second in (("M + D is above M", 3, 0), ("M + D is above D", 3, 2))
            for tested in sets
        ]
        claims.append(Claim("D is above M", f"{sets[-1]}, words' top-1", 2, 0))
        if len(sets) > 1:
            claims.append(Claim("M is above D", f"{MOUTHED}, words' top-1", 0, 2, remark=_KNOWS_GENERATOR))
        title = "Table 6: a recogniser on M, on D and on both; D by the shipped encoder"
        return Table("table6", title, ("learned from",), _columns(sets), rows, tuple(claims), _COUNTS, self._note)

    def table_7(self) -> Table:
        """Threshold, padding and vocabulary of D."""
        rows = (
            self._row(f"D ≥ {STRICT:g}", _D[STRICT], {ALL: (28.4, 44.8, 15.8, 28.8)}),
            self._row(f"D ≥ {MIDDLE:g}", _D[MIDDLE], {ALL: (60.6, 78.0, 35.6, 52.6)}),
            self._row(f"D ≥ {LOOSE:g}", _D[LOOSE], {ALL: (60.9, 80.3, 34.7, 53.5)}),
            self._row("no padding", LabelChoice(dictionary=LOOSE, padded=False), {ALL: (56.5, 75.9, 28.7, 45.4)}),
            self._row("all words", LabelChoice(dictionary=LOOSE, vocabulary="full")),
        )
        sets = self._sets(ALL)
        column = f"{sets[0]}, words' top-1"
        claims = (
            Claim("The lowest threshold of D is above the highest", column, 2, 0),
            Claim("The middle threshold of D is above the highest", column, 1, 0),
            Claim("Padding by 4 s is above none", column, 2, 3),
        )
        title = "Table 7: threshold, padding and vocabulary of D"
        return Table("table7", title, ("learned from",), _columns(sets), rows, claims, _COUNTS, self._note)

    def table_8(self) -> Table:
        """The same labels out of files as BOBSL publishes them."""
        choices = (
            ("M ≥ 0.8", _M8, (39.0, 55.1, 43.0, 66.3)),
            ("M ≥ 0.5", _M5, (39.6, 55.2, 44.3, 66.3)),
            (f"D ≥ {STRICT:g}", _D[STRICT], (24.0, 39.5, 4.5, 9.6)),
            (f"D ≥ {MIDDLE:g}", _D[MIDDLE], (63.2, 79.0, 25.7, 41.2)),
            (f"D ≥ {LOOSE:g}", _D[LOOSE], (64.8, 80.8, 29.1, 44.7)),
            (f"M ≥ 0.8 + D ≥ {MIDDLE:g}", LabelChoice(0.8, MIDDLE), (75.8, 92.4, 50.5, 77.6)),
            (f"M ≥ 0.5 + D ≥ {LOOSE:g}", _BOTH, (75.8, 92.5, 51.1, 77.1)),
        )
        rows = tuple(self._row(title, choice, {ALL: numbers}, bobsl=True) for title, choice, numbers in choices)
        title = "Table 8: labels out of files as BOBSL publishes them"
        note = (
            "Here the labels are those of Tables 6 and 7, written as BOBSL's files and read again: equal numbers show "
            "that nothing is lost on the way, and no claim is counted twice."
        )
        return Table(
            "table8",
            title,
            ("learned from",),
            _columns(self._sets(ALL)),
            rows,
            (),
            _COUNTS,
            f"{note} {self._note}".strip(),
        )

    def story(self) -> Table:
        """Recognisers at the end of the story: nothing in it has seen the generator or was given a label."""
        rows = (
            self._row("M off the lips", LabelChoice(mouthing=LIPS_LEAST), _PAPER_M),
            self._row("D by Watch-Read-Lookup on these M", LabelChoice(dictionary=STORY_THRESHOLD), _PAPER_D),
            self._row("M + D", LabelChoice(LIPS_LEAST, STORY_THRESHOLD), _PAPER_BOTH),
            self._row(f"nearest exemplar, {NEAREST}", None),
        )
        sets = self._sets(MOUTHED, ALL)
        column = f"{sets[-1]}, words' top-1"
        claims = (
            Claim("M + D is above M, all of it from the lips on", column, 2, 0),
            Claim("M + D is above D, all of it from the lips on", column, 2, 1),
            Claim("D is above M, all of it from the lips on", column, 1, 0),
        )
        title = "The whole story: labels off the lips, trunk, Watch-Read-Lookup, D by that encoder, recognisers"
        note = (
            f"M by `{LIPS}` (hand-written visemes; lips are clear here) from a probability of {LIPS_LEAST:g} on, a "
            "trunk on these M and the dictionary, Watch-Read-Lookup on it, D by `signspot annotate` with it at the "
            f"paper's threshold of {STORY_THRESHOLD:g}."
        )
        return Table("story", title, ("learned from",), _columns(sets), rows, claims, _COUNTS, note)


def true_mouthings(corpus: Corpus) -> list[Label]:
    """A label at the end of every sign of training videos that is mouthed and that a subtitle mentions."""
    signs = [sign for video in corpus.in_split("train") for sign in corpus.signs(video.id)]
    return [Label(sign.word, sign.video, sign.end) for sign in signs if sign.mouthed and sign.subtitle is not None]


def subtitle_middles(corpus: Corpus) -> list[Label]:
    """Each word of a subtitle in the middle of its time: labels by somebody who looks at no lips."""
    videos = [video.id for video in corpus.in_split("train")]
    return [
        Label(word, video, subtitle.segment.middle, at=TimeMeaning.MIDDLE)
        for video, subtitles in read_words(corpus, list(corpus.dictionary()), videos).items()
        for subtitle in subtitles
        for word in subtitle.words
    ]


def story_retrieval(corpora: Sequence[LipReadCorpus], seeds: int) -> Table:
    """The middle of the story: what Watch-Read-Lookup gains by labels off the lips, by others and by none."""
    lips = [corpus.embeddings for corpus in corpora]
    tested = "truth" if all(corpus.setup.has_truth for corpus in corpora) else "mouthings"
    others = {
        name: [Embeddings(_with_labels(corpus.unlabelled, name, find), corpus.number) for corpus in corpora]
        for name, find in (
            ("every mouthed sign, by the truth", true_mouthings),
            ("subtitles alone: the middle of their time", subtitle_middles),
        )
    }
    rows = [
        ("off the lips", "the trunk alone", TRUNK_ALONE, lips),
        ("off the lips", "Watch-Read-Lookup", LOOK_UP_ALL, lips),
        ("off the lips", "the same, subtitles permuted", replace(LOOK_UP_ALL, permuted=True), lips),
        *((name, "Watch-Read-Lookup", LOOK_UP_ALL, embeddings) for name, embeddings in others.items()),
    ]
    few = "Hand-written visemes find few labels (see items in the table)"
    claims = (
        Claim("Labels off the lips: Watch-Read-Lookup is above its trunk alone", "seen mAP", 1, 0, remark=few),
        Claim("Labels off the lips: it is above itself with permuted subtitles", "seen mAP", 1, 2, remark=few),
        Claim("Labels off the lips are as good as every mouthed sign", "seen mAP", 1, 3, "alike", few),
        Claim("Labels off the lips are above middles of subtitles", "seen mAP", 1, 4, remark=few),
    )
    return Table(
        "story-retrieval",
        "The whole story, its middle: retrieval by what was learned from labels off the lips",
        ("labels", "learned by"),
        tuple(Column("seen", f"{tested} {name}", f"seen {name}") for name in ("mAP", "R@5")),
        tuple(
            recipe_row(RecipeRow((labels, loss), recipe, {}), ("seen",), embeddings, seeds)
            for labels, loss, recipe, embeddings in rows
        ),
        claims,
        ("items",),
    )
