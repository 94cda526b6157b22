"""Several processes train as one: each embeds its share of a batch, and each sees everybody's embeddings.

`torchrun` starts the processes. The loss of contrast needs all negatives, so embeddings are gathered and every process
works out the loss of the whole batch. A gradient flows back to a process's own rows only; summed over processes, the
gradients of the weights are those that one process with the whole batch has.
"""

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, distributed, nn

_PATIENCE = timedelta(hours=12)  # one process may still make features while others wait for it


@dataclass(frozen=True, slots=True)
class Group:
    """The processes that train together; alone by default."""

    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes and reports."""
        return self.rank == 0

    def share(self, count: int, rank: int | None = None) -> slice:
        """This process's rows of `count`, or another's: runs in order, as equal as can be."""
        whose = self.rank if rank is None else rank
        return slice(whose * count // self.size, (whose + 1) * count // self.size)

    def gather(self, rows: Tensor, count: int) -> Tensor:
        """Everybody's rows in order, (count, D), of this process's own (n, D); gradients reach the own rows."""
        if self.size == 1:
            return rows
        gathered: Tensor = _Gather.apply(rows, count, self)  # type: ignore[no-untyped-call]
        return gathered

    def sum_gradients(self, module: nn.Module) -> None:
        """Add up the gradients of all processes, in place."""
        if self.size == 1:
            return
        gradients = [weight.grad for weight in module.parameters() if weight.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        distributed.all_reduce(flat)
        done = 0
        for gradient in gradients:
            gradient.copy_(flat[done : done + gradient.numel()].view_as(gradient))
            done += gradient.numel()

    def any(self, *, is_so: bool) -> bool:
        """Whether it is so in any process; all processes ask at once."""
        return self._greatest(int(is_so)) > 0

    def agrees(self, number: int) -> bool:
        """Whether all processes have the same number; all processes ask at once."""
        return self._greatest(number) == -self._greatest(-number)

    def wait(self) -> None:
        """Go on when all processes have come here."""
        self._greatest(0)

    def _greatest(self, number: int) -> int:
        if self.size == 1:
            return number
        value = torch.tensor(number)
        distributed.all_reduce(value, distributed.ReduceOp.MAX)
        return int(value)


ALONE = Group()


class _Gather(torch.autograd.Function):
    """All rows of all processes; the gradient of the own rows goes back."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, count: int, group: Group) -> Tensor:
        """(n, D) own rows to (count, D) rows of all processes."""
        ctx.own = group.share(count)
        shares = [group.share(count, rank) for rank in range(group.size)]
        sizes = [share.stop - share.start for share in shares]
        padded = rows.new_zeros(max(sizes), *rows.shape[1:])
        padded[: len(rows)] = rows
        parts = [torch.empty_like(padded) for _ in sizes]
        distributed.all_gather(parts, padded)
        return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """(count, D) gradients to the (n, D) of the own rows: all processes have the same loss, so nothing is sent."""
        return gradients[0][ctx.own], None, None


@contextmanager
def join_group() -> Iterator[Group]:
    """Join the processes that `torchrun` has started; without it, be alone."""
    if not distributed.is_torchelastic_launched() or int(os.environ.get("WORLD_SIZE", "1")) < 2:
        yield ALONE
        return
    # An optimiser loads the compiler. Loaded within a group, it holds the group for good: its threads would outlive
    # `destroy_process_group`, and one that drops a tensor while the interpreter ends aborts the process.
    importlib.import_module("torch._dynamo")
    distributed.init_process_group("gloo", timeout=_PATIENCE)
    try:
        yield Group(distributed.get_rank(), distributed.get_world_size())
    finally:
        distributed.destroy_process_group()
