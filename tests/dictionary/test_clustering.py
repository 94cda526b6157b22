"""Groups by average linkage."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from signspot.dictionary.clustering import average_linkage


def distances(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points, axis=-1)


def test_by_hand() -> None:
    """0 and 1 join at 1; 4 is 3.5 from them on average, 10 is 6 from 4: joined up to 3.5, not below."""
    apart = distances(np.array([[0.0], [1.0], [4.0], [10.0]]))
    assert average_linkage(apart, 0.9).tolist() == [0, 1, 2, 3]
    assert average_linkage(apart, 1.0).tolist() == [0, 0, 1, 2]
    assert average_linkage(apart, 3.4).tolist() == [0, 0, 1, 2]
    assert average_linkage(apart, 3.5).tolist() == [0, 0, 0, 1]
    assert average_linkage(apart, 9.0).tolist() == [0, 0, 0, 0]


def test_none_one_and_equals() -> None:
    for count in (0, 1, 5):
        assert average_linkage(np.zeros((count, count)), 0.1).tolist() == [0] * count


@given(st.integers(0, 10_000), st.integers(2, 40), st.floats(0.05, 3))
def test_as_the_definition_says(seed: int, count: int, most: float) -> None:
    """The plain way, step by step: join the two groups with the least average distance, as long as it is allowed."""
    apart = distances(np.random.default_rng(seed).normal(size=(count, 3)))
    groups = [[n] for n in range(count)]
    while len(groups) > 1:
        gaps = {(a, b): apart[np.ix_(groups[a], groups[b])].mean() for a in range(len(groups)) for b in range(a)}
        (a, b), gap = min(gaps.items(), key=lambda item: item[1])
        if gap > most:
            break
        groups[b] += groups.pop(a)
    labels = average_linkage(apart, most)
    firsts = [int(np.flatnonzero(labels == label)[0]) for label in range(labels.max() + 1)]
    assert firsts == sorted(firsts)
    assert {frozenset(group) for group in groups} == {
        frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())
    }
