"""Cross-validation across signers: a recipe of frame codes is taught by some people and measured on the others.

    python -m experiments.cross_validation --lsa64 lsa64/ --wlasl wlasl/ --synthetic synthetic-signs/

The signers of each corpus are dealt into folds. For every fold an encoder learns from the signers of all others, of
both corpora at once, and from synthetic signs; then the clips of the fold are looked up among exemplars by the fold's
other signers, through the functions of `signspot evaluate one-shot`. Clips by unknown signers, who might be anybody,
are not learned from. The words are those of the training; who signs them is new. An interrupted run resumes.
"""

import argparse
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from experiments.markdown import print_table
from signspot.corpus.isolated import IsolatedClip, read_isolated
from signspot.evaluation.one_shot import OneShotRanks, OneShotScores, one_shot
from signspot.io.progress import Progress, silent
from signspot.models.checkpoints import load_encoder, save_encoder
from signspot.models.encoder import Encoder
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.training.configuration import read_training
from signspot.training.landmark_encoder import FrameCodesConfig, train_frame_codes, with_folders

HEAD = ("corpus", "encoder", "words", "queries", "R@1", "R@5", "R@10", "MRR", "median rank")
LEARNED = "by the other signers"
UNKNOWN = ""

Corpora = dict[str, list[IsolatedClip]]  # "lsa64" and "wlasl"


def deal_signers(clips: Sequence[IsolatedClip], folds: int) -> list[tuple[str, ...]]:
    """The known signers in so many folds of about as many clips each."""
    counts = Counter(clip.signer for clip in clips if clip.signer != UNKNOWN)
    dealt: list[list[str]] = [[] for _ in range(folds)]
    for signer, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        fewest = min(dealt, key=lambda fold: sum(counts[member] for member in fold))
        fewest.append(signer)
    return [tuple(sorted(fold)) for fold in dealt]


def train_fold(
    config: FrameCodesConfig, left_out: dict[str, tuple[str, ...]], out: Path, progress: Progress
) -> Encoder:
    """An encoder that never saw some signers; one that was trained before is read again."""
    path = out / "encoder.safetensors"
    if path.is_file():
        return load_encoder(path)
    sources = [replace(source, held_out=(*left_out.get(source.name, ()), UNKNOWN)) for source in config.sources]
    return save_encoder(train_frame_codes(replace(config, sources=tuple(sources)), out, progress, workers=0), path)


def look_up_folds(
    encoders: Sequence[Encoder], clips: Sequence[IsolatedClip], folds: Sequence[tuple[str, ...]], queries: int
) -> OneShotScores:
    """Scores over all folds, of each of which an encoder of its own looks up the clips.

    Args:
        encoders: one per fold.
        clips: of all signers.
        folds: signers of each fold.
        queries: at most, in all folds together.
    """
    ranks: dict[Hashable, list[float]] = {}
    words, searched = [], 0
    for encoder, signers in zip(encoders, folds, strict=True):
        fold_clips = [clip for clip in clips if clip.signer in signers]
        result = one_shot(Spotter(encoder), fold_clips, queries=queries // len(folds))
        words.append(result.words)
        searched += result.queries
        for word, ranks_of_word in result.ranks.items():
            ranks.setdefault(word, []).extend(ranks_of_word)
    return OneShotRanks(min(words), searched, ranks).scores(Spotter(encoders[0]), SpotOptions())


def cross_validate(
    config: FrameCodesConfig,
    corpora: Corpora,
    beside: Sequence[str],
    folds: int,
    out: Path,
    queries: int = 1000,
    progress: Progress = silent,
) -> Iterator[tuple[str, ...]]:
    """Rows of the table: for each corpus, what was taught by the other signers, and encoders that saw none of them.

    Args:
        config: the recipe, with its folders.
        corpora: the clips of those folders.
        beside: names of further encoders.
        folds: of signers.
        out: folder of the trainings.
        queries: per corpus, at most.
        progress: called with the steps of each training.
    """
    dealt = {corpus: deal_signers(clips, folds) for corpus, clips in corpora.items()}
    trained = []
    for fold in range(folds):
        left_out = {corpus: signers[fold] for corpus, signers in dealt.items()}
        trained.append(train_fold(config, left_out, out / f"fold-{fold + 1}", progress))
    for corpus, clips in corpora.items():
        rows = [(LEARNED, trained), *((name, [load_encoder(name)] * folds) for name in beside)]
        for name, encoders in rows:
            results = look_up_folds(encoders, clips, dealt[corpus], queries)
            shares = (results.recall_1, results.recall_5, results.recall_10, results.mean_reciprocal_rank)
            numbers = (str(results.words), str(results.queries), *map(str, shares), f"{results.median_rank:g}")
            yield corpus, name, *numbers


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table to stdout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=Path("configs/landmark.toml"))
    parser.add_argument("--lsa64", type=Path, required=True)
    parser.add_argument("--wlasl", type=Path, required=True)
    parser.add_argument("--synthetic", type=Path, required=True)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path("runs/folds"))
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    config = read_training(chosen.config, {"frame_codes": FrameCodesConfig})
    how = replace(config.optimiser, steps=chosen.steps)
    folders = {name: [str(getattr(chosen, name))] for name in ("lsa64", "wlasl", "synthetic")}
    config = replace(config, name="folds", sources=with_folders(config.sources, folders), optimiser=how)
    corpora = {"lsa64": read_isolated(chosen.lsa64), "wlasl": read_isolated(chosen.wlasl)}
    beside = ("landmark-synthetic", "warping")
    print_table(HEAD, cross_validate(config, corpora, beside, chosen.folds, chosen.out, chosen.queries))


if __name__ == "__main__":
    main()
