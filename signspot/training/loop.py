"""The training loop: every training is a task of it.

A task says what is learned from and how a batch becomes a loss. The loop does everything else, in this order: seeds,
batches, learning rates, loss, finite check, gradients, clipping, averaging of weights, curve, validation, checkpoint,
interruption. Batch i, and every random number of step i, follow from the seed and i alone, so a training that was
interrupted resumes to the very same weights.
"""

import copy
import logging
import math
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.amp.grad_scaler import GradScaler
from torch.utils.data import DataLoader, Dataset

from signspot.errors import CheckpointError, OptionsError
from signspot.io.memory import give_back
from signspot.io.progress import Progress, silent
from signspot.models.encoder_network import find_device
from signspot.training.configuration import Compute
from signspot.training.distributed import ALONE, Group, current_group, whole_batch_norm
from signspot.training.run_folder import CPU, RunFolder

logger = logging.getLogger(__name__)

M = TypeVar("M", bound=nn.Module)
B = TypeVar("B")

_SEEDS = 1_000_003  # step seeds of two trainings do not meet
_PREFETCHED = 4  # batches that each worker makes ahead
_ONE_SIGNAL = 1.0  # seconds; signals that follow each other faster count as one
_AVERAGE_WARM_UP = 10  # steps in which the running mean of weights follows faster
_MEASURED = 3  # steps of a dry run
_HALF = {"bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long a task is trained, and how its weights are updated."""

    steps: int
    seed: int
    lr_scale: Callable[[int], float]  # step → factor of the optimiser's learning rates
    clip: float | None = None  # greatest norm of the gradient
    average: float | None = None  # decay of the running mean of weights, which is the result; None: the last weights
    epoch: int | None = None  # steps of an epoch, of which the curve has the mean; None: it has every step
    save_every: int = 50  # steps

    @property
    def unit(self) -> str:
        """What a row of the curve is of."""
        return "step" if self.epoch is None else "epoch"


class Task(ABC, Generic[M, B]):
    """One training: a module M that learns from batches B.

    A subclass sets `module`, `schedule` and `settings`, and implements `optimiser`, `batch` and `loss`.

    Where several processes train, each computes `group.share` of a batch and gathers the outputs, from which `loss` is
    worked out for the whole batch. A task that does not share gives the same result, and saves no time.
    """

    columns: ClassVar[tuple[str, ...]] = ("loss",)  # names of the numbers of a step that the curve shows
    decisive: ClassVar[str | None] = None  # the number of `validate` of which the highest is the best
    module: M  # on the CPU; the loop moves it to the device and back
    trunk: nn.Module | None = None  # the part of the module that is worth compiling; None: nothing is
    schedule: Schedule
    compute: Compute = Compute()
    group: Group = ALONE  # the processes that train; the loop sets it
    settings: Mapping[str, Any]  # plain values that the weights follow from; a state with other ones is refused

    @abstractmethod
    def optimiser(self) -> torch.optim.Optimizer:
        """Make the optimiser of `module`, with the highest learning rates."""

    @abstractmethod
    def batch(self, step: int) -> B:
        """Make batch number `step` from the seed and the step alone; worker processes may do so."""

    @abstractmethod
    def loss(self, module: M, batch: B) -> tuple[Tensor, Sequence[float | Tensor]]:
        """The loss of a batch, and one number for each of `columns`."""

    def initialise(self) -> None:
        """Initialise `module` from data; not called when a training resumes."""

    def before_step(self, step: int) -> None:
        """Change `module` before a step, such as when a second source of data joins."""

    def finish(self, module: M) -> None:
        """Complete the trained module after the last step, on the device."""

    def validate(self, module: M) -> Mapping[str, Any]:
        """Measure the trained module on data that was not learned from, on the device; plain values."""
        return {}

    def arrays(self, batch: B) -> Mapping[str, NDArray[Any]]:
        """A batch as arrays, to inspect one whose loss is not finite."""
        return {}


@dataclass(frozen=True, slots=True)
class TrainingResult(Generic[M]):
    """A trained module and how it came about."""

    module: M  # in evaluation mode, on the CPU
    curve: list[tuple[float, ...]]  # a row per epoch: the mean of each of the task's columns
    validation: Mapping[str, Any] = field(default_factory=dict)


def train(
    task: Task[M, B],
    folder: str | PathLike[str],
    progress: Progress = silent,
    *,
    device: str = CPU,
    workers: int = 0,
) -> TrainingResult[M]:
    """Train a task, or resume where it was interrupted.

    Within `distributed.join_group` all processes of the group train it: they share the folder, and the first one
    writes.

    Args:
        task: what is trained.
        folder: for the state, curve.csv, curve.png and events.jsonl.
        progress: called with the number of steps done.
        device: where it is trained.
        workers: processes that make batches; 0: this one.

    Raises:
        SignspotError: the loss is not finite; the batch is saved for inspection.
        CheckpointError: the folder holds a state of another training, or a damaged one.
        KeyboardInterrupt: it was interrupted; the state is saved.
    """
    run, schedule, compute = RunFolder(Path(folder)), task.schedule, task.compute
    _check(task)
    group = task.group = current_group()
    target = find_device(device)
    if _is_dry_run.get():
        raise StepMeasuredError(_measure_step(task, target))
    if not run.state.is_file():
        task.initialise()
        group.copy_first(task.module)
    average = copy.deepcopy(task.module) if schedule.average is not None else None
    modules: dict[str, nn.Module] = {"module": task.module, **({"average": average} if average is not None else {})}
    result = task.module if average is None else average
    with (
        moved_to(target, *modules.values()),
        InterruptHandler() as interrupt,
        compiled_trunk(task),
        run.tensorboard(is_wanted=compute.tensorboard and group.is_first) as show,
    ):
        optimiser, scaler = task.optimiser(), GradScaler(target.type, enabled=compute.precision == "float16")
        highest_lrs = [float(part["lr"]) for part in optimiser.param_groups]
        states: dict[str, Any] = {**modules, "optimiser": optimiser}
        states |= {"scaler": scaler} if scaler.is_enabled() else {}
        best = BestWeights()
        states |= {"best": best} if compute.validate_every else {}
        curve = run.load(task.settings, states)
        if not group.agrees(len(curve)):
            raise CheckpointError(f"the processes do not see the same {run.home}. Name a folder that all of them share")
        run.log("resumed" if curve else "started", len(curve), group)
        task.module.train()
        saved = len(curve)
        for step, batch in made_batches(task, range(len(curve), schedule.steps), workers, target):
            first = step - step % compute.accumulate  # of the batches whose gradients are added up
            count = min(compute.accumulate, schedule.steps - first)
            is_last = step == first + count - 1
            torch.manual_seed((schedule.seed * _SEEDS + step) * group.size + group.rank)
            for part, lr in zip(optimiser.param_groups, highest_lrs, strict=True):
                part["lr"] = lr * schedule.lr_scale(step)
            task.before_step(step)
            with whole_batch_norm(task.module, group), autocast(target, compute):
                loss, numbers = task.loss(task.module, batch)
            if group.any(is_so=not torch.isfinite(loss)):
                run.log("loss not finite", step, group)
                raise run.dump_batch(loss, step, task.arrays(batch))
            if step == first:
                optimiser.zero_grad(set_to_none=True)
            scaler.scale(loss / count).backward()  # type: ignore[no-untyped-call]
            if is_last:
                group.average_gradients(task.module)
                scaler.unscale_(optimiser)
                if schedule.clip is not None:
                    nn.utils.clip_grad_norm_(task.module.parameters(), schedule.clip)
                scaler.step(optimiser)
                scaler.update()
                if average is not None and schedule.average is not None:
                    follow_weights(average, task.module, schedule.average, step)
            curve.append([number.item() if isinstance(number, Tensor) else number for number in numbers])
            progress(len(curve), schedule.steps)
            show(len(curve), {"lr": optimiser.param_groups[0]["lr"], **dict(zip(task.columns, curve[-1], strict=True))})
            if not is_last:
                continue  # a state has no gradients, so it is not saved between two of them
            is_end = len(curve) == schedule.steps
            if compute.validate_every and (is_end or has_passed(compute.validate_every, first, len(curve))):
                best.offer(task, copy.deepcopy(result), len(curve))
                run.log("validated", len(curve), group, **best.last)
                show(len(curve), {f"validation/{name}": value for name, value in best.last.items()})
            is_interrupted = group.any(is_so=interrupt.requested)
            if is_interrupted or is_end or has_passed(schedule.save_every, saved, len(curve)):
                saved = len(curve)
                if group.is_first:
                    _save(run, task, states, curve, max(highest_lrs))
            if is_interrupted:
                run.log("interrupted", len(curve), group)
                raise KeyboardInterrupt
        trained = result.eval()
        with torch.no_grad():
            task.finish(trained)  # it may change which weights there are
            if compute.validate_every:
                trained.load_state_dict(best.weights)
            validation = best.validation if compute.validate_every else task.validate(trained)
    rows = by_epoch(curve, schedule.epoch)
    if group.is_first:
        run.log("finished", len(curve), group, **validation)
        run.draw_curve([row[0] for row in rows], task.columns[0], schedule.unit)
    group.wait()  # until everything is written
    return TrainingResult(trained, rows, validation)


def _check(task: Task[Any, Any]) -> None:
    """See that a task can do what its configuration asks for.

    Raises:
        OptionsError: it cannot be validated, or nothing of it is compiled.
    """
    if task.compute.validate_every and task.decisive is None:
        raise OptionsError("this training has nothing to validate by: leave validate_every at 0")
    if task.compute.compile and task.trunk is None:
        raise OptionsError("compiling does not speed up this training: leave compile out")


_is_dry_run: ContextVar[bool] = ContextVar("is_dry_run", default=False)


@dataclass(frozen=True, slots=True)
class StepMeasurement:
    """Sizes and time of one step of a training."""

    weights: int  # numbers that are trained
    batch_bytes: int
    state_bytes: int  # of the file from which it resumes
    batch_seconds: float  # until a batch is made, by one process
    step_seconds: float  # until the weights are changed, once the batch is there
    steps: int  # of the whole training


class StepMeasuredError(Exception):
    """Ends `train` within `dry_run`; it is not a mistake of anyone."""

    def __init__(self, measured: StepMeasurement):
        super().__init__(measured)
        self.measured = measured


@contextmanager
def dry_run() -> Iterator[None]:
    """Within the block, `train` measures a step and raises `StepMeasuredError`; nothing is trained or written."""
    token = _is_dry_run.set(True)
    try:
        yield
    finally:
        _is_dry_run.reset(token)


def _measure_step(task: Task[M, B], device: torch.device) -> StepMeasurement:
    """The fastest of some steps: the first one prepares memory."""
    batch_seconds, step_seconds = [], []
    with moved_to(device, task.module), compiled_trunk(task):
        optimiser = task.optimiser()
        task.module.train()
        for step in range(min(_MEASURED, task.schedule.steps)):
            began = time.monotonic()
            batch = task.batch(step)
            ready = time.monotonic()
            with whole_batch_norm(task.module, task.group), autocast(device, task.compute):
                loss, _ = task.loss(task.module, batch)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            task.group.average_gradients(task.module)
            optimiser.step()
            float(loss.detach())  # a GPU has finished by then
            batch_seconds.append(ready - began)
            step_seconds.append(time.monotonic() - ready)
        states = [*task.module.state_dict().values(), *_tensors(optimiser.state_dict())]
    return StepMeasurement(
        sum(weight.numel() for weight in task.module.parameters() if weight.requires_grad),
        sum(array.nbytes for array in task.arrays(batch).values()),
        sum(value.numel() * value.element_size() for value in states),
        min(batch_seconds),
        min(step_seconds),
        task.schedule.steps,
    )


def _tensors(value: Any) -> Iterator[Tensor]:
    """All tensors in the state of an optimiser."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _tensors(part)


@contextmanager
def compiled_trunk(task: Task[Any, Any]) -> Iterator[None]:
    """Within the block, the trunk is compiled where that is asked for; its weights and their names stay."""
    trunk = task.trunk if task.compute.compile else None
    if trunk is not None:
        trunk.compile()
    try:
        yield
    finally:
        if trunk is not None:
            trunk._compiled_call_impl = None  # PyTorch has no public way back


def autocast(device: torch.device, compute: Compute) -> torch.autocast:
    """Within the block, products are computed in the precision that is asked for."""
    return torch.autocast(device.type, _HALF.get(compute.precision), enabled=compute.precision in _HALF)


def has_passed(every: int, before: int, now: int) -> bool:
    """Whether a multiple of `every` lies after step `before` and not after step `now`."""
    return now // every > before // every


class BestWeights:
    """The weights that were the best when they were validated, with what was measured; a part of the state."""

    def __init__(self) -> None:
        self.step, self.weights = 0, dict[str, Tensor]()
        self.validation: Mapping[str, Any] = {}
        self.last: Mapping[str, Any] = {}  # what was measured at the last step that was validated

    def offer(self, task: Task[M, Any], module: M, step: int) -> None:
        """Complete a copy of the module, measure it, and keep its weights if they are the best so far."""
        assert task.decisive is not None, "it was checked before the first step"
        module.eval()
        with torch.no_grad():
            task.finish(module)
            self.last = task.validate(module)
        if not self.weights or self.last[task.decisive] > self.validation[task.decisive]:
            self.step, self.validation = step, self.last
            self.weights = {name: value.detach().cpu().clone() for name, value in module.state_dict().items()}

    def state_dict(self) -> dict[str, Any]:
        """For the state."""
        return {"step": self.step, "weights": self.weights, "validation": dict(self.validation)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Out of the state."""
        self.step, self.weights, self.validation = state["step"], state["weights"], state["validation"]


def made_batches(task: Task[M, B], steps: range, workers: int, device: torch.device) -> Iterator[tuple[int, B]]:
    """The batches of these steps, each with its number; made ahead by workers, if there are any."""
    if not workers:
        yield from ((step, task.batch(step)) for step in steps)
        return
    loader: DataLoader[B] = DataLoader(
        _NumberedBatches(task),
        batch_size=None,
        sampler=steps,
        num_workers=workers,
        prefetch_factor=_PREFETCHED,
        collate_fn=_as_it_is,
        pin_memory=device.type == "cuda",
        worker_init_fn=_ignore_signals,
    )
    yield from zip(steps, loader, strict=True)


class _NumberedBatches(Dataset[B]):
    """The batches of a task, as a data loader wants them."""

    def __init__(self, task: Task[Any, B]):
        self.task = task

    def __getitem__(self, step: int) -> B:
        return self.task.batch(step)


def _as_it_is(batch: B) -> B:
    return batch


def _ignore_signals(_: int) -> None:
    """Leave signals to the process that trains: terminals and torchrun send them to all processes of a group."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _save(run: RunFolder, task: Task[M, B], states: Mapping[str, Any], curve: list[list[float]], lr: float) -> None:
    """Save the curve and then the state, so that whoever resumes at the end has the whole curve; `lr`: the highest."""
    schedule = task.schedule
    rows = [
        (
            number + 1,
            f"{lr * schedule.lr_scale(number * (schedule.epoch or 1)):.4g}",
            *(f"{value:.5f}" for value in row),
        )
        for number, row in enumerate(by_epoch(curve, schedule.epoch))
    ]
    run.write_curve((schedule.unit, "lr", *task.columns), rows)
    run.save(task.settings, states, curve)
    recent = np.mean(curve[-schedule.save_every :], axis=0)
    named = ", ".join(f"{name} {value:.3f}" for name, value in zip(task.columns, recent, strict=True))
    logger.info("step %d: %s", len(curve), named)
    give_back()  # batches differ in size, and the memory that they leave does not fit the next ones


def by_epoch(curve: Sequence[Sequence[float]], epoch: int | None) -> list[tuple[float, ...]]:
    """The mean numbers of every whole epoch of so many steps; None: those of every step."""
    if epoch is None:
        return [tuple(row) for row in curve]
    whole = range(0, len(curve) - epoch + 1, epoch)
    return [tuple(float(value) for value in np.mean(curve[first : first + epoch], axis=0)) for first in whole]


def warm_cosine(steps: int, warm_up: int, lowest: float) -> Callable[[int], float]:
    """Learning rates that rise for `warm_up` steps, then fall as a cosine to the share `lowest` of the highest one."""

    def scale(step: int) -> float:
        if step < warm_up:
            return (step + 1) / warm_up
        done = (step - warm_up) / max(1, steps - warm_up)
        return lowest + (1 - lowest) * (1 + math.cos(math.pi * done)) / 2

    return scale


def stepwise(epochs: int, epoch: int, factor: float, shares: Sequence[float]) -> Callable[[int], float]:
    """Learning rates that are multiplied by `factor` after each of these shares of the epochs.

    Args:
        epochs: of the whole training.
        epoch: steps of an epoch.
        factor: of each decay.
        shares: of the epochs, such as 0.8 for epoch 40 of 50.
    """

    def scale(step: int) -> float:
        return factor ** sum(step // epoch >= round(share * epochs) for share in shares)

    return scale


@torch.no_grad()
def follow_weights(average: nn.Module, module: nn.Module, decay: float, step: int) -> None:
    """Move the running mean of weights towards those after a step; in the first steps it follows faster."""
    share = 1 - min(decay, (1 + step) / (_AVERAGE_WARM_UP + step))
    for mean, now in zip(average.state_dict().values(), module.state_dict().values(), strict=True):
        if mean.is_floating_point():
            mean.lerp_(now, share)
        else:
            mean.copy_(now)


def device_of(module: nn.Module) -> torch.device:
    """The device of a module's weights."""
    return next((weight.device for weight in module.parameters()), torch.device(CPU))


@contextmanager
def moved_to(device: torch.device, *modules: nn.Module) -> Iterator[None]:
    """Within the block, modules are on a device; afterwards on the CPU, whatever happens."""
    for module in modules:
        module.to(device)
    try:
        yield
    finally:
        for module in modules:
            module.cpu()


class InterruptHandler:
    """Within the block, a first SIGINT or SIGTERM is only recorded; a second one, a while later, stops at once."""

    def __init__(self) -> None:
        self.requested = False
        self._first = 0.0
        self._handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "InterruptHandler":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._handlers[number] = signal.signal(number, self._record)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _record(self, number: int, frame: FrameType | None) -> None:
        if self.requested and time.monotonic() - self._first > _ONE_SIGNAL:
            raise KeyboardInterrupt
        if not self.requested:
            self.requested, self._first = True, time.monotonic()
