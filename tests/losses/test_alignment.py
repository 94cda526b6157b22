"""Alignment with a gradient: a path worked by hand, finite differences, and the costs that spotting uses."""

import numpy as np
import pytest
import torch

from signspot.losses.alignment import ClipEnds, clip_costs, warping_cost
from signspot.spotting.matching import STEPS, path_costs, warping_costs


def one_clip(*frames: int) -> ClipEnds:
    return ClipEnds(torch.tensor([0]), torch.tensor([frames]), torch.ones(1, len(frames), dtype=torch.bool))


def test_a_path_and_its_gradient_by_hand() -> None:
    """An exemplar 0, 4 in a segment 9, 1, 7, 6: to end at frame 3 costs |4 - 6| = 2.

    From frame 1, two frames before, it is |0 - 1| = 1 and a step of price 0.5; from frame 2, by a step of price 0, it
    would be 7. So (2 + 1 + 0.5) / 2.
    """
    exemplar = torch.tensor([0.0, 4.0], requires_grad=True)
    segment = torch.tensor([9.0, 1.0, 7.0, 6.0], requires_grad=True)
    cost = clip_costs(
        exemplar.view(2, 1, 1, 1), segment.view(1, 4, 1), torch.ones(1, 4, dtype=torch.bool), one_clip(3), (1.0, 0, 0.5)
    )
    assert cost.tolist() == [[pytest.approx(3.5 / 2)]]
    cost.sum().backward()
    assert exemplar.grad is not None
    assert segment.grad is not None
    assert exemplar.grad.tolist() == pytest.approx([-0.5, -0.5])
    assert segment.grad.tolist() == pytest.approx([0.0, 0.5, 0.0, 0.5])


def test_the_gradient_is_that_of_finite_differences() -> None:
    random = torch.Generator().manual_seed(1)
    exemplars = torch.randn(4, 2, 3, 5, dtype=torch.float64, generator=random, requires_grad=True)
    segments = torch.randn(2, 9, 5, dtype=torch.float64, generator=random, requires_grad=True)
    is_frame = torch.arange(9) < torch.tensor([[9], [7]])
    ends = torch.tensor([[3, 4, 5], [6, 7, 8], [4, 5, 6]])
    clips = ClipEnds(torch.tensor([0, 0, 1]), ends, torch.ones(3, 3, dtype=torch.bool))
    assert torch.autograd.gradcheck(lambda e, s: clip_costs(e, s, is_frame, clips, STEPS.costs), (exemplars, segments))


def test_they_are_the_costs_that_spotting_uses() -> None:
    """The better view of an exemplar, the best end in the clip; padding plays no part, whatever it holds."""
    random = np.random.default_rng(0)
    codes, views = random.normal(size=(60, 8)).astype(np.float32), random.normal(size=(2, 5, 16, 8)).astype(np.float32)
    expected = path_costs(codes, views.reshape(10, 16, 8)).reshape(2, 5, 60).min(axis=0)
    padded = torch.full((2, 75, 8), 3.0)
    padded[0, :60] = torch.from_numpy(codes)
    is_frame = torch.zeros(2, 75, dtype=torch.bool)
    is_frame[0, :60] = True
    ends, is_end = torch.tensor([[20, 21, 22], [57, 58, 59]]), torch.tensor([[True, True, False], [True, True, True]])
    clips = ClipEnds(torch.tensor([0, 0]), ends, is_end)
    costs = clip_costs(torch.from_numpy(views).permute(2, 0, 1, 3), padded, is_frame, clips, STEPS.costs)
    np.testing.assert_allclose(costs[0], expected[:, 20:22].min(axis=1), rtol=1e-4)
    np.testing.assert_allclose(costs[1], expected[:, 57:].min(axis=1), rtol=1e-4)


def test_a_path_and_its_gradient_by_hand_from_end_to_end() -> None:
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
def test_the_gradient_is_that_of_finite_differences_from_end_to_end(length: int, width: int) -> None:
    random = torch.Generator().manual_seed(length)
    ours = torch.randn(length, 2, 3, dtype=torch.float64, generator=random, requires_grad=True)
    theirs = torch.randn(width, 3, 3, dtype=torch.float64, generator=random, requires_grad=True)
    assert torch.autograd.gradcheck(warping_cost, (ours, theirs))


def test_it_is_the_cost_that_spotting_uses() -> None:
    random = np.random.default_rng(0)
    signs, exemplars = random.normal(size=(5, 16, 8)).astype(np.float32), random.normal(size=(7, 12, 8))
    expected = warping_costs(signs, exemplars.astype(np.float32))
    costs = warping_cost(
        torch.from_numpy(signs).transpose(0, 1), torch.from_numpy(exemplars).float().transpose(0, 1)
    ).numpy()
    np.testing.assert_allclose(costs, expected, rtol=1e-4)


def test_equal_signs_have_a_finite_gradient() -> None:
    signs = torch.ones(4, 2, 3, requires_grad=True)
    warping_cost(signs, signs).sum().backward()
    assert signs.grad is not None
    assert torch.isfinite(signs.grad).all()
