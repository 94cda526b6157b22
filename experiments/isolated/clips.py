"""One clip of an isolated sign: what every corpus of such clips is read as."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.errors import FormatError
from signspot.landmarks.features import features
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.signing import sign_segment

Features = NDArray[np.float32]
Arrays = dict[str, NDArray[Any]]

FPS = 25.0


@dataclass(frozen=True)
class IsolatedClip:
    """One performance of one word by one signer."""

    word: str
    signer: str  # empty: not known
    clip: str  # its repetition, its number in the corpus, or its file's name
    landmarks: Landmarks  # as estimated, rest before and after included

    @cached_property
    def sign(self) -> Features:
        """(T, J, C) features of the sign alone at 25 fps, trimmed by wrist motion."""
        segment = sign_segment(self.landmarks)
        resampled = self.landmarks.resampled(FPS)
        inside = (resampled.times >= segment.start - 1e-6) & (resampled.times <= segment.end + 1e-6)
        return features(resampled)[inside]


def read_packed(path: Path, read: Callable[[Arrays], list[IsolatedClip]]) -> list[IsolatedClip]:
    """Read the clips of a `.npz` file; `read` makes them of its arrays.

    Raises:
        FormatError: it is damaged, or holds something else.
    """
    try:
        with path.open("rb") as opened, np.load(opened) as file:  # numpy refuses pickled objects unless told otherwise
            return read({name: file[name] for name in file.files})
    except Exception as error:  # whatever a damaged file makes numpy raise
        raise FormatError(f"{path} holds no isolated signs, or it is damaged ({error!s:.200})") from error
