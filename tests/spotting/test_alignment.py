"""Alignment: the cheapest path, as a plain loop finds it; where it begins; any way of cutting the track."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.spotting import alignment
from signspot.spotting.alignment import StepCosts, path_costs, path_starts, warping_costs

STEPS = StepCosts((0.2, 0.0, 0.1))


def by_a_loop(codes: np.ndarray, exemplar: np.ndarray, steps: StepCosts) -> tuple[np.ndarray, np.ndarray]:
    """(T,) mean cost and first frame of the cheapest path that ends at each frame, cell by cell."""
    cost = np.linalg.norm(exemplar[:, None] - codes[None], axis=-1)
    total, first = cost[0].copy(), np.arange(len(codes))
    for i in range(1, len(exemplar)):
        new, came = np.empty_like(total), np.empty_like(first)
        for t in range(len(codes)):
            options = [(total[t - k] + price, k) for k, price in enumerate(steps.costs) if t >= k]
            best, k = min(options)
            new[t], came[t] = best + cost[i, t], first[t - k]
        total, first = new, came
    return total / len(exemplar), first


@given(seed=st.integers(0, 10_000), frames=st.integers(1, 60), length=st.integers(1, 8))
def test_the_cheapest_path_is_found(seed: int, frames: int, length: int) -> None:
    random = np.random.default_rng(seed)
    codes, exemplars = random.normal(size=(frames, 3)), random.normal(size=(4, length, 3))
    found = path_costs(codes, exemplars, STEPS)
    for row, exemplar in zip(found, exemplars, strict=True):
        expected, first = by_a_loop(codes, exemplar, STEPS)
        assert row == pytest.approx(expected, abs=2e-3)
        ends = np.arange(frames)
        starts = path_starts(codes, np.repeat(exemplar[None], frames, axis=0), ends, STEPS)
        assert starts.tolist() == first.tolist()


def test_how_a_track_is_cut_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    codes, exemplars = random.normal(size=(500, 8)), random.normal(size=(3, 16, 8))
    whole = path_costs(codes, exemplars)
    monkeypatch.setattr(alignment, "_FRAMES", 7)
    monkeypatch.setattr(alignment, "_ROWS", 1)
    assert path_costs(codes, exemplars) == pytest.approx(whole, abs=1e-5)


@pytest.mark.parametrize("speed", [0.6, 1.0, 2.0, 2.8])
def test_a_sign_is_found_at_any_speed_with_its_span(speed: float) -> None:
    """A path in the plane, played at another speed amid noise, costs nearly nothing and is found from end to end."""
    angle = np.linspace(0, np.pi, 16)
    exemplar = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    played = np.linspace(0, np.pi, max(2, round(16 * speed)))
    codes = np.random.default_rng(0).normal(3, 0.3, size=(200, 2))
    codes[80 : 80 + len(played)] = np.stack([np.cos(played), np.sin(played)], axis=1)
    costs = path_costs(codes, exemplar[None])[0]
    end = int(costs.argmin())
    start = int(path_starts(codes, exemplar[None], np.array([end]))[0])
    assert costs.min() < 0.15
    assert np.delete(costs, range(75, 150)).min() > 1.0
    assert (start, end) == (pytest.approx(80, abs=2), pytest.approx(80 + len(played) - 1, abs=2))


def test_nothing_asked_is_nothing_found() -> None:
    assert path_starts(np.zeros((5, 2)), np.zeros((0, 3, 2)), np.empty(0, np.int64)).shape == (0,)


def test_warping_is_what_a_plain_loop_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(2)
    signs, exemplars = random.normal(size=(3, 5, 4)), random.normal(size=(6, 7, 4))
    expected = np.array([[warped(sign, exemplar) for exemplar in exemplars] for sign in signs])
    assert warping_costs(signs, exemplars) == pytest.approx(expected, abs=1e-3)
    monkeypatch.setattr(alignment, "_CELLS", 1)
    assert warping_costs(signs, exemplars) == pytest.approx(expected, abs=1e-3)


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
