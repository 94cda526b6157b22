"""Corpora of Tables 6 to 8, with labels M and D, as footage would be labelled, and exact truth."""

import json
import os
import shutil
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from signspot.annotation.engines import HereEngine
from signspot.annotation.options import AnnotateOptions
from signspot.annotation.run import AnnotationJob, annotate
from signspot.corpus.corpus import Corpus, open_corpus, write_json
from signspot.corpus.truth import read_records, write_records
from signspot.errors import OptionsError
from signspot.io.files import text_digest
from signspot.io.progress import Stage, quiet
from signspot.recognition.recogniser import FPS
from signspot.training.recogniser import RecogniserConfig
from signspot.training.sign_clips import Augmentation, ClipOptions
from signspot.types import Label, LabelSource
from signspot_synthetic.corpus_writer import GENERATOR_VERSION, make_corpus
from signspot_synthetic.knobs import Knobs, named_rng
from signspot_synthetic.language.english import vocabulary
from signspot_synthetic.options import CorpusOptions, options_as_json

LOOSE, MIDDLE, STRICT = 0.8, 0.86, 0.9  # thresholds of D, on the scale of the shipped encoder
PADDING = 4.0  # seconds around a subtitle (Sec. 4.5)
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


@dataclass(frozen=True, slots=True)
class RecognitionSize:
    """The number of corpora, the size of each, and the length of the trainings."""

    corpora: int = 3
    words: int = 20
    hours: float = 0.2
    seeds: int = 3
    first_seed: int = 71  # of the first labelled
    training: RecogniserConfig = field(default_factory=lambda: TRAINING)
    exemplars: float = 3.0  # of a word, on average
    encoder: str | None = None  # that finds D; its features are not learnt from. None: the shipped one
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name in ("corpora", "seeds"):
            if getattr(self, name) < 1:
                raise OptionsError(f"{name} must be at least 1; got {getattr(self, name)}")


def corpus_options(size: RecognitionSize, number: int) -> CorpusOptions:
    """One corpus before it is made: other signs, signers, sentences and words than the others."""
    seed = size.first_seed + number
    common = [word.word for word in vocabulary(_COMMON)]
    chosen = named_rng(seed, "recognised words").permutation(len(common))[: size.words]
    return CorpusOptions(
        words=tuple(common[index] for index in sorted(chosen)),
        hours=size.hours,
        seed=seed,
        test_share=0.35,
        video_seconds=90.0,
        exemplars=size.exemplars,
        knobs=Knobs(variants=0.5),
    )


class LabelledCorpus:
    """A labelled, its mouthings, and what the dictionary finds in it with and without padding; made when asked for."""

    def __init__(self, name: str, folder: Path, corpus: Corpus, encoder: str | None, stage: Stage = quiet):
        self.name, self.folder, self.corpus, self.encoder, self.stage = name, folder, corpus, encoder, stage

    @property
    def identity(self) -> dict[str, Any]:
        """Settings that the synthetic corpus follows from, as plain values."""
        return {"options": dict(self.corpus.options), "videos": list(self.corpus.videos), "version": GENERATOR_VERSION}

    @cached_property
    def training(self) -> frozenset[str]:
        """Videos for training."""
        return frozenset(video.id for video in self.corpus.in_split("train"))

    def words(self, vocabulary: Vocabulary) -> frozenset[str]:
        """Three quarters of the words have labels M in training, as if nobody had looked for the others' mouthings."""
        words = self.corpus.splits().words
        return frozenset(words.all if vocabulary == "full" else words.train)

    def labels(self, source: LabelSource, least: float, vocabulary: Vocabulary, *, padded: bool = True) -> list[Label]:
        """Labels of training videos from a confidence on."""
        if source is LabelSource.MOUTHING:
            found: Iterable[Label] = self._mouthings
        else:
            found = self._padded if padded else self._unpadded
        wanted = self.words(vocabulary if source is not LabelSource.MOUTHING else "mouthed")
        return [each for each in found if each.confidence >= least and each.word in wanted]

    @cached_property
    def _mouthings(self) -> list[Label]:
        return [label for label in self.corpus.labels(sorted(self.training)) if label.source is LabelSource.MOUTHING]

    @cached_property
    def _padded(self) -> list[Label]:
        return self._annotated(PADDING)

    @cached_property
    def _unpadded(self) -> list[Label]:
        return self._annotated(0.0)

    def _annotated(self, padding: float) -> list[Label]:
        """Labels that the dictionary finds in training videos, kept in a file."""
        out = self.folder / f"padding-{padding:g}"
        kept = self.folder / f"D-padding-{padding:g}.jsonl"
        if not kept.is_file():
            job = AnnotationJob(
                self.corpus.folder, self.corpus.layout.dictionary, out,
                encoder=self.encoder, cache=self.folder / "cache", threshold=LOOSE,
            )  # fmt: skip
            report = annotate(
                job, AnnotateOptions(padding=padding, keep=LOOSE), HereEngine(), lambda _: self.stage(f"{self.name}: D")
            )
            found = [candidate.as_label() for candidate in report.spottings]
            write_records([_middle(label) for label in found if label.video in self.training], kept)
        return list(read_records(Label, kept))


class BobslCorpus(LabelledCorpus):
    """The same corpus with its labels in files as BOBSL publishes its own, and read back by the reader of those."""

    def labels(self, source: LabelSource, least: float, vocabulary: Vocabulary, *, padded: bool = True) -> list[Label]:
        """Labels of training videos, out of the corpus's files."""
        wanted = self.words(vocabulary if source is not LabelSource.MOUTHING else "mouthed")
        return [
            label
            for label in self._read
            if label.source is source and label.confidence >= least and label.word in wanted
        ]

    def words(self, vocabulary: Vocabulary) -> frozenset[str]:
        """Of a corpus without splits of words, all that are labelled."""
        if self.corpus.layout.splits.is_file():
            return super().words(vocabulary)
        return frozenset(label.word for label in self._read)

    @cached_property
    def _read(self) -> list[Label]:
        return self.corpus.labels(sorted(self.training))


def _middle(label: Label) -> Label:
    """The label at the frame of its sign's middle, which is all that D says in the paper (Sec. 4.5)."""
    return Label(label.word, label.video, round(label.segment.middle * FPS) / FPS, label.confidence, label.source)


def make_labelled_corpus(size: RecognitionSize, number: int, out: Path, stage: Stage = quiet) -> LabelledCorpus:
    """Make a corpus, or go on making it."""
    options = corpus_options(size, number)
    folder = out / f"labelled-{text_digest(json.dumps([options_as_json(options), GENERATOR_VERSION, size.encoder]))}"
    with stage(f"labelled {number + 1}") as progress:
        corpus = make_corpus(options, folder / "corpus", progress)
    return LabelledCorpus(f"labelled {number + 1}", folder, corpus, size.encoder, stage)


def as_bobsl(labelled: LabelledCorpus) -> BobslCorpus:
    """Write the labels of a corpus as BOBSL files, into a corpus that shares its other files, and open that."""
    target = labelled.folder / "bobsl"
    if not target.is_dir():
        beside = labelled.folder / "bobsl.part"
        shutil.rmtree(beside, ignore_errors=True)
        shutil.copytree(
            labelled.corpus.folder, beside, copy_function=os.link, ignore=shutil.ignore_patterns("labels", ".finished")
        )
        mouthings = labelled.labels(LabelSource.MOUTHING, 0.0, "mouthed")
        found = labelled.labels(LabelSource.DICTIONARY, 0.0, "full")
        (beside / "labels").mkdir()
        write_json(_spottings(mouthings, 0.0), beside / "labels" / "mouthing_spottings.json")
        write_json(_spottings(found, _BOBSL_MIDDLE), beside / "labels" / "dict_spottings.json")
        beside.rename(target)
    return BobslCorpus(labelled.name, labelled.folder, open_corpus(target), labelled.encoder, labelled.stage)


def _spottings(labels: Collection[Label], middle: float) -> dict[str, Any]:
    """Split → word → names, global_times, probs; nothing that the published files do not have."""
    words: defaultdict[str, dict[str, list[Any]]] = defaultdict(lambda: {"names": [], "global_times": [], "probs": []})
    for label in labels:
        words[label.word]["names"].append(label.video)
        words[label.word]["global_times"].append(round(max(0.0, label.time - middle), 3))
        words[label.word]["probs"].append(round(label.confidence, 6))
    return {"train": dict(words)}
