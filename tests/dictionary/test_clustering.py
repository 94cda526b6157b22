import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from signspot.dictionary.signers import average_linkage


def test_by_hand() -> None:
    """0 and 1 join at 1; 4 is 3.5 from them on average, 10 is 6 from 4: joined up to 3.5, not below."""
    points = np.array([[0.0], [1.0], [4.0], [10.0]])
    assert average_linkage(points, 0.9).tolist() == [0, 1, 2, 3]
    assert average_linkage(points, 1.0).tolist() == [0, 0, 1, 2]
    assert average_linkage(points, 3.4).tolist() == [0, 0, 1, 2]
    assert average_linkage(points, 3.5).tolist() == [0, 0, 0, 1]
    assert average_linkage(points, 9.0).tolist() == [0, 0, 0, 0]


def test_faces_of_several_people() -> None:
    rng = np.random.default_rng(0)
    people = rng.normal(size=(12, 128)) / 8
    truth = rng.integers(0, 12, 300)
    faces = people[truth] + rng.normal(size=(300, 128)) * 0.015
    groups = average_linkage(faces, 0.5)
    assert len(set(groups)) == len(set(truth)) == len(set(zip(groups, truth, strict=True)))


def test_none_and_one() -> None:
    assert average_linkage(np.empty((0, 4)), 1.0).tolist() == []
    assert average_linkage(np.ones((1, 4)), 1.0).tolist() == [0]
    assert average_linkage(np.ones((5, 4)), 0.1).tolist() == [0] * 5


@given(st.integers(0, 10_000), st.integers(2, 40), st.floats(0.05, 3))
def test_the_order_of_points_does_not_matter(seed: int, count: int, most: float) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 3))
    order = rng.permutation(count)
    one, other = average_linkage(points, most)[order], average_linkage(points[order], most)
    assert len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))


@given(st.integers(0, 10_000), st.integers(2, 40), st.floats(0.05, 3))
def test_as_the_definition_says(seed: int, count: int, most: float) -> None:
    """The plain way, step by step: join the two groups with the least average distance, as long as it is allowed."""
    points = np.random.default_rng(seed).normal(size=(count, 3))
    distance = np.linalg.norm(points[:, None] - points, axis=-1)
    groups = [[n] for n in range(count)]
    while len(groups) > 1:
        gaps = {(a, b): distance[np.ix_(groups[a], groups[b])].mean() for a in range(len(groups)) for b in range(a)}
        (a, b), gap = min(gaps.items(), key=lambda item: item[1])
        if gap > most:
            break
        groups[b] += groups.pop(a)
    found = average_linkage(points, most)
    assert {frozenset(group) for group in groups} == {
        frozenset(np.flatnonzero(found == g).tolist()) for g in set(found.tolist())
    }


def test_many() -> None:
    """Over the size of one block of distances."""
    rng = np.random.default_rng(1)
    truth = np.arange(1500) % 30
    groups = average_linkage(rng.normal(size=(30, 16))[truth] * 10 + rng.normal(size=(1500, 16)) * 0.1, 2.0)
    assert groups.tolist() == truth.tolist()
