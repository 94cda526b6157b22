"""What an RGB trunk is trained on: pictures around labels and of exemplars, and what a landmark encoder sees there."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.errors import OptionsError, SignspotError
from signspot.models.encoder import Encoder
from signspot.progress import Progress, silent
from signspot.records import Exemplar, Label
from signspot.training.material import Material
from signspot.training.pixel_features import FilmedExemplars
from signspot.training.rgb_config import RgbBatchOptions
from signspot.training.rgb_pictures import Pictures, PictureStore
from signspot.training.trunk_features import TrunkFeatures
from signspot.world.layout import Corpus

logger = logging.getLogger(__name__)

LABEL_FPS = 25.0  # of the frames in which the options tell how far a sign lies from its label
Targets = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Sign:
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
    continuous: tuple[Sign, ...]
    dictionary: tuple[Sign, ...]


@dataclass(frozen=True, slots=True)
class SignReader:
    """Cuts signs out of videos, through the store of pictures."""

    store: PictureStore
    frames: int  # in a clip
    options: RgbBatchOptions

    def continuous(self, corpus: Corpus, labels: Sequence[Label], number: Mapping[str, int]) -> list[Sign]:
        """The stretch around each label in which its sign lies."""
        before = self.options.before / LABEL_FPS
        length = max(self.frames, round((self.options.before + self.options.after) / LABEL_FPS * self.store.fps))
        found: list[Sign] = []
        for name, video in corpus.videos.items():
            own = [label for label in labels if label.video == name]
            if not own:
                continue
            if video.video is None:
                raise OptionsError(
                    f"an RGB trunk sees pixels; the video '{name}' of {corpus.folder} has only landmarks"
                )
            starts = [max(0.0, label.time - before) for label in own]
            cut = self.store.stretches(video.video, starts, length)
            found += [Sign(cut[i], number[label.word], starts[i], name) for i, label in enumerate(own)]
        return found

    def exemplar(self, filmed: FilmedExemplars, exemplar: Exemplar, number: Mapping[str, int]) -> Sign | None:
        """The sign of one exemplar, without rest; None for one that cannot be read."""
        assert exemplar.path is not None, "exemplars without a path are left out"
        try:
            pictures = self.store.sign(exemplar.path, filmed.segment(exemplar))
        except SignspotError as error:
            logger.warning("left out exemplar '%s' of '%s': %s", exemplar.id, exemplar.word, error)
            return None
        return Sign(pictures, number[exemplar.word], 0.0, exemplar.id)


def collect_rgb_signs(material: Material, reader: SignReader, progress: Progress = silent) -> RgbSigns:
    """Cut all signs of the material; those of words that are labelled at least once.

    Raises:
        OptionsError: fewer than two words are labelled surely enough, or a video has no pictures.
    """
    labels = [label for label in material.labels if label.confidence >= reader.options.confidence]
    words = tuple(sorted({label.word for label in labels}))
    if len(words) < 2:
        raise OptionsError(
            f"{len(words)} words have labels of confidence {reader.options.confidence} or more and an exemplar; "
            "telling words apart needs two"
        )
    number = {word: index for index, word in enumerate(words)}
    filmed = FilmedExemplars(material.corpus)
    exemplars = [each for each in filmed.exemplars if each.word in number]
    total = len(exemplars) + 1
    progress(0, total)
    continuous = reader.continuous(material.corpus, labels, number)
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
    means = torch.from_numpy(features.exemplar_means())
    with torch.inference_mode():
        known = teacher.module.mlp(means, "dictionary").numpy()
    shown = {exemplar.id: known[row : row + 1] for row, exemplar in enumerate(features.exemplars)}
    watched = tuple(replace(sign, target=_watched(sign, teacher, features, reader)) for sign in signs.continuous)
    listed = tuple(replace(sign, target=shown[sign.source]) for sign in signs.dictionary if sign.source in shown)
    return replace(signs, continuous=watched, dictionary=listed)


@torch.inference_mode()
def _watched(sign: Sign, teacher: Encoder, features: TrunkFeatures, reader: SignReader) -> Targets:
    """(T - F + 1, D): the teacher's embedding at the middle of each clip of a stretch."""
    windows, fps = features.videos[sign.source], reader.store.fps
    count = len(sign.pictures) - reader.frames + 1
    middles = sign.start + (np.arange(count) + reader.frames / 2) / fps
    nearest = [windows.grid.nearest(float(middle)) for middle in middles]
    seen = torch.from_numpy(np.asarray(windows.features[nearest], np.float32))
    embedded: Targets = teacher.module.mlp(seen, "continuous").numpy()
    return embedded
