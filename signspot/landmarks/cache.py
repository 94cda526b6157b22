"""The cache of landmarks, the most expensive step: named by content, bounded, the least recently used go first.

An entry is a `.pose` file named by the video's content digest, the estimator's version, the frame rate and the segment.
Two runs may fill the same entry at once: each writes beside and renames, and both write the same.
"""

import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np

from signspot.errors import FormatError, LandmarksError, OptionsError, OutputError
from signspot.io.files import cache_folder, content_digest
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import PoseFile, PoseWriter
from signspot.types import Segment

logger = logging.getLogger(__name__)

Cache = str | PathLike[str] | Literal["beside"] | None

RECENT = 24 * 3600.0  # seconds: what was used since stays, so that a long job keeps what it made
LIMIT = 20 * 2**30  # bytes of landmarks that are kept, about 100 hours, and as many of tracks
PARTS = {  # of the cache folder, and how their files end
    "landmarks": ".pose",
    "tracks": ".safetensors",
    "exemplars": ".safetensors",
    "indices": ".safetensors",
    "decoys": ".safetensors",
    "encoders": ".json",
}
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def default_cache() -> Path:
    """The folder in which landmarks are kept unless another is named."""
    return cache_folder() / "landmarks"


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """The place of one video's landmarks in a cache."""

    path: Path
    fps: float
    origin: float = 0.0  # seconds at the first frame, which a `.pose` file does not keep
    bounded: bool = True  # it lies in a cache folder, not beside a video

    @classmethod
    def of(
        cls, video: Path, cache: Cache, estimator: str, fps: float, segment: Segment | None, digest: str | None = None
    ) -> "CacheEntry | None":
        """Name the entry of a video: in a folder, or beside the video; None without a cache.

        Args:
            video: its file.
            cache: a folder, "beside", or None.
            estimator: the version of what estimates.
            fps: frames per second.
            segment: the part of the video.
            digest: of the video's content, where it is known already.
        """
        if cache is None:
            return None
        span = [segment.start, segment.end] if segment else None
        how = hashlib.sha256(json.dumps([estimator, fps, span]).encode()).hexdigest()[:12]
        key = f"{digest or content_digest(video)}-{how}"
        origin = segment.start if segment else 0.0
        if cache == "beside":
            return cls(video.with_name(f"{video.name}.{key}.pose"), fps, origin, bounded=False)
        return cls(Path(cache) / key[:2] / f"{key}.pose", fps, origin)

    def stream(self, chunk: int) -> tuple[int, Iterator[Landmarks]] | None:
        """The number of frames, and up to `chunk` of them at a time; None: there is no entry, or it is damaged."""
        if not self.path.is_file():
            return None
        try:
            content = PoseFile.open(self.path)
            chunks = content.stream(chunk)
            first = next(chunks)
        except (FormatError, LandmarksError) as error:
            logger.warning("landmarks in the cache are damaged and are estimated again: %s", error)
            return None
        with suppress(OSError):
            os.utime(self.path)  # it was used
        return len(content), self._timed(first, chunks)

    def _timed(self, first: Landmarks, rest: Iterator[Landmarks]) -> Iterator[Landmarks]:
        done = 0
        for part in chain([first], rest):
            yield replace(part, times=self.origin + np.arange(done, done + len(part)) / self.fps)
            done += len(part)

    def keep(self, chunks: Iterator[Landmarks]) -> Iterator[Landmarks]:
        """Pass chunks on and write them to the entry, which appears when all are through.

        A cache that cannot be written is not a reason to stop.
        """
        writer: PoseWriter | None = None
        try:
            writer = PoseWriter(self.path, self.fps).__enter__()
        except OutputError as error:
            logger.warning("landmarks cannot be stored in the cache: %s", error)
        try:
            for chunk in chunks:
                if writer is not None:
                    try:
                        writer.add(chunk)
                    except OSError as error:
                        _give_up(writer, error)
                        writer = None
                yield chunk
        except BaseException as error:
            if writer is not None:
                writer.__exit__(type(error), error, error.__traceback__)
            raise
        if writer is not None:
            try:
                writer.__exit__(None, None, None)
                if self.bounded:
                    trim(self.path.parents[1], limit(), self.path.suffix)
            except (OutputError, LandmarksError) as error:
                logger.warning("landmarks cannot be stored in the cache: %s", error)


def _give_up(writer: PoseWriter, error: OSError) -> None:
    """Remove what was written of an entry that cannot be finished."""
    try:
        writer.__exit__(type(error), error, error.__traceback__)
    except OutputError as failure:
        logger.warning("landmarks cannot be stored in the cache: %s", failure)


def limit() -> int:
    """Bytes of landmarks, and as many of tracks, that a cache holds at most: $SIGNSPOT_CACHE_LIMIT, else 20 GiB.

    Raises:
        OptionsError: the variable holds no size.
    """
    text = os.environ.get("SIGNSPOT_CACHE_LIMIT", "").strip()
    if not text:
        return LIMIT
    size = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?", text.lower())
    if size is None:
        raise OptionsError(f"$SIGNSPOT_CACHE_LIMIT must be a size, such as 500 MB or 20 GiB; got '{text}'")
    return int(float(size[1]) * _UNITS[size[2] or ""])


def trim(folder: Path, most: int, suffix: str, recent: float = RECENT) -> int:
    """Remove the least recently used files of one part of a cache until at most `most` bytes are left.

    Args:
        folder: of the part.
        most: bytes.
        suffix: of its files; others are not touched.
        recent: seconds; files that were made or used since stay, even if they are too many: a long job needs its own.

    Returns:
        How many files were removed.
    """
    files = []
    for path in folder.rglob(f"*{suffix}"):
        with suppress(OSError):  # another run removed it
            state = path.stat()
            files.append((state.st_mtime, state.st_size, path))
    total, removed, before = sum(size for _, size, _ in files), 0, time.time() - recent
    for used, size, path in sorted(files):
        if total <= most or used >= before:
            break
        with suppress(OSError):
            path.unlink()
            total, removed = total - size, removed + 1
    return removed


@dataclass(frozen=True, slots=True)
class CachePart:
    """Contents of one part of the cache folder."""

    name: str  # one of `PARTS`
    files: int
    size: int  # bytes


def describe_cache(folder: Path) -> list[CachePart]:
    """Contents of a cache folder, part by part."""
    parts = []
    for name in PARTS:
        sizes = [path.stat().st_size for path in _files(folder, name)]
        parts.append(CachePart(name, len(sizes), sum(sizes)))
    return parts


def clear_cache(folder: Path, parts: tuple[str, ...] = tuple(PARTS)) -> list[CachePart]:
    """Remove parts of a cache folder: files that signspot made, and nothing else.

    Returns:
        What was removed, part by part.

    Raises:
        OptionsError: there is no such part.
        OutputError: a file cannot be removed.
    """
    unknown = [name for name in parts if name not in PARTS]
    if unknown:
        raise OptionsError(f"the cache has no part '{unknown[0]}'. There are: {', '.join(PARTS)}")
    removed = [part for part in describe_cache(folder) if part.name in parts]
    for name in parts:
        for path in _files(folder, name):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise OutputError(f"cannot remove {path}: {error.strerror or error}.") from error
        for below in sorted((folder / name).rglob("*"), reverse=True):
            with suppress(OSError):  # not empty, or no folder: something that is not ours
                below.rmdir()
    return removed


def _files(folder: Path, part: str) -> list[Path]:
    return [path for path in (folder / part).rglob(f"*{PARTS[part]}") if path.is_file()]
