"""Alignment of exemplars with segments of signing, with a gradient: tensors in, tensors out.

The same paths as `signspot.spotting.matching` finds: every exemplar frame is matched with one frame of the segment,
which goes on by 0, 1, 2 … frames at a price. The cheapest path of every exemplar that ends in a clip is found without
a gradient; the gradient goes along these paths, and nowhere else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from signspot.losses.warping import LEAST_SQUARE

_FAR = 1e4  # a cost that no path pays


@dataclass(frozen=True, slots=True)
class ClipEnds:
    """Clips of segments, each given by the frames at which a path in it may end."""

    segment: Tensor  # (N,) which segment a clip is of
    frames: Tensor  # (N, E) frames of the segment; any frame where there are fewer than E
    is_end: Tensor  # (N, E) bool: the frame counts


def clip_costs(exemplars: Tensor, segments: Tensor, seen: Tensor, clips: ClipEnds, steps: Sequence[float]) -> Tensor:
    """Align every exemplar with every clip.

    Args:
        exemplars: (L, M, V, C) frame codes of V exemplars in M views, of which the better one counts.
        segments: (B, T, C) frame codes of segments of signing, padded to one length.
        seen: (B, T) bool: the frame is none of the padding.
        clips: N clips of the segments.
        steps: what it costs to go on by 0, 1, 2 … frames.

    Returns:
        (N, V) mean cost per exemplar frame of the cheapest path that ends in the clip.
    """
    length, views, count, _ = exemplars.shape
    codes, signed = exemplars.flatten(0, 2), segments.flatten(0, 1)
    squares = codes.square().sum(dim=1, keepdim=True) + signed.square().sum(dim=1) - 2 * codes @ signed.T
    with torch.no_grad():
        apart = squares.clamp(min=LEAST_SQUARE).sqrt_().view(length, views * count, *seen.shape)
        apart.masked_fill_(~seen, _FAR)
        totals, came = _cheapest(apart, steps)
        row, end, total = _best_ends(totals.view(views, count, *seen.shape), clips)
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
