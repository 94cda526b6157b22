"""Adaptation of an encoder to the training part, and what it gains there and on the part that was left out."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from experiments.lsp.corpora import SEED, exemplars_for, few_exemplars, part_of
from experiments.lsp.measures import difference, measure_localisation
from signspot.corpus.corpus import Corpus
from signspot.corpus.truth import write_records
from signspot.spotting.spotter import Spotter
from signspot.training.adaptation import adapt
from signspot.training.adaptation_data import AdaptOptions, read_footage
from signspot.training.adapters import AdapterChoice, SegmentBatches, fold, train_adapters
from signspot.types import Label, LabelSource


@dataclass(frozen=True)
class AdaptationRun:
    """How an encoder is adapted to the training part."""

    labels: int = 0  # of signs, drawn from the truth, at most
    share: float = 1.0  # of the clips, the first ones
    permuted: bool = False  # subtitles change places among clips: a control
    options: AdaptOptions = field(default_factory=AdaptOptions)


def footage_of(corpus: Corpus, run: AdaptationRun, folder: Path) -> Corpus:
    """The clips that are learned from, with their subtitles and labels; written to a folder."""
    rng = np.random.default_rng(SEED)
    videos = list(corpus.videos.values())
    videos = videos[: round(run.share * len(videos))]
    order = rng.permutation(len(videos)) if run.permuted else np.arange(len(videos))
    texts = [videos[int(number)].subtitles for number in order]
    dictionary = exemplars_for(corpus)
    signs = [sign for video in videos for sign in corpus.signs(video.id) if sign.word in dictionary]
    drawn = [signs[int(number)] for number in sorted(rng.permutation(len(signs))[: run.labels])]
    labels = [
        Label(sign.word, sign.video, sign.segment.middle, 1.0, LabelSource.VERIFIED, sign.start, sign.end)
        for sign in drawn
    ]
    write_records(labels, folder / "labels" / "drawn.jsonl")
    mixed = {video.id: replace(video, subtitles=text) for video, text in zip(videos, texts, strict=True)}
    return Corpus(folder, mixed, {})


def measure_adaptation(corpus: Corpus, spotter: Spotter, run: AdaptationRun, exemplars: int) -> Iterator[str]:
    """Localisation before and after, on clips that were learned from and on those left out; rows of a table.

    The adapted encoder is measured whether or not `signspot adapt` would offer it.
    """
    train = part_of(corpus, "dev")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        footage = footage_of(train, run, folder)
        embedded = read_footage(spotter, footage, exemplars_for(train), run.options).whole()
        adapters = train_adapters(spotter.encoder, SegmentBatches(embedded, run.options), folder / "run")
        encoder = fold(spotter.encoder, adapters, AdapterChoice(codes=True, embedding=False), embedded.gallery, "", {})
    adapted = Spotter(encoder, spotter.cache)
    learned = replace(train, videos={name: train.videos[name] for name in footage.videos})
    yield "| encoder | clips | labels | subtitles | measured on | questions | before | adapted | difference |"
    yield "|---" * 9 + "|"
    for name, part in (("what it learned from", learned), ("test part", part_of(corpus, "test"))):
        dictionary = few_exemplars(exemplars_for(part), exemplars, SEED)
        before, after = (measure_localisation(one, part, dictionary) for one in (spotter, adapted))
        subtitles = "permuted" if run.permuted else "right"
        learning = f"{spotter.encoder.name} | {len(footage.videos)} | {embedded.labels} | {subtitles}"
        gain = difference(after.answers, before.answers)
        yield f"| {learning} | {name} | {before.questions} | {before.right} | {after.right} | {gain} |"


def cross_validate(corpus: Corpus, spotter: Spotter, run: AdaptationRun) -> Iterator[str]:
    """What `signspot adapt` itself says of its gain, and whether it would offer the adapted encoder."""
    train = part_of(corpus, "dev")
    with TemporaryDirectory() as temporary:
        footage = footage_of(train, run, Path(temporary))
        result = adapt(spotter, footage, exemplars_for(train), Path(temporary) / "adapted", run.options)
    gain = result.deciding("alignment")
    yield "| encoder | cross-validated by | before | adapted | difference | offered |"
    yield "|---" * 6 + "|"
    offered = "no" if result.encoder is None else "yes"
    numbers = f"{gain.before:.3f} | {gain.after:.3f} | {gain.difference} | {offered}"
    yield f"| {spotter.encoder.name} | {gain.measure} | {numbers} |"
