"""Adaptation of an encoder to the training part, and what it gains there and on the part that was left out."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from experiments.lsp.corpora import SEED, exemplars_for, few_exemplars, part_of
from experiments.lsp.measures import difference, measure_localisation
from signspot.corpus.corpus import Corpus
from signspot.corpus.truth import write_records
from signspot.spotting.spotter import Spotter
from signspot.training.adaptation_data import AdaptOptions, read_footage
from signspot.training.adapters import AdapterChoice, SegmentBatches, fold, train_adapters
from signspot.types import Label, LabelSource

EXEMPLARS = 3  # of a word, with which it is measured


@dataclass(frozen=True)
class AdaptationRun:
    """What an encoder is adapted to."""

    name: str
    share: float = 1.0  # of the clips of the training part, the first ones
    labelled: bool = False  # where each word of a subtitle is signed is told
    permuted: bool = False  # subtitles change places among clips: a control


RUNS = (
    AdaptationRun("subtitles"),
    AdaptationRun("subtitles and where each word is", labelled=True),
    AdaptationRun("subtitles of other clips", permuted=True),
    AdaptationRun("subtitles of half of the clips", share=0.5),
)


def footage_of(corpus: Corpus, run: AdaptationRun, folder: Path) -> Corpus:
    """The clips that are learned from, with their subtitles and labels; labels are written to a folder."""
    videos = list(corpus.videos.values())
    videos = videos[: round(run.share * len(videos))]
    order = np.random.default_rng(SEED).permutation(len(videos)) if run.permuted else np.arange(len(videos))
    texts = [videos[int(number)].subtitles for number in order]
    signs = [sign for video in videos for sign in corpus.signs(video.id)] if run.labelled else []
    labels = [
        Label(sign.word, sign.video, sign.segment.middle, 1.0, LabelSource.VERIFIED, sign.start, sign.end)
        for sign in signs
    ]
    write_records(labels, folder / "labels" / "truth.jsonl")
    mixed = {video.id: replace(video, subtitles=text) for video, text in zip(videos, texts, strict=True)}
    return Corpus(folder, mixed, {})


def measure_adaptation(corpus: Corpus, spotter: Spotter) -> Iterator[str]:
    """Localisation before and after, on clips that were learned from and on those left out; rows of a table.

    The adapted encoder is measured whether or not `signspot adapt` would offer it.
    """
    parts = {"training part": part_of(corpus, "dev"), "test part": part_of(corpus, "test")}
    dictionaries = {name: few_exemplars(exemplars_for(part), EXEMPLARS, SEED) for name, part in parts.items()}
    before = {name: measure_localisation(spotter, part, dictionaries[name]) for name, part in parts.items()}
    train, options = parts["training part"], AdaptOptions()
    yield "| encoder | learned from | clips | labels | measured on | questions | before | adapted | difference |"
    yield "|---" * 9 + "|"
    for run in RUNS:
        with TemporaryDirectory() as temporary:
            footage = footage_of(train, run, Path(temporary))
            embedded = read_footage(spotter, footage, exemplars_for(train), options).whole()
            adapters = train_adapters(spotter.encoder, SegmentBatches(embedded, options), Path(temporary) / "run")
        choice = AdapterChoice(codes=True, embedding=False)
        adapted = Spotter(fold(spotter.encoder, adapters, choice, embedded.gallery, "", {}), spotter.cache)
        for name, part in parts.items():
            after, plain = measure_localisation(adapted, part, dictionaries[name]), before[name]
            learned = f"{spotter.encoder.name} | {run.name} | {len(footage.videos)} | {embedded.labels}"
            gain = difference(after.answers, plain.answers)
            yield f"| {learned} | {name} | {plain.questions} | {plain.right} | {after.right} | {gain} |"
