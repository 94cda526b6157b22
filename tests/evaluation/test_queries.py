"""Queries: true uses of a word that a subtitle mentions."""

import shutil

import pytest

from signspot.corpus.corpus import Corpus
from signspot.corpus.truth import write_records
from signspot.errors import OptionsError
from signspot.evaluation.queries import find_queries, labelled_queries, merged
from signspot.training.items import Item
from signspot.types import Grid, Label, LabelSource, Segment
from signspot_synthetic.corpus_plan import CorpusOptions
from tests.fixtures.corpora import corpus_once


def test_queries_are_true_uses_that_a_subtitle_mentions(tmp_path_factory: pytest.TempPathFactory) -> None:
    corpus = corpus_once(CorpusOptions(words=12, hours=0.02, seed=5, dictionary_signers=3), tmp_path_factory)
    (test,) = corpus.in_split("test")
    signs = corpus.signs(test.id)
    frames = round(signs[-1].end * 25) + 50
    grids = {test.id: Grid(25.0, 16, 1, frames)}
    words = corpus.splits().words.test
    queries = find_queries(corpus, grids, words)
    assert queries
    assert len({(q.word, q.first, q.last) for q in queries}) == len(queries)
    for query in queries:
        assert query.word in words
        assert query.shown
        assert all(any(s.word == query.word and s.end == time for s in signs) for time in query.times)
        assert all(query.first <= round(time * 25) - 8 <= query.last + 1 for time in query.times)
    with pytest.raises(OptionsError):
        find_queries(corpus, grids, ["no-such-word"])


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


def test_what_an_encoder_found_is_no_truth_to_test_encoders_by(lame: Corpus) -> None:
    """Sure M and V are looked up; D never, however high its score."""
    frames = round(max(sign.end for name in lame.videos for sign in lame.signs(name)) * 25) + 100
    grids = {name: Grid(25.0, 16, 1, frames) for name in lame.videos}
    words = [*lame.dictionary()]
    known = {query.word: query for query in find_queries(lame, grids, words)}
    one, two = list(known.values())[:2]
    shutil.rmtree(lame.folder / "labels")
    places = [(each.word, each.video, each.times[0]) for each in (one, two)]
    write_records([Label(*place, 1.0, LabelSource.DICTIONARY) for place in places], lame.layout.labels("D"))
    with pytest.raises(OptionsError):
        labelled_queries(lame, grids, words)
    sure = [Label(*places[0], 0.9, LabelSource.MOUTHING), Label(*places[1], 1.0, LabelSource.VERIFIED)]
    unsure = Label(places[1][0], places[1][1], places[1][2] - 0.1, 0.89, LabelSource.MOUTHING)
    write_records([*sure, unsure], lame.layout.labels("M"))
    queries = labelled_queries(lame, grids, words)
    assert sorted((query.word, len(query.times)) for query in queries) == sorted([(one.word, 1), (two.word, 1)])
