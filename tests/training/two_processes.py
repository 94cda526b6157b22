"""The program that `test_distributed` starts under torchrun.

`steps FOLDER` trains a few steps of every task; losses and weights are written. Run alone it gives what one process
with the whole batch gives. Nothing is dropped out, as each process drops other numbers. `terminated FOLDER` trains one
task whose first process has torchrun terminated after two steps; run again, it resumes.
"""

import json
import os
import pickle
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch

from signspot.io.progress import silent
from signspot.models.checkpoints import load_encoder
from signspot.models.frame_coder import CoderOptions
from signspot.mouthing.network import NetworkOptions
from signspot.mouthing.trials import read_vocabulary
from signspot.training.adaptation_data import AdaptOptions
from signspot.training.adapters import AdaptationTask, SegmentBatches
from signspot.training.corpus_subset import Item
from signspot.training.distributed import join_group
from signspot.training.embedding_mlp import EmbeddingTask
from signspot.training.item_batches import EmbeddingConfig, EmbeddingData, ItemBatchOptions, Loss
from signspot.training.landmark_clips import ClipOptions
from signspot.training.landmark_encoder import CoderOptimiser, FrameCodesConfig, FrameCodesTask, SourceOptions
from signspot.training.loop import Task, train
from signspot.training.mouthing import MouthingConfig, MouthingOptimiser, MouthingTask
from signspot.training.pairs import PairSource
from signspot.training.recogniser import RecogniserConfig, RecogniserTask
from signspot.training.rgb import RgbTask, initial_trunk
from signspot.training.rgb_clips import RgbBatches
from signspot.training.trunk_features import TrunkFeatures, WindowFeatures
from signspot.types import Exemplar, Grid, Label, Segment

WORDS = ("apple", "dog", "friend", "house", "tree")
STEPS = 4
CONFIG = EmbeddingConfig(
    seed=4, epochs=STEPS, dimension=8, lr=0.01, batch=ItemBatchOptions(items=5, background=2, clips=2)
)
EMBEDDINGS = {
    **{loss: replace(CONFIG, loss=loss) for loss in get_args(Loss)},
    "released": replace(CONFIG, bags="released"),
    "domains": replace(CONFIG, domain_specific=True),
}
SMALL = {"width": 16, "hand_width": 8, "part_width": 8, "last_width": 16, "features": 32, "dropout": 0.0}
DATA = ("labelled_signs", "rgb_config", "rgb_signs", "store", "lip_clips", "footage")  # fixtures
NewTask = Callable[[], Task[Any, Any]]


def known_data(config: EmbeddingConfig) -> EmbeddingData:
    """A video of random windows with a label per word; an odd number of clips and exemplars, so shares are unequal."""
    random = np.random.default_rng(0)
    windows = WindowFeatures(random.normal(size=(240, 24)).astype(np.float16), Grid(25.0, 16, 1, 255))
    exemplars = tuple(Exemplar(word, f"{word}-{take}") for word in WORDS for take in range(1 + (word == "dog") * 2))
    clips = random.normal(size=(len(exemplars), 4, 24)).astype(np.float16)
    items = [
        Item(Label(word, "v", 2.0 + i), Segment(float(i), 4.0 + i), (WORDS[(i + 1) % 5],) * (i % 2))
        for i, word in enumerate(WORDS)
    ]
    return EmbeddingData(TrunkFeatures("test", {"v": windows}, exemplars, clips), items, config)


def tasks(data: dict[str, Any]) -> dict[str, NewTask]:
    """Every task, of the data that the test's fixtures made; batch norms of all kinds, and unequal shares."""

    def recogniser(**model: Any) -> Task[Any, Any]:
        config = RecogniserConfig(
            steps=STEPS, warm_up=1, clips=ClipOptions(clips=7), model={**SMALL, **model},
            continuous_only_fraction=0.5, reinitialise=bool(model),
        )  # fmt: skip
        return RecogniserTask(config, data["labelled_signs"])

    def rgb() -> Task[Any, Any]:
        base = data["rgb_config"]
        config = replace(base, epochs=1, optimiser="sgd", lr=0.01)
        module = initial_trunk(config, 3)
        module.trunk.logits.dropout.p = 0.0  # type: ignore[union-attr]
        return RgbTask(config, module, RgbBatches(data["rgb_signs"], config, 6, 32))

    def frame_codes() -> Task[Any, Any]:
        coder = CoderOptions(codes=16, width=16, blocks=1, embedding=12, dropout=0.0)
        how = CoderOptimiser(steps=STEPS, signs=5, warm_up=1)
        config = FrameCodesConfig((SourceOptions("some", ("nowhere",)),), optimiser=how, coder=coder)
        return FrameCodesTask(config, [PairSource(data["store"])])

    def mouthing() -> Task[Any, Any]:
        how = MouthingOptimiser(steps=STEPS, windows=3, queries=2, warm_up=1)
        config = MouthingConfig(optimiser=how, network=NetworkOptions(width=8, heads=2, maps=4, dropout=0.0))
        return MouthingTask(config, data["lip_clips"], read_vocabulary(unseen=False))

    def adaptation() -> Task[Any, Any]:
        options = AdaptOptions(steps=STEPS, segments=6, exemplars=1, lr=1e-2, embeddings=True)
        return AdaptationTask(load_encoder("landmark-synthetic"), SegmentBatches(data["footage"], options))

    embeddings = {name: partial(_embedding, config) for name, config in EMBEDDINGS.items()}
    return {
        **embeddings,
        "recogniser": recogniser,
        "recogniser, batch norm": partial(recogniser, norm="batch"),
        "recogniser, domain norm": partial(recogniser, norm="batch", domain_norm=True),
        "rgb": rgb,
        "frame codes": frame_codes,
        "mouthing": mouthing,
        "adaptation": adaptation,
    }


def _embedding(config: EmbeddingConfig) -> Task[Any, Any]:
    return EmbeddingTask(config, known_data(config))


def steps(folder: Path) -> None:
    """Train every task a little; the first process writes weights, each the threads that remain."""
    torch.set_num_threads(1)
    data = pickle.loads((folder.parent / "data.pickle").read_bytes())
    folder.mkdir(parents=True, exist_ok=True)
    with join_group() as group:
        for name, new_task in tasks(data).items():
            task = new_task()
            if name == "rgb":  # its many batch norms soon amplify rounding
                task.schedule = replace(task.schedule, steps=1, epoch=None)
            # Adam makes full steps of gradients that are but rounding errors, as those before a batch norm
            task.optimiser = partial(torch.optim.SGD, list(task.module.parameters()), 0.01)  # type: ignore[method-assign]
            result = train(task, folder / name)
            if group.is_first:
                torch.save(result.module.state_dict(), folder / f"{name}.pt")
                curve = {"losses": [row[0] for row in result.curve], "processes": group.size}
                (folder / f"{name}.json").write_text(json.dumps(curve))
    (folder / f"threads-{group.rank}.json").write_text(json.dumps(thread_names()))


def terminated(folder: Path) -> None:
    """Train until the job is terminated, as SLURM does it; trained to the end, the weights are written."""
    torch.set_num_threads(1)
    with join_group() as group:
        is_resumed = (folder / "run" / "state.pt").is_file() or folder.name == "whole"
        stop = terminate_parent if group.is_first and not is_resumed else silent
        task = EmbeddingTask(CONFIG, known_data(CONFIG))
        result = train(task, folder / "run", stop, workers=1)
        if group.is_first:
            torch.save(result.module.state_dict(), folder / "weights.pt")


def terminate_parent(done: int, total: int | None) -> None:
    """After two steps send SIGTERM to torchrun, and wait until torchrun has passed it on to this process."""
    if done == 2:
        received, wake = socket.socketpair()
        wake.setblocking(False)
        signal.set_wakeup_fd(wake.fileno())
        os.kill(os.getppid(), signal.SIGTERM)
        received.recv(1)
        signal.set_wakeup_fd(-1)


def thread_names() -> list[str]:
    """Names of this process's threads, those of libraries too."""
    return sorted(path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm"))


if __name__ == "__main__":
    {"steps": steps, "terminated": terminated}[sys.argv[1]](Path(sys.argv[2]))
