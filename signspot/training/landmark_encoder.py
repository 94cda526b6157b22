"""Trains the default encoder, a frame coder, by contrast: two performances of one sign align better than others.

The typical cost of an alignment and the decoys are added after training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from signspot.corpus.isolated import FPS, IsolatedClip, read_isolated
from signspot.embedding.exemplars import code_sign
from signspot.embedding.inputs import sign_in_context
from signspot.errors import OptionsError, SignspotError
from signspot.io.checks import check_numbers
from signspot.io.files import cache_folder
from signspot.io.progress import Progress, silent
from signspot.landmarks.features import LEFT_HAND, RIGHT_HAND
from signspot.landmarks.features import VERSION as FEATURES_VERSION
from signspot.landmarks.landmarks import Landmarks
from signspot.losses.alignment import warping_cost
from signspot.models.encoder import Encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.frame_coder import SIGN_FRAMES, CoderOptions, FrameCoder, describe
from signspot.models.registry import build
from signspot.spotting.matching import warping_costs
from signspot.training.configuration import Compute, plain_values
from signspot.training.distributed import ALONE, Group
from signspot.training.loop import Schedule, Task, device_of, train, warm_cosine
from signspot.training.pair_augmentation import UNCHANGED, Change, Ints
from signspot.training.pairs import (
    PairBatchOptions,
    PairSource,
    PairStore,
    cached_partners,
    choose_source,
    draw,
    store_clips,
)
from signspot.training.run_folder import CPU

_LOWEST_LR = 0.02  # as a share of the highest
_SHARPNESS = (8.0, 12.0)  # of alignment and of embedding, at the first step
_BEGINNING = 1 << 40  # the number of the batches from which a coder begins: beyond all steps
_VALIDATION = _BEGINNING + 1  # of the first of those that it is validated on, always the same ones
_VALIDATED = 4  # batches of each source
DECOY_WORDS, DECOY_EXEMPLARS = 100, 3  # words that decoys are of, and signers of each
_FEWEST_FRAMES = 8  # of a sign that may be a decoy
_LEAST_SEEN = 0.8  # share of its frames in which a hand is seen
_PRINCIPAL_FRAMES = 20_000  # of which principal axes are worked out


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """A corpus of isolated signs that batches are drawn from."""

    name: str
    folders: tuple[str, ...]  # isolated signs; words and signers are identified by name
    share: float = 1.0  # of the batches
    recombined: float = 0.0  # share of the signs of a batch that are recombined from two
    likely_pairs: bool = False  # pair only clips of a word that look alike: a gloss may name several signs
    licence: str = ""  # of the corpus
    held_out: tuple[str, ...] = ()  # signers kept for validation (validate_every)
    change: Change = field(default_factory=Change)  # of its performances, in training

    def __post_init__(self) -> None:
        check_numbers(self, "share", above=0)
        check_numbers(self, "recombined", least=0, most=1)


@dataclass(frozen=True, slots=True)
class CoderOptimiser:
    """Options of the optimiser of a frame coder."""

    steps: int = 1000
    signs: int = 192  # in a batch
    lr: float = 1e-3  # the highest learning rate; it falls as a cosine to a fiftieth
    linear_lr: float = 0.3  # learning rate of the linear map, relative to that of the network
    weight_decay: float = 0.05
    warm_up: int = 30  # steps until the highest learning rate
    average: float = 0.99  # decay of the running mean of the weights, which is the result
    smoothing: float = 0.1  # of labels: two clips of a word may show different signs
    embedding: float = 0.5  # weight of the loss of embeddings, against that of alignments
    clip: float = 1.0  # maximum norm of the gradient

    def __post_init__(self) -> None:
        check_numbers(self, "steps", least=1)
        check_numbers(self, "signs", least=2)
        check_numbers(self, "lr", "clip", above=0)
        check_numbers(self, "linear_lr", "weight_decay", "warm_up", "embedding", least=0)
        check_numbers(self, "average", "smoothing", least=0, most=1)


@dataclass(frozen=True, slots=True)
class FrameCodesConfig:
    """Settings of the training of a frame coder."""

    sources: tuple[SourceOptions, ...]
    name: str = "landmark"
    seed: int = 1
    licence: str = ""  # of the weights
    data: str = ""  # one sentence for the card
    decoys: str = ""  # name of the source that decoys are drawn from; empty: the first one
    optimiser: CoderOptimiser = field(default_factory=CoderOptimiser)
    coder: CoderOptions = field(default_factory=CoderOptions)
    compute: Compute = field(default_factory=Compute)

    def __post_init__(self) -> None:
        check_numbers(self, "seed", least=0)
        check_sources(self.sources)
        names = [source.name for source in self.sources]
        if self.decoys and self.decoys not in names:
            raise OptionsError(f"no source '{self.decoys}' to draw decoys from. There are: {', '.join(names)}")
        if self.compute.validate_every and not any(source.held_out for source in self.sources):
            raise OptionsError("validate_every needs signers who teach nothing: name some in held_out of [[sources]]")
        if self.coder.decoys:
            raise OptionsError(f"decoys come after the training; got {self.coder.decoys}. Leave them out of [coder]")

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for cards and states; folders by their names, as places differ from machine to machine."""
        return {**plain_values(self), "sources": _named(self.sources), "landmark_features": FEATURES_VERSION}


@dataclass(frozen=True, slots=True)
class WarpingConfig:
    """Settings of an encoder that learns nothing about signs."""

    sources: tuple[SourceOptions, ...]  # one: its principal axes and its decoys are of these signs
    name: str = "warping"
    seed: int = 1
    licence: str = ""
    data: str = ""  # one sentence for the card

    def __post_init__(self) -> None:
        check_numbers(self, "seed", least=0)
        check_sources(self.sources)
        if len(self.sources) != 1:
            raise OptionsError(f"principal axes are of one source; got {len(self.sources)}")


def _named(sources: Sequence[SourceOptions]) -> list[dict[str, Any]]:
    """Plain values of sources, with the names of their folders only."""
    return [{**asdict(source), "folders": [Path(folder).name for folder in source.folders]} for source in sources]


def check_sources(sources: Sequence[SourceOptions]) -> None:
    """See that there are sources, each with a name of its own.

    Raises:
        OptionsError: there are none, or two have one name.
    """
    names = [source.name for source in sources]
    if not names:
        raise OptionsError("there is nothing to learn from: name a corpus of isolated signs in [[sources]]")
    if len(set(names)) < len(names):
        raise OptionsError(f"two sources have one name: {', '.join(names)}")


def with_folders(sources: Sequence[SourceOptions], folders: Mapping[str, Sequence[str]]) -> tuple[SourceOptions, ...]:
    """Sources in other folders.

    Args:
        sources: as a configuration names them.
        folders: name of a source → its folders.

    Raises:
        OptionsError: there is no source of such a name.
    """
    names = [source.name for source in sources]
    for name in folders:
        if name not in names:
            raise OptionsError(f"no source '{name}' in the configuration. There are: {', '.join(names)}")
    return tuple(replace(source, folders=tuple(folders.get(source.name, source.folders))) for source in sources)


@dataclass(frozen=True, slots=True)
class CodedPairs:
    """A batch of pairs as the coder sees it."""

    seen: Tensor  # (N - 2, SEEN) described frames
    first: Ints  # (2 K,) as in a `PairBatch`
    lengths: Ints


class PairLearner(nn.Module):
    """A frame coder with the temperatures that its losses learn."""

    def __init__(self, options: CoderOptions):
        super().__init__()
        self.coder = FrameCoder(options)
        self.context = self.coder.code_reach // options.spacing  # steps that a code sees on either side
        self.sharpness = nn.Parameter(torch.tensor(_SHARPNESS).log())

    def signs(self, batch: CodedPairs, group: Group = ALONE) -> Tensor:
        """Code a batch: (16, 2 K, C), all signs stretched to 16 frames; each process codes its share of signs."""
        device, mine = device_of(self), group.share(len(batch.first))
        frames, first, lengths = batch.seen, batch.first[mine] - self.context, batch.lengths[mine]
        if group.size > 1:
            sizes = lengths + 2 * self.context - 2  # described frames that the codes of a sign follow from
            frames = torch.cat([frames[start : start + size] for start, size in zip(first, sizes, strict=True)])
            first = np.cumsum(sizes) - sizes
        codes = self.coder.code(frames[None].to(device), 1)[0].float()  # whatever the precision of products
        positions = first + np.linspace(0, 1, SIGN_FRAMES)[:, None] * (lengths - 1)
        below = np.minimum(np.floor(positions).astype(np.int64), first + lengths - 2)
        share = torch.from_numpy((positions - below).astype(np.float32))[..., None].to(device)
        here = torch.from_numpy(below).to(device)
        signs = torch.lerp(codes[here], codes[here + 1], share)
        return group.gather(signs.transpose(0, 1), len(batch.first)).transpose(0, 1)

    def losses(self, batch: CodedPairs, smoothing: float, group: Group = ALONE) -> tuple[Tensor, Tensor, Tensor]:
        """The losses of alignments and of embeddings, and the share of signs whose own partner aligns best."""
        ours, theirs = self.signs(batch, group).chunk(2, dim=1)
        with torch.autocast(ours.device.type, enabled=False):  # sums of many small costs stay in float32
            aligned = -self.sharpness[0].exp() * warping_cost(ours, theirs)
            first_signs, second_signs = (
                functional.normalize(self.coder.pooled(part.transpose(0, 1)), dim=-1) for part in (ours, theirs)
            )
            embedded = self.sharpness[1].exp() * first_signs @ second_signs.T
            hits = (aligned.argmax(dim=1) == torch.arange(len(aligned), device=aligned.device)).float().mean()
            return _both_ways(aligned, smoothing), _both_ways(embedded, smoothing), hits


def _both_ways(logits: Tensor, smoothing: float) -> Tensor:
    """(K, K) logits of which the diagonal is right to the mean cross-entropy of rows and of columns."""
    right = torch.arange(len(logits), device=logits.device)
    ways = [functional.cross_entropy(scores, right, label_smoothing=smoothing) for scores in (logits, logits.T)]
    return (ways[0] + ways[1]) / 2


def train_frame_codes(
    config: FrameCodesConfig,
    folder: str | PathLike[str],
    progress: Progress = silent,
    *,
    workers: int = 1,
    device: str = CPU,
) -> Encoder:
    """Open the sources, train a frame coder on them, and make an encoder of it.

    Args:
        config: all that the training follows from.
        folder: where its state and its curve are kept; an interrupted training resumes there.
        progress: called with the number of steps done.
        workers: processes that make batches.
        device: where it is trained.

    Raises:
        OptionsError: a source has a share and no folder.
        SignspotError: the loss is not finite; the batch is saved for inspection.
        CheckpointError: the folder holds a state that does not fit.
        KeyboardInterrupt: it was interrupted; the state is saved.
    """
    sources, held_out, decoys = open_sources(config)
    trained = train(FrameCodesTask(config, sources, held_out), folder, progress, device=device, workers=workers)
    card = {"config": config.as_dict(), "licence": config.licence, "data": config.data}
    card |= {"validation": dict(trained.validation)} if trained.validation else {}
    return assemble(config.name, trained.module.coder, decoys, card)


class FrameCodesTask(Task[PairLearner, CodedPairs]):
    """Contrast: two performances of one sign align better than those of two signs."""

    columns = ("alignment", "embedding", "hits")
    decisive = "hits"

    def __init__(self, config: FrameCodesConfig, sources: Sequence[PairSource], held_out: Sequence[PairSource] = ()):
        """Begin with random weights.

        Args:
            config: all that the training follows from.
            sources: open, to learn from.
            held_out: sources of other signers, to validate on.
        """
        how = self.how = config.optimiser
        torch.manual_seed(config.seed)
        self.config, self.sources, self.held_out = config, list(sources), list(held_out)
        self.module = PairLearner(config.coder)
        self.options = PairBatchOptions(how.signs, self.module.context, config.coder.spacing)
        self.settings, self.compute = config.as_dict(), config.compute
        lr_scale = warm_cosine(how.steps, how.warm_up, _LOWEST_LR)
        self.schedule = Schedule(how.steps, config.seed, lr_scale, how.clip, how.average)

    def initialise(self) -> None:
        """Start from the principal axes of a batch of every source, which is none of the training's."""
        random = np.random.default_rng((self.config.seed, _BEGINNING))
        self.module.coder.begin(torch.cat([self._pairs(source, random).seen for source in self.sources]))

    def optimiser(self) -> torch.optim.Optimizer:
        """The linear map, which begins at the principal axes, is changed more slowly; nothing draws it to zero."""
        how, linear, sharpness = self.how, self.module.coder.linear.weight, self.module.sharpness
        rest = [weight for weight in self.module.parameters() if weight is not linear and weight is not sharpness]
        groups: list[dict[str, Any]] = [
            {"params": [linear], "lr": how.lr * how.linear_lr, "weight_decay": 0.0},
            {"params": rest, "weight_decay": how.weight_decay},
            {"params": [sharpness], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, how.lr)

    def batch(self, step: int) -> CodedPairs:
        """As `Task.batch`, of one of the sources."""
        random = np.random.default_rng((self.config.seed, step))
        return self._pairs(choose_source(self.sources, random), random)

    def _pairs(self, source: PairSource, random: np.random.Generator) -> CodedPairs:
        batch = draw(source, self.options, random)
        return CodedPairs(describe(batch.x[None], 1)[0], batch.first, batch.lengths)

    def loss(self, module: PairLearner, batch: CodedPairs) -> tuple[Tensor, tuple[Tensor, ...]]:
        """As `Task.loss`."""
        aligned, embedded, hits = module.losses(batch, self.how.smoothing, self.group)
        return aligned + self.how.embedding * embedded, (aligned, embedded, hits)

    def validate(self, module: PairLearner) -> dict[str, float]:
        """The share of signs by held-out signers that the same sign by another of them fits best, in batches."""
        drawn = (
            self._pairs(source, np.random.default_rng((self.config.seed, _VALIDATION + number)))
            for source in self.held_out
            for number in range(_VALIDATED)
        )
        hits = [float(module.losses(batch, self.how.smoothing)[2]) for batch in drawn]
        return {"hits": float(np.mean(hits))} if hits else {}

    def arrays(self, batch: CodedPairs) -> dict[str, Any]:
        """As `Task.arrays`."""
        return {"seen": batch.seen.numpy(), "first": batch.first, "lengths": batch.lengths}


def open_sources(config: FrameCodesConfig) -> tuple[list[PairSource], list[PairSource], list[IsolatedClip]]:
    """Open all sources.

    Args:
        config: names the sources.

    Returns:
        The sources to learn from; those to validate on, which hold the signs of held-out signers as they are; the
        decoys.

    Raises:
        OptionsError: a source has no folder, too few words have enough signers for decoys.
        FormatError: a folder holds no isolated signs.
    """
    sources: list[PairSource] = []
    held_out: list[PairSource] = []
    decoys: list[IsolatedClip] = []
    for source in config.sources:
        clips = _read_source(source)
        taught = [clip for clip in clips if clip.signer not in source.held_out]
        sources.append(PairSource(_store(taught, source), source.share, source.recombined, source.change))
        if config.compute.validate_every and source.held_out:
            others = [clip for clip in clips if clip.signer in source.held_out]
            held_out.append(PairSource(_store(others, source), recombined=0.0, change=UNCHANGED))
        if source.name == (config.decoys or config.sources[0].name):
            decoys = choose_decoys(taught, config.seed)
    return sources, held_out, decoys


def _store(clips: Sequence[IsolatedClip], source: SourceOptions) -> PairStore:
    store = store_clips(clips)
    if source.likely_pairs:
        store.partners = cached_partners(store, cache_folder() / "training")
    return store


def _read_source(source: SourceOptions) -> list[IsolatedClip]:
    for folder in source.folders:
        if not Path(folder).exists():
            raise OptionsError(
                f"the source '{source.name}' has no folder {folder}. Name one with --source {source.name}=FOLDER"
            )
    return [clip for folder in source.folders for clip in read_isolated(folder)]


def choose_decoys(clips: Sequence[IsolatedClip], seed: int) -> list[IsolatedClip]:
    """Draw words, and clips of each by several signers, that show a sign by itself clearly.

    Raises:
        OptionsError: no word has enough signers.
    """
    random = np.random.default_rng(seed)
    by_word: dict[str, dict[str, IsolatedClip]] = {}
    for index in random.permutation(len(clips)):
        clip = clips[int(index)]
        if clip.signer and clip.segment is None and _is_clear(clip.landmarks):
            by_word.setdefault(clip.word, {}).setdefault(clip.signer, clip)
    enough = [word for word, signers in sorted(by_word.items()) if len(signers) >= DECOY_EXEMPLARS]
    chosen = [enough[int(index)] for index in random.permutation(len(enough))[:DECOY_WORDS]]
    if not chosen:
        raise OptionsError(f"no word has clips of {DECOY_EXEMPLARS} signers: there is nothing to draw decoys from")
    return [clip for word in chosen for clip in list(by_word[word].values())[:DECOY_EXEMPLARS]]


def assemble(name: str, coder: FrameCoder, decoys: Sequence[IsolatedClip], card: dict[str, Any]) -> Encoder:
    """Make an encoder of a trained coder: code the decoys, and measure the typical cost of aligning two signs.

    Args:
        name: of the encoder.
        coder: trained.
        decoys: as `choose_decoys` gives them.
        card: licence, data and so on.
    """
    codes, words = _code_decoys(make_encoder(name, _module(coder, 0)), decoys)
    module = _module(coder, len(codes))
    trunk = module.trunk
    assert isinstance(trunk, FrameCoder)
    trunk.set_decoys(torch.from_numpy(codes))
    trunk.decoy_words.copy_(torch.from_numpy(words))
    costs = warping_costs(codes[:, 0], codes[:, 0])[words[:, None] != words]
    trunk.typical_cost.fill_(float(np.median(costs)))
    return make_encoder(name, module, card=card)


def _module(coder: FrameCoder, decoys: int) -> Any:
    module = build("frame_codes", **asdict(replace(coder.options, decoys=decoys)), mlp=False)
    learned = {key: value for key, value in coder.state_dict().items() if not key.startswith("decoy")}
    module.trunk.load_state_dict(learned, strict=False)
    return module


def _code_decoys(encoder: Encoder, clips: Sequence[IsolatedClip]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """(K, 2, L, C) codes of decoys, as they are and mirrored, and (K,) their words, numbered."""
    number = {word: index for index, word in enumerate(dict.fromkeys(clip.word for clip in clips))}
    codes = []
    for clip in clips:
        views = code_sign(encoder, *sign_in_context(clip.landmarks, FPS), mirror=True)
        assert views.codes is not None
        codes.append(views.codes)
    return np.stack(codes), np.array([number[clip.word] for clip in clips], np.int64)


def _is_clear(landmarks: Landmarks) -> bool:
    """Whether a clip shows a sign well enough to be a decoy."""
    try:
        frames, first, last = sign_in_context(landmarks, FPS)
    except SignspotError:
        return False
    hands = frames[first : last + 1, [LEFT_HAND.start, RIGHT_HAND.start], 3].any(axis=1)
    return last - first + 1 >= _FEWEST_FRAMES and float(hands.mean()) >= _LEAST_SEEN


def make_warping(config: WarpingConfig) -> Encoder:
    """An encoder that learns nothing about signs: the principal axes of hand-crafted features, for time warping."""
    torch.manual_seed(config.seed)
    clips = _read_source(config.sources[0])
    coder = FrameCoder(CoderOptions(width=0)).eval()
    frames = [torch.from_numpy(sign_in_context(clip.landmarks, FPS)[0]) for clip in clips]
    spacing = coder.options.spacing
    described = torch.cat([describe(clip[None], spacing)[0] for clip in frames if len(clip) > 2 * spacing])
    order = np.random.default_rng(config.seed).permutation(len(described))
    coder.begin(described[torch.from_numpy(order[:_PRINCIPAL_FRAMES])])
    nn.init.orthogonal_(coder.pool.weight)
    nn.init.zeros_(coder.pool.bias)
    settings = {**asdict(config), "sources": _named(config.sources)}
    card = {"config": settings, "licence": config.licence, "data": config.data}
    return assemble(config.name, coder, choose_decoys(clips, config.seed), card)
