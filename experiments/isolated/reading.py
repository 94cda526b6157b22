"""Reads any corpus of isolated signs: imported LSA64 or WLASL, a folder of videos by word and signer, or a table."""

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from experiments.isolated import lsa64, wlasl
from experiments.isolated.clips import IsolatedClip
from signspot.dictionary.table import TABLE_SUFFIXES, read_table
from signspot.errors import FormatError, SignspotError
from signspot.io.progress import Progress, silent
from signspot.landmarks.cache import Cache, default_cache
from signspot.landmarks.estimate import PoseJob, estimate_files, estimate_landmarks
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import open_landmarks
from signspot.video import MEDIA_SUFFIXES


def read_isolated(
    place: str | PathLike[str], progress: Progress = silent, *, cache: Cache = None, workers: int | None = None
) -> list[IsolatedClip]:
    """Read a corpus of isolated signs.

    Args:
        place: a folder with `signer_NN.npz` (LSA64) or `wlasl_N.npz` (WLASL) as `signspot corpus import` makes them, a
            folder with `WORD/SIGNER.mp4` or `.pose` (`SIGNER_2.mp4` is the same signer again), or a table with the
            columns word, signer and file.
        progress: told the frames of videos whose landmarks are estimated.
        cache: of landmarks; the user's own if not given.
        workers: processes that estimate; one per core if not given.

    Raises:
        FormatError: there is nothing of the kind.
    """
    path = Path(place)
    if any(path.glob(lsa64.FILES)):
        return lsa64.read_lsa64(path)
    if any(path.glob(wlasl.FILES)):
        return wlasl.read_wlasl(path)
    listed = _in_table(path) if path.suffix.lower() in TABLE_SUFFIXES else _in_folder(path)
    if not listed:
        raise FormatError(
            f"no isolated signs at {path}: neither signer_NN.npz nor wlasl_NN.npz, no WORD/SIGNER.mp4, no table with "
            "the columns word, signer and file"
        )
    return _estimated(listed, progress, cache if cache is not None else default_cache(), workers)


def _in_folder(folder: Path) -> list[tuple[str, str, Path]]:
    """Word, signer and file of every `WORD/SIGNER*.mp4` or `.pose`."""
    files = sorted(file for file in folder.glob("*/*") if file.suffix.lower() in MEDIA_SUFFIXES)
    return [(file.parent.name, re.sub(r"(?<=.)[_-]\d+$", "", file.stem), file) for file in files]


def _in_table(table: Path) -> list[tuple[str, str, Path]]:
    exemplars = read_table(table).exemplars
    return [(each.word, each.signer or "", each.path) for each in exemplars if each.path is not None]


def _estimated(
    listed: Sequence[tuple[str, str, Path]], progress: Progress, cache: Cache, workers: int | None
) -> list[IsolatedClip]:
    """The clips in their order; those of videos are estimated into the cache, or are there from an earlier run."""
    jobs = [PoseJob(file) for _, _, file in listed if file.suffix != ".pose"]
    for job, made in estimate_files(jobs, workers, progress, cache=cache):
        if isinstance(made, SignspotError):
            raise FormatError(f"{job.video} cannot be read: {made}. Take it out, or mend it")
    return [IsolatedClip(word, signer, file.name, _landmarks(file, cache)) for word, signer, file in listed]


def _landmarks(file: Path, cache: Cache) -> Landmarks:
    return open_landmarks(file) if file.suffix == ".pose" else estimate_landmarks(file, cache=cache)
