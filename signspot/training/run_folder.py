"""The folder of a training: its state, from which it resumes, its curve, its events, and a batch to inspect."""

import csv
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from torch import Tensor

from signspot.errors import CheckpointError, FormatError, MissingExtraError, OptionsError, SignspotError
from signspot.io.checks import parse_json
from signspot.io.files import atomic_write
from signspot.io.text import read_text
from signspot.models.checkpoints import read_state
from signspot.training.distributed import ALONE, Group

CPU = "cpu"  # where trainings run, unless the user says else


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder in which a training keeps its files."""

    home: Path

    @property
    def state(self) -> Path:
        """Weights, optimiser and curve."""
        return self.home / "state.pt"

    def save(self, settings: Mapping[str, Any], states: Mapping[str, Any], curve: Sequence[Sequence[float]]) -> None:
        """Save the states of modules and optimisers, and the curve so far."""
        content = BytesIO()  # torch itself reports a full disk in unexpected ways
        saved = {name: part.state_dict() for name, part in states.items()}
        torch.save({**saved, "settings": dict(settings), "curve": torch.tensor(curve, dtype=torch.float64)}, content)
        with atomic_write(self.state) as temporary:
            temporary.write_bytes(content.getbuffer())

    def load(self, settings: Mapping[str, Any], states: Mapping[str, Any]) -> list[list[float]]:
        """Put a saved state into modules and optimisers; give the curve so far, empty where nothing was saved.

        Raises:
            CheckpointError: the state is damaged, of other weights, or of a training with other settings.
        """
        if not self.state.is_file():
            return []
        try:
            saved: dict[str, Any] = read_state(self.state)
            before = saved["settings"]
            other = next((name for name in {**before, **settings} if before.get(name) != settings.get(name)), None)
            curve: list[list[float]] = saved["curve"].tolist()
            if other is None:
                for name, part in states.items():
                    part.load_state_dict(saved[name])
        except Exception as error:  # whatever a damaged file makes torch raise
            lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
            reason = " ".join(lines[:2])
            raise CheckpointError(f"cannot resume from {self.state}: {reason:.200}. Remove it to start anew") from error
        if other is not None:
            raise CheckpointError(
                f"{self.state} was trained with {other} {before.get(other)!s:.60}, not {settings.get(other)!s:.60}. "
                "Name another folder"
            )
        return curve

    def log(self, event: str, step: int, group: Group = ALONE, **values: object) -> None:
        """Append an event to events.jsonl, in the first process only."""
        if group.is_first:
            self.home.mkdir(parents=True, exist_ok=True)
            line = {"time": datetime.now(UTC).isoformat(timespec="seconds"), "event": event, "step": step, **values}
            with (self.home / "events.jsonl").open("a") as file:
                file.write(json.dumps(line) + "\n")

    @contextmanager
    def tensorboard(self, *, is_wanted: bool) -> Iterator[Callable[[int, Mapping[str, float]], None]]:
        """Within the block, numbers of a step are written to `tensorboard/`, if that is wanted.

        Raises:
            MissingExtraError: TensorBoard is not installed.
        """
        if not is_wanted:
            yield lambda step, numbers: None
            return
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise MissingExtraError("tensorboard", "tensorboard", "events of a training") from None
        with SummaryWriter(self.home / "tensorboard") as writer:

            def show(step: int, numbers: Mapping[str, float]) -> None:
                for name, value in numbers.items():
                    writer.add_scalar(name, value, step)

            yield show

    def write_curve(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """The curve so far, as CSV."""
        with atomic_write(self.home / "curve.csv") as temporary, temporary.open("w", newline="") as file:
            csv.writer(file).writerow(columns)
            csv.writer(file).writerows(rows)

    def draw_curve(self, values: Sequence[float], name: str, unit: str) -> None:
        """Plot the curve of one column, which is usually the loss."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 3.2), layout="constrained")
        axes = figure.add_subplot(xlabel=unit, ylabel=name)
        axes.plot(range(1, len(values) + 1), values)
        with atomic_write(self.home / "curve.png") as temporary:
            figure.savefig(temporary, dpi=100)

    def dump_batch(self, loss: Tensor, step: int, arrays: Mapping[str, NDArray[Any]]) -> SignspotError:
        """Save a batch whose loss is not finite, for inspection; give the error to raise."""
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
            array: NDArray[Any] = open_memmap(path, mode="r")  # of objects it opens none
        if (array.dtype, array.ndim) != (np.dtype(kind), dimensions) or not array.size:
            raise ValueError("it holds something else")
        if rows is not None and len(array) != rows:
            raise ValueError(f"it has {len(array):,} rows instead of {rows:,}")
        return array
    except Exception as error:  # whatever a damaged file makes numpy raise
        raise FormatError(f"cannot read {path} ({error!s:.200}). Remove it, and it is made again.") from error


@dataclass(frozen=True, slots=True)
class Run:
    """Folder and device of a training."""

    out: Path  # state, curve and what the run follows from
    features: Path | None = None  # of the trunk; None: in `out`
    command: str = ""  # for the card
    device: str = CPU  # where it is trained
    workers: int = 0  # processes that make batches; 0: the one that trains


def claim(run: Run, setup: dict[str, Any]) -> None:
    """Write what a run follows from, or see that the folder's run follows from the same.

    Raises:
        OptionsError: the folder holds a run with another corpus, trunk or configuration.
        FormatError: its record of that is damaged.
    """
    path, settings = run.out / "run.json", json.loads(json.dumps(setup))
    if path.is_file():
        there = parse_json(read_text(path, exact=True).text, str(path))
        if not isinstance(there, dict):
            raise FormatError(f"{path} does not describe a training. Name another folder with --out")
        for name, value in settings.items():
            if there.get(name) != value:
                raise OptionsError(f"{run.out} holds a training with another {name}. Name another folder with --out")
    else:
        with atomic_write(path) as temporary:
            temporary.write_text(json.dumps(settings, indent=1) + "\n")
