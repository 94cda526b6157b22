"""Parts of a loop over numbered batches: the batches from a step on, the learning rate, the running mean of weights."""

import math
import signal
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

_PREFETCHED = 4  # batches that each worker makes ahead


def numbered_batches(batches: Dataset[Any], steps: range, workers: int) -> "DataLoader[Any]":
    """Batches of these numbers in their order, made by other processes (0: by this one), which leave Ctrl-C to it."""
    return DataLoader(
        batches,
        batch_size=None,
        sampler=steps,
        num_workers=workers,
        prefetch_factor=_PREFETCHED if workers else None,
        worker_init_fn=_ignore_interrupts,
    )


def _ignore_interrupts(_: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def warm_cosine(step: int, steps: int, warm_up: int, lowest: float) -> float:
    """The learning rate as a share of the highest one: up in `warm_up` steps, then as a cosine down to `lowest`."""
    if step < warm_up:
        return (step + 1) / warm_up
    done = (step - warm_up) / max(1, steps - warm_up)
    return lowest + (1 - lowest) * (1 + math.cos(math.pi * done)) / 2


@torch.no_grad()
def follow_weights(average: nn.Module, module: nn.Module, decay: float, step: int) -> None:
    """Move the running mean of weights towards those after a step; in the first steps it follows faster."""
    share = 1 - min(decay, (1 + step) / (10 + step))
    for mean, now in zip(average.state_dict().values(), module.state_dict().values(), strict=True):
        if mean.is_floating_point():
            mean.lerp_(now, share)
        else:
            mean.copy_(now)
