"""An encoder measured on a corpus: the protocol's numbers, a perfect encoder's, and what labels alone can tell."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from signspot.corpus.corpus import Corpus, open_corpus
from signspot.corpus.truth import SignTruth, write_records
from signspot.embedding.exemplars import Gallery
from signspot.errors import OptionsError
from signspot.evaluation.labelled_corpus import (
    LOWEST,
    evaluate_corpus,
    find_queries,
    labelled_queries,
    merged,
    part_to_test,
    score,
)
from signspot.metrics.detection import Detection
from signspot.models.encoder import Encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.registry import build
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.spotting.track_search import SearchResult, TrackSearch
from signspot.training.corpus_subset import Item
from signspot.types import Exemplar, Grid, Label, LabelSource, Segment, Spotting, Track, Windows
from tests.fixtures.corpora import SMALL_TRUNK, corpus_once
from tests.fixtures.opened import counting


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_once(
        tmp_path_factory, words=16, hours=0.03, seed=5, dictionary_signers=3, video_seconds=27.0, test_share=0.5
    )


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    torch.manual_seed(0)
    return make_encoder("small", build("landmark", mlp=False, **SMALL_TRUNK))


def seen_perfectly(corpus: Corpus, words: tuple[str, ...]) -> tuple[Gallery, dict[str, SearchResult]]:
    """Each word is an axis; a window shows the word that is signed in its middle, most surely half-way."""
    axes = np.eye(len(words) + 1, dtype=np.float32)
    gallery = Gallery.of((Exemplar(word, word) for word in words), axes[: len(words)])
    searches = {}
    for name in corpus.videos:
        signs = corpus.signs(name)
        grid = Grid(25.0, 16, 1, round(signs[-1].end * 25) + 30)
        embeddings = np.zeros((grid.count, len(words) + 1), np.float32)
        embeddings[:, -1] = 0.5
        for sign in (sign for sign in signs if sign.word in words):
            inside = (grid.times >= sign.start) & (grid.times <= sign.end)
            height = 1 - np.abs(grid.times - sign.segment.middle) / max(sign.segment.duration, 0.1)
            embeddings[inside, words.index(sign.word)] = height[inside]
        track = Track(embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True), grid, "perfect", name)
        searches[name] = TrackSearch(track, Windows.of(track), SpotOptions(threshold=LOWEST), LOWEST).run(gallery)
    return gallery, searches


def test_all_words_are_tested_where_splits_name_videos_only(corpus: Corpus, tmp_path: Path) -> None:
    shutil.copytree(corpus.folder, tmp_path / "copy")
    videos = {"train": list(corpus.splits().train), "test": list(corpus.splits().test)}
    (tmp_path / "copy" / "splits.json").write_text(json.dumps(videos))
    unsplit = open_corpus(tmp_path / "copy")
    part, words = part_to_test(unsplit)
    assert set(part.videos) == set(corpus.splits().test)
    assert set(words) == set(corpus.dictionary())


def test_a_perfect_encoder_finds_everything(corpus: Corpus, encoder: Encoder) -> None:
    part, words = part_to_test(corpus)
    assert set(words) == set(corpus.splits().words.test)
    gallery, searches = seen_perfectly(part, words)
    scores = score(encoder, part, gallery, searches.items(), 0.75)
    assert scores.recall_5.value == scores.localisation.value > 0.75  # another use of the word nearby may be greater
    assert scores.spotting is not None
    assert scores.spotting.recall.value > 0.95  # of two uses of a word at once one may be lost
    assert scores.spotting.precision.value == 1
    assert scores.spotting.false_alarms_per_hour.value == 0
    assert scores.spotting.mean_average_precision.value > 0.95
    assert 0.3 < scores.spotting.iou.value <= 1
    truths = sum(sign.word in words for name in part.videos for sign in part.signs(name))
    assert scores.spotting.signs == truths
    precision = scores.mean_average_precision
    assert precision.low <= precision.value <= precision.high


def test_evaluation_measures_what_spot_finds(corpus: Corpus, encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """evaluate = spot: the same spottings, field by field, with mirrored exemplars, at the threshold of the user."""
    part, words = part_to_test(corpus, "all")
    spotter, options, spottings = Spotter(encoder), SpotOptions(threshold=0.6), dict[int, list[Spotting]]()
    add = Detection.add

    def watch(self: Detection, video: str, seconds: float, hits: list[Spotting], truths: list[SignTruth]) -> None:
        spottings.setdefault(id(self), []).extend(hits)
        add(self, video, seconds, hits, truths)

    monkeypatch.setattr(Detection, "add", watch)
    scores = evaluate_corpus(spotter, part, words, options)
    dictionary, expected = corpus.dictionary().select(words), []
    for name, video in part.videos.items():
        assert video.landmarks is not None
        expected += [replace(hit, video=name) for hit in spotter.spot(video.landmarks, dictionary, options)]
    assert expected
    every, decided = spottings.values()
    assert [hit for hit in every if hit.score >= 0.6] == decided == expected
    assert any(hit.mirrored for hit in expected)
    assert scores.spotting is not None
    assert scores.spotting.threshold == 0.6


def test_where_only_labels_are_known_spotting_is_not_measured(corpus: Corpus, encoder: Encoder, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(corpus.folder, tmp_path / "corpus"))
    shutil.rmtree(folder / "truth")
    for path in (folder / "labels").glob("*.jsonl"):
        path.write_text(re.sub(r'"confidence": 0\.\d+', '"confidence": 1.0', path.read_text()))
    with counting() as opened:
        part, words = part_to_test(open_corpus(folder), "all")
        scores = evaluate_corpus(Spotter(encoder), part, words, SpotOptions())
    files = ["corpus.json", "splits.json", "dictionary.json", *(f"{name}.vtt" for name in part.videos)]
    assert {name: opened[name] for name in files} == dict.fromkeys(files, 1)
    assert scores.spotting is None
    assert scores.as_dict()["spotting"] is None
    assert scores.queries > 0


def test_words_without_exemplars_are_named(corpus: Corpus, encoder: Encoder) -> None:
    part, _ = part_to_test(corpus)
    with pytest.raises(OptionsError):
        evaluate_corpus(Spotter(encoder), part, ["zyzzyva"], SpotOptions())


def test_queries_are_true_uses_that_a_subtitle_mentions(corpus: Corpus) -> None:
    test = corpus.in_split("test")[0]
    signs = corpus.signs(test.id)
    frames = round(signs[-1].end * 25) + 50
    words = corpus.splits().words.test
    part = replace(corpus, videos={test.id: test})
    queries = find_queries(part, {test.id: Grid(25.0, 16, 1, frames)}, words)
    assert queries
    assert len({(q.word, q.first, q.last) for q in queries}) == len(queries)
    for query in queries:
        assert query.word in words
        assert query.shown
        assert all(any(s.word == query.word and s.end == time for s in signs) for time in query.times)
        assert all(query.first <= round(time * 25) - 8 <= query.last + 1 for time in query.times)
    with pytest.raises(OptionsError):
        find_queries(part, {}, ["no-such-word"])


def test_the_time_of_a_label_is_read_as_the_label_means_it() -> None:
    """A query's times are the ends of signs: of M as labelled, of D and V by their middle, of spans as they are."""
    span = Segment(8.0, 14.0)
    labels = [
        Label("apple", "v", 10.0, source=LabelSource.MOUTHING),
        Label("apple", "v", 10.0, source=LabelSource.DICTIONARY),
        Label("apple", "v", 12.0, source=LabelSource.VERIFIED),
        Label("apple", "v", 10.0, source=LabelSource.DICTIONARY, start=9.5, end=10.8),
    ]
    items = [Item(label, span, ()) for label in labels]
    (query,) = merged(items, {"v": Grid(25.0, 16, 1, 500)}, {("v", "apple", 10.8): frozenset(["e"])})
    assert query.times == pytest.approx((10.0, 10.3, 12.3, 10.8))
    assert query.shown == {"e"}


def test_what_an_encoder_found_is_no_truth_to_test_encoders_by(tiny_copy: Corpus) -> None:
    """Sure M and V are looked up; D never, however high its score."""
    frames = round(max(sign.end for name in tiny_copy.videos for sign in tiny_copy.signs(name)) * 25) + 100
    grids = {name: Grid(25.0, 16, 1, frames) for name in tiny_copy.videos}
    words = [*tiny_copy.dictionary()]
    asked_words = {query.word: query for query in find_queries(tiny_copy, grids, words)}
    one, two = list(asked_words.values())[:2]
    shutil.rmtree(tiny_copy.folder / "labels")
    places = [(query.word, query.video, query.times[0]) for query in (one, two)]
    write_records([Label(*location, 1.0, LabelSource.DICTIONARY) for location in places], tiny_copy.layout.labels("D"))
    with pytest.raises(OptionsError):
        labelled_queries(tiny_copy, grids, words)
    sure = [Label(*places[0], 0.9, LabelSource.MOUTHING), Label(*places[1], 1.0, LabelSource.VERIFIED)]
    unsure = Label(places[1][0], places[1][1], places[1][2] - 0.1, 0.89, LabelSource.MOUTHING)
    write_records([*sure, unsure], tiny_copy.layout.labels("M"))
    queries = labelled_queries(open_corpus(tiny_copy.folder), grids, words)
    assert sorted((query.word, len(query.times)) for query in queries) == sorted([(one.word, 1), (two.word, 1)])
