"""An encoder measured on a corpus: the protocol's numbers, a perfect encoder's, and what labels alone can tell."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from signspot.corpus.corpus import Corpus, open_corpus
from signspot.errors import OptionsError
from signspot.evaluation.corpus import evaluate_corpus, labelled_queries, part_to_test
from signspot.evaluation.protocol import find_queries, retrieve
from signspot.metrics.ranking import RetrievalResult
from signspot.models.encoder import Encoder, make_encoder
from signspot.models.registry import build
from signspot.records import Exemplar
from signspot.timeline import Grid
from signspot.training.embedding.trunk_features import TrunkFeatures, Windows, trunk_features
from signspot_world.corpus_writer import make_corpus
from signspot_world.options import CorpusOptions

SMALL = {"width": 16, "hand_width": 8, "part_width": 8, "last_width": 16, "features": 32}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    options = CorpusOptions(words=16, hours=0.03, seed=5, dictionary_signers=3, video_seconds=27.0, test_share=0.5)
    return make_corpus(options, tmp_path_factory.mktemp("evaluated") / "corpus")


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    torch.manual_seed(0)
    return make_encoder("small", build("landmark", mlp=False, **SMALL))


def seen_perfectly(corpus: Corpus, words: tuple[str, ...]) -> TrunkFeatures:
    """Each word is an axis; a window shows the word that is signed in its middle, most surely half-way."""
    videos = {}
    for name in corpus.videos:
        signs = corpus.signs(name)
        grid = Grid(25.0, 16, 1, round(signs[-1].end * 25) + 30)
        windows = np.zeros((grid.count, len(words) + 1), np.float16)
        windows[:, -1] = 0.5
        for sign in (sign for sign in signs if sign.word in words):
            inside = (grid.times >= sign.start) & (grid.times <= sign.end)
            height = 1 - np.abs(grid.times - sign.segment.middle) / max(sign.segment.duration, 0.1)
            windows[inside, words.index(sign.word)] = height[inside]
        videos[name] = Windows(windows, grid)
    clips = np.eye(len(words) + 1, dtype=np.float16)[: len(words), None]
    return TrunkFeatures("perfect", videos, tuple(Exemplar(word, word) for word in words), clips)


def test_a_perfect_encoder_finds_everything(corpus: Corpus, encoder: Encoder) -> None:
    part, words = part_to_test(corpus)
    assert set(words) == set(corpus.splits().words.test)
    sure = replace(encoder, contract=replace(encoder.contract, threshold=0.75))
    scores = evaluate_corpus(sure, part, words, seen_perfectly(part, words))
    assert scores.recall_5.value == scores.localisation.value > 0.75  # another use of the word nearby may be greater
    assert scores.spotting is not None
    assert scores.spotting.recall.value > 0.95  # of two uses of a word 0.4 s apart one may be lost
    assert scores.spotting.precision.value == 1
    assert scores.spotting.false_alarms_per_hour.value == 0
    assert scores.spotting.mean_average_precision.value > 0.95
    assert 0.3 < scores.spotting.iou.value <= 1
    truths = sum(sign.word in words for name in part.videos for sign in part.signs(name))
    assert scores.spotting.signs == truths
    precision = scores.mean_average_precision
    assert precision.low <= precision.value <= precision.high


def test_retrieval_is_the_protocols(corpus: Corpus, encoder: Encoder, tmp_path: Path) -> None:
    part, words = part_to_test(corpus, "all")
    features = trunk_features(encoder, part, tmp_path)
    scores = evaluate_corpus(encoder, part, words, features)
    found = retrieve(encoder.module.mlp, features, find_queries(part, features, words), words)
    theirs = found if isinstance(found, RetrievalResult) else found.words
    assert scores.mean_average_precision.value == pytest.approx(theirs.average_precision.per_group)
    assert scores.recall_5.value == pytest.approx(theirs.recall[5].per_group)
    assert (scores.queries, scores.words) == (theirs.queries, len(words))
    assert 0 < scores.mean_average_precision.value < 1
    said = scores.as_dict()
    assert said["spotting"]["recall"]["value"] is None or 0 <= said["spotting"]["recall"]["value"] <= 1


def test_where_only_labels_are_known_spotting_is_not_measured(corpus: Corpus, encoder: Encoder, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(corpus.folder, tmp_path / "corpus"))
    shutil.rmtree(folder / "truth")
    for path in (folder / "labels").glob("*.jsonl"):
        path.write_text(path.read_text().replace('"confidence": 0.', '"confidence": 1.'))
    part, words = part_to_test(open_corpus(folder), "all")
    features = trunk_features(encoder, part, tmp_path / "features")
    queries = labelled_queries(part, features, words)
    labels = {(label.video, label.word, label.time) for label in part.labels()}
    assert queries
    assert all((query.video, query.word, time) in labels for query in queries for time in query.times)
    scores = evaluate_corpus(encoder, part, words, features)
    assert scores.spotting is None
    assert scores.as_dict()["spotting"] is None
    assert scores.queries == len(queries)


def test_words_without_exemplars_are_named(corpus: Corpus, encoder: Encoder, tmp_path: Path) -> None:
    part, words = part_to_test(corpus)
    with pytest.raises(OptionsError, match="none of the 1 words has an exemplar that 'small' can see"):
        evaluate_corpus(encoder, part, ["zyzzyva"], seen_perfectly(part, words))
