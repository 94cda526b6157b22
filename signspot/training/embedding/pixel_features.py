"""What an RGB trunk sees in a corpus: all windows of a video, and clips of the sign in each exemplar."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from os import PathLike

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.corpus.corpus import Corpus
from signspot.embedding.windows import BLOCK, is_pose_file, window_features
from signspot.errors import DictionaryError, NoPersonError
from signspot.files import cache_folder
from signspot.landmarks.estimate import estimate_landmarks
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import open_landmarks
from signspot.landmarks.signing import sign_segment
from signspot.models.encoder import Encoder
from signspot.records import Exemplar
from signspot.timeline import Segment
from signspot.video.clips import squash_and_crop
from signspot.video.reader import open_video

HalfArray = NDArray[np.float16]
Pixels = NDArray[np.float32]


class FilmedExemplars:
    """The exemplars of a corpus that have a video, and where in it the sign is."""

    def __init__(self, corpus: Corpus):
        self._corpus = corpus
        filmed = (corpus.layout.dictionary_video / "dictionary.json").is_file()
        listed = corpus.dictionary(video=filmed).exemplars
        self.exemplars = tuple(each for each in listed if each.path is not None and not is_pose_file(each.path))
        if not self.exemplars:
            raise DictionaryError(f"no exemplar of {corpus.folder} is a video, and the encoder sees pixels")

    def segment(self, exemplar: Exemplar) -> Segment | None:
        """Where the wrists move: by landmarks beside the video, else by those that are estimated; None: nobody seen."""
        if exemplar.segment is not None:
            return exemplar.segment
        try:
            landmarks = self._landmarks(exemplar)
        except NoPersonError:
            return None
        return None if np.isnan(landmarks.body).all() else sign_segment(landmarks)

    def _landmarks(self, exemplar: Exemplar) -> Landmarks:
        assert exemplar.path is not None, "exemplars without a path are left out"
        twin = self._twins.get(exemplar.id)
        if twin is not None and twin.path is not None:
            return open_landmarks(twin.path)
        return estimate_landmarks(exemplar.path, cache=cache_folder() / "landmarks")

    @cached_property
    def _twins(self) -> dict[str, Exemplar]:
        """The same exemplars as landmarks, by id, where a corpus has both."""
        if not (self._corpus.layout.dictionary / "dictionary.json").is_file():
            return {}
        return {each.id: each for each in self._corpus.dictionary().exemplars if is_pose_file(each.path)}


def pixel_windows(encoder: Encoder, path: str | PathLike[str]) -> HalfArray:
    """(T, D) trunk features of all windows of a video, stride 1; memory holds a block of frames."""
    window = encoder.contract.frames
    features = window_features(encoder)
    frames: list[Pixels] = []
    parts: list[HalfArray] = []

    def see(count: int) -> None:
        seen = features(torch.from_numpy(np.stack(frames)), range(count))
        parts.append(seen.numpy().astype(np.float16))

    with torch.inference_mode():
        for frame in frames_of(encoder, path):
            frames.append(frame)
            if len(frames) == window + BLOCK - 1:
                see(BLOCK)
                del frames[:BLOCK]
        if not parts:
            frames += [frames[-1]] * (window - len(frames))
        if len(frames) >= window:
            see(len(frames) - window + 1)
    return np.concatenate(parts)


def frames_of(encoder: Encoder, path: str | PathLike[str], segment: Segment | None = None) -> Iterator[Pixels]:
    """(3, H, W) frames of a video as the encoder wants them."""
    contract = encoder.contract
    with open_video(path) as video:
        for frame in video.resampled(contract.fps, segment):
            yield squash_and_crop(frame.image, contract.image_size or 224)


@torch.inference_mode()
def pixel_clips(encoder: Encoder, frames: Sequence[Pixels], positions: NDArray[np.float64]) -> HalfArray:
    """(n, D) trunk features of clips of a sign, at (n, F) positions in its frames."""
    nearest = positions.round().astype(int)
    clips = np.stack([np.stack([frames[index] for index in clip], axis=1) for clip in nearest])
    features = encoder.module.trunk(torch.from_numpy(clips))
    return features.numpy().astype(np.float16)  # type: ignore[no-any-return]
