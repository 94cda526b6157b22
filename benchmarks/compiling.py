"""Steps of trainings whose network is compiled by torch.compile, against steps as they are."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import torch

from benchmarks.feeding import make_task, step_of
from benchmarks.isolation import Call, fastest, run
from benchmarks.rows import Comparison, against, rounded
from benchmarks.sizes import Sizes
from signspot.models.frame_coder import SEEN, CoderOptions
from signspot.training.configuration import Compute
from signspot.training.landmark_encoder import CodedPairs, CoderOptimiser, PairLearner
from signspot.training.loop import compiled_trunk


def compiling_rows(sizes: Sizes) -> list[Comparison]:
    """A row for each network."""
    return [_row(name, sizes) for name in sizes.compiled]


def _row(name: str, sizes: Sizes) -> Comparison:
    if name == "I3D":
        call = Call("compiling:i3d", {"side": sizes.rgb_side, "rounds": min(2, sizes.rounds)})
        what = f"I3D, a step of 4 clips of 16 × {sizes.rgb_side}² in bfloat16"
    else:
        call = Call("compiling:landmark", {"rounds": sizes.rounds})
        what = f"landmark encoder, a step of {CoderOptimiser().signs} signs"
    seconds = run(call, apart=sizes.apart).values
    return Comparison(
        "Training",
        f"{what} on one core: compiled by torch.compile against as it is",
        f"{against(seconds['compiled'], seconds['eager'], 's')}; compiled in {rounded(seconds['compiling'])} s",
        seconds["compiled"] / seconds["eager"],
    )


def i3d(side: int, rounds: int) -> dict[str, float]:
    """Seconds of a step of the paper's I3D in bfloat16, as it is and compiled; and, by the clock, of compiling it."""
    with TemporaryDirectory() as folder:
        task = make_task(Path(folder), side, width=1.0)
        task.compute = Compute(precision="bfloat16", compile=True)
        step = partial(step_of(task), task.compute)
    eager = fastest(rounds, {"eager": step})
    with compiled_trunk(task):
        return {**eager, **_compiling(step), **fastest(rounds, {"compiled": step})}


def landmark(rounds: int) -> dict[str, float]:
    """Seconds of a step of the landmark encoder, of random frames, its network as it is and compiled."""
    random, learner = np.random.default_rng(0), PairLearner(CoderOptions())
    optimiser = torch.optim.AdamW(learner.parameters(), CoderOptimiser().lr)
    lengths = random.integers(10, 20, 2 * CoderOptimiser().signs)  # steps of a sign
    sizes = lengths + 2 * learner.context - 2
    batch = CodedPairs(
        torch.randn(int(sizes.sum()), SEEN), learner.context + np.cumsum(sizes) - sizes, lengths.astype(np.int64)
    )

    def step() -> None:
        aligned, embedded, _ = learner.losses(batch, CoderOptimiser().smoothing)
        optimiser.zero_grad(set_to_none=True)
        (aligned + CoderOptimiser().embedding * embedded).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    eager = fastest(rounds, {"eager": step})
    learner.coder.code = torch.compile(learner.coder.code, dynamic=True)  # type: ignore[method-assign]
    return {**eager, **_compiling(step), **fastest(rounds, {"compiled": step})}


def _compiling(step: Callable[[], None]) -> dict[str, float]:
    start = perf_counter()
    step()
    return {"compiling": perf_counter() - start}
