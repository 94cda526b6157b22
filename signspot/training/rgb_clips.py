"""Clips for an RGB trunk: frames around labels and of exemplars, keypoints beside them, batches, configuration."""

import logging
import math
import os
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.corpus.corpus import Corpus
from signspot.embedding.inputs import NARROWEST, WIDEST
from signspot.errors import EmptyVideoError, FormatError, OptionsError, SignspotError
from signspot.io.checks import check_numbers
from signspot.io.files import atomic_write, content_digest, text_digest
from signspot.io.progress import Progress, silent
from signspot.landmarks.landmarks import HAND_POINTS, MIRRORED_BODY_POINTS, Landmarks
from signspot.landmarks.pose_file import open_landmarks
from signspot.training.configuration import FOR_PEOPLE, Compute, plain_values
from signspot.training.corpus_subset import ClipBatchOptions, TrainingSubset, Words, draw_words
from signspot.training.trunk_features import VideoExemplars
from signspot.types import Exemplar, Label, Segment
from signspot.video.clips import squashed_side
from signspot.video.probing import Image
from signspot.video.reader import open_video

Architecture = Literal["i3d", "s3d"]
Optimiser = Literal["sgd", "adam"]


Images = NDArray[np.uint8]
logger = logging.getLogger(__name__)
Keypoints = NDArray[np.float32]
_QUALITY = 90  # of JPEGs; experiments/results/storage.md has what others cost
_VERSION = 2  # raised whenever the same source would give other images
Clip = NDArray[np.float32]
_UPPER_BODY = 25  # body points without the legs
KEYPOINTS = _UPPER_BODY + 2 * HAND_POINTS
# The points of a mirrored image: each is the one of the other side.
_MIRRORED = np.array(
    [
        *MIRRORED_BODY_POINTS[:_UPPER_BODY],
        *range(_UPPER_BODY + HAND_POINTS, KEYPOINTS),
        *range(_UPPER_BODY, _UPPER_BODY + HAND_POINTS),
    ]
)


@dataclass(frozen=True, slots=True)
class RgbAugmentation:
    """Augmentation of the images of a clip, the same for all of them; 0 everywhere changes nothing."""

    flip: float = 0.5  # share of clips that are mirrored
    scale: float = 0.1  # largest change of size
    shift: float = 1.0  # largest shift of the crop, relative to the margin
    brightness: float = 0.2  # largest amount added to all colours
    contrast: float = 0.2  # largest change of contrast
    saturation: float = 0.2  # largest change of saturation

    def __post_init__(self) -> None:
        check_numbers(self, "flip", "shift", least=0, most=1)
        check_numbers(self, "scale", "brightness", "contrast", "saturation", least=0)


@dataclass(frozen=True, slots=True)
class RgbBatchOptions(ClipBatchOptions):
    """Composition of a batch. The defaults are the paper's, but for the size."""

    clips: int = 16  # the paper has 4


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
    optimiser: Optimiser = "sgd"  # sgd as in the paper; adam learns faster from little data
    lr: float = 1e-2  # learning rate of the first epochs
    momentum: float = 0.9
    decay: float = 0.1  # factor of the learning rate at each of `decays`
    decays: tuple[float, ...] = (0.4, 0.8)  # shares of the epochs: 20 and 40 of 50
    weight_decay: float = 0.0
    clip: float = 10.0  # maximum norm of the gradient
    continuous_only_fraction: float = 0.0  # share of the epochs on continuous signing, before the dictionary joins
    reinitialise: bool = True  # reset batch norms when the dictionary joins (Appendix C.1)
    pose_fraction: float = 0.0  # share of the epochs, before all others, in which keypoints are regressed
    batch: RgbBatchOptions = field(default_factory=RgbBatchOptions)
    augmentation: RgbAugmentation = field(default_factory=RgbAugmentation)
    compute: Compute = field(default_factory=Compute)

    def __post_init__(self) -> None:
        choices = (("architecture", Architecture), ("words", Words), ("optimiser", Optimiser))
        for name, allowed in ((name, get_args(kind)) for name, kind in choices):
            if getattr(self, name) not in allowed:
                raise OptionsError(f"no {name} '{getattr(self, name)}'. There are: {', '.join(allowed)}")
        check_numbers(self, "fps", "lr", "epochs", "clip", "decay", above=0)
        check_numbers(self, "seed", "weight_decay", least=0)
        check_numbers(self, "momentum", "decays", "continuous_only_fraction", "pose_fraction", least=0, most=1)

    @property
    def words_from(self) -> int:
        """The epoch from which on words are classified."""
        return round(self.pose_fraction * self.epochs)

    @property
    def dictionary_from(self) -> int:
        """The epoch from which on the dictionary is trained on, too."""
        return max(self.words_from, round(self.continuous_only_fraction * self.epochs))

    def as_dict(self) -> dict[str, Any]:
        """Plain values of all that a training follows from, for checkpoints and cards."""
        return plain_values(self, FOR_PEOPLE)


@dataclass(frozen=True, slots=True, eq=False)
class StoredImages:
    """Images of a store, decoded when they are asked for."""

    path: Path
    byte_ranges: NDArray[np.int64]  # (T, 2) first and last byte of each image

    def __len__(self) -> int:
        return len(self.byte_ranges)

    def __getitem__(self, which: slice | NDArray[np.int64]) -> Images:
        """(n, H, W, 3): the chosen images.

        Raises:
            FormatError: the file is damaged.
        """
        import cv2

        with self.path.open("rb") as file:
            coded = [
                np.frombuffer(os.pread(file.fileno(), end - first, first), np.uint8)
                for first, end in self.byte_ranges[which]
            ]
        decoded = [cv2.imdecode(code, cv2.IMREAD_COLOR) for code in coded if len(code)]
        images = [image for image in decoded if image is not None]
        if len(images) < len(coded):
            raise FormatError(f"the images in {self.path} are damaged. Remove it, and it is made again.")
        coloured: Images = np.stack(images)[..., ::-1]  # OpenCV has blue first
        return coloured


@dataclass(frozen=True, slots=True)
class ImageStore:
    """Folder of kept images, and the way they are cut: a file for each video, of which each image is a JPEG.

    Every image can be read by itself, so a batch is drawn from all videos at random. A file ends with the number of
    each of its images in the video and the byte where it ends, and with the byte where these begin.
    """

    folder: Path
    fps: float
    image_size: int  # pixels of a side that the trunk sees

    @property
    def side(self) -> int:
        """Pixels of a side that are kept."""
        return squashed_side(self.image_size)

    def segments(self, video: Path, starts: Sequence[float], frames: int) -> list[StoredImages]:
        """`frames` images from each start on, in seconds; the ends of the video are repeated."""
        firsts = [max(0, round(start * self.fps)) for start in starts]
        numbers = sorted({first + number for first in firsts for number in range(frames)})
        path = self._path(video, f"{numbers}")
        if not path.is_file():
            self._keep(video, None, path, numbers)
        images = _open_images(path)
        return [images(np.arange(first, first + frames)) for first in firsts]

    def sign(self, video: Path, segment: Segment | None) -> StoredImages:
        """All images of a video, or of a segment of it."""
        path = self._path(video, f"{segment}")
        if not path.is_file():
            self._keep(video, segment, path)
        return _open_images(path)(None)

    def _keep(
        self, video: Path, segment: Segment | None, path: Path, frame_numbers: Sequence[int] | None = None
    ) -> None:
        """Decode a video once and keep its images, or those of some numbers; memory holds one of them."""
        chosen = None if frame_numbers is None else frozenset(frame_numbers)
        numbers, ends = list[int](), list[int]()
        last: tuple[int, Image] | None = None
        with atomic_write(path) as temporary, temporary.open("wb") as file, open_video(video) as opened:

            def keep(number: int, image: Image) -> None:
                file.write(self._coded(image))
                numbers.append(number)
                ends.append(file.tell())

            for number, frame in enumerate(opened.resampled(self.fps, segment)):
                last = number, frame.image
                if chosen is None or number in chosen:
                    keep(*last)
                if frame_numbers is not None and number == frame_numbers[-1]:
                    break
            if last is None:
                raise EmptyVideoError(f"{video} holds no frame")
            if numbers[-1:] != [last[0]]:  # some are wanted beyond the end of the video, which repeats its last image
                keep(*last)
            np.save(file, np.array([numbers, ends]).T)
            file.write(struct.pack("<Q", ends[-1]))

    def _coded(self, image: Image) -> bytes:
        import cv2

        squashed = cv2.resize(image, (self.side, self.side), interpolation=cv2.INTER_LINEAR)
        return bytes(cv2.imencode(".jpg", squashed[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])[1])

    def _path(self, video: Path, cut: str) -> Path:
        key = text_digest(f"{cut} {self.fps} {self.side} {_VERSION}")
        return self.folder / f"{video.stem}-{content_digest(video)}-{key}.jpegs"


def _open_images(path: Path) -> Callable[[NDArray[np.int64] | None], StoredImages]:
    """A function from numbers of images to these images of a file, the nearest ones there are; None: to all.

    Raises:
        FormatError: the file is damaged.
    """
    try:
        with path.open("rb") as file:
            file.seek(-8, os.SEEK_END)
            (end,) = struct.unpack("<Q", file.read(8))
            file.seek(end)
            index = np.load(file, allow_pickle=False)
        if index.dtype != np.int64 or index.ndim != 2 or index[-1, 1] != end or (np.diff(index, axis=0) <= 0).any():
            raise ValueError("its index does not fit")
    except (OSError, ValueError, IndexError, EOFError, struct.error) as error:
        raise FormatError(f"cannot read {path} ({error!s:.200}). Remove it, and it is made again.") from error
    spans = np.stack([np.concatenate([[0], index[:-1, 1]]), index[:, 1]], axis=1)

    def images(numbers: NDArray[np.int64] | None) -> StoredImages:
        rows = slice(None) if numbers is None else np.minimum(np.searchsorted(index[:, 0], numbers), len(index) - 1)
        return StoredImages(path, spans[rows])

    return images


@dataclass(frozen=True, slots=True, eq=False)
class RgbSign:
    """One sign as images."""

    images: StoredImages  # T
    word: int
    start: float  # seconds in its video
    source: str  # id of the video or of the exemplar
    keypoints: Keypoints | None = None  # (T, P, 2) x and y in shares of the image; NaN: not seen
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
        signs: list[RgbSign] = []
        for name, video in corpus.videos.items():
            labels_of_video = [label for label in labels if label.video == name]
            if not labels_of_video:
                continue
            if video.video is None:
                raise OptionsError(
                    f"an RGB trunk sees pixels; the video '{name}' of {corpus.folder} has only landmarks"
                )
            for length, chosen in self._by_length(labels_of_video).items():
                starts = [start for start, _ in chosen]
                cut = self.store.segments(video.video, starts, length)
                signs += [
                    RgbSign(cut[i], number[label.word], start, name, sure=self.options.is_sure(label))
                    for i, (start, label) in enumerate(chosen)
                ]
        return signs

    def _by_length(self, labels: Iterable[Label]) -> dict[int, list[tuple[float, Label]]]:
        """Frames that are cut → where each segment begins, in seconds, and its label."""
        by_length = defaultdict[int, list[tuple[float, Label]]](list)
        for label in labels:
            segment = self.options.of(label)
            length = max(self.frames, round(segment.duration * self.store.fps))
            by_length[length].append((max(0.0, segment.start), label))
        return by_length

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
    exemplars = [exemplar for exemplar in filmed.exemplars if exemplar.word in number]
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


def with_keypoints(signs: RgbSigns, corpus: Corpus, fps: float) -> RgbSigns:
    """Beside each sign of continuous signing the signer's keypoints, which a trunk may learn before words.

    Raises:
        OptionsError: a video has no landmarks.
    """
    points: dict[str, Keypoints] = {}
    for name in dict.fromkeys(sign.source for sign in signs.continuous):
        path = corpus.videos[name].landmarks
        if path is None:
            raise OptionsError(
                f"keypoints are learned from landmarks, and the video '{name}' has none. Make them with: "
                "signspot embed --landmarks; or set pose_fraction = 0"
            )
        points[name] = _keypoints(open_landmarks(path).resampled(fps))
    pointed = []
    for sign in signs.continuous:
        track, first = points[sign.source], max(0, round(sign.start * fps))
        rows = np.minimum(np.arange(first, first + len(sign.images)), len(track) - 1)  # as images are repeated
        pointed.append(replace(sign, keypoints=track[rows]))
    return replace(signs, continuous=tuple(pointed))


def _keypoints(landmarks: Landmarks) -> Keypoints:
    """(T, P, 2) of the upper body and both hands."""
    parts = (landmarks.body[:, :_UPPER_BODY, :2], landmarks.left_hand[..., :2], landmarks.right_hand[..., :2])
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class RgbBatch:
    """Clips of both domains."""

    clips: Tensor  # (N, 3, F, H, W) in about [-0.5, 0.5]
    words: Tensor  # (N,)
    dictionary: Tensor  # (N,) bool: the clip is of an exemplar
    keypoints: Tensor | None  # (N, F, P, 2) in shares of the clip from its middle; None: words are classified

    def to(self, device: torch.device) -> "RgbBatch":
        """The same batch on a device; from pinned memory the copy runs beside the computation."""
        return self._each(lambda part: part.to(device, non_blocking=True))

    def pin_memory(self) -> "RgbBatch":
        """The same batch in memory that a GPU copies from by itself; the loader asks for it."""
        return self._each(lambda part: part.pin_memory())

    def _each(self, change: Callable[[Tensor], Tensor]) -> "RgbBatch":
        keypoints = None if self.keypoints is None else change(self.keypoints)
        return RgbBatch(change(self.clips), change(self.words), change(self.dictionary), keypoints)


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
        labelled = self.config.batch.clips - round(self.config.batch.clips * self.config.batch.dictionary)
        whole = len(self.signs.continuous) if labelled else len(self.signs.dictionary)
        return max(1, math.ceil(whole / (labelled or self.config.batch.clips)))

    def __getitem__(self, step: int) -> RgbBatch:
        """Make batch number `step`, which may lie in any epoch."""
        random = np.random.default_rng([self.config.seed, step])
        epoch = step // len(self)
        listed = self.of_dictionary(epoch)
        pools = self._continuous if epoch < self.config.dictionary_from else self._sure
        drawn = _draw(pools, self.config.batch.clips - listed, random)
        watched = [self._watch(sign, random) for sign in drawn]
        exemplars = _draw(self._dictionary, listed, random)
        clips = [clip for clip, _ in watched] + [self._look_up(sign, random) for sign in exemplars]
        keypoints = [points for _, points in watched if points is not None] if epoch < self.config.words_from else []
        return RgbBatch(
            torch.from_numpy(np.stack(clips)),
            torch.tensor([sign.word for sign in (*drawn, *exemplars)]),
            torch.arange(len(clips)) >= len(drawn),
            torch.from_numpy(np.stack(keypoints)) if keypoints else None,
        )

    def _watch(self, sign: RgbSign, random: np.random.Generator) -> tuple[Clip, Keypoints | None]:
        """A random window of the segment around a label, and its keypoints where they are known."""
        start = int(random.integers(len(sign.images) - self.frames + 1))
        window, how = slice(start, start + self.frames), self.config.augmentation
        crop = Crop.draw(squashed_side(self.image_size), self.image_size, how, random)
        clip = augmented(sign.images[window], self.image_size, how, random, crop)
        return clip, None if sign.keypoints is None else crop.moved(sign.keypoints[window])

    def _look_up(self, sign: RgbSign, random: np.random.Generator) -> Clip:
        """An exemplar at a random shift and a random rate."""
        last = len(sign.images) - 1
        span = random.uniform(NARROWEST, WIDEST) * last
        frames = random.uniform(0, last - span) + np.linspace(0, span, self.frames)
        return augmented(sign.images[frames.round().astype(int)], self.image_size, self.config.augmentation, random)


def plain(images: Images, size: int) -> Clip:
    """(F, H, W, 3) images → (3, F, size, size): the centre crop, as the pipeline cuts it."""
    edge = (images.shape[1] - size) // 2
    return _as_floats(images[:, edge : edge + size, edge : edge + size])


@dataclass(frozen=True, slots=True)
class Crop:
    """The square of kept images that becomes a clip, mirrored or not."""

    image_side: int  # pixels of a side of the images
    side: int  # of the square
    top: int
    left: int
    mirrored: bool

    @classmethod
    def draw(cls, width: int, size: int, how: RgbAugmentation, random: np.random.Generator) -> "Crop":
        """A random one, for clips of `size` pixels a side."""
        side = int(np.clip(round(size * (1 + random.uniform(-how.scale, how.scale))), 8, width))
        room = width - side
        top, left = (round((room + random.uniform(-how.shift, how.shift) * room) / 2) for _ in range(2))
        return cls(width, side, top, left, bool(random.random() < how.flip))

    def moved(self, points: Keypoints) -> Keypoints:
        """(F, P, 2) points in shares of the kept image to shares of the clip, from its middle; sides swap with it."""
        moved = (points * self.image_side - (self.left, self.top)) / self.side - 0.5
        if self.mirrored:
            moved = moved[:, _MIRRORED] * (-1, 1)
        return moved.astype(np.float32)


def augmented(
    images: Images, size: int, how: RgbAugmentation, random: np.random.Generator, crop: Crop | None = None
) -> Clip:
    """The same, scaled, shifted, mirrored and coloured in a random way, alike in all frames."""
    import cv2

    drawn = crop or Crop.draw(images.shape[1], size, how, random)
    cut = images[:, drawn.top : drawn.top + drawn.side, drawn.left : drawn.left + drawn.side]
    scaled = np.stack([cv2.resize(image, (size, size), interpolation=cv2.INTER_LINEAR) for image in cut])
    if drawn.mirrored:
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
    by_word: defaultdict[int, list[RgbSign]] = defaultdict(list)
    for sign in signs:
        by_word[sign.word].append(sign)
    return [by_word[word] for word in sorted(by_word)]


def _draw(words: Sequence[Sequence[RgbSign]], count: int, random: np.random.Generator) -> list[RgbSign]:
    """Signs of random words, each as often as any other."""
    pools = [words[word] for word in draw_words(range(len(words)), count, random)]
    return [pool[int(random.integers(len(pool)))] for pool in pools]
