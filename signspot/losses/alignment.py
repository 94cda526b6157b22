"""Alignment of frame codes with a gradient: tensors in, tensors out.

The same paths as `signspot.spotting.matching` finds. The cheapest path is found without a gradient; the gradient goes
along it, and nowhere else. `clip_costs`: every exemplar frame is matched with one frame of a segment of signing, which
goes on by 0, 1, 2 … frames at a price. `warping_cost`: two signs from end to end, every frame of both matched.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

LEAST_SQUARE = 1e-4  # of distances: below it the root's gradient would grow without end
_FAR = 1e4  # a cost that no path pays


@dataclass(frozen=True, slots=True)
class ClipEnds:
    """Clips of segments, each given by the frames at which a path in it may end."""

    segment: Tensor  # (N,) which segment a clip is of
    frames: Tensor  # (N, E) frames of the segment; any frame where there are fewer than E
    is_end: Tensor  # (N, E) bool: the frame counts


def clip_costs(
    exemplars: Tensor, segments: Tensor, is_frame: Tensor, clips: ClipEnds, steps: Sequence[float]
) -> Tensor:
    """Align every exemplar with every clip.

    Args:
        exemplars: (L, M, V, C) frame codes of V exemplars in M views, of which the better one counts.
        segments: (B, T, C) frame codes of segments of signing, padded to one length.
        is_frame: (B, T) bool: the frame is none of the padding.
        clips: N clips of the segments.
        steps: what it costs to go on by 0, 1, 2 … frames.

    Returns:
        (N, V) mean cost per exemplar frame of the cheapest path that ends in the clip.
    """
    length, views, count, _ = exemplars.shape
    codes, signed = exemplars.flatten(0, 2), segments.flatten(0, 1)
    squares = codes.square().sum(dim=1, keepdim=True) + signed.square().sum(dim=1) - 2 * codes @ signed.T
    with torch.no_grad():
        apart = squares.clamp(min=LEAST_SQUARE).sqrt_().view(length, views * count, *is_frame.shape)
        apart.masked_fill_(~is_frame, _FAR)
        totals, came = _cheapest(apart, steps)
        row, end, total = _best_ends(totals.view(views, count, *is_frame.shape), clips)
        matches = _matches(came, row, clips.segment.expand_as(row), end)
        price = total - apart.flatten()[matches].mean(dim=0)  # of the steps: it has no gradient
    costs = squares.flatten()[matches].clamp(min=LEAST_SQUARE).sqrt().mean(dim=0) + price
    return costs.T


def _cheapest(apart: Tensor, steps: Sequence[float]) -> tuple[Tensor, Tensor]:
    """(L, R, B, T) distances to (R, B, T) mean cost of the cheapest path to each frame, and (L, R, B, T) its steps."""
    total, came = apart[0].clone(), torch.zeros(apart.shape, dtype=torch.uint8, device=apart.device)
    for index in range(1, len(apart)):
        best, chosen = total + steps[0], came[index]
        for step, price in enumerate(steps[1:], 1):
            if step < best.shape[-1]:
                other = total[..., :-step] + price
                chosen[..., step:].masked_fill_(other < best[..., step:], step)
                torch.minimum(best[..., step:], other, out=best[..., step:])
        total = best.add_(apart[index])
    return total / len(apart), came


def _best_ends(totals: Tensor, clips: ClipEnds) -> tuple[Tensor, Tensor, Tensor]:
    """(M, V, B, T) costs to the best path of every exemplar in every clip: (V, N) row of M V, last frame, cost."""
    count = totals.shape[1]
    inside = totals[:, :, clips.segment[:, None], clips.frames].masked_fill(~clips.is_end, torch.inf)  # (M, V, N, E)
    cost, index = inside.permute(1, 2, 0, 3).flatten(2).min(dim=2)  # (V, N) of M E
    view, number = index // clips.frames.shape[1], index % clips.frames.shape[1]
    end = clips.frames.expand(count, -1, -1).gather(2, number[..., None])[..., 0]
    row = view * count + torch.arange(count, device=totals.device)[:, None]
    return row, end, cost


def _matches(came: Tensor, row: Tensor, segment: Tensor, end: Tensor) -> Tensor:
    """(L, R, B, T) steps and (V, N) ends of paths to (L, V, N) places of their matches among all L R B T."""
    length, rows, segments, frames = came.shape
    indices, frame = [], end
    for index in range(length - 1, -1, -1):
        indices.append(((index * rows + row) * segments + segment) * frames + frame)
        if index:
            frame = (frame - came[index, row, segment, frame].long()).clamp(min=0)
    return torch.stack(indices)


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
        first, second = pair // others, pair % others
        i, j = torch.full_like(pair, length - 1), torch.full_like(pair, width - 1)
        for _ in range(length + width - 1):
            at = ((i * many + first) * width + j) * others + second
            step = steps[(i * width + j) * len(pair) + pair]
            weight = 1.0 + ((step == 0) | (i + j == 0))
            gradient[at] = share * weight / flat[at].clamp(min=LEAST_SQUARE).sqrt_()
            i = (i - (step != 2).long()).clamp_(min=0)
            j = (j - (step != 1).long()).clamp_(min=0)
        return gradient.view_as(squares)
