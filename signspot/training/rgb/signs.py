"""Training data of an RGB trunk: pictures around labels and of exemplars, and embeddings of a teacher for them."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from signspot.corpus.corpus import Corpus
from signspot.embedding.windows import embed_features
from signspot.errors import EmptyVideoError, OptionsError, SignspotError
from signspot.io.files import atomic_write, content_digest, text_digest
from signspot.io.progress import Progress, silent
from signspot.models.encoder import Encoder
from signspot.training.embedding.trunk_features import FilmedExemplars, TrunkFeatures
from signspot.training.items import TrainingSubset
from signspot.training.rgb.config import RgbBatchOptions
from signspot.training.run_folder import open_array
from signspot.types import Exemplar, Label, Segment
from signspot.video.clips import squashed_side
from signspot.video.probing import Image
from signspot.video.reader import open_video

Pictures = NDArray[np.uint8]
logger = logging.getLogger(__name__)
LABEL_FPS = 25.0  # of the frames in which the options tell how far a sign lies from its label
Targets = NDArray[np.float32]
_VERSION = 1  # raised whenever the same source would give other pictures


@dataclass(frozen=True, slots=True)
class PictureStore:
    """Folder of kept pictures, and the way they are cut."""

    folder: Path
    fps: float
    image_size: int  # pixels of a side that the trunk sees

    @property
    def side(self) -> int:
        """Pixels of a side that are kept."""
        return squashed_side(self.image_size)

    def stretches(self, video: Path, starts: Sequence[float], frames: int) -> Pictures:
        """(L, S, H, W, 3): `frames` pictures from each start on, in seconds; the ends of the video are repeated."""
        path = self._path(video, f"{frames} {[round(start, 4) for start in starts]}")
        if not path.is_file():
            self._cut(video, [max(0, round(start * self.fps)) for start in starts], frames, path)
        return open_array(path, np.uint8, 5, len(starts))

    def sign(self, video: Path, segment: Segment | None) -> Pictures:
        """(T, H, W, 3): all pictures of a video, or of a stretch of it."""
        path = self._path(video, f"{segment}")
        if not path.is_file():
            with open_video(video) as opened:
                seen = [self._squash(frame.image) for frame in opened.resampled(self.fps, segment)]
            with atomic_write(path) as temporary:
                np.save(temporary, np.stack(seen))
        return open_array(path, np.uint8, 4)

    def _cut(self, video: Path, firsts: Sequence[int], frames: int, path: Path) -> None:
        """Decode a video once, and put each picture wherever it is wanted; memory holds one picture."""
        wanted: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for row, first in enumerate(firsts):
            for place in range(frames):
                wanted[first + place].append((row, place))
        last = max(wanted)
        picture: Pictures | None = None
        with atomic_write(path) as temporary:
            shape = (len(firsts), frames, self.side, self.side, 3)
            made = open_memmap(temporary, "w+", np.uint8, shape)
            number = -1
            with open_video(video) as opened:
                for number, frame in enumerate(opened.resampled(self.fps)):
                    picture = self._squash(frame.image) if number in wanted else picture
                    for row, place in wanted.get(number, ()):
                        made[row, place] = picture
                    if number == last:
                        break
                else:
                    picture = None if number < 0 else self._squash(frame.image)
            if picture is None:
                raise EmptyVideoError(f"{video} holds no frame")
            for late in (place for place in wanted if place > number):
                for row, place in wanted[late]:
                    made[row, place] = picture
            made.flush()
            del made

    def _squash(self, image: Image) -> Pictures:
        import cv2

        squashed: Pictures = cv2.resize(image, (self.side, self.side), interpolation=cv2.INTER_LINEAR)
        return squashed

    def _path(self, video: Path, cut: str) -> Path:
        key = text_digest(f"{cut} {self.fps} {self.side} {_VERSION}")
        return self.folder / f"{video.stem}-{content_digest(video)}-{key}.npy"


@dataclass(frozen=True, slots=True, eq=False)
class PicturedSign:
    """One sign as pictures."""

    pictures: Pictures  # (T, H, W, 3)
    word: int
    start: float  # seconds in its video
    source: str  # id of the video or of the exemplar
    target: Targets | None = None  # (T - F + 1, D) or (1, D): what the teacher embeds there


@dataclass(frozen=True, slots=True, eq=False)
class RgbSigns:
    """All signs that there are, by domain; words are numbered in sorted order."""

    words: tuple[str, ...]
    continuous: tuple[PicturedSign, ...]
    dictionary: tuple[PicturedSign, ...]


@dataclass(frozen=True, slots=True)
class SignReader:
    """Cuts signs out of videos, through the store of pictures."""

    store: PictureStore
    frames: int  # in a clip
    options: RgbBatchOptions

    def continuous(self, corpus: Corpus, labels: Sequence[Label], number: Mapping[str, int]) -> list[PicturedSign]:
        """The stretch around each label in which its sign lies."""
        found: list[PicturedSign] = []
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
                cut = self.store.stretches(video.video, starts, length)
                found += [
                    PicturedSign(cut[i], number[label.word], start, name) for i, (start, label) in enumerate(chosen)
                ]
        return found

    def _by_length(self, labels: Iterable[Label]) -> dict[int, list[tuple[float, Label]]]:
        """Frames that are cut → where each stretch begins, in seconds, and its label."""
        options, found = self.options, defaultdict[int, list[tuple[float, Label]]](list)
        for label in labels:
            stretch = label.stretch(options.before / LABEL_FPS, options.after / LABEL_FPS, options.around / LABEL_FPS)
            length = max(self.frames, round(stretch.duration * self.store.fps))
            found[length].append((max(0.0, stretch.start), label))
        return found

    def exemplar(self, filmed: FilmedExemplars, exemplar: Exemplar, number: Mapping[str, int]) -> PicturedSign | None:
        """The sign of one exemplar, without rest; None for one that cannot be read."""
        assert exemplar.path is not None, "exemplars without a path are left out"
        try:
            pictures = self.store.sign(exemplar.path, filmed.segment(exemplar))
        except SignspotError as error:
            logger.warning("left out exemplar '%s' of '%s': %s", exemplar.id, exemplar.word, error)
            return None
        return PicturedSign(pictures, number[exemplar.word], 0.0, exemplar.id)


def collect_rgb_signs(subset: TrainingSubset, reader: SignReader, progress: Progress = silent) -> RgbSigns:
    """Cut all signs of the subset; those of words that are labelled at least once.

    Raises:
        OptionsError: fewer than two words are labelled surely enough, or a video has no pictures.
    """
    labels = [label for label in subset.labels if reader.options.least.admits(label)]
    words = tuple(sorted({label.word for label in labels}))
    if len(words) < 2:
        raise OptionsError(
            f"{len(words)} words have labels of confidence {reader.options.least} or more and an exemplar; "
            "telling words apart needs two"
        )
    number = {word: index for index, word in enumerate(words)}
    filmed = FilmedExemplars(subset.corpus)
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
        signs: as pictures.
        teacher: the landmark encoder.
        features: what its trunk sees of the same videos and exemplars.
        reader: that cut the signs.
    """
    known = embed_features(teacher, features.exemplar_means(), "dictionary")
    shown = {exemplar.id: known[row : row + 1] for row, exemplar in enumerate(features.exemplars)}
    watched = tuple(replace(sign, target=_watched(sign, teacher, features, reader)) for sign in signs.continuous)
    listed = tuple(replace(sign, target=shown[sign.source]) for sign in signs.dictionary if sign.source in shown)
    return replace(signs, continuous=watched, dictionary=listed)


def _watched(sign: PicturedSign, teacher: Encoder, features: TrunkFeatures, reader: SignReader) -> Targets:
    """(T - F + 1, D): the teacher's embedding at the middle of each clip of a stretch."""
    windows, fps = features.videos[sign.source], reader.store.fps
    count = len(sign.pictures) - reader.frames + 1
    middles = sign.start + (np.arange(count) + reader.frames / 2) / fps
    nearest = [windows.grid.nearest(float(middle)) for middle in middles]
    return embed_features(teacher, windows.features[nearest], "continuous")
