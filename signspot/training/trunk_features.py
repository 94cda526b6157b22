"""Trunk features of a whole corpus, made once and kept: epochs over a frozen trunk never run it again.

One file per video (all windows, stride 1) and a file for all exemplars (a bank of clips each), named by content and
encoder, so that a changed source is made anew; float16, opened as memory maps. Left-handed signing is mirrored.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signspot.corpus.corpus import Corpus, CorpusVideo
from signspot.embedding.inputs import CLIPS_VERSION, READERS, UNKEPT, moving_segment, sign_features, sign_frames
from signspot.embedding.windows import clip_features, source_features
from signspot.errors import DictionaryError, FormatError, NoPersonError, OptionsError, SignspotError
from signspot.io.files import atomic_write, cache_folder, content_digest, text_digest
from signspot.io.progress import Progress, silent
from signspot.landmarks.features import features
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import is_pose_file, open_landmarks
from signspot.landmarks.signing import dominant_hand
from signspot.landmarks.video_estimation import landmarks_of
from signspot.models.encoder import Encoder
from signspot.training.distributed import current_group
from signspot.training.run_folder import open_array
from signspot.types import Exemplar, Grid, Segment

logger = logging.getLogger(__name__)

HalfArray = NDArray[np.float16]
BANK = 12  # clips of each exemplar, at random rates and shifts
_EXEMPLARS_AT_ONCE = 32
_VERSION = 2  # raised whenever the same source would give other features


class VideoExemplars:
    """The exemplars of a corpus that have a video, and where in it the sign is."""

    def __init__(self, corpus: Corpus):
        self._corpus = corpus
        filmed = (corpus.layout.dictionary_video / "dictionary.json").is_file()
        listed = corpus.dictionary(video=filmed).exemplars
        self.exemplars = tuple(
            exemplar for exemplar in listed if exemplar.path is not None and not is_pose_file(exemplar.path)
        )
        if not self.exemplars:
            raise DictionaryError(f"no exemplar of {corpus.folder} is a video, and the encoder sees pixels")

    def segment(self, exemplar: Exemplar) -> Segment | None:
        """Span of wrist motion: by landmarks beside the video, else by those that are estimated; None: nobody seen."""
        if exemplar.segment is not None:
            return exemplar.segment
        try:
            landmarks = self._landmarks(exemplar)
        except NoPersonError:
            return None
        return moving_segment(landmarks)

    def _landmarks(self, exemplar: Exemplar) -> Landmarks:
        assert exemplar.path is not None, "exemplars without a path are left out"
        twin = self._twins.get(exemplar.id)
        path = exemplar.path if twin is None or twin.path is None else twin.path
        return landmarks_of(path, cache_folder() / "landmarks")

    @cached_property
    def _twins(self) -> dict[str, Exemplar]:
        """The same exemplars as landmarks, by id, where a corpus has both."""
        if not (self._corpus.layout.dictionary / "dictionary.json").is_file():
            return {}
        return {
            exemplar.id: exemplar for exemplar in self._corpus.dictionary().exemplars if is_pose_file(exemplar.path)
        }


@dataclass(frozen=True, slots=True, eq=False)
class WindowFeatures:
    """All windows of one video."""

    features: HalfArray  # (T, D)
    grid: Grid


@dataclass(frozen=True, slots=True, eq=False)
class TrunkFeatures:
    """Features of a frozen trunk for all windows and exemplars of a corpus."""

    encoder: str  # content hash
    videos: Mapping[str, WindowFeatures]
    exemplars: tuple[Exemplar, ...]  # E
    clips: HalfArray  # (E, n, D)

    @property
    def dimension(self) -> int:
        """D, the width of the trunk's output."""
        return int(self.clips.shape[-1])

    def exemplar_means(self) -> NDArray[np.float32]:
        """(E, D): all clips of each exemplar averaged, as at test time."""
        means: NDArray[np.float32] = np.asarray(self.clips, np.float32).mean(axis=1)
        return means


def trunk_features(encoder: Encoder, corpus: Corpus, folder: Path, progress: Progress = silent) -> TrunkFeatures:
    """Open the features of a corpus; make what is missing. Processes that train together share the work.

    Args:
        encoder: whose trunk sees.
        corpus: with a dictionary, and with landmarks or pictures, as the encoder needs.
        folder: where features are kept; an interrupted run resumes.
        progress: called with the number of videos that are done, the dictionary counting as one.

    Raises:
        OptionsError: a video has no landmarks, or no picture, and the encoder needs them.
        DictionaryError: no exemplar can be used.
        FormatError: the trunk gives NaN.
    """
    videos = list(corpus.videos.values())
    total = len(videos) + 1
    group = current_group()
    if group.size > 1:  # each makes its share; below, all open everything
        for video in videos[group.rank :: group.size]:
            _windows(encoder, video, folder)
        if group.is_first:
            _exemplars(encoder, corpus, folder)
        group.wait()
    by_video: dict[str, WindowFeatures] = {}
    for done, video in enumerate(videos):
        progress(done, total)
        by_video[video.id] = _windows(encoder, video, folder)
    progress(total - 1, total)
    exemplars, clips = _exemplars(encoder, corpus, folder)
    progress(total, total)
    return TrunkFeatures(encoder.hash, by_video, exemplars, clips)


def _windows(encoder: Encoder, video: CorpusVideo, folder: Path) -> WindowFeatures:
    """The features of one video, from their file or from its landmarks or pictures."""
    source = _source(encoder, video)
    path = folder / encoder.hash / f"{video.id}-{content_digest(source)}-{_VERSION}.npy"
    if not path.is_file():
        _write(source_features(encoder, _frames(encoder, source)), path, video.id)
    rows, contract = open_array(path, np.float16, 2), encoder.contract
    return WindowFeatures(rows, Grid(contract.fps, contract.frames, 1, len(rows) + contract.frames - 1))


def _source(encoder: Encoder, video: CorpusVideo) -> Path:
    """The file of a video that the encoder can see."""
    if encoder.contract.kind == "rgb":
        if video.video is None:
            raise OptionsError(f"the encoder '{encoder.name}' sees pixels; the video '{video.id}' has only landmarks")
        return video.video
    if video.landmarks is None:
        raise OptionsError(f"the video '{video.id}' has no landmarks. Make them with: signspot embed --landmarks")
    return video.landmarks


def _frames(encoder: Encoder, source: Path) -> Iterable[NDArray[np.float32]]:
    """All frames of a video as the trunk sees them, in chunks; left-handed landmarks are mirrored."""
    contract = encoder.contract
    if contract.can_mirror:
        return [as_right_handed(open_landmarks(source).resampled(contract.fps))]
    return READERS[contract.kind].open(contract, source, UNKEPT).chunks


def _exemplars(encoder: Encoder, corpus: Corpus, folder: Path) -> tuple[tuple[Exemplar, ...], HalfArray]:
    """Usable exemplars and their clips, (E, n, D)."""
    filmed = VideoExemplars(corpus) if encoder.contract.kind == "rgb" else None
    exemplars = corpus.dictionary().exemplars if filmed is None else filmed.exemplars
    sources = [
        (exemplar, content_digest(exemplar.path))
        for exemplar in exemplars
        if exemplar.path is not None and exemplar.path.is_file()
    ]
    key = text_digest("\n".join(f"{exemplar.id} {exemplar.segment} {digest}" for exemplar, digest in sources))
    path = folder / encoder.hash / f"exemplars-{key}-{len(sources)}-{BANK}-{_VERSION}-{CLIPS_VERSION}.npy"
    if not path.is_file():
        rows: list[HalfArray] = []
        for first in range(0, len(sources), _EXEMPLARS_AT_ONCE):
            block = [exemplar for exemplar, _ in sources[first : first + _EXEMPLARS_AT_ONCE]]
            rows.extend(_clip_features(encoder, block, filmed))
        if not rows:
            raise DictionaryError(f"no exemplar in the dictionary of {corpus.folder} has a file")
        _write(np.stack(rows), path, "the dictionary")
    bank = open_array(path, np.float16, 3, len(sources))
    usable = np.isfinite(bank[:, 0, 0])
    if not usable.any():
        raise DictionaryError(f"none of {len(bank):,} exemplars can be used. See the log.")
    chosen = tuple(exemplar for (exemplar, _), good in zip(sources, usable, strict=True) if good)
    return chosen, bank if usable.all() else bank[usable]


def _clip_features(
    encoder: Encoder, exemplars: Iterable[Exemplar], filmed: VideoExemplars | None
) -> Iterator[HalfArray]:
    """(n, D) of each exemplar; NaN for one that cannot be used."""
    for exemplar in exemplars:
        try:
            yield _drawn(encoder, exemplar, filmed)
        except SignspotError as error:
            logger.warning("left out exemplar '%s' of '%s': %s", exemplar.id, exemplar.word, error)
            yield np.full((BANK, encoder.module.trunk.dimension), np.nan, np.float16)


def _drawn(encoder: Encoder, exemplar: Exemplar, filmed: VideoExemplars | None) -> HalfArray:
    """(n, D): the sign of one exemplar at random rates and shifts."""
    contract = encoder.contract
    assert exemplar.path is not None, "exemplars without a path are left out before"
    if filmed is not None:
        frames = sign_frames(exemplar.path, contract, filmed.segment(exemplar), exemplar.bbox)
    else:
        frames = exemplar_sign(exemplar, contract.fps)
    clips = READERS[contract.kind].clips(frames, contract.frames, count=BANK)
    return clip_features(encoder, clips, "dictionary").astype(np.float16)


def exemplar_sign(exemplar: Exemplar, fps: float) -> NDArray[np.float32]:
    """(T, J, C) features of one exemplar, without the rest before and after its sign."""
    assert exemplar.path is not None, "exemplars without a path are left out before"
    landmarks = landmarks_of(exemplar.path, cache_folder() / "landmarks")
    return sign_features(landmarks, fps, exemplar.segment, right_handed=True)


def as_right_handed(landmarks: Landmarks) -> NDArray[np.float32]:
    """(T, J, C) features, mirrored where the left hand leads."""
    return features(landmarks, mirror=dominant_hand(landmarks) == "left")


def _write(rows: HalfArray, path: Path, name: str) -> None:
    finite = np.isfinite(rows).reshape(len(rows), -1).all(axis=1)
    if not finite.any() or (rows.ndim == 2 and not finite.all()):
        raise FormatError(f"the trunk's features of {name} are NaN or infinite. Check its landmarks and the encoder.")
    with atomic_write(path) as temporary:
        np.save(temporary, rows)
