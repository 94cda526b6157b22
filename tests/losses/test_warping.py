"""Warping with a gradient: a case worked by hand, finite differences, and the cost that spotting uses."""

import numpy as np
import pytest
import torch

from signspot.losses.warping import warping_cost
from signspot.spotting.matching import warping_costs


def test_a_path_and_its_gradient_by_hand() -> None:
    """Matches cost |0 - 2| = 2, |0 - 5| = 5, |1 - 2| = 1, |1 - 5| = 4.

    The first one counts twice: 4. Straight on by (1, 0) it is 4 + 1 + 4 = 9, by (0, 1) 4 + 5 + 4 = 13, diagonally
    4 + 2 · 4 = 12. Four frames, so 9 / 4. On that path 2 is matched three times (twice with 0), 5 once.
    """
    ours = torch.tensor([[[0.0]], [[1.0]]], requires_grad=True)
    theirs = torch.tensor([[[2.0]], [[5.0]]], requires_grad=True)
    cost = warping_cost(ours, theirs)
    assert cost.tolist() == [[pytest.approx(9 / 4)]]
    cost.sum().backward()
    assert ours.grad is not None
    assert theirs.grad is not None
    assert ours.grad.flatten().tolist() == pytest.approx([-2 / 4, -2 / 4])
    assert theirs.grad.flatten().tolist() == pytest.approx([3 / 4, 1 / 4])


def test_a_diagonal_step_counts_twice() -> None:
    """Both signs go from 0 to 9, theirs 1 beside ours: 2 · 1 + 2 · 1 over four frames is 1, however far 0 and 9 are."""
    ours, theirs = torch.tensor([[[0.0]], [[9.0]]]), torch.tensor([[[1.0]], [[10.0]]])
    assert warping_cost(ours, theirs).item() == pytest.approx(1.0)


@pytest.mark.parametrize(("length", "width"), [(4, 4), (3, 5), (1, 3)])
def test_the_gradient_is_that_of_finite_differences(length: int, width: int) -> None:
    random = torch.Generator().manual_seed(length)
    ours = torch.randn(length, 2, 3, dtype=torch.float64, generator=random, requires_grad=True)
    theirs = torch.randn(width, 3, 3, dtype=torch.float64, generator=random, requires_grad=True)
    assert torch.autograd.gradcheck(warping_cost, (ours, theirs))


def test_it_is_the_cost_that_spotting_uses() -> None:
    random = np.random.default_rng(0)
    signs, exemplars = random.normal(size=(5, 16, 8)).astype(np.float32), random.normal(size=(7, 12, 8))
    expected = warping_costs(signs, exemplars.astype(np.float32))
    found = warping_cost(
        torch.from_numpy(signs).transpose(0, 1), torch.from_numpy(exemplars).float().transpose(0, 1)
    ).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_equal_signs_have_a_finite_gradient() -> None:
    signs = torch.ones(4, 2, 3, requires_grad=True)
    warping_cost(signs, signs).sum().backward()
    assert signs.grad is not None
    assert torch.isfinite(signs.grad).all()
