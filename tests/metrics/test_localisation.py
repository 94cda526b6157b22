"""A peak is right from 20 frames before to 5 after a label, or inside a segment and its margin; retrieval by it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.metrics.localisation import ClipRetrieval, Tolerance
from signspot.types import Segment


@given(st.integers(0, 2000), st.integers(-40, 40), st.floats(0, 1e4))
def test_frames_on_the_border_count(label: int, offset: int, origin: float) -> None:
    peak = origin + (label + offset) / 25
    assert bool(Tolerance().accepts(peak, origin + label / 25)) == (-20 <= offset <= 5)


@given(st.integers(0, 200), st.integers(0, 50), st.integers(0, 300))
def test_segments_and_their_margin(start: int, length: int, peak: int) -> None:
    segment = Segment(start / 25, (start + length) / 25)
    right = Tolerance(margin=0.12).accepts(peak / 25, segment)
    assert bool(right) == (start - 3 <= peak <= start + length + 3)


@given(st.lists(st.floats(0, 20), min_size=1, max_size=5), st.lists(st.floats(0, 20), min_size=1, max_size=8))
def test_any_of_several_truths_will_do(labels: list[float], peaks: list[float]) -> None:
    tolerance = Tolerance()
    expected = [any(bool(tolerance.accepts(peak, label)) for label in labels) for peak in peaks]
    assert tolerance.accepts(np.array(peaks), labels).tolist() == expected
    assert tolerance.accepts(np.array(peaks), np.array(labels)).tolist() == expected


@pytest.mark.parametrize(("peak", "truth"), [(math.nan, 1.0), (1.0, math.inf), (1.0, [])])
def test_times_that_are_none(peak: float, truth: float) -> None:
    with pytest.raises(OptionsError):
        Tolerance().accepts(peak, truth)


def test_a_negative_tolerance_is_refused() -> None:
    with pytest.raises(OptionsError):
        Tolerance(before=-1)


WORDS = "abc"


def slow_clip(word: str, label: float, similarity, times, words: list[str]) -> tuple[float, bool]:
    """AP and R@2 of one clip, by the words of Sec. 4.2."""
    matches = []
    for v in range(len(words)):
        column = [similarity[t][v] for t in range(len(times))]
        where = times[column.index(max(column))]
        correct = words[v] == word and label - 0.8 - 1e-6 <= where <= label + 0.2 + 1e-6
        matches.append((-max(column), correct))
    matches.sort()  # False before True: a tie goes against us
    precisions = []
    for rank, (_, correct) in enumerate(matches, start=1):
        if correct:
            precisions.append((len(precisions) + 1) / rank)
    return sum(precisions) / words.count(word), any(correct for _, correct in matches[:2])


@settings(max_examples=150)
@given(st.data())
def test_the_papers_protocol(data: st.DataObject) -> None:
    words = data.draw(st.permutations([*WORDS, *data.draw(st.lists(st.sampled_from(WORDS), max_size=8))]))
    retrieval = ClipRetrieval(words)
    by_word: dict[str, list[tuple[float, bool]]] = {}
    for _ in range(data.draw(st.integers(1, 6))):
        word = data.draw(st.sampled_from(WORDS))
        rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
        times = rng.integers(0, 10) / 25 + np.arange(rng.integers(1, 60)) / 25
        similarity = rng.integers(-3, 4, (len(times), len(words))) / 3 + rng.choice([0, 1e-3]) * rng.random(len(words))
        label = float(rng.choice(times))
        retrieval.add(word, label, similarity, times)
        by_word.setdefault(word, []).append(slow_clip(word, label, similarity, times, words))
    instances = [instance for several in by_word.values() for instance in several]
    for column, values in enumerate((retrieval.queries.average_precisions, retrieval.queries.hits(2))):
        averages = values.value()
        means = [np.mean([instance[column] for instance in several]) for several in by_word.values()]
        assert averages.per_group == pytest.approx(np.mean(means))
        assert averages.per_instance == pytest.approx(np.mean([instance[column] for instance in instances]))


def test_a_right_exemplar_at_a_wrong_time_is_wrong() -> None:
    times = np.arange(100) / 25
    similarity = np.zeros((100, 3))
    similarity[50] = 0.9, 0.5, 0.8  # two exemplars of apple at 2.0 s, one of bread
    similarity[90, 0] = 1.0  # but the first peaks at 3.6 s
    retrieval = ClipRetrieval(["apple", "bread", "apple"])
    retrieval.add("apple", 2.0, similarity, times)
    assert retrieval.queries.best_ranks == {"apple": [2.0]}
    assert retrieval.queries.average_precisions == {"apple": [0.25]}


def test_mistakes_are_named() -> None:
    clips = ClipRetrieval(["apple"])
    times = np.zeros(2)
    with pytest.raises(OptionsError, match="'aple'"):
        clips.add("aple", 0.0, np.zeros((2, 1)), times)
    with pytest.raises(OptionsError):
        clips.add("apple", 0.0, np.full((2, 1), math.nan), times)
    for shape in ((3, 1), (2, 2), (0, 1), (2,)):
        with pytest.raises(OptionsError):
            clips.add("apple", 0.0, np.zeros(shape), np.zeros(min(2, shape[0])))
    with pytest.raises(OptionsError):
        clips.add_maxima("apple", 0.0, np.zeros(1), np.zeros(2))
