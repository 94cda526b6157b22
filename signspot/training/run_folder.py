"""The folder of a training: its state, from which it goes on to the same result, its curve, and a batch gone wrong."""

import csv
import json
import signal
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import numpy as np
import torch
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from torch import Tensor, nn

from signspot.errors import CheckpointError, FormatError, OptionsError, SignspotError
from signspot.io.checks import parse_json
from signspot.io.files import atomic_write
from signspot.io.text import read_text
from signspot.models.weight_files import read_state
from signspot.training.distributed import ALONE, Group

CPU = "cpu"  # where trainings run, unless the user says else
_PATIENCE = 1.0  # seconds; signals nearer than that are one


class StopSign:
    """Within the block, a signal to stop is only noted; a second one, a while later, stops at once."""

    def __init__(self) -> None:
        self.heard = False
        self._first = 0.0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "StopSign":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note_signal(self, number: int, frame: FrameType | None) -> None:
        if self.heard and time.monotonic() - self._first > _PATIENCE:
            raise KeyboardInterrupt
        if not self.heard:
            self.heard, self._first = True, time.monotonic()


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


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Folder in which a training keeps the files that it needs to go on."""

    home: Path

    @property
    def state(self) -> Path:
        """Weights, optimiser and place in the schedule."""
        return self.home / "state.pt"

    def save(self, config: Mapping[str, Any], parts: Mapping[str, Any], said: Mapping[str, Any]) -> None:
        """Save the state of `parts` (modules, optimisers) and plain values."""
        states = {name: part.state_dict() for name, part in parts.items()}
        content = BytesIO()  # torch itself tells a full disk in ways that nobody expects
        torch.save({"config": dict(config), **states, **said}, content)
        with atomic_write(self.state) as temporary:
            temporary.write_bytes(content.getbuffer())

    def load(
        self, config: Mapping[str, Any], parts: Mapping[str, Any], said: Sequence[str] = ()
    ) -> dict[str, Any] | None:
        """Put a saved state into `parts`; give all that was saved, `said` among it, None where nothing was.

        Raises:
            CheckpointError: the state is damaged, of other weights, or of another configuration.
        """
        if not self.state.is_file():
            return None
        try:
            saved: dict[str, Any] = read_state(self.state)
            before = saved["config"]
            other = next((name for name, value in config.items() if before.get(name) != value), None)
            if other is None:
                missing = [name for name in (*parts, *said) if name not in saved]
                if missing:
                    raise CheckpointError(f"it has no {missing[0]}.")
                for name, part in parts.items():
                    part.load_state_dict(saved[name])
        except Exception as error:  # whatever a damaged file makes torch raise
            lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
            reason = " ".join(lines[:2])
            raise CheckpointError(f"cannot go on from {self.state}: {reason:.200} Remove it to start anew.") from error
        if other is not None:
            raise CheckpointError(
                f"{self.state} was trained with {other} {before.get(other)!s:.60}, not {config[other]!s:.60}. "
                "Name another folder."
            )
        return saved

    def write_curve(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """The curve so far, as CSV."""
        with atomic_write(self.home / "curve.csv") as temporary, temporary.open("w", newline="") as file:
            csv.writer(file).writerow(columns)
            csv.writer(file).writerows(rows)

    def draw_curve(self, losses: Sequence[float], title: str, unit: str = "epoch") -> None:
        """The loss over time, as a picture."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 3.2), layout="constrained")
        axes = figure.add_subplot(xlabel=unit, ylabel="loss", title=title)
        axes.plot(range(1, len(losses) + 1), losses)
        with atomic_write(self.home / "curve.png") as temporary:
            figure.savefig(temporary, dpi=100)

    def keep_bad_batch(self, loss: Tensor, step: int, arrays: Mapping[str, NDArray[Any]]) -> SignspotError:
        """Save a batch whose loss is no number, for inspection; give the error to raise."""
        path = self.home / f"bad-batch-{step}.npz"
        with atomic_write(path) as temporary:
            np.savez(temporary, **dict(arrays))  # type: ignore[arg-type]  # its stub takes a name for a flag
        return SignspotError(f"the loss at step {step} is {loss.item()}; its batch is saved in {path}")


def open_array(path: Path, kind: type[np.generic], dimensions: int, rows: int | None = None) -> NDArray[Any]:
    """Open an array that a training keeps, on disk until it is read; None: of any number of rows.

    Raises:
        FormatError: it is damaged, or another array than was kept.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kept: NDArray[Any] = open_memmap(path, mode="r")  # of objects it opens none
        if (kept.dtype, kept.ndim) != (np.dtype(kind), dimensions) or not kept.size:
            raise ValueError("it holds something else")
        if rows is not None and len(kept) != rows:
            raise ValueError(f"it has {len(kept):,} rows instead of {rows:,}")
        return kept
    except Exception as error:  # whatever a damaged file makes numpy raise
        raise FormatError(f"cannot read {path} ({error!s:.200}). Remove it, and it is made again.") from error


@dataclass(frozen=True, slots=True)
class Run:
    """Folder of a training, and the processes that take part."""

    out: Path  # state, curve and what the run follows from
    features: Path | None = None  # of the trunk; None: in `out`
    command: str = ""  # for the card
    group: Group = ALONE
    device: str = CPU  # where it is trained

    def __post_init__(self) -> None:
        if self.group.size > 1 and self.device != CPU:
            raise OptionsError(
                f"several processes train on the CPU; got the device '{self.device}'. Leave out torchrun"
            )


def claim(run: Run, setup: dict[str, Any]) -> None:
    """Write what a run follows from, or see that the folder's run follows from the same.

    Raises:
        OptionsError: the folder holds a run with another corpus, trunk or configuration.
        FormatError: its record of that is damaged.
    """
    path, wanted = run.out / "run.json", json.loads(json.dumps(setup))
    if path.is_file():
        there = parse_json(read_text(path, exact=True).text, str(path))
        if not isinstance(there, dict):
            raise FormatError(f"{path} does not tell what a training follows from. Name another folder with --out")
        for name, value in wanted.items():
            if there.get(name) != value:
                raise OptionsError(f"{run.out} holds a training with another {name}. Name another folder with --out")
    elif run.group.is_first:
        with atomic_write(path) as temporary:
            temporary.write_text(json.dumps(wanted, indent=1) + "\n")
