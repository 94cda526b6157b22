"""The program that `test_distributed` starts under torchrun: a few steps with every loss; values and weights are kept.

It is a script, not a test; run alone it gives what one process with the whole batch gives.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import torch

from signspot.training.distributed import join_group
from signspot.training.embedding import train_embedding
from signspot.training.item_batches import EmbeddingConfig, EmbeddingData, ItemBatchOptions, Loss
from signspot.training.items import Item
from signspot.training.trunk_features import TrunkFeatures, WindowFeatures
from signspot.types import Exemplar, Grid, Label, Segment

WORDS = ("apple", "dog", "friend", "house", "tree")
STEPS = 4
CONFIG = EmbeddingConfig(
    seed=4, epochs=STEPS, dimension=8, lr=0.01, batch=ItemBatchOptions(items=5, background=2, clips=2)
)
KINDS = {
    **{loss: replace(CONFIG, loss=loss) for loss in get_args(Loss)},
    "released": replace(CONFIG, bags="released"),
    "domains": replace(CONFIG, domain_specific=True),
}


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


def steps(folder: Path) -> None:
    """Train a little with every loss; the first process writes weights, each the threads that remain."""
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    with join_group() as group:
        for name, config in KINDS.items():
            result = train_embedding(config, known_data(config), folder / name, group=group)
            if group.is_first:
                torch.save(result.module.state_dict(), folder / f"{name}.pt")
                losses = [loss for (loss,) in result.curve]
                (folder / f"{name}.json").write_text(json.dumps({"losses": losses, "processes": group.size}))
    (folder / f"threads-{group.rank}.json").write_text(json.dumps(thread_names()))


def thread_names() -> list[str]:
    """Names of this process's threads, those of libraries too."""
    return sorted(path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm"))


if __name__ == "__main__":
    steps(Path(sys.argv[1]))
