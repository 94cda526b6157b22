"""Real signing for training and measuring: landmarks of LSA64 (Ronchetti et al. 2016), a `.npz` file per signer.

`signspot corpus import lsa64` makes the files from the videos as they are published.
"""

from os import PathLike
from pathlib import Path

import numpy as np

from experiments.isolated.clips import Arrays, IsolatedClip, read_packed
from signspot.errors import FormatError
from signspot.landmarks.landmarks import FACE_POINTS, Landmarks

FILES = "signer_*.npz"
TRAIN_SIGNERS, VALIDATION_SIGNERS, TEST_SIGNERS = ("1", "2", "3", "4", "5", "6", "7"), ("8",), ("9",)
SEEN_WORDS, UNSEEN_WORDS = tuple(map(str, range(1, 49))), tuple(map(str, range(49, 57)))
_HEIGHT = 1080  # pixels


def read_lsa64(folder: str | PathLike[str], signers: tuple[str, ...] | None = None) -> list[IsolatedClip]:
    """All clips of some signers, or of all whose files are in `folder`; words and signers are named by their numbers.

    Raises:
        FormatError: the folder has no such files, or one is damaged.
    """
    files = sorted(Path(folder).glob(FILES))
    chosen = [file for file in files if signers is None or file.stem.removeprefix("signer_").lstrip("0") in signers]
    if not chosen:
        raise FormatError(
            f"no signer_NN.npz files of LSA64 in {folder}. "
            "Make them with: signspot corpus import lsa64 VIDEOS --out FOLDER"
        )
    return [clip for file in chosen for clip in read_packed(file, _read_signer)]


def _read_signer(data: Arrays) -> list[IsolatedClip]:
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
            size=(round(float(aspect) * _HEIGHT), _HEIGHT),
        )
        clips.append(IsolatedClip(str(word), str(signer), str(repetition), landmarks))
    return clips
