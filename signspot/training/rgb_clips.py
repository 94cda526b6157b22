"""Clips for an RGB trunk: frames around labels and of exemplars, a teacher's embeddings, batches, configuration."""

import logging
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from torch import Tensor

from signspot.corpus.corpus import Corpus
from signspot.corpus.labels import LeastConfidence
from signspot.embedding.inputs import NARROWEST, WIDEST
from signspot.embedding.windows import embed_features
from signspot.errors import EmptyVideoError, OptionsError, SignspotError
from signspot.io.files import atomic_write, content_digest, text_digest
from signspot.io.progress import Progress, silent
from signspot.models.contract import Encoder
from signspot.training.configuration import check_numbers
from signspot.training.items import TrainingSubset, Words
from signspot.training.run_folder import open_array
from signspot.training.trunk_features import TrunkFeatures, VideoExemplars
from signspot.types import Exemplar, Label, LabelSource, Segment
from signspot.video.clips import squashed_side
from signspot.video.probing import Image
from signspot.video.reader import open_video

Architecture = Literal["i3d", "s3d"]
Optimiser = Literal["sgd", "adam"]
_FOR_PEOPLE = ("name", "licence", "data")  # nothing follows from them


Images = NDArray[np.uint8]
logger = logging.getLogger(__name__)
LABEL_FPS = 25.0  # of the frames in which the options tell how far a sign lies from its label
Targets = NDArray[np.float32]
_VERSION = 1  # raised whenever the same source would give other images
Clip = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RgbAugmentation:
    """Augmentation of the images of a clip, the same for all of them; 0 everywhere changes nothing."""

    flip: float = 0.5  # share of clips that are mirrored
    scale: float = 0.1  # by how much a image is magnified or shrunk, at most
    shift: float = 1.0  # how far the crop may move, as a share of the room there is
    brightness: float = 0.2  # added to all colours, at most
    contrast: float = 0.2  # by how much colours are spread or drawn together, at most
    saturation: float = 0.2  # by how much colours are made stronger or greyer, at most

    def __post_init__(self) -> None:
        check_numbers(self, "flip", "shift", least=0, most=1)
        check_numbers(self, "scale", "brightness", "contrast", "saturation", least=0)


@dataclass(frozen=True, slots=True)
class RgbBatchOptions:
    """Composition of a batch, and how signs become clips. The defaults are the paper's, but for the size."""

    clips: int = 16  # the paper has 4
    dictionary: float = 0.5  # share of clips that are of exemplars: both domains are balanced
    before: int = 20  # frames at 25 per second before the end of a sign from which it may begin
    after: int = 5  # and after a label of its end until which it may last
    around: int = 11  # on either side of the middle of a sign, where a label marks that or the span
    least: LeastConfidence = field(default_factory=LeastConfidence)  # of a label, by its source
    surer: float = 0.0  # least confidence of a mouthing from when on the dictionary joins; the paper's is 0.8

    def __post_init__(self) -> None:
        check_numbers(self, "clips", least=2)
        check_numbers(self, "dictionary", "surer", least=0, most=1)
        if self.before < 1 or self.after < 0 or self.around < 1:
            raise OptionsError(
                f"a sign lies before its end and around its middle; got {self.before} frames before, {self.after} "
                f"after and {self.around} around"
            )


@dataclass(frozen=True, slots=True)
class RgbConfig:
    """Settings of a training, besides its corpus."""

    name: str = "rgb"  # of the encoder
    licence: str = ""
    data: str = ""  # one sentence for the card
    words: Words = "all"  # of a corpus with splits: all words, or those for training alone
    architecture: Architecture = "i3d"
    model: dict[str, Any] = field(default_factory=dict)  # options of the trunk: frames, image_size, width …
    fps: float = 25.0  # frames per second; 8 frames at 12.5 last as long as 16 at 25
    seed: int = 0
    epochs: int = 50
    optimiser: Optimiser = "sgd"  # the paper's; adam learns faster from little
    lr: float = 1e-2  # learning rate of the first epochs
    momentum: float = 0.9
    decay: float = 0.1  # by which the learning rate is multiplied, at each of:
    decays: tuple[float, ...] = (0.4, 0.8)  # shares of the epochs: 20 and 40 of 50
    weight_decay: float = 0.0
    clip: float = 10.0  # longest gradient
    continuous_only_fraction: float = 0.0  # share of the epochs on continuous signing, before the dictionary joins
    reinitialise: bool = True  # batch norms forget, when the dictionary joins (Appendix C.1)
    distil: float = 0.0  # weight of embedding distillation: a landmark encoder's embedding is the target of ours
    teacher: str = "landmark"  # name or file of that encoder
    batch: RgbBatchOptions = field(default_factory=RgbBatchOptions)
    augmentation: RgbAugmentation = field(default_factory=RgbAugmentation)

    def __post_init__(self) -> None:
        choices = (("architecture", Architecture), ("words", Words), ("optimiser", Optimiser))
        for name, allowed in ((name, get_args(kind)) for name, kind in choices):
            if getattr(self, name) not in allowed:
                raise OptionsError(f"no {name} '{getattr(self, name)}'. There are: {', '.join(allowed)}")
        check_numbers(self, "fps", "lr", "epochs", "clip", "decay", above=0)
        check_numbers(self, "seed", "weight_decay", "distil", least=0)
        check_numbers(self, "momentum", "decays", "continuous_only_fraction", least=0, most=1)

    @property
    def dictionary_from(self) -> int:
        """The epoch from which on the dictionary is trained on, too."""
        return round(self.continuous_only_fraction * self.epochs)

    def as_dict(self) -> dict[str, Any]:
        """Plain values of all that a training follows from, for checkpoints and cards."""
        return {name: value for name, value in asdict(self).items() if name not in _FOR_PEOPLE}


@dataclass(frozen=True, slots=True)
class ImageStore:
    """Folder of kept images, and the way they are cut."""

    folder: Path
    fps: float
    image_size: int  # pixels of a side that the trunk sees

    @property
    def side(self) -> int:
        """Pixels of a side that are kept."""
        return squashed_side(self.image_size)

    def segments(self, video: Path, starts: Sequence[float], frames: int) -> Images:
        """(L, S, H, W, 3): `frames` images from each start on, in seconds; the ends of the video are repeated."""
        path = self._path(video, f"{frames} {[round(start, 4) for start in starts]}")
        if not path.is_file():
            self._cut(video, [max(0, round(start * self.fps)) for start in starts], frames, path)
        return open_array(path, np.uint8, 5, len(starts))

    def sign(self, video: Path, segment: Segment | None) -> Images:
        """(T, H, W, 3): all images of a video, or of a segment of it."""
        path = self._path(video, f"{segment}")
        if not path.is_file():
            with open_video(video) as opened:
                seen = [self._squash(frame.image) for frame in opened.resampled(self.fps, segment)]
            with atomic_write(path) as temporary:
                np.save(temporary, np.stack(seen))
        return open_array(path, np.uint8, 4)

    def _cut(self, video: Path, firsts: Sequence[int], frames: int, path: Path) -> None:
        """Decode a video once, and put each image wherever it is wanted; memory holds one image."""
        wanted: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for row, first in enumerate(firsts):
            for place in range(frames):
                wanted[first + place].append((row, place))
        last = max(wanted)
        image: Images | None = None
        with atomic_write(path) as temporary:
            shape = (len(firsts), frames, self.side, self.side, 3)
            made = open_memmap(temporary, "w+", np.uint8, shape)
            number = -1
            with open_video(video) as opened:
                for number, frame in enumerate(opened.resampled(self.fps)):
                    image = self._squash(frame.image) if number in wanted else image
                    for row, place in wanted.get(number, ()):
                        made[row, place] = image
                    if number == last:
                        break
                else:
                    image = None if number < 0 else self._squash(frame.image)
            if image is None:
                raise EmptyVideoError(f"{video} holds no frame")
            for late in (place for place in wanted if place > number):
                for row, place in wanted[late]:
                    made[row, place] = image
            made.flush()
            del made

    def _squash(self, image: Image) -> Images:
        import cv2

        squashed: Images = cv2.resize(image, (self.side, self.side), interpolation=cv2.INTER_LINEAR)
        return squashed

    def _path(self, video: Path, cut: str) -> Path:
        key = text_digest(f"{cut} {self.fps} {self.side} {_VERSION}")
        return self.folder / f"{video.stem}-{content_digest(video)}-{key}.npy"


@dataclass(frozen=True, slots=True, eq=False)
class RgbSign:
    """One sign as images."""

    images: Images  # (T, H, W, 3)
    word: int
    start: float  # seconds in its video
    source: str  # id of the video or of the exemplar
    target: Targets | None = None  # (T - F + 1, D) or (1, D): what the teacher embeds there
    sure: bool = True  # its label is as sure as `RgbBatchOptions.surer`


@dataclass(frozen=True, slots=True, eq=False)
class RgbSigns:
    """All signs that there are, by domain; words are numbered in sorted order."""

    words: tuple[str, ...]
    continuous: tuple[RgbSign, ...]
    dictionary: tuple[RgbSign, ...]


@dataclass(frozen=True, slots=True)
class SignReader:
    """Cuts signs out of videos, through the store of images."""

    store: ImageStore
    frames: int  # in a clip
    options: RgbBatchOptions

    def continuous(self, corpus: Corpus, labels: Sequence[Label], number: Mapping[str, int]) -> list[RgbSign]:
        """The segment around each label in which its sign lies."""
        found: list[RgbSign] = []
        for name, video in corpus.videos.items():
            own = [label for label in labels if label.video == name]
            if not own:
                continue
            if video.video is None:
                raise OptionsError(
                    f"an RGB trunk sees pixels; the video '{name}' of {corpus.folder} has only landmarks"
                )
            for length, chosen in self._by_length(own).items():
                starts = [start for start, _ in chosen]
                cut = self.store.segments(video.video, starts, length)
                found += [
                    RgbSign(cut[i], number[label.word], start, name, sure=self._is_sure(label))
                    for i, (start, label) in enumerate(chosen)
                ]
        return found

    def _is_sure(self, label: Label) -> bool:
        return label.source is not LabelSource.MOUTHING or label.confidence >= self.options.surer

    def _by_length(self, labels: Iterable[Label]) -> dict[int, list[tuple[float, Label]]]:
        """Frames that are cut → where each segment begins, in seconds, and its label."""
        options, found = self.options, defaultdict[int, list[tuple[float, Label]]](list)
        for label in labels:
            segment = label.stretch(options.before / LABEL_FPS, options.after / LABEL_FPS, options.around / LABEL_FPS)
            length = max(self.frames, round(segment.duration * self.store.fps))
            found[length].append((max(0.0, segment.start), label))
        return found

    def exemplar(self, filmed: VideoExemplars, exemplar: Exemplar, number: Mapping[str, int]) -> RgbSign | None:
        """The sign of one exemplar, without rest; None for one that cannot be read."""
        assert exemplar.path is not None, "exemplars without a path are left out"
        try:
            images = self.store.sign(exemplar.path, filmed.segment(exemplar))
        except SignspotError as error:
            logger.warning("left out exemplar '%s' of '%s': %s", exemplar.id, exemplar.word, error)
            return None
        return RgbSign(images, number[exemplar.word], 0.0, exemplar.id)


def collect_rgb_signs(subset: TrainingSubset, reader: SignReader, progress: Progress = silent) -> RgbSigns:
    """Cut all signs of the subset; those of words that are labelled at least once.

    Raises:
        OptionsError: fewer than two words are labelled surely enough, or a video has no images.
    """
    labels = [label for label in subset.labels if reader.options.least.admits(label)]
    words = tuple(sorted({label.word for label in labels}))
    if len(words) < 2:
        raise OptionsError(
            f"{len(words)} words have labels of confidence {reader.options.least} or more and an exemplar; "
            "telling words apart needs two"
        )
    number = {word: index for index, word in enumerate(words)}
    filmed = VideoExemplars(subset.corpus)
    exemplars = [each for each in filmed.exemplars if each.word in number]
    total = len(exemplars) + 1
    progress(0, total)
    continuous = reader.continuous(subset.corpus, labels, number)
    dictionary = []
    for done, exemplar in enumerate(exemplars):
        progress(done + 1, total)
        sign = reader.exemplar(filmed, exemplar, number)
        dictionary += [sign] if sign is not None else []
    progress(total, total)
    return RgbSigns(words, tuple(continuous), tuple(dictionary))


def with_targets(signs: RgbSigns, teacher: Encoder, features: TrunkFeatures, reader: SignReader) -> RgbSigns:
    """Beside each sign, what a landmark encoder embeds of it.

    Args:
        signs: as images.
        teacher: the landmark encoder.
        features: what its trunk sees of the same videos and exemplars.
        reader: that cut the signs.
    """
    known = embed_features(teacher, features.exemplar_means(), "dictionary")
    shown = {exemplar.id: known[row : row + 1] for row, exemplar in enumerate(features.exemplars)}
    watched = tuple(replace(sign, target=_watched(sign, teacher, features, reader)) for sign in signs.continuous)
    listed = tuple(replace(sign, target=shown[sign.source]) for sign in signs.dictionary if sign.source in shown)
    return replace(signs, continuous=watched, dictionary=listed)


def _watched(sign: RgbSign, teacher: Encoder, features: TrunkFeatures, reader: SignReader) -> Targets:
    """(T - F + 1, D): the teacher's embedding at the middle of each clip of a segment."""
    windows, fps = features.videos[sign.source], reader.store.fps
    count = len(sign.images) - reader.frames + 1
    middles = sign.start + (np.arange(count) + reader.frames / 2) / fps
    nearest = [windows.grid.nearest(float(middle)) for middle in middles]
    return embed_features(teacher, windows.features[nearest], "continuous")


@dataclass(frozen=True, slots=True, eq=False)
class RgbBatch:
    """Clips of both domains."""

    clips: Tensor  # (N, 3, F, H, W) in about [-0.5, 0.5]
    words: Tensor  # (N,)
    dictionary: Tensor  # (N,) bool: the clip is of an exemplar
    targets: Tensor | None  # (N, D) what the teacher embeds; None: there is no teacher

    def to(self, device: torch.device) -> "RgbBatch":
        """The same batch on a device."""
        targets = None if self.targets is None else self.targets.to(device)
        return RgbBatch(self.clips.to(device), self.words.to(device), self.dictionary.to(device), targets)


class RgbBatches:
    """All batches of all epochs, by number: batch i follows from the seed and i."""

    def __init__(self, signs: RgbSigns, config: RgbConfig, frames: int, image_size: int):
        self.signs, self.config, self.frames, self.image_size = signs, config, frames, image_size
        self._continuous, self._dictionary = _by_word(signs.continuous), _by_word(signs.dictionary)
        self._sure = _by_word([sign for sign in signs.continuous if sign.sure])
        if signs.continuous and not self._sure:
            raise OptionsError(f"no label is as sure as the second stage asks for: surer = {config.batch.surer:g}")

    def of_dictionary(self, epoch: int) -> int:
        """The number of exemplar clips in a batch."""
        options = self.config.batch
        return 0 if epoch < self.config.dictionary_from else round(options.clips * options.dictionary)

    def __len__(self) -> int:
        """Batches in an epoch, in which about as many labels are drawn as there are."""
        each = self.config.batch.clips - round(self.config.batch.clips * self.config.batch.dictionary)
        whole = len(self.signs.continuous) if each else len(self.signs.dictionary)
        return max(1, math.ceil(whole / (each or self.config.batch.clips)))

    def __getitem__(self, step: int) -> RgbBatch:
        """Make batch number `step`, which may lie in any epoch."""
        random = np.random.default_rng([self.config.seed, step])
        epoch = step // len(self)
        listed = self.of_dictionary(epoch)
        pools = self._continuous if epoch < self.config.dictionary_from else self._sure
        drawn = _draw(pools, self.config.batch.clips - listed, random)
        made = [self._watch(sign, random) for sign in drawn]
        shown = _draw(self._dictionary, listed, random)
        made += [self._look_up(sign, random) for sign in shown]
        targets = [target for _, target in made if target is not None]
        return RgbBatch(
            torch.from_numpy(np.stack([clip for clip, _ in made])),
            torch.tensor([sign.word for sign in (*drawn, *shown)]),
            torch.arange(len(made)) >= len(drawn),
            torch.from_numpy(np.stack(targets)) if len(targets) == len(made) else None,
        )

    def _watch(self, sign: RgbSign, random: np.random.Generator) -> tuple[Clip, Clip | None]:
        """A random window of the segment around a label."""
        start = int(random.integers(len(sign.images) - self.frames + 1))
        clip = augmented(sign.images[start : start + self.frames], self.image_size, self.config.augmentation, random)
        return clip, None if sign.target is None else sign.target[start]

    def _look_up(self, sign: RgbSign, random: np.random.Generator) -> tuple[Clip, Clip | None]:
        """An exemplar at a random shift and a random rate."""
        last = len(sign.images) - 1
        span = random.uniform(NARROWEST, WIDEST) * last
        places = random.uniform(0, last - span) + np.linspace(0, span, self.frames)
        clip = augmented(sign.images[places.round().astype(int)], self.image_size, self.config.augmentation, random)
        return clip, None if sign.target is None else sign.target[0]


def plain(images: Images, size: int) -> Clip:
    """(F, H, W, 3) images → (3, F, size, size): the centre crop, as the pipeline cuts it."""
    edge = (images.shape[1] - size) // 2
    return _as_floats(images[:, edge : edge + size, edge : edge + size])


def augmented(images: Images, size: int, how: RgbAugmentation, random: np.random.Generator) -> Clip:
    """The same, scaled, shifted, mirrored and coloured in a random way, alike in all frames."""
    import cv2

    side = images.shape[1]
    crop = int(np.clip(round(size * (1 + random.uniform(-how.scale, how.scale))), 8, side))
    room = side - crop
    top, left = (round((room + random.uniform(-how.shift, how.shift) * room) / 2) for _ in range(2))
    cut = images[:, top : top + crop, left : left + crop]
    scaled = np.stack([cv2.resize(image, (size, size), interpolation=cv2.INTER_LINEAR) for image in cut])
    if random.random() < how.flip:
        scaled = scaled[:, :, ::-1]
    return _coloured(_as_floats(scaled), how, random)


def _coloured(clip: Clip, how: RgbAugmentation, random: np.random.Generator) -> Clip:
    """(3, F, H, W) with other brightness, contrast and saturation."""
    grey = clip.mean(axis=0, keepdims=True)
    saturation = np.float32(1 + random.uniform(-how.saturation, how.saturation))
    contrast = np.float32(1 + random.uniform(-how.contrast, how.contrast))
    brightness = np.float32(random.uniform(-how.brightness, how.brightness))
    changed: Clip = (grey + (clip - grey) * saturation) * contrast + brightness
    return changed


def _as_floats(images: Images) -> Clip:
    """(F, H, W, 3) in 0 … 255 → (3, F, H, W) in [-0.5, 0.5]."""
    clip: Clip = np.ascontiguousarray(images.transpose(3, 0, 1, 2), dtype=np.float32)
    clip /= 255.0
    clip -= 0.5
    return clip


def _by_word(signs: Sequence[RgbSign]) -> list[list[RgbSign]]:
    found: defaultdict[int, list[RgbSign]] = defaultdict(list)
    for sign in signs:
        found[sign.word].append(sign)
    return [found[word] for word in sorted(found)]


def _draw(words: Sequence[Sequence[RgbSign]], count: int, random: np.random.Generator) -> list[RgbSign]:
    """Signs of random words, no word a second time before all were drawn."""
    order = [place for _ in range(math.ceil(count / max(1, len(words)))) for place in random.permutation(len(words))]
    pools = [words[place] for place in order[:count]]
    return [pool[int(random.integers(len(pool)))] for pool in pools]
