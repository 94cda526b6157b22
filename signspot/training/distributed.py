"""Several processes train as one: each computes its share of a batch, and each sees the outputs of all.

`torchrun` starts the processes, one a device. Outputs of a batch are gathered, so that every process works out the loss
of the whole batch: a loss of contrast sees all negatives. A gradient flows back to a process's own rows, and the mean
over processes is what one process with the whole batch has. Batch norms measure the whole batch, too.
"""

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.nn.modules.batchnorm import _BatchNorm

from signspot.errors import OptionsError
from signspot.models.encoder_network import find_device

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

    def share(self, count: int) -> slice:
        """This process's rows of `count`: every `size`-th, so that all processes have rows of every kind."""
        return slice(self.rank, count, self.size)

    def gather(self, rows: Tensor, count: int) -> Tensor:
        """All `count` rows in order, (count, ...), of this process's (n, ...); gradients reach its own rows."""
        if self.size == 1:
            return rows
        gathered: Tensor = _Gather.apply(rows, count, self)  # type: ignore[no-untyped-call]
        return gathered

    def average_gradients(self, module: nn.Module) -> None:
        """Give the weights of all processes the mean of their gradients, in place; all have gradients of the same."""
        gradients = [weight.grad for weight in module.parameters() if weight.grad is not None]
        if self.size == 1 or not gradients:
            return
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        distributed.all_reduce(flat)
        means = torch.split(flat / self.size, [gradient.numel() for gradient in gradients])
        for gradient, mean in zip(gradients, means, strict=True):
            gradient.copy_(mean.view(gradient.shape))

    def copy_first(self, module: nn.Module) -> None:
        """Copy the weights of the first process to all: processors may differ in the last digit."""
        weights = [weight.detach() for weight in module.parameters()] if self.size > 1 else []
        for weight in weights:
            received = weight.contiguous()
            distributed.broadcast(received, 0)
            weight.copy_(received)

    def any(self, *, is_so: bool) -> bool:
        """Whether it is so in any process; all processes ask at once."""
        return self._greatest(int(is_so)) > 0

    def agrees(self, number: int) -> bool:
        """Whether all processes have the same number; all processes ask at once."""
        return self._greatest(number) == -self._greatest(-number)

    def wait(self) -> None:
        """Go on when all processes have come here."""
        self._greatest(0)

    @contextmanager
    def first_ahead(self) -> Iterator[None]:
        """The first process runs the block, then the others do: they open the files that it has written."""
        if not self.is_first:
            self.wait()
        yield
        if self.is_first:
            self.wait()

    def _greatest(self, number: int) -> int:
        if self.size == 1:
            return number
        value = torch.tensor(number)
        distributed.all_reduce(value, distributed.ReduceOp.MAX)
        return int(value)


ALONE = Group()


def current_group() -> Group:
    """The processes that this one trains with: those of `join_group`, or none."""
    if not distributed.is_initialized():
        return ALONE
    return Group(distributed.get_rank(), distributed.get_world_size())


class _Gather(torch.autograd.Function):
    """All rows of all processes; the gradient of the own rows goes back."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, count: int, group: Group) -> Tensor:
        """(n, ...) own rows to (count, ...) rows of all processes."""
        ctx.group, most = group, -(-count // group.size)
        padded = rows.new_zeros(most, *rows.shape[1:])
        padded[: len(rows)] = rows
        parts = [torch.empty_like(padded) for _ in range(group.size)]
        distributed.all_gather(parts, padded)
        return torch.stack(parts, dim=1).flatten(0, 1)[:count]  # row i is of process i modulo size

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """(count, ...) gradients to the (n, ...) of the own rows, so that their mean over processes is right.

        All processes have the same loss and the same gradients here, so nothing is sent.
        """
        group: Group = ctx.group
        return gradients[0][group.share(len(gradients[0]))] * group.size, None, None


class _Sum(torch.autograd.Function):
    """The sum of a tensor over all processes."""

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        """Any tensor to one of the same shape."""
        total = value.clone()
        distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        """The gradient of every process's use of the sum."""
        total = gradients[0].contiguous().clone()
        distributed.all_reduce(total)
        return total


@contextmanager
def whole_batch_norm(module: nn.Module, group: Group) -> Iterator[None]:
    """Within the block, batch norms in training measure the rows of all processes; on any device."""
    layers = [layer for layer in module.modules() if isinstance(layer, _BatchNorm)] if group.size > 1 else []
    for layer in layers:
        layer.forward = partial(_normalised, layer)  # type: ignore[method-assign]
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward


def _normalised(layer: _BatchNorm, x: Tensor) -> Tensor:
    """(B, C, ...) rows of this process, normalised by the statistics of all processes' rows."""
    if not layer.training:
        evaluated: Tensor = type(layer).forward(layer, x)
        return evaluated
    axes, shape = [axis for axis in range(x.ndim) if axis != 1], [1, -1, *([1] * (x.ndim - 2))]
    values = x.float()
    counted = values.new_full((1,), values.numel() / values.shape[1])
    totals: Tensor = _Sum.apply(torch.cat([values.sum(dim=axes), counted]))  # type: ignore[no-untyped-call]
    count = totals[-1].detach()
    centred = values - (totals[:-1] / count).view(shape)
    variance: Tensor = _Sum.apply(centred.square().sum(dim=axes)) / count  # type: ignore[no-untyped-call]
    if layer.track_running_stats:
        _follow(layer, totals[:-1].detach() / count, variance.detach() * count / (count - 1))
    normalised = centred * (variance + layer.eps).rsqrt().view(shape)
    if layer.affine:
        normalised = normalised * layer.weight.view(shape) + layer.bias.view(shape)
    return normalised.to(x.dtype)


@torch.no_grad()
def _follow(layer: _BatchNorm, mean: Tensor, variance: Tensor) -> None:
    """Move running statistics as PyTorch's own batch norm does."""
    assert layer.running_mean is not None, "statistics are tracked"
    assert layer.running_var is not None, "statistics are tracked"
    assert layer.num_batches_tracked is not None, "statistics are tracked"
    layer.num_batches_tracked += 1
    share = 1 / float(layer.num_batches_tracked) if layer.momentum is None else layer.momentum
    layer.running_mean.lerp_(mean, share)
    layer.running_var.lerp_(variance, share)


def local_device(device: torch.device, local_rank: int, count: int) -> torch.device:
    """The device of one process of several on a computer.

    Args:
        device: that was asked for.
        local_rank: number of the process on its computer.
        count: GPUs of the computer.

    Raises:
        OptionsError: all processes would share one GPU, or there are too few.
    """
    if device.type == "cpu":
        return device
    if str(device) != "cuda":
        raise OptionsError(f"several processes train on cpu or cuda, one a GPU; got the device '{device}'")
    if local_rank >= count:
        raise OptionsError(f"process {local_rank + 1} has no GPU: there are {count}. Lower --nproc-per-node")
    return torch.device("cuda", local_rank)


def communication(device: torch.device) -> str:
    """How processes talk: NCCL for tensors on GPUs, gloo for all others."""
    return "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"


@contextmanager
def join_group(device: str = "cpu") -> Iterator[Group]:
    """Join the processes that `torchrun` has started; without it, be alone.

    Args:
        device: where it is trained. On "cuda", each process of a computer uses the GPU of its number.

    Raises:
        OptionsError: there are fewer GPUs than processes, or several processes cannot share such a device.
    """
    if not distributed.is_torchelastic_launched() or int(os.environ.get("WORLD_SIZE", "1")) < 2:
        yield ALONE
        return
    target = local_device(find_device(device), int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count())
    if target.type == "cuda":
        torch.cuda.set_device(target)  # "cuda" means this one from now on
    # An optimiser loads the compiler. Loaded within a group, it holds the group for good: its threads would outlive
    # `destroy_process_group`, and one that drops a tensor while the interpreter ends aborts the process.
    importlib.import_module("torch._dynamo")
    distributed.init_process_group(communication(target), timeout=_PATIENCE)
    try:
        yield current_group()
    finally:
        distributed.destroy_process_group()
