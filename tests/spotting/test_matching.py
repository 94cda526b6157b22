"""Matching: cosines at named angles, the cheapest path as a plain loop finds it, and any way of cutting the track."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.embedding.exemplars import Gallery
from signspot.errors import EncoderMismatchError, TrackError
from signspot.spotting import matching
from signspot.spotting.matching import (
    AlignmentMatcher,
    EmbeddingMatcher,
    StepCosts,
    exemplar_scores,
    path_costs,
    path_starts,
    warping_costs,
)
from signspot.types import Exemplar, Windows

STEPS = StepCosts((0.2, 0.0, 0.1))
# A squared distance of codes of size s is a sum of float32 products, wrong by some 1e-7 s²; its root, near 0, by 1e-3.
ROUNDING = 2e-3


def at(*degrees: float) -> np.ndarray:
    angles = np.deg2rad(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_scores_of_named_angles() -> None:
    scores = exemplar_scores(at(0, 60, 90, 180), at(0, 90))
    assert scores == pytest.approx(np.array([[1, 0.75, 0.5, 0], [0.5, 0.5 + np.sqrt(3) / 4, 1, 0.5]]), abs=1e-6)


def test_rounding_never_leaves_the_range() -> None:
    half = at(*np.linspace(0, 360, 50)).astype(np.float16)
    scores = exemplar_scores(half, half)
    assert scores.max() <= 1
    assert scores.min() >= 0


def test_exemplars_that_do_not_fit_are_refused() -> None:
    with pytest.raises(EncoderMismatchError, match="dimension 2"):
        exemplar_scores(at(0), np.ones((1, 3)))
    exemplars = at(0, 10, 20)
    exemplars[1, 0] = np.nan
    with pytest.raises(TrackError, match=r"\[1\]"):
        exemplar_scores(at(0), exemplars)


def test_windows_in_16_bits_give_the_same_scores_for_few_rows_and_for_many() -> None:
    """Many rows convert the windows once, few rows convert them block by block."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(9000, 24))  # more than one block
    windows = Windows(np.arange(9000) / 25, (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16))
    exemplars = windows.embeddings[:300].astype(np.float32)
    few, many = EmbeddingMatcher(windows, exemplars[:10]), EmbeddingMatcher(windows, exemplars)
    assert np.allclose(few.scores(range(10)), many.scores(range(10)), atol=24 * 1e-7)


def by_a_loop(codes: np.ndarray, exemplar: np.ndarray, begin: int | None = None) -> np.ndarray:
    """(T,) mean cost of the cheapest path that ends at each frame, and begins at one if given, cell by cell."""
    cost = np.linalg.norm(exemplar[:, None] - codes[None], axis=-1)
    total = cost[0].copy()
    if begin is not None:
        total[np.arange(len(codes)) != begin] = np.inf
    for row in cost[1:]:
        total = np.array(
            [min(total[t - k] + price for k, price in enumerate(STEPS.costs) if t >= k) for t in range(len(codes))]
        )
        total += row
    return total / len(exemplar)


@given(seed=st.integers(0, 10_000), frames=st.integers(1, 60), length=st.integers(1, 8))
def test_the_cheapest_path_is_found(seed: int, frames: int, length: int) -> None:
    random = np.random.default_rng(seed)
    codes, exemplars = random.normal(size=(frames, 3)), random.normal(size=(4, length, 3))
    costs = path_costs(codes, exemplars, STEPS)
    ends = random.integers(0, frames, 4)
    starts = path_starts(codes, exemplars, ends, STEPS)
    for row, exemplar, start, end in zip(costs, exemplars, starts.tolist(), ends.tolist(), strict=True):
        expected = by_a_loop(codes, exemplar)
        assert row == pytest.approx(expected, abs=ROUNDING)
        assert by_a_loop(codes, exemplar, start)[end] == pytest.approx(expected[end], abs=ROUNDING)
    assert path_starts(codes, exemplars[:0], ends[:0]).shape == (0,)


def test_how_a_track_is_cut_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    codes, exemplars = random.normal(size=(500, 8)), random.normal(size=(3, 16, 8))
    uncut = path_costs(codes, exemplars)
    monkeypatch.setattr(matching, "_FRAMES", 7)
    monkeypatch.setattr(matching, "_ROWS", 1)
    assert path_costs(codes, exemplars) == pytest.approx(uncut, abs=ROUNDING)


def test_exemplars_that_agree_beat_one_that_fits_by_itself() -> None:
    """Scores 0.9 and 0.3 of one variant: the fourth root of (0.6561 + 0.0081) / 2; a variant with 0.8 is better."""
    scores = np.array([[0.9, 0.7], [0.1, 0.2], [0.2, 0.7], [0.3, 0.1], [0.8, 0.1]], np.float32)

    def fused(*variants: str) -> list[float]:
        exemplars = [Exemplar("tree", str(number), variant=variant) for number, variant in enumerate(variants)]
        rows = np.array([0, 0, 1, 1, 2])[: 2 * len(variants) - (len(variants) == 3)]
        gallery = Gallery(tuple(exemplars), np.zeros((len(rows), 1), np.float32), rows, rows < 0)
        matcher = AlignmentMatcher(np.zeros((2, 1)), np.arange(2.0), np.zeros((len(rows), 1, 1)), 1.0)
        out = np.empty(2, np.float32)
        matcher.fuse(scores[: len(rows)], gallery, "tree", out)
        return out.tolist()

    assert fused("") == pytest.approx([0.9, 0.7])
    assert fused("", "") == pytest.approx([0.3321**0.25, 0.7])
    assert fused("one", "one", "two") == pytest.approx([0.8, 0.7])
    assert fused("one", "two", "one") == pytest.approx([((0.6561 + 0.4096) / 2) ** 0.25, 0.7])


@pytest.mark.parametrize("speed", [0.6, 1.0, 2.0, 2.8])
def test_a_sign_is_found_at_any_speed_with_its_span(speed: float) -> None:
    """A path in the plane, played at another speed amid noise, costs nearly nothing and is found from end to end."""
    exemplar = at(*np.linspace(0, 180, 16))
    played = at(*np.linspace(0, 180, max(2, round(16 * speed))))
    codes = np.random.default_rng(0).normal(3, 0.3, size=(200, 2))
    codes[80 : 80 + len(played)] = played
    costs = path_costs(codes, exemplar[None])[0]
    end = int(costs.argmin())
    start = int(path_starts(codes, exemplar[None], np.array([end]))[0])
    assert costs.min() < 0.15
    assert np.delete(costs, range(75, 150)).min() > 1.0
    assert (start, end) == (pytest.approx(80, abs=2), pytest.approx(80 + len(played) - 1, abs=2))


def test_warping_is_what_a_plain_loop_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(2)
    signs, exemplars = random.normal(size=(3, 5, 4)), random.normal(size=(6, 7, 4))
    expected = np.array([[warped(sign, exemplar) for exemplar in exemplars] for sign in signs])
    assert warping_costs(signs, exemplars) == pytest.approx(expected, abs=ROUNDING)
    monkeypatch.setattr(matching, "_CELLS", 1)
    assert warping_costs(signs, exemplars) == pytest.approx(expected, abs=ROUNDING)


def warped(sign: np.ndarray, exemplar: np.ndarray) -> float:
    """Symmetric warping, cell by cell: a diagonal step counts twice."""
    cost = np.linalg.norm(sign[:, None] - exemplar[None], axis=-1)
    total = np.full(cost.shape, np.inf)
    for i, j in np.ndindex(*cost.shape):
        if i == j == 0:
            total[i, j] = 2 * cost[i, j]
            continue
        straight = min(total[i - 1, j] if i else np.inf, total[i, j - 1] if j else np.inf) + cost[i, j]
        total[i, j] = min(straight, total[i - 1, j - 1] + 2 * cost[i, j] if i and j else np.inf)
    return float(total[-1, -1] / sum(cost.shape))
