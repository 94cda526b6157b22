"""Curves and peaks of many words at once are those of each word by itself, to the last bit."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signspot.embedding.exemplars import Gallery
from signspot.embedding.refine import Windows
from signspot.spotting import curves, peaks
from signspot.spotting.curves import curve_blocks
from signspot.spotting.matching import AlignmentMatcher, EmbeddingMatcher, Matcher
from signspot.spotting.peaks import find_peaks, half_height_spans, peaks_of_curves
from signspot.types import Exemplar
from tests.spotting.curve_by_curve import Plain, half_height, kept, maxima, peaks_of_word

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


def exact_gallery(random: np.random.Generator, words: int) -> Gallery:
    """Words of one to four exemplars in any order; all products of their embeddings are exact, and many are equal."""
    names = [f"w{word}" for word in range(words) for _ in range(random.integers(1, 5))]
    random.shuffle(names)
    shown = [Exemplar(name, str(number)) for number, name in enumerate(names)]
    return Gallery.of(shown, (random.integers(-2, 3, (len(shown), 2, 8)) / 8).astype(np.float32))


def found_at_once(matcher: Matcher, gallery: Gallery, thresholds: dict[str, float], overlap: float) -> list[Plain]:
    found = []
    for block in curve_blocks(matcher, gallery, lasting=False):
        made = block.peaks([thresholds[word] for word in block.words], overlap)
        rows = block.rows(made.curves, made.places)
        columns = made.curves, made.places, made.starts, made.ends, made.scores, rows
        found += [
            Plain(block.words[word], *rest) for word, *rest in zip(*(each.tolist() for each in columns), strict=True)
        ]
    return found


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    words=st.integers(1, 12),
    length=st.integers(1, 90),
    overlap=st.sampled_from([0.0, 0.3, 1.0]),
    cells=st.sampled_from([1, 40, 400, 2_000_000]),
)
def test_all_words_at_once_give_what_each_gives_by_itself(
    seed: int, words: int, length: int, overlap: float, cells: int
) -> None:
    """Plateaus and ties abound, words differ in exemplars and thresholds, and so do the blocks."""
    random = np.random.default_rng(seed)
    gallery = exact_gallery(random, words)
    windows = (random.integers(-2, 3, (length, 8)) / 8).astype(np.float16)
    times = np.cumsum(random.integers(1, 4, length)) / 16  # steps need not be equal
    thresholds = {word: float(random.choice([0.0, 0.45, 0.5, 0.53125, 0.6])) for word in gallery.words}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curves, "_CELLS", cells)
        patch.setattr(curves, "_FEWEST", 1)
        patch.setattr(peaks, "_CELLS", cells)
        matcher = EmbeddingMatcher(Windows(times, windows), gallery.embeddings)
        found = found_at_once(matcher, gallery, thresholds, overlap)
    each = [peaks_of_word(matcher, gallery, word, thresholds[word], overlap)[1] for word in gallery.words]
    assert found == [peak for peaks_of_one in each for peak in peaks_of_one]
    assert [(peak.start, peak.end) for peak in found] == [
        half_height(times, peaks_of_word(matcher, gallery, peak.word, 1.0, 0.3)[0], peak.moment, 1.28) for peak in found
    ]


@pytest.mark.parametrize("which", [0, 1])
def test_peaks_of_both_matchers_are_those_of_each_word_by_itself(gallery: Gallery, which: int) -> None:
    matcher = matchers(gallery)[which]
    thresholds = dict.fromkeys(gallery.words, 0.6)
    found = {word: [] for word in gallery.words} | _by_word(found_at_once(matcher, gallery, thresholds, 0.3))
    assert sum(map(len, found.values())) > 20
    for word, own in found.items():
        _, plain = peaks_of_word(matcher, gallery, word, 0.6, 0.3)
        assert [(peak.moment, peak.row) for peak in own] == [(peak.moment, peak.row) for peak in plain]
        one, two = ([(peak.start, peak.end, peak.score) for peak in some] for some in (own, plain))
        assert np.allclose(one, two, atol=1e-6)  # products of other shapes differ in the last bit


def _by_word(found: list[Plain]) -> dict[str, list[Plain]]:
    return {word: [peak for peak in found if peak.word == word] for word in {peak.word for peak in found}}


def test_the_peaks_of_one_curve_are_those_by_hand() -> None:
    random = np.random.default_rng(3)
    curve = np.round(random.random(400), 1)
    times = np.arange(400) / 25
    spans: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] = lambda at: (times[at] - 0.3, times[at] + 0.3)  # noqa: E731
    best_first = sorted(maxima(curve.tolist(), 0.7), key=lambda at: (-curve[at], at))
    stay = kept([(times[at] - 0.3, times[at] + 0.3) for at in best_first], 0.3)
    found = find_peaks(times, curve, threshold=0.7, spans=spans)
    assert [peak.index for peak in found] == sorted(best_first[place] for place in stay)
    assert len(found) > 10


def test_a_plateau_does_not_reach_from_one_word_into_the_next() -> None:
    scores = np.full((3, 16), 0.25, np.float32)
    scores[0, -2:] = scores[1, :3] = scores[1, -1] = scores[2] = 0.75
    found = peaks_of_curves(scores, np.full(3, 0.5), lambda _, at: (at - 0.1, at + 0.1))
    assert list(zip(found.curves.tolist(), found.places.tolist(), strict=True)) == [(0, 14), (1, 1), (1, 15), (2, 7)]


@pytest.mark.parametrize("shape", [(0, 5), (3, 0)])
def test_no_curve_and_no_moment_have_no_peaks(shape: tuple[int, int]) -> None:
    empty, times = np.empty(shape, np.float32), np.arange(shape[1])
    found = peaks_of_curves(empty, np.zeros(shape[0]), lambda of, at: half_height_spans(times, empty, of, at, 1.0))
    assert len(found.places) == 0


def test_curves_stay_as_they_are_while_others_are_read(gallery: Gallery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "_CELLS", 0)  # several blocks
    matcher, moments = matchers(gallery)[0], np.arange(50)
    one_by_one = [
        (block.words, block.scores.copy(), block.rows(np.zeros_like(moments), moments))
        for block in curve_blocks(matcher, gallery, lasting=False)
    ]
    assert len(one_by_one) > 1
    for block, (words, scores, rows) in zip(list(curve_blocks(matcher, gallery)), one_by_one, strict=True):
        assert block.words == words
        assert np.array_equal(block.scores, scores)
        assert np.array_equal(block.rows(np.zeros_like(moments), moments), rows)


def test_windows_of_a_large_gallery_are_converted_once_with_the_same_scores(gallery: Gallery) -> None:
    """Many rows hold the windows in 32 bits; few rows convert them block by block: no score differs."""
    few = matchers(gallery)[0]
    windows = Windows(few.times, np.asarray(few._shown))  # type: ignore[attr-defined]
    assert windows.embeddings.dtype == np.float16
    many = EmbeddingMatcher(windows, np.tile(gallery.embeddings, (6, 1)))
    assert many._shown.dtype == np.float32
    rows = range(len(gallery.embeddings))
    assert np.allclose(many.scores(rows), few.scores(rows), atol=1e-6)
