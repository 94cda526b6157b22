"""What holds for every task of the loop: batches follow from their step, and an interrupted run resumes to its bits."""

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from signspot.errors import SignspotError
from signspot.training.configuration import Compute
from signspot.training.loop import train
from tests.training.two_processes import DATA, NewTask, tasks

KINDS = ("recogniser, batch norm", "watch_read_lookup", "rgb", "frame codes", "mouthing", "adaptation")


@pytest.fixture(params=KINDS)
def new_task(request: pytest.FixtureRequest) -> NewTask:
    """Makes the same task again and again."""
    return tasks({name: request.getfixturevalue(name) for name in DATA})[request.param]


def weights(module: torch.nn.Module) -> torch.Tensor:
    return torch.cat([value.flatten().double() for value in module.state_dict().values()])


def test_an_interrupted_training_resumes_to_the_same_bits(new_task: NewTask, tmp_path: Path) -> None:
    uninterrupted = train(new_task(), tmp_path / "whole")

    def interrupt(done: int, total: int | None) -> None:
        if done == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(new_task(), tmp_path / "parts", interrupt)
    resumed = train(new_task(), tmp_path / "parts")
    assert torch.equal(weights(resumed.module), weights(uninterrupted.module))
    assert (tmp_path / "parts" / "curve.csv").read_text() == (tmp_path / "whole" / "curve.csv").read_text()


def test_a_batch_follows_from_its_step(new_task: NewTask) -> None:
    one, two = new_task(), new_task()
    first, again, other = (task.arrays(task.batch(step)) for task, step in ((one, 3), (two, 3), (one, 4)))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not all(np.array_equal(first[name], other[name]) for name in first)


def test_a_batch_whose_loss_is_not_finite_is_kept(new_task: NewTask, tmp_path: Path) -> None:
    task = new_task()
    with torch.no_grad():
        for weight in task.module.parameters():
            weight.fill_(float("nan"))
    task.initialise = lambda: None  # type: ignore[method-assign]
    with pytest.raises(SignspotError, match="step 0 is nan"):
        train(task, tmp_path)
    with np.load(tmp_path / "bad-batch-0.npz") as saved:
        assert set(saved.files) == set(task.arrays(task.batch(0)))


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_every_task_trains_in_half_precision(precision: Any, new_task: NewTask, tmp_path: Path) -> None:
    exact, half = new_task(), new_task()
    half.compute = Compute(precision, accumulate=2)
    exact.schedule, half.schedule = (replace(task.schedule, steps=2, epoch=None) for task in (exact, half))
    first = train(exact, tmp_path / "exact").curve[0][0]
    trained = train(half, tmp_path / "half")
    assert trained.curve[0][0] == pytest.approx(first, rel=0.1)
    assert all(bool(weight.isfinite().all()) for weight in trained.module.parameters())
    assert {weight.dtype for weight in trained.module.parameters()} == {torch.float32}
