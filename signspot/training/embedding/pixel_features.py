"""The exemplars of a corpus that an RGB trunk can see, and where in them the sign is."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from signspot.corpus.corpus import Corpus
from signspot.embedding.inputs import is_pose_file, landmarks_of, moving_segment
from signspot.errors import DictionaryError, NoPersonError
from signspot.files import cache_folder
from signspot.landmarks.landmarks import Landmarks
from signspot.records import Exemplar
from signspot.timeline import Segment

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
        return {each.id: each for each in self._corpus.dictionary().exemplars if is_pose_file(each.path)}
