import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import warping as baseline
from signspot.types import Segment


def paths(count: int, length: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.normal(size=(count, length, 6)), axis=1).astype(np.float32)


def warp_slowly(one: np.ndarray, other: np.ndarray) -> float:
    total = np.full((len(one) + 1, len(other) + 1), np.inf)
    total[0, 0] = 0
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            cost = np.linalg.norm(a - b)
            total[i + 1, j + 1] = min(total[i, j + 1] + cost, total[i + 1, j] + cost, total[i, j] + 2 * cost)
    return total[-1, -1] / (len(one) + len(other))


@given(st.integers(0, 1000), st.integers(2, 9), st.integers(2, 9))
def test_warping_equals_the_textbook(seed, first, second):
    one, other = paths(2, first, seed), paths(3, second, seed + 1)
    slow = [[warp_slowly(a, b) for b in other] for a in one]
    assert baseline.warping_distance(one, other) == pytest.approx(np.array(slow), rel=1e-3, abs=1e-3)


def test_warping_forgives_uneven_timing_and_cosine_does_not():
    sign = paths(1, 16)[0]
    uneven = sign[[0, 0, 0, 0, 0, 0, 1, 2, 3, 5, 7, 9, 11, 13, 14, 15]]
    assert (
        baseline.warping_distance(sign[None], uneven[None])[0, 0] < 0.5 * np.linalg.norm(sign - uneven, axis=1).mean()
    )
    assert baseline.cosine(sign[None], uneven[None], sign.mean(axis=0))[0, 0] < 0.95


def test_cosine_of_itself_is_one():
    signs = paths(4, 16)
    similarity = baseline.cosine(signs, signs, baseline.centre_of(signs))
    assert np.diag(similarity) == pytest.approx(1, abs=1e-5)
    assert similarity.argmax(axis=1).tolist() == [0, 1, 2, 3]


@given(st.integers(2, 60))
def test_time_normalisation_is_exact_on_straight_lines(length):
    line = np.linspace(0, 1, length, dtype=np.float32)[:, None]
    assert baseline.time_normalised(line, 9)[:, 0] == pytest.approx(np.linspace(0, 1, 9), abs=1e-5)


@pytest.mark.parametrize("speed", [1.0, 0.6])
def test_both_matchers_find_a_hidden_sign(speed):
    video, sign = paths(1, 120, 5)[0] * 0.3, paths(1, 16, 6)[0]
    width = round(16 * speed)
    video[40 : 40 + width] = baseline.time_normalised(sign, width)
    first, found = baseline.best_window(video, sign[None], sign.mean(axis=0), (8, 10, 13, 16, 20))
    assert abs(first + found / 2 - 40 - width / 2) <= 2
    first, found = baseline.best_warped_windows(
        [video[:30], video], [paths(2, 16, 9), np.stack([paths(1, 16, 8)[0] + 50, sign])]
    )[1]
    assert abs(first + found / 2 - 40 - width / 2) <= 2


def test_a_hand_at_rest_says_nothing_and_a_raised_one_does():
    features = np.zeros((30, 69, 4), dtype=np.float32)
    features[:, 5:7, 1] = 1.7
    features[:, 6, 1] = 0.3
    features[:, 7:49, 3] = 1
    features[:, 8:28, 0] = features[:, 29:49, 0] = 0.2
    described = baseline.describe(features)
    left, right = np.split(described, 2, axis=1)
    assert not left.any()
    assert right.any(axis=1).all()


def test_rows_of_a_segment_are_at_least_two():
    assert baseline.rows_of(Segment(1.0, 2.0), 25, 100) == slice(25, 51)
    assert baseline.rows_of(Segment(3.99, 4.0), 25, 100) == slice(98, 100)
