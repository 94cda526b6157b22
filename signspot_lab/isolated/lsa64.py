"""Real signing for training and measuring: landmarks of LSA64 (Ronchetti et al. 2016), a `.npz` file a signer."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from signspot.embedding.inputs import sign_features
from signspot.errors import FormatError
from signspot.landmarks.features import features
from signspot.landmarks.landmarks import FACE_POINTS, Landmarks
from signspot_lab.contrastive.performances import Features

TRAIN_SIGNERS, VALIDATION_SIGNERS, TEST_SIGNERS = (1, 2, 3, 4, 5, 6, 7), (8,), (9,)
SEEN_WORDS, UNSEEN_WORDS = tuple(range(1, 49)), tuple(range(49, 57))
FPS = 25.0


@dataclass(frozen=True, slots=True)
class RealClip:
    """One repetition of one word by one signer."""

    word: int
    signer: int
    repetition: int
    landmarks: Landmarks  # as estimated, rest before and after included

    def whole(self) -> Features:
        """(T, J, C) features of the whole clip at 25 fps."""
        return features(self.landmarks.resampled(FPS))

    def sign(self) -> Features:
        """(T, J, C) features of the sign alone, trimmed by wrist motion."""
        return sign_features(self.landmarks, FPS)


def read_lsa64(folder: str | PathLike[str], signers: tuple[int, ...] | None = None) -> list[RealClip]:
    """All clips of some signers, or of all whose files are in `folder`.

    Raises:
        FormatError: the folder has no such files.
    """
    files = sorted(Path(folder).glob("signer_*.npz"))
    chosen = [file for file in files if signers is None or int(file.stem[-2:]) in signers]
    if not chosen:
        raise FormatError(f"no signer_NN.npz files of LSA64 in {folder}. Give the folder of its landmarks.")
    return [clip for file in chosen for clip in _read_signer(file)]


def _read_signer(path: Path) -> list[RealClip]:
    with np.load(path) as file:  # arrays only: numpy refuses pickled objects unless told otherwise
        data = {name: file[name] for name in file.files}
    clips = []
    for (word, signer, repetition), start, end, aspect in zip(
        data["label"], data["start"][:-1], data["start"][1:], data["aspect"], strict=True
    ):
        part = slice(int(start), int(end))
        landmarks = Landmarks(
            body=data["pose"][part].astype(np.float32),
            left_hand=data["left_hand"][part].astype(np.float32),
            right_hand=data["right_hand"][part].astype(np.float32),
            face=data["face"][part].astype(np.float32),
            face_points=FACE_POINTS,
            times=data["time"][part].astype(np.float64),
            size=(round(float(aspect) * 1080), 1080),
        )
        clips.append(RealClip(int(word), int(signer), int(repetition), landmarks))
    return clips
