"""The loop on a task of a few numbers: it resumes to the same bits, stops at nonsense, and writes what happened."""

import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from signspot.errors import CheckpointError, OptionsError, SignspotError
from signspot.training.loop import InterruptHandler, Schedule, Task, by_epoch, stepwise, train, warm_cosine

STEPS = 7


class Fit(Task[nn.Sequential, Tensor]):
    """A line through noisy points, with dropout, so that every kind of random number takes part."""

    columns = ("loss", "step")

    def __init__(self, schedule: Schedule | None = None, bad_step: int | None = None):
        torch.manual_seed(3)
        self.module = nn.Sequential(nn.Linear(2, 4), nn.Dropout(0.5), nn.Linear(4, 1))
        self.settings = {"seed": 3, "shape": (2, 4)}
        self.schedule = schedule or Schedule(STEPS, 3, warm_cosine(STEPS, 2, 0.1), clip=1.0, average=0.9, save_every=3)
        self.bad_step, self.initialised, self.seen = bad_step, 0, list[int]()

    def initialise(self) -> None:
        self.initialised += 1
        nn.init.ones_(self.module[0].weight)  # type: ignore[arg-type]

    def optimiser(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.module.parameters(), 0.1)

    def batch(self, step: int) -> Tensor:
        made = torch.from_numpy(np.random.default_rng(step).normal(size=(5, 2)).astype(np.float32))
        return made * float("nan") if step == self.bad_step else made

    def loss(self, module: nn.Sequential, batch: Tensor) -> tuple[Tensor, list[float | Tensor]]:
        self.seen.append(len(self.seen))
        loss = (module(batch)[:, 0] - batch.sum(dim=1)).square().mean()
        return loss, [loss, float(len(self.seen))]

    def validate(self, module: nn.Sequential) -> dict[str, float]:
        assert not module.training
        return {"bias": float(module[2].bias)}  # type: ignore[arg-type]

    def arrays(self, batch: Tensor) -> dict[str, Any]:
        return {"points": batch.numpy()}


def weights(module: nn.Module) -> Tensor:
    return torch.cat([value.flatten() for value in module.state_dict().values()])


def interrupt_at(step: int) -> Any:
    return lambda done, _: signal.raise_signal(signal.SIGINT) if done == step else None


@pytest.mark.parametrize("stop", [2, 3, 5])
@pytest.mark.parametrize("average", [None, 0.9])
def test_an_interrupted_training_resumes_to_the_same_bits(stop: int, average: float | None, tmp_path: Path) -> None:
    schedule = replace(Fit().schedule, average=average)
    whole = train(Fit(schedule), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(Fit(schedule), tmp_path / "parts", interrupt_at(stop))
    assert len((tmp_path / "parts" / "curve.csv").read_text().splitlines()) == 1 + stop
    second = Fit(schedule)
    resumed = train(second, tmp_path / "parts")
    assert (len(second.seen), second.initialised) == (STEPS - stop, 0)
    assert torch.equal(weights(resumed.module), weights(whole.module))
    assert [row[0] for row in resumed.curve] == [row[0] for row in whole.curve]
    assert resumed.validation == whole.validation
    events = [json.loads(line)["event"] for line in (tmp_path / "parts" / "events.jsonl").read_text().splitlines()]
    assert events == ["started", "interrupted", "resumed", "finished"]


def test_a_finished_training_is_only_read(tmp_path: Path) -> None:
    first = train(Fit(), tmp_path)
    again = Fit()
    assert torch.equal(weights(train(again, tmp_path).module), weights(first.module))
    assert again.seen == []


def test_a_killed_training_resumes_from_the_last_save(tmp_path: Path) -> None:
    def kill(done: int, total: int | None) -> None:
        if done == 5:
            raise MemoryError

    whole = train(Fit(), tmp_path / "whole")
    with pytest.raises(MemoryError):
        train(Fit(), tmp_path / "parts", kill)
    second = Fit()
    assert torch.equal(weights(train(second, tmp_path / "parts").module), weights(whole.module))
    assert len(second.seen) == STEPS - 3


def test_batches_of_workers_are_the_same(tmp_path: Path) -> None:
    one, two = (train(Fit(), tmp_path / str(workers), workers=workers) for workers in (0, 2))
    assert torch.equal(weights(one.module), weights(two.module))


def test_a_state_of_other_settings_or_a_damaged_one_is_refused(tmp_path: Path) -> None:
    train(Fit(), tmp_path)
    other = Fit()
    other.settings = {**other.settings, "seed": 4}
    with pytest.raises(CheckpointError, match="seed 3, not 4"):
        train(other, tmp_path)
    (tmp_path / "state.pt").write_bytes(b"nonsense")
    with pytest.raises(CheckpointError, match=r"state\.pt"):
        train(Fit(), tmp_path)


def test_a_loss_that_is_not_finite_stops_and_keeps_the_batch(tmp_path: Path) -> None:
    with pytest.raises(SignspotError, match=r"step 4 is nan.*bad-batch-4\.npz"):
        train(Fit(bad_step=4), tmp_path)
    with np.load(tmp_path / "bad-batch-4.npz") as saved:
        assert saved["points"].shape == (5, 2)
    assert json.loads((tmp_path / "events.jsonl").read_text().splitlines()[-1])["step"] == 4


def test_the_curve_has_a_row_per_epoch(tmp_path: Path) -> None:
    schedule = Schedule(6, 0, stepwise(3, 2, 0.1, (1 / 3,)), epoch=2)
    result = train(Fit(schedule), tmp_path)
    assert [row[1] for row in result.curve] == [1.5, 3.5, 5.5]
    rows = [line.split(",") for line in (tmp_path / "curve.csv").read_text().splitlines()]
    assert rows[0] == ["epoch", "lr", "loss", "step"]
    assert [float(row[1]) for row in rows[1:]] == pytest.approx([0.1, 0.01, 0.01])
    assert (tmp_path / "curve.png").stat().st_size > 1000
    assert by_epoch([[1.0], [2.0], [5.0]], 2) == [(1.5,)]


def test_the_mean_of_weights_is_what_is_kept(tmp_path: Path) -> None:
    task = Fit()
    kept = train(task, tmp_path).module
    assert kept is not task.module
    assert not torch.equal(weights(kept), weights(task.module))
    last = Fit(replace(task.schedule, average=None))
    assert train(last, tmp_path / "last").module is last.module


def test_learning_rates_rise_and_fall() -> None:
    scale = warm_cosine(10, 2, 0.1)
    assert [scale(0), scale(1), scale(2), scale(6)] == pytest.approx([0.5, 1.0, 1.0, 0.55])
    assert scale(9) > 0.1
    at_40_and_45 = stepwise(50, 3, 0.1, (0.8, 0.9))
    assert [at_40_and_45(3 * epoch + 2) for epoch in (0, 39, 40, 44, 45)] == pytest.approx([1, 1, 0.1, 0.1, 0.01])


def test_a_device_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="cuda"):
        train(Fit(), tmp_path, device="cuda")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_recorded_and_handlers_come_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with InterruptHandler() as interrupt:
        assert not interrupt.requested
        signal.raise_signal(number)
        signal.raise_signal(number)  # a group of processes gets it twice at once
        assert interrupt.requested
    assert signal.getsignal(number) is before


def test_a_second_signal_a_while_later_stops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("signspot.training.loop.time.monotonic", lambda: now[0])
    with InterruptHandler(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
        now[0] = 2.0
        signal.raise_signal(signal.SIGINT)
