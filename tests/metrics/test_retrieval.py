"""The paper's protocol against an implementation that loops over everything."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.metrics.localisation import Tolerance
from signspot.metrics.retrieval import ClipRetrieval

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
    for place, (_, correct) in enumerate(matches, start=1):
        if correct:
            precisions.append((len(precisions) + 1) / place)
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


def test_the_tolerance_is_a_parameter() -> None:
    wide = ClipRetrieval(["apple"], tolerance=Tolerance(before=5, after=5))
    narrow = ClipRetrieval(["apple"])
    for one in (wide, narrow):
        one.add("apple", 4.0, np.array([[0.9], [0.1]]), np.array([0.0, 4.0]))
    assert wide.queries.average_precisions == {"apple": [1.0]}
    assert narrow.queries.average_precisions == {"apple": [0.0]}


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
