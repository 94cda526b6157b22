"""Clips of labelled signs and of exemplars as landmark features: collected, drawn in balanced batches, augmented."""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.corpus.corpus import Corpus, CorpusVideo
from signspot.corpus.labels import LABEL_FPS, SignWindow
from signspot.embedding.inputs import draw_clips, footage_landmarks
from signspot.errors import OptionsError, SignspotError
from signspot.io.checks import check_numbers
from signspot.io.files import cache_folder
from signspot.io.progress import Progress, silent
from signspot.landmarks.features import FACE, LEFT_HAND, RIGHT_HAND, WRISTS, at_positions
from signspot.training.corpus_subset import ClipBatchOptions, draw_words
from signspot.training.pair_augmentation import camera_bases
from signspot.training.trunk_features import as_right_handed, exemplar_sign
from signspot.types import Exemplar, Label, LabelSource

Clips = NDArray[np.float32]


logger = logging.getLogger(__name__)
SignFeatures = NDArray[np.float16]  # (T, J, C)
ExemplarSampling = Literal["rate", "consecutive"]


@dataclass(frozen=True, slots=True)
class Augmentation:
    """Strengths of the changes to performances; 0 everywhere changes nothing."""

    tilt: float = 0.08  # radians in the image plane
    turn: float = 0.25  # radians about the vertical
    aspect: float = 0.06  # log of width against height
    scale: float = 0.08  # log of the size
    shift: float = 0.06  # shoulder widths
    hand_size: float = 0.08  # log of the hands' size
    depth: float = 0.3  # log of how much depth there is
    no_depth: float = 0.1  # share of performances whose depth is lost
    jitter: float = 0.012  # shoulder widths, of every point and frame
    finger_jitter: float = 0.012  # in addition, of the hands
    dropped: float = 0.35  # share of performances in which a hand is lost for a while; its shape is carried over
    lost: float = 0.2  # share of performances in which a hand is never seen, only its wrist
    faceless: float = 0.1  # share of performances without a face

    def __post_init__(self) -> None:
        check_numbers(self, *(field.name for field in fields(self)), least=0)

    def times(self, factor: float) -> "Augmentation":
        """The same, so many times as strong."""
        return Augmentation(**{name: factor * value for name, value in asdict(self).items()})


def augment(clips: Clips, random: np.random.Generator, how: Augmentation) -> Clips:
    """Change (N, F, J, C) clips; each of the N in its own way."""
    count = len(clips)
    changed = clips.copy()
    points, seen = changed[..., :3], changed[..., 3:]
    _resize_hands(points, np.exp(random.normal(0, how.hand_size, (count, 1, 1, 1))).astype(np.float32))
    depth = np.exp(random.normal(0, how.depth, count)) * (random.random(count) >= how.no_depth)
    points[..., 2] *= depth[:, None, None].astype(np.float32)
    points[:] = np.einsum("nfjc,ncd->nfjd", points, _bases(count, random, how))
    points[..., :2] += random.normal(0, how.shift, (count, 1, 1, 2)).astype(np.float32)
    points += random.normal(0, how.jitter, points.shape).astype(np.float32)
    for wrist, hand in zip(WRISTS, (LEFT_HAND, RIGHT_HAND), strict=True):
        points[:, :, hand] += random.normal(0, how.finger_jitter, points[:, :, hand].shape).astype(np.float32)
        _drop(changed, wrist, hand, random, how.dropped / 2)
        seen[random.random(count) < how.lost / 2, :, hand] = 0
    seen[random.random(count) < how.faceless, :, FACE] = 0
    points *= seen
    return changed


def _bases(count: int, random: np.random.Generator, how: Augmentation) -> NDArray[np.float32]:
    """(N, 3, 3) what rows of points are multiplied with: turned, tilted, stretched."""
    tilt, turn = random.normal(0, how.tilt, count), random.normal(0, how.turn, count)
    size, aspect = np.exp(random.normal(0, how.scale, count)), np.exp(random.normal(0, how.aspect, count))
    return camera_bases(turn, np.zeros(count), tilt, size, aspect).astype(np.float32)


def _resize_hands(points: Clips, factor: NDArray[np.float32]) -> None:
    """Grow or shrink hands about their wrists, in place."""
    for hand in (LEFT_HAND, RIGHT_HAND):
        wrist = points[:, :, hand.start : hand.start + 1].copy()
        points[:, :, hand] = wrist + (points[:, :, hand] - wrist) * factor


def _drop(clips: Clips, wrist: int, hand: slice, random: np.random.Generator, share: float) -> None:
    """Lose a hand for a run of frames in some clips, in place; its shape is carried over as by `features`."""
    frames = clips.shape[1]
    for index in np.flatnonzero(random.random(len(clips)) < share):
        clip = clips[index]
        length = int(random.integers(1, max(2, frames // 2)))
        start = int(random.integers(0, frames - length + 1))
        run, before, after = slice(start, start + length), start - 1, start + length
        ends = [before if before >= 0 else after, after if after < frames else before]
        wrist_location = clip[:, wrist, :3] * np.array([1, 1, 0], np.float32)  # a hand's depth is its own
        here, there = clip[ends][:, hand, :3] - wrist_location[ends][:, None]
        along = (np.arange(1, length + 1, dtype=np.float32) / (length + 1))[:, None, None]
        clip[run, hand, :3] = here + along * (there - here) + wrist_location[run][:, None]
        is_known = clip[ends, hand.start, 3].min() * clip[ends, wrist, 3].min()
        clip[run, hand, 3] = is_known * clip[run, wrist, 3][:, None]


@dataclass(frozen=True, slots=True)
class ClipOptions(ClipBatchOptions):
    """Options of clips of landmarks."""

    speed: float = 0.1  # largest change of the speed of continuous signing
    sources: str = "MDV"  # sources of labels to use
    exemplars: ExemplarSampling = "rate"  # whole exemplars at random rates, or consecutive frames

    def __post_init__(self) -> None:
        ClipBatchOptions.__post_init__(self)
        check_numbers(self, "speed", least=0, most=1)
        if self.exemplars not in get_args(ExemplarSampling):
            raise OptionsError(
                f"exemplars are sampled by {' or '.join(get_args(ExemplarSampling))}; got '{self.exemplars}'"
            )
        if not self.sources or set(self.sources) - {source.value for source in LabelSource}:
            raise OptionsError(f"sources are letters out of M, D and V; got '{self.sources}'")


@dataclass(frozen=True, slots=True, eq=False)
class LabelledSigns:
    """All signs that a trunk may be trained on, by word and domain, in memory."""

    words: tuple[str, ...]  # K
    continuous: tuple[tuple[SignFeatures, ...], ...]  # K: the frames around each label
    dictionary: tuple[tuple[SignFeatures, ...], ...]  # K: each exemplar, trimmed
    sure: tuple[tuple[bool, ...], ...] = ()  # K: whether each label is as sure as `ClipOptions.surer`; none: all are

    @property
    def labels(self) -> int:
        """The number of labelled signs."""
        return sum(map(len, self.continuous))


@dataclass(frozen=True, slots=True, eq=False)
class CutSigns:
    """Signs of labels and of exemplars, without those that cannot be seen."""

    labels: Mapping[Label, SignFeatures]
    exemplars: Mapping[Exemplar, SignFeatures]


def cut_signs(
    corpus: Corpus,
    labels: Iterable[Label],
    exemplars: Iterable[Exemplar],
    window: SignWindow,
    progress: Progress = silent,
) -> CutSigns:
    """Cut labelled signs out of their videos, and exemplars out of theirs; each is read once."""
    by_video: dict[str, list[Label]] = {}
    for label in labels:
        by_video.setdefault(label.video, []).append(label)
    signed: dict[Label, SignFeatures] = {}
    for done, (name, labels_of_video) in enumerate(by_video.items()):
        progress(done, len(by_video))
        signed.update(_around(labels_of_video, corpus.videos[name], window))
    shown: dict[Exemplar, SignFeatures] = {}
    for exemplar in exemplars:
        if exemplar.path is not None:
            try:
                shown[exemplar] = exemplar_sign(exemplar, LABEL_FPS).astype(np.float16)
            except SignspotError as error:
                logger.warning("left out exemplar '%s' of '%s': %s", exemplar.id, exemplar.word, error)
    return CutSigns(signed, shown)


def collect_signs(
    corpus: Corpus,
    words: Collection[str],
    videos: Collection[str],
    options: ClipOptions,
    progress: Progress = silent,
    labels: Sequence[Label] | None = None,
    exemplars: Sequence[Exemplar] | None = None,
    cut: CutSigns | None = None,
) -> LabelledSigns:
    """Collect the labelled signs of some words in some videos, and their exemplars.

    Labels and exemplars are those of the corpus, unless others are given; either way options and words choose among
    them. Their signs are cut out now, unless that was done before.

    Raises:
        OptionsError: fewer than two words have a label where labels are wanted, or an exemplar where those are.
    """
    vocabulary = tuple(sorted(words))
    signed: dict[str, list[SignFeatures]] = {word: [] for word in vocabulary}
    sure: dict[str, list[bool]] = {word: [] for word in vocabulary}
    exemplars_by_word: dict[str, list[SignFeatures]] = {word: [] for word in vocabulary}
    chosen: list[Label] = []
    if options.dictionary < 1:
        place = {name: number for number, name in enumerate(videos)}
        every = corpus.labels(list(videos)) if labels is None else labels
        admitted = (label for label in every if options.least.admits(label) and label.source.value in options.sources)
        of_words = (label for label in admitted if label.word in signed and label.video in place)
        chosen = sorted(of_words, key=lambda label: place[label.video])
    looked_up: list[Exemplar] = []
    if options.dictionary > 0:
        listed = corpus.dictionary().exemplars if exemplars is None else exemplars
        looked_up = [exemplar for exemplar in listed if exemplar.word in exemplars_by_word]
    signs = cut or cut_signs(corpus, chosen, looked_up, options, progress)
    for label in chosen:
        if label in signs.labels:
            signed[label.word].append(signs.labels[label])
            sure[label.word].append(options.is_sure(label))
    for exemplar in looked_up:
        if exemplar in signs.exemplars:
            exemplars_by_word[exemplar.word].append(signs.exemplars[exemplar])
    for kind, signs_by_word, needed in (
        ("a label", signed, options.dictionary < 1),
        ("an exemplar", exemplars_by_word, options.dictionary > 0),
    ):
        count = sum(bool(signs) for signs in signs_by_word.values())
        if needed and count < 2:
            raise OptionsError(
                f"{count} of {len(vocabulary):,} words have {kind} that can be used: a classifier needs two"
            )
    continuous, dictionary = (
        tuple(tuple(signs_by_word[word]) for word in vocabulary) for signs_by_word in (signed, exemplars_by_word)
    )
    return LabelledSigns(vocabulary, continuous, dictionary, tuple(tuple(sure[word]) for word in vocabulary))


def _around(labels: Sequence[Label], video: CorpusVideo, window: SignWindow) -> Iterator[tuple[Label, SignFeatures]]:
    """Each label with the frames in which its sign lies, edges repeated where the video ends.

    Labels of a video that cannot be read, or that shows no signer, are left out, and so are those beyond its end.
    """
    if not labels:
        return
    try:
        landmarks = footage_landmarks(video, cache_folder() / "landmarks").resampled(LABEL_FPS)
    except SignspotError as error:
        logger.warning("left out the %d labels of the video '%s': %s", len(labels), video.id, error)
        return
    frames_of_video, origin = as_right_handed(landmarks), float(landmarks.times[0])
    last = float(landmarks.times[-1])
    inside = [label for label in labels if origin <= label.time <= last + 1.0]  # a second for clocks that differ
    if len(inside) < len(labels):
        beyond = len(labels) - len(inside)
        logger.warning("left out %d labels of the video '%s', which ends at %.1f s", beyond, video.id, last)
    for label in inside:
        segment = window.of(label)
        frames = round((segment.start - origin) * LABEL_FPS) + np.arange(round(segment.duration * LABEL_FPS))
        yield label, frames_of_video[np.clip(frames, 0, len(frames_of_video) - 1)].astype(np.float16)


class SignBatches:
    """Batch number i is made from the seed and i alone: words and domains equally often, whatever there is of each."""

    def __init__(self, signs: LabelledSigns, frames: int, seed: int, options: ClipOptions, augmentation: Augmentation):
        self.signs, self.frames, self.seed = signs, frames, seed
        self.options, self.augmentation = options, augmentation
        self._every = signs.continuous
        flags = signs.sure or tuple((True,) * len(signs_of_word) for signs_of_word in signs.continuous)
        self._sure = tuple(
            tuple(sign for sign, is_sure in zip(*both, strict=True) if is_sure)
            for both in zip(signs.continuous, flags, strict=True)
        )
        self._shown = [word for word, signs_of_word in enumerate(signs.dictionary) if signs_of_word]

    def make(self, step: int, dictionary: float | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Make a batch.

        Args:
            step: its number.
            dictionary: share of exemplars; None: that of the options.

        Returns:
            (N, F, J, C) clips, (N,) words, (N,) bool: the clip is of an exemplar.
        """
        random = np.random.default_rng([self.seed, step])
        share = self.options.dictionary if dictionary is None else dictionary
        count = round(self.options.clips * share)
        signed = self._sure if count else self._every
        with_signs = [word for word, signs_of_word in enumerate(signed) if signs_of_word]
        words = [*draw_words(with_signs, self.options.clips - count, random), *draw_words(self._shown, count, random)]
        of_exemplar = np.arange(len(words)) >= len(words) - count
        clips = [
            self._exemplar(_any(self.signs.dictionary[word], random), random)
            if is_shown
            else self._labelled(_any(signed[word], random), random)
            for word, is_shown in zip(words, of_exemplar.tolist(), strict=True)
        ]
        augmented = augment(np.stack(clips), random, self.augmentation)
        return torch.from_numpy(augmented), torch.tensor(words), torch.from_numpy(of_exemplar)

    def _exemplar(self, sign: NDArray[np.float32], random: np.random.Generator) -> NDArray[np.float32]:
        if self.options.exemplars == "rate":
            return np.asarray(draw_clips(sign, self.frames, 1, random)[0])
        start = int(random.integers(0, max(1, len(sign) - self.frames + 1)))
        return sign[np.minimum(np.arange(start, start + self.frames), len(sign) - 1)]

    def _labelled(self, sign: NDArray[np.float32], random: np.random.Generator) -> NDArray[np.float32]:
        last, speed = len(sign) - 1, self.options.speed
        span = min(last, (self.frames - 1) * float(random.uniform(1 - speed, 1 + speed)))
        start = random.uniform(0, last - span)
        return at_positions(sign, start + np.linspace(0, span, self.frames))


def _any(signs: Sequence[SignFeatures], random: np.random.Generator) -> NDArray[np.float32]:
    return signs[int(random.integers(len(signs)))].astype(np.float32)
