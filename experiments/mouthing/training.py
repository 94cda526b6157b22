"""Teaches the mouthing spotter: a word that is on the lips has a peak at its end, one that is not has none."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from experiments.mouthing.batches import LipBatch, LipBatches
from experiments.mouthing.calibration import calibrate
from experiments.mouthing.clips import ClipOptions, LipClip, Vocabulary, make_clips, read_vocabulary
from experiments.mouthing.config import MouthingConfig
from experiments.mouthing.distortion import fit_distortions
from experiments.mouthing.filmed import film_clips
from experiments.mouthing.weakening import FilmDistortion, weaken
from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.io.progress import Progress, silent
from signspot.landmarks.landmarks import resample_stream
from signspot.landmarks.pose_file import stream_pose_file
from signspot.mouthing.lips import FPS, VERSION, follow_lips
from signspot.mouthing.model import MouthingModel, load_mouthing
from signspot.mouthing.network import MouthingNetwork
from signspot.mouthing.visemes import visemes_of
from signspot.training.loop import Schedule, Task, train, warm_cosine
from signspot.types import LabelSource
from signspot_synthetic.body.mouthing import MouthedWord
from signspot_synthetic.body.signers import Role

logger = logging.getLogger(__name__)

_LOWEST_LR = 0.02  # as a share of the highest
_CALIBRATES = 5  # one film in so many calibrates, and is not learned from


@dataclass(frozen=True, slots=True)
class Films:
    """Lips on film: such as are learned from, what film does to lips, and those of other people to calibrate with."""

    clips: tuple[LipClip, ...] = ()
    distortions: tuple[FilmDistortion, ...] = ()
    calibration: tuple[LipClip, ...] = ()


def train_mouthing(
    config: MouthingConfig,
    folder: str | PathLike[str],
    progress: Progress = silent,
    *,
    corpus: Corpus | None = None,
    command: str = "",
) -> MouthingModel:
    """Train a mouthing spotter on synthetic signing, or on the mouthings of a corpus.

    Args:
        config: all that the training follows from.
        folder: where its state and its curve are kept; a training that was stopped there goes on.
        progress: told the steps done.
        corpus: landmarks of videos, and labels of source M; None: csynthetic lips.
        command: for the card.

    Raises:
        OptionsError: the corpus has no mouthings, or none in videos with landmarks; the weights to start with do not
            fit.
        SignspotError: the loss is no number; the batch is saved for inspection.
        CheckpointError: the folder holds a state that does not fit.
        KeyboardInterrupt: it was stopped; the state is saved.
    """
    vocabulary = read_vocabulary(unseen=False)
    options = ClipOptions(seconds=config.lips.seconds, lips=config.lips.lips)
    if corpus is None:
        people = [str(number) for number in range(config.lips.signers)]
        clips = list(make_clips(config.lips.clips, config.seed, vocabulary, people, options))
    else:
        clips = clips_of_corpus(corpus)
    films = _films(config, Path(folder))
    network = train_network(config, clips, vocabulary, folder, progress, films)
    held_out = clips
    if corpus is None:  # other people, other words, other chance: what was learned by heart must not look sure
        mouthed = {word.word for clip in clips for word in clip.words}
        fresh = replace(vocabulary, words=tuple(word for word in vocabulary.words if word not in mouthed))
        others = [f"calibration {number}" for number in range(config.lips.calibration)]
        held_out = list(make_clips(len(others), config.seed, fresh, others, replace(options, chance=config.seed + 1)))
        weak = weaken_some(held_out, config.optimiser.weakened, config.seed, films.distortions)
        held_out = [*weak, *films.calibration]
    card = {"licence": config.licence, "data": config.data, "command": command, "config": _setup(config)}
    if config.start:
        known = load_mouthing(config.start)
        card["started_with"] = {"hash": known.hash, **{key: known.card.get(key) for key in ("command", "config")}}
    model = MouthingModel(config.name, network, card)
    card["metrics"] = {"calibration": calibrate(model, held_out, vocabulary, config.seed)}
    return model


def _films(config: MouthingConfig, folder: Path) -> Films:
    """Films of people who mouth words of the training; none where none are asked for."""
    how = config.lips
    if not how.films:
        return Films()
    clips = film_clips(how.films, how.film_seconds, config.seed, folder / "films", how.lips, role=Role.TRAIN)
    taught = [clip for number, clip in enumerate(clips) if number % _CALIBRATES]
    return Films(
        tuple(clip.filmed for clip in taught),
        tuple(fit_distortions([(clip.estimated, clip.filmed) for clip in taught])),
        tuple(clip.filmed for clip in clips[::_CALIBRATES]),
    )


def weaken_some(
    clips: Sequence[LipClip], share: float, seed: int, known: Sequence[FilmDistortion] = ()
) -> list[LipClip]:
    """Clips of which about a share is weakened as in a training, so that probabilities hold for what it learned."""
    random = np.random.default_rng((seed, 7))
    weak = [random.random() < share for _ in clips]
    return [
        replace(clip, lips=replace(clip.lips, values=weaken(clip.lips.values, random, known))) if chosen else clip
        for clip, chosen in zip(clips, weak, strict=True)
    ]


def clips_of_corpus(corpus: Corpus) -> list[LipClip]:
    """The lips of a corpus's videos with its labels of mouthings; a word that cannot be read is left out.

    Raises:
        OptionsError: there is none.
    """
    labels = [label for label in corpus.labels() if label.source is LabelSource.MOUTHING]
    clips = []
    for video in corpus.videos.values():
        mine = [label for label in labels if label.video == video.id]
        if video.landmarks is None or not mine:
            continue
        lips = follow_lips(resample_stream(stream_pose_file(video.landmarks), FPS), video.id)
        words = tuple(MouthedWord(label.word, (), label.segment, 1.0) for label in mine if _is_readable(label.word))
        clips.append(LipClip(lips, words, video.signer, complete=False))
    if not any(clip.words for clip in clips):
        raise OptionsError(
            f"{corpus.folder} has no labels of source M in videos with landmarks (.pose). Put mouthings into "
            "labels/*.jsonl, and make landmarks with: signspot landmarks"
        )
    return clips


def _is_readable(word: str) -> bool:
    try:
        return len(visemes_of(word)) > 1
    except OptionsError:
        logger.warning("left out the mouthings of %r, which has no phonemes", word)
        return False


def train_network(
    config: MouthingConfig,
    clips: Sequence[LipClip],
    vocabulary: Vocabulary,
    folder: str | PathLike[str],
    progress: Progress = silent,
    films: Films | None = None,
) -> MouthingNetwork:
    """Train the network; as `train_mouthing`. Gives the network with the running mean of its weights."""
    return train(MouthingTask(config, clips, vocabulary, films or Films()), folder, progress).module


class MouthingTask(Task[MouthingNetwork, LipBatch]):
    """Finding words on lips, and naming the viseme of every step."""

    def __init__(self, config: MouthingConfig, clips: Sequence[LipClip], vocabulary: Vocabulary, films: Films):
        how = self.how = config.optimiser
        words = {word.word for clip in [*clips, *films.clips] for word in clip.words}
        visemes = vocabulary.visemes | {word: visemes_of(word) for word in words}
        self.batches = LipBatches(clips, vocabulary, visemes, how, config.seed, films.clips, films.distortions)
        torch.manual_seed(config.seed)
        self.module, self.settings = _begin(config), _setup(config)
        lr_scale = warm_cosine(how.steps, how.warm_up, _LOWEST_LR)
        self.schedule = Schedule(how.steps, config.seed, lr_scale, how.clip, how.average)

    def optimiser(self) -> torch.optim.Optimizer:
        """As `Task.optimiser`."""
        return torch.optim.AdamW(self.module.parameters(), self.how.lr, weight_decay=self.how.weight_decay)

    def batch(self, step: int) -> LipBatch:
        """As `Task.batch`."""
        return self.batches[step]

    def loss(self, module: MouthingNetwork, batch: LipBatch) -> tuple[Tensor, list[Tensor]]:
        """As `Task.loss`."""
        loss = mouthing_loss(module, batch, self.how.shapes)
        return loss, [loss]

    def arrays(self, batch: LipBatch) -> dict[str, Any]:
        """As `Task.arrays`."""
        return {"lips": batch.lips.numpy(), "words": batch.words.numpy()}


def _begin(config: MouthingConfig) -> MouthingNetwork:
    """The network before its first step: random, or with the weights of the spotter that the configuration names.

    Raises:
        OptionsError: that spotter has another network.
    """
    network = MouthingNetwork(config.network)
    if config.start:
        known = load_mouthing(config.start).network
        if not isinstance(known, MouthingNetwork) or known.options != config.network:
            raise OptionsError(
                f"the training is to start with the weights of {config.start}, whose network is {known.options} and "
                f"not {config.network}. Put its sizes into [network], or start with another one"
            )
        network.load_state_dict(known.state_dict())
    return network


def mouthing_loss(network: MouthingNetwork, batch: LipBatch, shapes: float) -> Tensor:
    """Loss of where, if anywhere, each word ends, and of the viseme on the lips at each step.

    The first is a cross-entropy over all steps and "not at all", whose logit is 0; the second, over the visemes and
    none, is weighed by `shapes`: it teaches the lips' code much faster than words alone do.
    """
    lips = network.code_lips(batch.lips)
    logits = network.compare(lips.repeat_interleave(len(batch.words) // len(batch.lips), dim=0), batch.words)
    chances = functional.log_softmax(functional.pad(logits, (1, 0)), dim=1)
    found = -(chances * functional.pad(batch.ends, (1, 0), value=0.0).add(batch.nowhere)).sum(dim=1).mean()
    known = (batch.shapes >= 0).sum().clamp(min=1)
    named = functional.cross_entropy(network.name_shapes(lips), batch.shapes, reduction="sum") / known
    return found + shapes * named


def _setup(config: MouthingConfig) -> dict[str, Any]:
    """Settings of a training, as its state and its card hold them."""
    return {**config.as_dict(), "lips_version": VERSION, "numpy": np.__version__}
