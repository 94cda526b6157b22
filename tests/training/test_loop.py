"""The loop on a task of a few numbers: it resumes to the same bits, stops at nonsense, and writes what happened."""

import json
import multiprocessing
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from signspot.errors import CheckpointError, OptionsError, SignspotError
from signspot.training.configuration import Compute
from signspot.training.loop import (
    InterruptHandler,
    Schedule,
    StepMeasuredError,
    Task,
    by_epoch,
    dry_run,
    made_batches,
    stepwise,
    train,
    warm_cosine,
)
from signspot.training.run_folder import RunFolder

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
        values = torch.from_numpy(np.random.default_rng(step).normal(size=(5, 2)).astype(np.float32))
        return values * float("nan") if step == self.bad_step else values

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
    uninterrupted = train(Fit(schedule), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(Fit(schedule), tmp_path / "parts", interrupt_at(stop))
    assert len((tmp_path / "parts" / "curve.csv").read_text().splitlines()) == 1 + stop
    second = Fit(schedule)
    resumed = train(second, tmp_path / "parts")
    assert (len(second.seen), second.initialised) == (STEPS - stop, 0)
    assert torch.equal(weights(resumed.module), weights(uninterrupted.module))
    assert [row[0] for row in resumed.curve] == [row[0] for row in uninterrupted.curve]
    assert resumed.validation == uninterrupted.validation
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

    uninterrupted = train(Fit(), tmp_path / "whole")
    with pytest.raises(MemoryError):
        train(Fit(), tmp_path / "parts", kill)
    second = Fit()
    assert torch.equal(weights(train(second, tmp_path / "parts").module), weights(uninterrupted.module))
    assert len(second.seen) == STEPS - 3


@pytest.mark.parametrize("method", ["save", "write_curve"])
def test_a_training_killed_while_it_saves_its_end_has_the_whole_curve(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after either file of the last step: the state, or the curve."""
    write = getattr(RunFolder, method)
    writes = []

    def write_and_die(*arguments: Any) -> None:
        write(*arguments)
        writes.append(method)
        if len(writes) == 3:  # steps 3, 6 and 7
            raise MemoryError

    train(Fit(), tmp_path / "whole")
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(RunFolder, method, write_and_die)
        train(Fit(), tmp_path / "parts")
    train(Fit(), tmp_path / "parts")
    losses = [
        [line.split(",")[2] for line in (tmp_path / name / "curve.csv").read_text().splitlines()]
        for name in ("whole", "parts")
    ]
    assert losses[0] == losses[1]
    assert len(losses[0]) == STEPS + 1


def test_batches_of_workers_are_the_same(tmp_path: Path) -> None:
    one, two = (train(Fit(), tmp_path / str(workers), workers=workers) for workers in (0, 2))
    assert torch.equal(weights(one.module), weights(two.module))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_workers_leave_signals_to_the_process_that_trains(number: signal.Signals) -> None:
    batches = made_batches(Fit(), range(40), 1, torch.device("cpu"))
    next(batches)
    for worker in multiprocessing.active_children():
        assert worker.pid is not None
        os.kill(worker.pid, number)
    assert [step for step, _ in batches] == list(range(1, 40))


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
    mean = train(task, tmp_path).module
    assert mean is not task.module
    assert not torch.equal(weights(mean), weights(task.module))
    last = Fit(replace(task.schedule, average=None))
    assert train(last, tmp_path / "last").module is last.module


class Line(Task[nn.Linear, Tensor]):
    """A line through points, without anything random but the points; the validation rises to step 4 and falls."""

    decisive = "height"

    def __init__(self, compute: Compute, steps: int = 6, points: int = 5):
        torch.manual_seed(0)
        self.module, self.settings = nn.Linear(2, 1), {"compute": repr(compute)}
        self.compute, self.points = compute, points
        self.trunk = self.module
        self.schedule = Schedule(steps, 0, lambda step: 1.0, clip=1.0, save_every=2)
        self.validated, self.changes = list[int](), 0

    def optimiser(self) -> torch.optim.Optimizer:
        optimiser = torch.optim.SGD(self.module.parameters(), 10.0)
        optimiser.register_step_post_hook(lambda *_: setattr(self, "changes", self.changes + 1))
        return optimiser

    def batch(self, step: int) -> Tensor:
        return torch.from_numpy(np.random.default_rng([7, step]).normal(size=(self.points, 2)).astype(np.float32))

    def loss(self, module: nn.Linear, batch: Tensor) -> tuple[Tensor, list[Tensor]]:
        loss = 0.01 * (module(batch)[:, 0].float() - batch.sum(dim=1)).square().mean()
        return loss, [loss]

    def validate(self, module: nn.Linear) -> dict[str, float]:
        self.validated.append(len(self.validated))
        return {"height": -abs(len(self.validated) - 2.0), "weight": float(module.weight[0, 0])}


def test_gradients_of_several_batches_make_one_change(tmp_path: Path) -> None:
    """Two batches of 5 change the weights as one batch of 10 does; the last change has one batch only."""
    task = Line(Compute(accumulate=2), steps=3)
    train(task, tmp_path / "accumulated")
    assert task.changes == 2
    large = Line(Compute(), steps=2)
    five = [large.batch(step) for step in range(3)]
    large.batch = lambda step: torch.cat(five[:2]) if step == 0 else five[2]  # type: ignore[method-assign]
    train(large, tmp_path / "whole")
    torch.testing.assert_close(weights(task.module), weights(large.module), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("stop", [1, 2, 5])
def test_accumulated_gradients_are_whole_when_a_training_stops(stop: int, tmp_path: Path) -> None:
    uninterrupted = train(Line(Compute(accumulate=3), steps=8), tmp_path / "whole").module
    with pytest.raises(KeyboardInterrupt):
        train(Line(Compute(accumulate=3), steps=8), tmp_path / "parts", interrupt_at(stop))
    resumed = train(Line(Compute(accumulate=3), steps=8), tmp_path / "parts").module
    assert torch.equal(weights(resumed), weights(uninterrupted))


@pytest.mark.parametrize(("precision", "rounding"), [("bfloat16", 2**-8), ("float16", 2**-11)])
def test_products_in_half_precision_round_so_much_and_resume_to_the_same_bits(
    precision: Any, rounding: float, tmp_path: Path
) -> None:
    exact = train(Line(Compute()), tmp_path / "exact")
    half = train(Line(Compute(precision)), tmp_path / "half")
    assert half.module.weight.dtype == torch.float32
    off = (weights(half.module) - weights(exact.module)).abs().max()
    assert 0 < off < 20 * rounding
    with pytest.raises(KeyboardInterrupt):
        train(Line(Compute(precision)), tmp_path / "parts", interrupt_at(2))
    assert torch.equal(weights(train(Line(Compute(precision)), tmp_path / "parts").module), weights(half.module))


def test_float16_scales_its_loss_and_skips_a_change_that_overflows(tmp_path: Path) -> None:
    task = Line(Compute("float16"), steps=3)
    train(task, tmp_path)
    state = torch.load(tmp_path / "state.pt", weights_only=True)
    assert state["scaler"]["scale"] >= 2**14  # it starts at 2**16, and halves when a gradient overflows
    huge = Line(Compute("float16"), steps=1)
    huge.batch = lambda step: torch.full((5, 2), 200.0)  # type: ignore[method-assign]
    before = weights(huge.module).clone()
    train(huge, tmp_path / "huge")
    assert torch.equal(weights(huge.module), before)
    assert huge.changes == 0


def test_the_best_weights_are_the_result_and_outlast_an_interruption(tmp_path: Path) -> None:
    uninterrupted = Line(Compute(validate_every=2))
    result = train(uninterrupted, tmp_path / "whole")
    assert (len(uninterrupted.validated), result.validation["height"]) == (3, 0.0)
    four_steps = train(Line(Compute(), steps=4), tmp_path / "four").module
    assert torch.equal(weights(result.module), weights(four_steps))
    with pytest.raises(KeyboardInterrupt):
        train(Line(Compute(validate_every=2)), tmp_path / "parts", interrupt_at(5))
    second = Line(Compute(validate_every=2))
    second.validated = [0, 1]
    assert torch.equal(weights(train(second, tmp_path / "parts").module), weights(result.module))
    events = [json.loads(line) for line in (tmp_path / "whole" / "events.jsonl").read_text().splitlines()]
    assert [event["step"] for event in events if event["event"] == "validated"] == [2, 4, 6]


def test_what_a_task_cannot_do_is_refused(tmp_path: Path) -> None:
    for compute in (Compute(validate_every=1), Compute(compile=True)):
        task = Fit()
        task.compute = compute
        with pytest.raises(OptionsError):
            train(task, tmp_path)
    with pytest.raises(OptionsError, match="float8"):
        Compute("float8")
    with pytest.raises(OptionsError, match="accumulate"):
        Compute(accumulate=0)


def test_a_dry_run_measures_a_step_and_leaves_nothing(tmp_path: Path) -> None:
    task = Line(Compute())
    with dry_run(), pytest.raises(StepMeasuredError) as ended:
        train(task, tmp_path / "run")
    measured = ended.value.measured
    assert (measured.weights, measured.steps) == (3, 6)
    assert measured.step_seconds > 0
    assert not (tmp_path / "run").exists()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch itself, when it loads its compiler
def test_a_compiled_trunk_learns_the_same_and_is_given_back_as_it_was(tmp_path: Path) -> None:
    plain, compiled = (train(Line(Compute(compile=on)), tmp_path / str(on)) for on in (False, True))
    torch.testing.assert_close(weights(compiled.module), weights(plain.module), rtol=1e-5, atol=1e-6)
    assert compiled.module._compiled_call_impl is None


def test_events_for_tensorboard(tmp_path: Path) -> None:
    loading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    result = train(Line(Compute(validate_every=3, tensorboard=True)), tmp_path)
    events = loading.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [event.value for event in events.Scalars("loss")] == pytest.approx([row[0] for row in result.curve])
    assert [event.step for event in events.Scalars("validation/height")] == [3, 6]


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
