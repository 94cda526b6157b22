"""What holds for every task of the loop: batches follow from their step, and an interrupted run resumes to its bits."""

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from signspot.errors import SignspotError
from signspot.models.frame_coder import CoderOptions
from signspot.training.adapters import AdaptationTask, SegmentBatches
from signspot.training.configuration import Compute
from signspot.training.embedding_mlp import EmbeddingTask
from signspot.training.item_batches import EmbeddingConfig, EmbeddingData, ItemBatchOptions
from signspot.training.landmark_encoder import CoderOptimiser, FrameCodesConfig, FrameCodesTask, SourceOptions
from signspot.training.loop import Task, train
from signspot.training.pairs import PairSource
from signspot.training.recogniser import RecogniserConfig, RecogniserTask
from signspot.training.rgb import RgbTask, initial_trunk
from signspot.training.rgb_clips import RgbBatches
from signspot.training.sign_clips import ClipOptions

SMALL = {"width": 16, "hand_width": 8, "part_width": 8, "last_width": 16, "features": 32, "norm": "batch"}
KINDS = ("recogniser", "embedding", "rgb", "frame codes", "adaptation")


@pytest.fixture(params=KINDS)
def new_task(request: pytest.FixtureRequest) -> Callable[[], Task[Any, Any]]:
    """Makes the same task again and again."""
    value = request.getfixturevalue

    def recogniser() -> Task[Any, Any]:
        config = RecogniserConfig(
            steps=6, warm_up=2, lr=1e-2, clips=ClipOptions(clips=8), model=SMALL,
            continuous_only_fraction=0.5, reinitialise=True,
        )  # fmt: skip
        return RecogniserTask(config, value("labelled_signs"))

    def embedding() -> Task[Any, Any]:
        batch = ItemBatchOptions(items=3, background=2, clips=2)
        config = EmbeddingConfig(epochs=3, seed=4, dimension=8, batch=batch)
        return EmbeddingTask(config, EmbeddingData(value("features"), value("items"), config))

    def rgb() -> Task[Any, Any]:
        config = replace(value("rgb_config"), epochs=1)
        return RgbTask(config, initial_trunk(config, 3), RgbBatches(value("rgb_signs"), config, 6, 32))

    def frame_codes() -> Task[Any, Any]:
        coder = CoderOptions(codes=16, width=16, blocks=1, embedding=12)
        how = CoderOptimiser(steps=6, signs=8, warm_up=1)
        config = FrameCodesConfig((SourceOptions("some", ("nowhere",)),), optimiser=how, coder=coder)
        return FrameCodesTask(config, [PairSource(value("store"))])

    def adaptation() -> Task[Any, Any]:
        options = replace(value("adapt_options"), steps=4)
        return AdaptationTask(value("spotter").encoder, SegmentBatches(value("footage"), options))

    return dict(zip(KINDS, (recogniser, embedding, rgb, frame_codes, adaptation), strict=True))[request.param]


def weights(module: torch.nn.Module) -> torch.Tensor:
    return torch.cat([value.flatten().double() for value in module.state_dict().values()])


def test_an_interrupted_training_resumes_to_the_same_bits(
    new_task: Callable[[], Task[Any, Any]], tmp_path: Path
) -> None:
    whole = train(new_task(), tmp_path / "whole")

    def interrupt(done: int, total: int | None) -> None:
        if done == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(new_task(), tmp_path / "parts", interrupt)
    resumed = train(new_task(), tmp_path / "parts")
    assert torch.equal(weights(resumed.module), weights(whole.module))
    assert (tmp_path / "parts" / "curve.csv").read_text() == (tmp_path / "whole" / "curve.csv").read_text()


def test_a_batch_follows_from_its_step(new_task: Callable[[], Task[Any, Any]]) -> None:
    one, two = new_task(), new_task()
    first, again, other = (task.arrays(task.batch(step)) for task, step in ((one, 3), (two, 3), (one, 4)))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not all(np.array_equal(first[name], other[name]) for name in first)


def test_a_batch_whose_loss_is_not_finite_is_kept(new_task: Callable[[], Task[Any, Any]], tmp_path: Path) -> None:
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
def test_every_task_trains_in_half_precision(
    precision: Any, new_task: Callable[[], Task[Any, Any]], tmp_path: Path
) -> None:
    exact, half = new_task(), new_task()
    half.compute = Compute(precision, accumulate=2)
    exact.schedule, half.schedule = (replace(task.schedule, steps=2, epoch=None) for task in (exact, half))
    first = train(exact, tmp_path / "exact").curve[0][0]
    trained = train(half, tmp_path / "half")
    assert trained.curve[0][0] == pytest.approx(first, rel=0.1)
    assert all(bool(weight.isfinite().all()) for weight in trained.module.parameters())
    assert {weight.dtype for weight in trained.module.parameters()} == {torch.float32}
