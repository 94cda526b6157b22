"""The task of finding mouthed words: a word that is on the lips has a peak at its end, one that is not has none.

Batches are windows of lips with words that are, and are not, mouthed in them. Part of the windows may be distorted as
MediaPipe distorts lips in video: as was measured (`python -m experiments.lip_distortion`), and by wider spans around
that. MediaPipe's usual network hardly sees the width of a mouth; neither of its networks sees how far lips are pushed
out, and the thickness of lips is mostly guessed.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

import signspot.mouthing
from signspot.corpus.corpus import Corpus
from signspot.corpus.truth import MouthingTruth
from signspot.errors import OptionsError
from signspot.io.checks import check_numbers
from signspot.io.progress import Progress, silent
from signspot.mouthing.lips import FPS, SHAPES, VERSION, Floats
from signspot.mouthing.network import (
    STEP,
    MouthingModel,
    MouthingNetwork,
    NetworkOptions,
    TemplateMatcher,
    load_mouthing,
    pad_words,
)
from signspot.mouthing.trials import LipClip, Shapes, Vocabulary, WrongWords, calibrate, read_lip_clips, read_vocabulary
from signspot.mouthing.visemes import MOST_VISEMES, VISEMES, of_phonemes, visemes_of
from signspot.training.configuration import Compute, plain_values
from signspot.training.distributed import ALONE, Group
from signspot.training.loop import Schedule, Task, device_of, train, warm_cosine
from signspot.training.run_folder import CPU

UNKNOWN = -100  # as torch's cross-entropy leaves it out
_SPREAD = (0.25, 0.5, 0.25)  # of the end of a word over the steps around it
_FIRST, _LAST = 0.5, 0.2  # seconds: a word counts as inside of a window that begins, and ends, so far from its end


MEASURED = Path(signspot.mouthing.__file__).parent / "data" / "lip_distortions.json"
_AS_MEASURED = 0.75  # share of the distorted windows that are distorted as was measured
_GAIN_SPREAD = 0.12  # standard deviation of the logarithm of gains beside the measured ones
_ERRORS = (0.6, 1.4)  # least and highest size of errors, as a share of the measured ones

# Shapes that one gain is drawn for, the least and the highest gain, and the size of errors, in the shapes' unit.
_GAINS: tuple[tuple[tuple[str, ...], float, float, float], ...] = (
    (("opening", "opening_beside", "height"), 0.65, 1.6, 0.08),
    (("width", "inner_width"), 0.25, 1.1, 0.10),
    (("upper_lip",), -0.2, 1.0, 0.06),
    (("lower_lip",), 0.0, 1.2, 0.08),
    (("upper_place",), -0.2, 1.0, 0.10),
    (("lower_place", "chin"), 0.7, 1.3, 0.13),
    (("corners",), 0.2, 1.1, 0.12),
    (("protrusion", "depth"), -0.3, 0.8, 0.06),
    (("slant",), 0.0, 1.2, 0.08),
)
_APART = 0.12  # standard deviation by which shapes of one gain differ, as a share of it
_BLIND = 0.6  # share of the windows in which depth says nothing of the lips
_LEAKS = {"opening": 0.12, "width": 0.08, "corners": 0.25}  # standard deviation of what other shapes take over of these
_SLOW, _FAST = 0.9, 0.5  # share of an error that the next frame keeps, at most and at least
_DEPTH = [SHAPES.index("protrusion"), SHAPES.index("depth")]
_SURE = [SHAPES.index(name) for name in ("opening", "opening_beside", "height", "width", "inner_width")]

Array = NDArray[np.float64]
Matcher = Literal["network", "templates"]
_LOWEST_LR = 0.02  # as a share of the highest
_VALIDATED = 10  # batches


@dataclass(frozen=True, slots=True)
class MouthingOptimiser:
    """Options of the optimiser."""

    steps: int = 650
    windows: int = 14  # in a batch
    queries: int = 4  # words that are looked for in each window, half of them mouthed there where possible
    frames: int = 96  # of a window
    lr: float = 3e-3  # the highest learning rate; it falls as a cosine to a fiftieth
    weight_decay: float = 0.02
    warm_up: int = 30  # steps until the highest learning rate
    average: float = 0.98  # decay of the running mean of the weights, which is the result
    hard: float = 0.5  # share of the wrong words that begin or end like a mouthed one
    clip: float = 1.0  # maximum norm of the gradient
    shapes: float = 0.5  # weight of the loss of visemes, beside that of finding words
    distorted: float = 0.0  # share of windows with lips distorted as by estimators on video

    def __post_init__(self) -> None:
        check_numbers(self, "steps", "windows", "queries", least=1)
        check_numbers(self, "frames", least=50)
        check_numbers(self, "lr", "clip", above=0)
        check_numbers(self, "weight_decay", "warm_up", "shapes", least=0)
        check_numbers(self, "average", "hard", "distorted", least=0, most=1)


@dataclass(frozen=True, slots=True)
class MouthingConfig:
    """Settings of the training of a mouthing spotter."""

    name: str = "mouthing-synthetic"
    seed: int = 0
    licence: str = ""
    data: str = ""  # one sentence for the card
    start: str = ""  # spotter to start from (name or file); empty: random weights
    matcher: Matcher = "network"  # templates: nothing is learned but the calibration
    optimiser: MouthingOptimiser = field(default_factory=MouthingOptimiser)
    network: NetworkOptions = field(default_factory=NetworkOptions)
    compute: Compute = field(default_factory=Compute)

    def __post_init__(self) -> None:
        check_numbers(self, "seed", least=0)
        if self.matcher not in get_args(Matcher):
            raise OptionsError(f"a matcher is one of {', '.join(get_args(Matcher))}; got '{self.matcher}'")


@dataclass(frozen=True, slots=True)
class LipBatch:
    """Windows of lips, with words to look for in each."""

    lips: Tensor  # (W, T, CHANNELS)
    words: Tensor  # (W Q, L) visemes; Q words for each window, in order
    ends: Tensor  # (W Q, S) where the word ends: sums to 1 if it is mouthed, to 0 if not
    shapes: Tensor  # (W, S) number of the viseme that is on the lips; len(VISEMES) none, UNKNOWN where nobody knows

    def to(self, device: torch.device) -> "LipBatch":
        """The same batch on a device."""
        return LipBatch(*(part.to(device) for part in (self.lips, self.words, self.ends, self.shapes)))

    @property
    def nowhere(self) -> Tensor:
        """(W Q, S + 1) 1 at the first place of words that are not mouthed."""
        return functional.pad(1 - self.ends.sum(dim=1, keepdim=True), (0, self.ends.shape[1]))


class LipBatches:
    """Batch number i is made from the seed and i alone."""

    def __init__(
        self,
        clips: Sequence[LipClip],
        vocabulary: Vocabulary,
        visemes: dict[str, Shapes],
        how: MouthingOptimiser,
        seed: int,
    ):
        self.clips = [clip for clip in clips if len(clip.lips) >= how.frames]
        if not self.clips:
            raise OptionsError(f"no clip of lips is as long as a window of {how.frames / FPS:g} s")
        self.wrong, self.visemes, self.how, self.seed = WrongWords(vocabulary), visemes, how, seed

    def __getitem__(self, step: int) -> LipBatch:
        """Make batch number `step`."""
        random = np.random.default_rng((self.seed, step))
        parts = [self._window(random) for _ in range(self.how.windows)]
        return LipBatch(
            torch.from_numpy(np.stack([part.lips for part in parts])),
            pad_words([numbers(word) for part in parts for word in part.words]),
            torch.from_numpy(np.stack([row for part in parts for row in part.ends])),
            torch.from_numpy(np.stack([part.shapes for part in parts])),
        )

    def _window(self, random: np.random.Generator) -> "_Window":
        frames = self.how.frames
        clip = self.clips[int(random.integers(len(self.clips)))]
        first = int(random.integers(len(clip.lips) - frames + 1))
        start = clip.lips.start + first / FPS
        end = start + frames / FPS
        near = [w for w in clip.words if w.segment.end > start and w.segment.start < end]
        inside = [w for w in near if start + _FIRST <= w.segment.end <= end - _LAST]
        chosen = [inside[i] for i in random.permutation(len(inside))[: (self.how.queries + 1) // 2]]
        mouthed = [self.visemes[word.word] for word in near]
        words, ends = [], []
        for number in range(self.how.queries):
            row = np.zeros(-(-frames // STEP), np.float32)
            if number < len(chosen):
                words.append(self.visemes[chosen[number].word])
                step_of_end = round((chosen[number].segment.end - start) * FPS / STEP)
                for step, weight in enumerate(_SPREAD, step_of_end - 1):
                    row[min(max(step, 0), len(row) - 1)] += weight
            else:
                words.append(self.wrong.vocabulary.visemes[self.wrong.draw(mouthed, self.how.hard, random)])
            ends.append(row)
        lips = clip.lips.values[first : first + frames]
        if self.how.distorted and random.random() < self.how.distorted:
            lips = distort(lips, random)
        return _Window(lips, words, ends, self._shapes(clip, near, start))

    def _shapes(self, clip: LipClip, words: Sequence[MouthingTruth], start: float) -> NDArray[np.int64]:
        """(S,) visemes on the lips, each word's spread evenly over its time."""
        steps = -(-self.how.frames // STEP)
        times = start + np.arange(steps) * STEP / FPS
        shapes = np.full(steps, len(VISEMES) if clip.complete else UNKNOWN)
        for word in words:
            visemes = numbers(of_phonemes(word.phonemes) if word.phonemes else self.visemes[word.word])
            position = (times - word.segment.start) / word.segment.duration * len(visemes)
            inside = (position >= 0) & (position < len(visemes))
            shapes[inside] = np.array(visemes)[position[inside].astype(int)]
        return shapes


@dataclass(frozen=True, slots=True)
class _Window:
    """Part of a batch: one window of one clip."""

    lips: Floats  # (T, CHANNELS)
    words: list[Shapes]  # that are asked for
    ends: list[Floats]  # for each word (S,) where it ends
    shapes: NDArray[np.int64]  # (S,)


def numbers(shapes: Shapes) -> list[int]:
    """Visemes as the network takes them."""
    return [VISEMES.index(shape) for shape in shapes[:MOST_VISEMES]]


@dataclass(frozen=True, slots=True)
class LipDistortion:
    """How an estimator distorts lips in one video: seen = true @ mixing + errors, all from the resting mouth."""

    mixing: Array  # (n, n) row: what a true shape adds to each shape that is seen
    covariance: Array  # (n, n) of the errors: shapes are distances between the same few points, so they share them
    memory: float  # share of an error that the next frame keeps

    def apply(self, shapes: Array, random: np.random.Generator) -> Array:
        """Shapes (T, n) as such a video shows them."""
        values, vectors = np.linalg.eigh(self.covariance)
        spread = (vectors * np.sqrt(np.maximum(values, 0.0))).T
        errors = _lasting_errors(len(shapes), self.memory, random)
        return np.asarray(shapes @ self.mixing + errors @ spread)


def distort(values: Floats, random: np.random.Generator) -> Floats:
    """The same lips (T, CHANNELS), distorted as MediaPipe distorts them in video; drawn anew for every window."""
    distortion = (
        _draw_measured(measured_distortions(), random) if random.random() < _AS_MEASURED else _draw_wide(random)
    )
    distorted = values.copy()
    distorted[:, :-2] = np.where(values[:, -2:-1] > 0, distortion.apply(values[:, :-2].astype(float), random), 0.0)
    return distorted


def distort_some(clips: Sequence[LipClip], share: float, seed: int) -> list[LipClip]:
    """Clips of which about a share is distorted as in a training, so that probabilities hold for what was learned."""
    random = np.random.default_rng((seed, 7))
    chosen = [random.random() < share for _ in clips]
    return [
        replace(clip, lips=replace(clip.lips, values=distort(clip.lips.values, random))) if distorted else clip
        for clip, distorted in zip(clips, chosen, strict=True)
    ]


@cache
def measured_distortions(path: Path = MEASURED) -> tuple[LipDistortion, ...]:
    """The distortions that were measured, in the order of their videos."""
    measured = json.loads(path.read_text(encoding="utf-8"))
    assert tuple(measured["shapes"]) == SHAPES, "measured with other shapes: measure again"
    return tuple(
        LipDistortion(np.array(video["mixing"]), np.array(video["covariance"]), video["memory"])
        for video in measured["videos"]
    )


def _draw_measured(measured: Sequence[LipDistortion], random: np.random.Generator) -> LipDistortion:
    """Something between the distortions of two videos, and somewhat beside it."""
    first, second = (measured[int(number)] for number in random.integers(len(measured), size=2))
    share = random.random()
    gains = np.ones(len(SHAPES))
    for names, *_ in _GAINS:  # of shapes between the same points together, so that they stay alike
        gains[[SHAPES.index(name) for name in names]] = np.exp(random.normal(0, _GAIN_SPREAD))
    size = random.uniform(*_ERRORS)
    return LipDistortion(
        (share * first.mixing + (1 - share) * second.mixing) * gains,
        (share * first.covariance + (1 - share) * second.covariance) * size**2,
        share * first.memory + (1 - share) * second.memory,
    )


def _draw_wide(random: np.random.Generator) -> LipDistortion:
    """Any distortion in the spans above, with errors of each shape on its own."""
    gains, sizes = np.ones(len(SHAPES)), np.ones(len(SHAPES))
    for names, low, high, size in _GAINS:
        here = [SHAPES.index(name) for name in names]
        gains[here] = random.uniform(low, high) * (1 + random.normal(0, _APART, len(here)))
        sizes[here] = size
    if random.random() < _BLIND:
        gains[_DEPTH] = 0.0
    mixing = np.diag(gains)
    for name, spread in _LEAKS.items():
        source, leaks = SHAPES.index(name), random.normal(0, spread, len(SHAPES))
        leaks[[*_SURE, source]] = 0.0
        mixing[source] += leaks
    covariance = np.diag((sizes * random.uniform(0.5, 1.5)) ** 2)
    return LipDistortion(mixing, covariance, random.uniform(_FAST, _SLOW))


def _lasting_errors(count: int, memory: float, random: np.random.Generator) -> Array:
    """Errors (T, n) of size 1, each frame keeping a share of the one before."""
    errors = random.normal(0, np.sqrt(1 - memory**2), (count, len(SHAPES)))
    errors[:1] = random.normal(0, 1, (1, len(SHAPES)))
    for frame in range(1, count):
        errors[frame] += memory * errors[frame - 1]
    return errors


class MouthingTask(Task[MouthingNetwork, LipBatch]):
    """Finding words on lips, and naming the viseme of every step."""

    decisive = "log likelihood"

    def __init__(
        self,
        config: MouthingConfig,
        clips: Sequence[LipClip],
        vocabulary: Vocabulary,
        held_out: Sequence[LipClip] = (),
    ):
        how = self.how = config.optimiser
        words = {word.word for clip in (*clips, *held_out) for word in clip.words}
        visemes = vocabulary.visemes | {word: visemes_of(word) for word in words}
        self.batches = LipBatches(clips, vocabulary, visemes, how, config.seed)
        self.held_out = LipBatches(held_out, vocabulary, visemes, how, config.seed) if held_out else None
        torch.manual_seed(config.seed)
        self.module, self.settings, self.compute = _begin(config), _settings(config), config.compute
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
        loss = mouthing_loss(module, batch.to(device_of(module)), self.how.shapes, self.group)
        return loss, [loss]

    def validate(self, module: MouthingNetwork) -> dict[str, float]:
        """Minus the loss, averaged over batches of lips that are not learned from, always the same ones."""
        if self.held_out is None:
            return {}
        batches = (self.held_out[number].to(device_of(module)) for number in range(_VALIDATED))
        return {"log likelihood": -float(np.mean([float(mouthing_loss(module, b, self.how.shapes)) for b in batches]))}

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
        network_of_start = load_mouthing(config.start).network
        if not isinstance(network_of_start, MouthingNetwork) or network_of_start.options != config.network:
            raise OptionsError(
                f"the training is to start with the weights of {config.start}, whose network is "
                f"{network_of_start.options} and not {config.network}. Put its sizes into [network], or start with "
                "another one"
            )
        network.load_state_dict(network_of_start.state_dict())
    return network


def mouthing_loss(network: MouthingNetwork, batch: LipBatch, shapes: float, group: Group = ALONE) -> Tensor:
    """Loss of where, if anywhere, each word ends, and of the viseme on the lips at each step.

    The first is a cross-entropy over all steps and "not at all", whose logit is 0; the second, over the visemes and
    none, is weighed by `shapes`: it teaches the lips' code much faster than words alone do.
    """
    windows, queries = len(batch.lips), len(batch.words) // len(batch.lips)
    mine = group.share(windows)
    words = batch.words.view(windows, queries, -1)[mine].flatten(0, 1)
    lips = network.code_lips(batch.lips[mine])
    compared = network.compare(lips.repeat_interleave(queries, dim=0), words)
    logits = group.gather(compared.view(-1, queries, compared.shape[1]), windows).flatten(0, 1)
    chances = functional.log_softmax(functional.pad(logits, (1, 0)), dim=1)
    end_loss = -(chances * functional.pad(batch.ends, (1, 0), value=0.0).add(batch.nowhere)).sum(dim=1).mean()
    counted = (batch.shapes >= 0).sum().clamp(min=1)
    named_shapes = group.gather(network.name_shapes(lips), windows)
    named = functional.cross_entropy(named_shapes, batch.shapes, reduction="sum") / counted
    return end_loss + shapes * named


def _settings(config: MouthingConfig) -> dict[str, Any]:
    """Settings of a training, as its state and its card hold them."""
    return {**plain_values(config), "lips_version": VERSION, "numpy": np.__version__}


def train_mouthing(
    config: MouthingConfig,
    corpus: Corpus,
    folder: str | PathLike[str],
    progress: Progress = silent,
    command: str = "",
    device: str = CPU,
) -> MouthingModel:
    """Train a mouthing spotter on the mouthings of a corpus, and calibrate its probabilities.

    Learned from are the videos of the split "train"; those of "validation" calibrate. Without splits all videos do
    both.

    Args:
        config: all that the training follows from, besides the corpus.
        corpus: landmarks of videos, and their mouthings; see `read_lip_clips`.
        folder: where its state and its curve are kept; a training that was interrupted there resumes.
        progress: called with the steps done.
        command: for the card.
        device: where it is trained.

    Raises:
        OptionsError: the corpus has no mouthings, or none in videos with landmarks; the weights to start with do not
            fit.
        SignspotError: the loss is not finite; the batch is saved for inspection.
        CheckpointError: the folder holds a state that does not fit.
        KeyboardInterrupt: it was interrupted; the state is saved.
    """
    vocabulary = read_vocabulary(unseen=False)
    clips = read_lip_clips(corpus, "train")
    validation = read_lip_clips(corpus, "validation") if corpus.in_split("validation") else []
    held_out = validation if config.compute.validate_every else []
    if config.compute.validate_every and not validation:
        raise OptionsError("validate_every needs videos of the split 'validation'. Name some in splits.json")
    network = (
        TemplateMatcher().eval()
        if config.matcher == "templates"
        else train(MouthingTask(config, clips, vocabulary, held_out), folder, progress, device=device).module
    )
    data = config.data or f"Mouthings of {corpus.folder.name}."
    card = {"licence": config.licence, "data": data, "command": command, "config": _settings(config)}
    if config.start:
        begun = load_mouthing(config.start)
        card["started_with"] = {"hash": begun.hash, **{key: begun.card.get(key) for key in ("command", "config")}}
    model = MouthingModel(config.name, network, card)
    distorted = distort_some(validation or clips, config.optimiser.distorted, config.seed)
    card["metrics"] = {"calibration": calibrate(model, distorted, vocabulary, config.seed)}
    return model
