"""Measure what each source of signs, and each part of the embedding, adds to a landmark encoder on LSA64.

    python -m experiments.encoder_ablation LSA64 --steps 200 --out runs/ablation

Each source teaches an encoder of its own, for a few steps; a run that is stopped goes on. Unseen words are looked up by
every signer in turn, seen ones by the test signer.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from experiments.contrastive.config import NOTHING, ContrastiveConfig, read_config
from experiments.contrastive.training import train_contrastive
from experiments.isolated.clips import IsolatedClip
from experiments.isolated.lsa64 import TEST_SIGNERS, VALIDATION_SIGNERS, read_lsa64
from experiments.lsa64.retrieval import one_shot
from experiments.lsa64.streams import spot_streams
from signspot.models.encoder import Encoder, make_encoder
from signspot.models.registry import build

PARTS = {"linear": 1e4, "network": 1e-4, "both": 1.0}  # the weight of the linear part against the network's


def variations(config: ContrastiveConfig) -> Iterator[tuple[str, ContrastiveConfig]]:
    """Each source alone, all of them, and all of them with other shares of signs that differ in one parameter."""
    for name in ("world", "semi_synthetic", "recombined", "real"):
        yield name.replace("_", "-"), replace(config, shares=replace(NOTHING, **{name: 1.0}), linear_shares=NOTHING)
    for minimal_pairs in dict.fromkeys((config.batch.minimal_pairs, 0.0, 0.5)):
        yield (
            f"all, minimal pairs {minimal_pairs:g}",
            replace(config, batch=replace(config.batch, minimal_pairs=minimal_pairs)),
        )


def part(encoder: Encoder, weight: float) -> Encoder:
    """The same encoder with its linear part weighed differently."""
    module = build("landmark", **{**encoder.module.options, "linear_weight": weight})
    module.load_state_dict(encoder.module.state_dict())
    return make_encoder("part", module)


def measure(encoder: Encoder, clips: list[IsolatedClip]) -> list[float]:
    """R@1 of seen words by the test signer and of unseen ones by all signers, then mAP in streams, seen and unseen."""
    signers = sorted({clip.signer for clip in clips})
    seen = next(one_shot([encoder], clips, TEST_SIGNERS))
    _, unseen = (row for row, _ in zip(one_shot([encoder], clips, signers), range(2), strict=False))
    streams = spot_streams([encoder], clips, TEST_SIGNERS[0], VALIDATION_SIGNERS[0])
    found = [next(streams).mean_average_precision for _ in range(2)]
    return [seen.recall_1.value, unseen.recall_1.value, *found]


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table to stdout, a row per source and part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lsa64", type=Path)
    parser.add_argument("--config", type=Path, default=Path("configs/landmark-contrastive.toml"))
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("runs/ablation"))
    parser.add_argument(
        "--only", nargs="+", metavar="SOURCE", help="rows to make, by what they learn from; all if left out"
    )
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    config = replace(read_config(chosen.config), lsa64=str(chosen.lsa64))
    clips = read_lsa64(chosen.lsa64)
    _say("| learned from | part | R@1 seen | R@1 unseen | mAP seen | mAP unseen |\n|---|---|---|---|---|---|")
    for name, varied in variations(config):
        if chosen.only and name not in chosen.only:
            continue
        how = replace(config.optimiser, steps=chosen.steps, warm_up=min(50, chosen.steps // 4))
        encoder = train_contrastive(replace(varied, optimiser=how), chosen.out / name.replace(", minimal pairs ", "-"))
        for title, weight in PARTS.items():
            numbers = " | ".join(f"{number:.3f}" for number in measure(part(encoder, weight), clips))
            _say(f"| {name} | {title} | {numbers} |")


if __name__ == "__main__":
    main()
