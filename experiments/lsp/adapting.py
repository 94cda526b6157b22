"""What an encoder learns from the training part, and what it gains there and on the part that was left out.

By adaptation: a map of its frame codes. By Watch-Read-Lookup: a new embedding on its trunk, as in the paper.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from experiments.lsp.corpora import SEED, exemplars_for, few_exemplars, part_of, programme
from experiments.lsp.measures import difference, found_labels, join_clips, measure_localisation
from experiments.markdown import head, row
from experiments.paper.cells import permute_subtitles
from signspot.corpus.corpus import Corpus
from signspot.corpus.labels import label_of
from signspot.corpus.truth import write_records
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.training.adaptation_data import AdaptOptions, read_footage
from signspot.training.adapters import AdapterChoice, SegmentBatches, fold, train_adapters
from signspot.training.corpus_subset import find_training_subset
from signspot.training.embedding_mlp import EmbeddingTask, attach_mlp
from signspot.training.item_batches import EmbeddingConfig, EmbeddingData, Loss
from signspot.training.loop import train
from signspot.training.trunk_features import trunk_features
from signspot.types import Label, LabelSource

EXEMPLARS = 3  # of a word, with which it is measured
FEW = 5  # every so manieth sign is labelled where few are
LOSSES: tuple[tuple[str, Loss, bool], ...] = (  # name, loss, whether subtitles are permuted
    ("Watch-Lookup", "watch_lookup", False),
    ("Watch-Read-Lookup", "watch_read_lookup", False),
    ("the same, subtitles permuted", "watch_read_lookup", True),
)


@dataclass(frozen=True)
class AdaptationRun:
    """What an encoder is adapted to."""

    name: str
    labelled: bool = False  # where each word of a subtitle is signed is told
    permuted: bool = False  # subtitles change places among clips: a control


RUNS = (
    AdaptationRun("subtitles"),
    AdaptationRun("subtitles and where each word is", labelled=True),
    AdaptationRun("subtitles of other clips", permuted=True),
)


def footage_of(corpus: Corpus, run: AdaptationRun, folder: Path) -> Corpus:
    """The clips that are learned from, with their subtitles and labels; labels are written to a folder."""
    videos = list(corpus.videos.values())
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
    heads = "encoder", "learned from", "clips", "labels", "measured on", "questions", "before", "adapted", "difference"
    yield head(*heads)
    for run in RUNS:
        with TemporaryDirectory() as temporary:
            footage = footage_of(train, run, Path(temporary))
            embedded = read_footage(spotter, footage, exemplars_for(train), options).whole()
            adapters = train_adapters(spotter.encoder, SegmentBatches(embedded, options), Path(temporary) / "run")
        choice = AdapterChoice(codes=True, embedding=False)
        adapted = Spotter(fold(spotter.encoder, adapters, choice, embedded.gallery, "", {}), spotter.cache)
        for name, part in parts.items():
            after, plain = measure_localisation(adapted, part, dictionaries[name]), before[name]
            learned = spotter.encoder.name, run.name, len(footage.videos), embedded.labels
            gain = difference(after.answers, plain.answers)
            yield row(*learned, name, plain.questions, plain.right, after.right, gain)


def measure_embeddings(corpus: Corpus, spotter: Spotter) -> Iterator[str]:
    """Localisation by embeddings that are learned on an encoder's trunk, with the paper's settings; rows of a table.

    The clips of the training part are one programme with a subtitle a clip. Labels are what the encoder finds near
    the subtitles, from its default score on, or every fifth sign.
    """
    train_part, test_part = part_of(corpus, "dev"), part_of(corpus, "test")
    dictionary = few_exemplars(exemplars_for(test_part), EXEMPLARS, SEED)
    baseline = measure_localisation(spotter, test_part, dictionary, SpotOptions(match="embedding"))
    encoder = spotter.encoder
    heads = "encoder", "labels", "number", "learned by", "questions", "best location right", "above its own embedding"
    yield head(*heads)
    yield row(encoder.name, "–", "–", "its own embedding", baseline.questions, baseline.right, "–")
    _, signs = join_clips(train_part)
    fifth_signs = [
        Label(
            sign.word, "programme", sign.segment.middle, 1.0, LabelSource.VERIFIED, sign.segment.start, sign.segment.end
        )
        for sign in signs[::FEW]
    ]
    by_subtitles = found_labels(train_part, exemplars_for(train_part), encoder.name, apart=False, permuted=False)
    sure = [
        replace(label_of(spotting), video="programme")
        for spotting in by_subtitles
        if spotting.score >= encoder.contract.threshold
    ]
    for source, labels in (("found by subtitles", sure), ("every fifth sign", fifth_signs)):
        for name, loss, permuted in LOSSES:
            with TemporaryDirectory() as temporary:
                learned = _learn(spotter, train_part, labels, Path(temporary), loss, permuted=permuted)
            after = measure_localisation(learned, test_part, dictionary, SpotOptions(match="embedding"))
            gain = difference(after.answers, baseline.answers)
            yield row(encoder.name, source, len(labels), name, after.questions, after.right, gain)


def _learn(
    spotter: Spotter, part: Corpus, labels: Sequence[Label], folder: Path, loss: Loss, *, permuted: bool
) -> Spotter:
    """An encoder with a new embedding on its trunk, learned from a part as one programme."""
    config = EmbeddingConfig(loss=loss)
    (folder / "corpus").mkdir()
    (folder / "corpus" / "dictionary").symlink_to(part.layout.dictionary.resolve())
    subset = find_training_subset(programme(part, folder / "corpus", permuted=False), labels=labels)
    items = subset.items(config.items)
    features = trunk_features(spotter.encoder, subset.corpus, folder / "features")
    data = EmbeddingData(features, permute_subtitles(items, SEED) if permuted else items, config)
    mlp = train(EmbeddingTask(config, data), folder / "run").module
    return Spotter(attach_mlp(config, spotter.encoder, mlp), spotter.cache)
