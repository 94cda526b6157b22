"""Landmarks that were estimated before: `.pose` files named by the video's content and the estimator's settings."""

import hashlib
import json
import logging
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Literal

from signspot.errors import FormatError, LandmarksError, OutputError
from signspot.files import cache_folder, content_digest
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import open_landmarks, write_landmarks
from signspot.timeline import Segment

logger = logging.getLogger(__name__)

Cache = str | PathLike[str] | Literal["beside"] | None


def default_cache() -> Path:
    """The folder in which landmarks are kept unless another is named."""
    return cache_folder() / "landmarks"


class CacheEntry:
    """The place of one video's landmarks in a cache.

    Two runs may fill the same entry at once: each writes beside and renames, and both write the same.
    """

    def __init__(self, path: Path, origin: float):
        self.path = path
        self.origin = origin  # seconds at the first frame, which a `.pose` file does not keep

    @classmethod
    def of(cls, video: Path, cache: Cache, settings: str, fps: float, segment: Segment | None) -> "CacheEntry | None":
        """Name the entry of a video: in a folder, or beside the video; None without a cache."""
        if cache is None:
            return None
        span = [segment.start, segment.end] if segment else None
        how = hashlib.sha256(json.dumps([settings, fps, span]).encode()).hexdigest()[:12]
        key = f"{content_digest(video)}-{how}"
        origin = segment.start if segment else 0.0
        if cache == "beside":
            return cls(video.with_name(f"{video.name}.{key}.pose"), origin)
        return cls(Path(cache) / key[:2] / f"{key}.pose", origin)

    def read(self) -> Landmarks | None:
        """Give the landmarks; None where there are none yet, or where the file is damaged."""
        if not self.path.is_file():
            return None
        try:
            landmarks = open_landmarks(self.path)
        except (FormatError, LandmarksError) as error:
            logger.warning("damaged landmarks in the cache are made again: %s", error)
            return None
        return replace(landmarks, times=landmarks.times + self.origin)

    def write(self, landmarks: Landmarks) -> None:
        """Keep landmarks; a cache that cannot be written is no reason to stop."""
        try:
            write_landmarks(landmarks, self.path)
        except OutputError as error:
            logger.warning("landmarks are not kept in the cache: %s", error)
