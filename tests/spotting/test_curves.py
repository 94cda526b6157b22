"""Curves of many words at once are those of each exemplar by itself."""

import numpy as np
import pytest

from signspot.embedding.exemplars import Gallery
from signspot.embedding.refine import Windows
from signspot.records import Exemplar
from signspot.spotting.curves import best_scores, find_word_peaks
from signspot.spotting.matching import AlignmentMatcher, EmbeddingMatcher, Matcher
from signspot.spotting.peaks import find_peaks

WORDS, EACH = 9, 3


def unit(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), np.float32)


@pytest.fixture
def gallery() -> Gallery:
    random = np.random.default_rng(0)
    shown = [Exemplar(f"w{word}", f"{word}-{turn}") for word in range(WORDS) for turn in range(EACH)]
    embeddings = unit(random.normal(size=(len(shown), 2, 24)))
    return Gallery.of(shown, embeddings, random.normal(size=(len(shown), 2, 5, 6)).astype(np.float32))


def matchers(gallery: Gallery) -> list[Matcher]:
    random = np.random.default_rng(1)
    assert gallery.codes is not None
    rows = unit(np.cumsum(random.normal(size=(5000, 24)), axis=0)).astype(np.float16)
    rows[40:43] = gallery.embeddings[7]  # a plateau, at the highest score there is
    rows.flags.writeable = False  # as a track that is read from disk may be
    codes = random.normal(size=(300, 6)).astype(np.float16)
    return [
        EmbeddingMatcher(Windows(np.arange(5000) / 25, rows), gallery.embeddings),
        AlignmentMatcher(codes, np.arange(300) / 25, gallery.codes, 2.0),
    ]


def test_curves_peaks_and_rows_are_those_of_all_scores(gallery: Gallery) -> None:
    for matcher in matchers(gallery):
        for curve in best_scores(matcher, gallery):
            rows = gallery.words[curve.word]
            scores = matcher.scores(rows.tolist())
            best = scores.argmax(axis=0)
            assert np.allclose(curve.scores, scores.max(axis=0), atol=1e-6)
            moments = np.arange(len(matcher.times))
            assert (curve.rows(moments) == rows[best]).mean() > 0.999  # products differ in the last bit
            plain = find_peaks(
                matcher.times,
                scores.max(axis=0),
                threshold=0.6,
                spans=lambda at: matcher.spans(scores.max(axis=0), rows[best][at], at),  # noqa: B023
            )
            found = find_word_peaks(matcher, curve, 0.6, 0.3)
            assert [peak.index for peak in found] == [peak.index for peak in plain]
            assert np.allclose([(p.start, p.end, p.score) for p in found], [(p.start, p.end, p.score) for p in plain])


def test_curves_stay_as_they_are_while_others_are_read(gallery: Gallery) -> None:
    matcher, moments = matchers(gallery)[0], np.arange(50)
    one_by_one = [(curve.word, curve.scores.copy(), curve.rows(moments)) for curve in best_scores(matcher, gallery)]
    for curve, (word, scores, rows) in zip(list(best_scores(matcher, gallery)), one_by_one, strict=True):
        assert curve.word == word
        assert np.array_equal(curve.scores, scores)
        assert np.array_equal(curve.rows(moments), rows)


def test_windows_of_a_large_gallery_are_converted_once_with_the_same_scores(gallery: Gallery) -> None:
    """Many rows hold the windows in 32 bits; few rows convert them block by block: no score differs."""
    few = matchers(gallery)[0]
    windows = Windows(few.times, np.asarray(few._shown))  # type: ignore[attr-defined]
    assert windows.embeddings.dtype == np.float16
    many = EmbeddingMatcher(windows, np.tile(gallery.embeddings, (6, 1)))
    assert many._shown.dtype == np.float32
    rows = range(len(gallery.embeddings))
    assert np.allclose(many.scores(rows), few.scores(rows), atol=1e-6)
