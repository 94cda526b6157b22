"""Dynamic time warping with a gradient, for frame codes that are to align well: tensors in, tensors out."""

from typing import Any

import torch
from torch import Tensor

LEAST_SQUARE = 1e-4  # of distances: below it the root's gradient would grow without end


def warping_cost(ours: Tensor, theirs: Tensor) -> Tensor:
    """Align all pairs of signs from end to end, every frame of both matched.

    The same as `signspot.spotting.matching.warping_costs`, but that distances are at least the root of `LEAST_SQUARE`.

    Args:
        ours: (L, A, C) frame codes of A signs.
        theirs: (M, B, C) frame codes of B signs.

    Returns:
        (A, B) cost of the cheapest path, in which a diagonal step counts twice, per frame.
    """
    flat, other = ours.flatten(0, 1), theirs.flatten(0, 1)
    # One product gives |a|² - 2ab + |b|²: the squares stand as additional columns beside the codes.
    left = torch.cat([-2 * flat, flat.square().sum(dim=1, keepdim=True), torch.ones_like(flat[:, :1])], dim=1)
    right = torch.cat([other, torch.ones_like(other[:, :1]), other.square().sum(dim=1, keepdim=True)], dim=1)
    squares = (left @ right.T).view(*ours.shape[:2], *theirs.shape[:2])
    cost: Tensor = _Warping.apply(squares)  # type: ignore[no-untyped-call]
    return cost


class _Warping(torch.autograd.Function):
    """Squared distances to costs; the gradient goes along the cheapest path of every pair, and nowhere else."""

    @staticmethod
    def forward(ctx: Any, squares: Tensor) -> Tensor:
        """(L, A, M, B) squared distances to (A, B) cost per frame."""
        length, many, width, others = squares.shape
        shape = length, width, many, others
        came = torch.zeros(shape, dtype=torch.uint8, device=squares.device)  # 0: diagonally, 1: in i, 2: in j alone
        above: list[Tensor] = []
        for i in range(length):
            row: list[Tensor] = []
            for j in range(width):
                here = squares[i, :, j].clamp(min=LEAST_SQUARE).sqrt_()
                if i == 0 or j == 0:
                    row.append(here + (above[j] if i else row[j - 1] if j else here))
                    came[i, j] = 1 if i else 2
                    continue
                is_in_j = row[j - 1] < above[j]
                straight = torch.minimum(row[j - 1], above[j])
                diagonal = above[j - 1] + here
                is_straight = straight < diagonal
                row.append(torch.minimum(straight, diagonal).add_(here))
                torch.mul(is_straight, is_in_j.to(torch.uint8).add_(1), out=came[i, j])
            above = row
        ctx.save_for_backward(came, squares)
        return above[-1] / (length + width)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """(A, B) gradient of the costs to (L, A, M, B): back from the last match of every pair to its first."""
        came, squares = ctx.saved_tensors
        length, many, width, others = squares.shape
        share = grads[0].reshape(-1) / (2 * (length + width))
        steps, flat, gradient = came.view(-1), squares.reshape(-1), torch.zeros_like(squares).view(-1)
        pair = torch.arange(many * others, device=squares.device)
        one, two = pair // others, pair % others
        i, j = torch.full_like(pair, length - 1), torch.full_like(pair, width - 1)
        for _ in range(length + width - 1):
            at = ((i * many + one) * width + j) * others + two
            step = steps[(i * width + j) * len(pair) + pair]
            weight = 1.0 + ((step == 0) | (i + j == 0))
            gradient[at] = share * weight / flat[at].clamp(min=LEAST_SQUARE).sqrt_()
            i = (i - (step != 2).long()).clamp_(min=0)
            j = (j - (step != 1).long()).clamp_(min=0)
        return gradient.view_as(squares)
