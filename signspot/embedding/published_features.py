"""Features that others have made and published: matrices of one row per window, in `.npy`, `.mat` or LMDB files.

An encoder names the window and, with its MLP, makes embeddings of the features of its trunk. So a track of features
that were made elsewhere is like one that this encoder made.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.windows import embed_features
from signspot.errors import EncoderMismatchError, FormatError, MissingExtraError
from signspot.models.encoder import Encoder
from signspot.types import Grid, Track

Features = NDArray[np.floating[Any]]

SUFFIXES = (".npy", ".mat", ".lmdb")
_KEYS = ("preds", "features", "feats", "feature")  # of a `.mat` file; the authors' files have the first
_ROW = re.compile(rb"(.+)/(\d+)\.np")  # a key of an LMDB file: the video, and the number of the window
_NORM = 1e-3  # by which the length of a unit vector in 16 bits may differ from 1


def read_published(path: Path) -> Iterator[tuple[str, Features]]:
    """Read features: the name of each video, and its (T, D) rows.

    Args:
        path: a `.npy` or `.mat` file of one video, named as the video; or an LMDB folder of many, with a value for
            each row under the key `VIDEO/0000001.np`, in 16 bits.

    Raises:
        FormatError: it holds no such matrix.
        MissingExtraError: SciPy or lmdb is not installed.
    """
    if path.suffix == ".lmdb" or (path / "data.mdb").is_file():
        yield from _read_lmdb(path)
    elif path.suffix == ".mat":
        yield path.stem, _matrix(_read_mat(path), path)
    else:
        try:
            yield path.stem, _matrix(np.load(path, mmap_mode="r", allow_pickle=False), path)
        except (OSError, ValueError, EOFError) as error:
            raise FormatError(f"cannot read features from {path}: {error!s:.200}") from error


def as_track(name: str, features: Features, encoder: Encoder, stride: int, source: str = "") -> Track:
    """Make a track of features.

    Args:
        name: of the video.
        features: (T, D) of the encoder's trunk, or its embeddings; one row for each window.
        encoder: whose weights made them.
        stride: frames between two windows.
        source: the digest of the video, where it is known.

    Raises:
        EncoderMismatchError: the encoder's features or embeddings have other sizes.
    """
    contract, trunk = encoder.contract, encoder.module.trunk.dimension
    width = features.shape[1]
    if width not in (trunk, contract.dimension):
        raise EncoderMismatchError(
            f"the features of '{name}' have {width} numbers; the trunk of '{encoder.name}' gives {trunk}, its "
            f"embeddings {contract.dimension}. Name the checkpoint that made them with --encoder"
        )
    rows = np.array(features, np.float32)  # a copy: it may be mapped from a file that is only read
    are_embeddings = width == contract.dimension and bool(np.all(np.abs(np.linalg.norm(rows, axis=1) - 1) < _NORM))
    embeddings = rows if are_embeddings else embed_features(encoder, rows, "continuous")
    grid = Grid(contract.fps, contract.frames, stride, (len(rows) - 1) * stride + contract.frames)
    return Track(embeddings.astype(np.float16), grid, encoder.hash, name, source)


def _read_mat(path: Path) -> Any:
    try:
        from scipy.io import loadmat
    except ImportError:
        raise MissingExtraError("scipy", "features", "features in .mat files") from None
    try:
        values = {name: value for name, value in loadmat(path).items() if not name.startswith("__")}
    except Exception as error:  # whatever a damaged file, or one of version 7.3, makes SciPy raise
        raise FormatError(f"cannot read {path}: {error!s:.200}. Save it as version 7 or as .npy") from error
    keys = [name for name in _KEYS if name in values]
    if not keys:
        raise FormatError(f"{path} has no variable {', '.join(_KEYS)}, but {', '.join(sorted(values)) or 'none'}")
    return values[keys[0]]


def _read_lmdb(path: Path) -> Iterator[tuple[str, Features]]:
    try:
        import lmdb
    except ImportError:
        raise MissingExtraError("lmdb", "features", "features in LMDB files") from None
    try:
        opened = lmdb.open(str(path), readonly=True, lock=False, subdir=path.is_dir(), create=False)
    except lmdb.Error as error:
        raise FormatError(f"cannot read {path}: {error!s:.200}") from error
    with opened, opened.begin() as transaction:
        name, rows = "", list[NDArray[np.float16]]()
        for key, value in transaction.cursor():  # in order of video and window
            match = _ROW.fullmatch(key)
            if match is None:
                continue  # what else its makers noted
            video = match[1].decode()
            if video != name and rows:
                yield name, _matrix(_stacked(rows, path, name), path)
                rows = []
            name = video
            rows.append(np.frombuffer(value, np.float16))
        if not rows:
            raise FormatError(f"{path} has no key such as VIDEO/0000001.np")
        yield name, _matrix(_stacked(rows, path, name), path)


def _stacked(rows: list[NDArray[np.float16]], path: Path, name: str) -> NDArray[np.float16]:
    try:
        return np.stack(rows)
    except ValueError as error:
        raise FormatError(f"the rows of '{name}' in {path} differ in size") from error


def _matrix(values: Any, path: Path) -> Features:
    """The values as a (T, D) matrix of finite numbers; a video of one window has one row."""
    matrix = np.asarray(values)
    while matrix.ndim > 2 and 1 in matrix.shape:
        matrix = matrix.squeeze(max(axis for axis, size in enumerate(matrix.shape) if size == 1))
    if matrix.ndim != 2 or matrix.dtype.kind != "f" or not matrix.size or not np.isfinite(matrix).all():
        raise FormatError(f"{path} holds no matrix of finite numbers, one row for each window, but {matrix.shape}")
    return matrix
