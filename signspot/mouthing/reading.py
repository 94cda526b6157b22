"""From a video or a `.pose` file to lips: frames are streamed, only the lips are kept.

One contract for all that networks see of lips, `LipReader`; two kinds of it: shapes that are measured on landmarks, and
features of crops.
"""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Protocol

import numpy as np
import torch

from signspot.errors import LandmarksError, OptionsError
from signspot.io.progress import Progress, silent
from signspot.landmarks.estimate import stream_landmarks
from signspot.landmarks.estimators import lips_estimator
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import stream_pose_file
from signspot.landmarks.resampling import resample_stream
from signspot.landmarks.stretches import MAX_SIDE
from signspot.mouthing.crops import crop_mouths
from signspot.mouthing.lips import FPS, Floats, LipTrack, follow_lips
from signspot.mouthing.network import LipMatcher
from signspot.mouthing.rgb_network import RgbFrontEnd, RgbMouthingNetwork
from signspot.video.reader import open_video

Source = str | PathLike[str] | Landmarks
_CHUNK = 512  # landmark frames that are read at once


class LipReader(Protocol):
    """Turns a source into what a network sees of its lips."""

    def read(self, source: Source, cache: Path | None = None, progress: Progress = silent) -> LipTrack:
        """Follow the lips through a source, in memory that hardly grows.

        Returns:
            (T, C) values at 25 frames per second, whatever the source's rate. The last two channels say whether the
            lips are seen and whether a hand is before them; the others are 0 where they are not seen.

        Raises:
            LandmarksError: no face is seen, or only from the side.
        """


class LandmarkLips:
    """Shapes that are measured on landmarks."""

    def read(self, source: Source, cache: Path | None = None, progress: Progress = silent) -> LipTrack:
        """Follow the lips through a video, a `.pose` file or landmarks; see `read_lips`."""
        return read_lips(source, cache, progress)


class RgbLips:
    """Features of crops; landmarks say where the mouth is."""

    def __init__(self, front: RgbFrontEnd):
        self._front = front

    def read(self, source: Source, cache: Path | None = None, progress: Progress = silent) -> LipTrack:
        """Follow the lips through a video.

        Raises:
            OptionsError: the source has no pixels.
        """
        if isinstance(source, Landmarks) or Path(source).suffix.lower() == ".pose":
            raise OptionsError("this mouthing spotter sees pixels, and landmarks have none. Name the video itself")
        stream, parts, flags = self._front.start(), [], []
        with open_video(source) as video:
            chunks = resample_stream(_stream(source, cache, progress), FPS)
            for crops, seen in crop_mouths(video.resampled(FPS), chunks):
                parts.append(stream.push(torch.from_numpy(crops)).numpy())
                flags.append(seen)
        parts.append(stream.finish().numpy())
        return _joined(np.concatenate(parts), np.concatenate(flags), Path(source).name)


def _joined(features: Floats, flags: Floats, name: str) -> LipTrack:
    seen = flags[:, :1]
    if not seen.any():
        raise LandmarksError(
            f"{name} shows no face from the front in {len(flags)} frames: no mouthing can be read. Film the face, too"
        )
    return LipTrack(np.concatenate([features * seen, flags], axis=1), covered=float(flags[:, 1].mean()))


def reader_of(network: LipMatcher) -> LipReader:
    """The reader of lips as a network sees them."""
    return RgbLips(network.front) if isinstance(network, RgbMouthingNetwork) else LandmarkLips()


def read_lips(source: Source, cache: Path | None = None, progress: Progress = silent) -> LipTrack:
    """Follow the lips through a source, in memory that grows by the lips alone, 64 bytes per frame.

    Args:
        source: a video, a `.pose` file, or landmarks.
        cache: folder of landmarks, so that a video's are estimated once; None: no cache.
        progress: told the frames done.

    Raises:
        VideoError: the video cannot be read.
        LandmarksError: no face is seen, or only from the side, or the landmarks lack points of the face.
    """
    name = "this landmarks record" if isinstance(source, Landmarks) else Path(source).name
    return follow_lips(resample_stream(_stream(source, cache, progress), FPS), name)


def _stream(source: Source, cache: Path | None, progress: Progress) -> Iterator[Landmarks]:
    done = 0
    if isinstance(source, Landmarks):
        yield from (source[first : first + _CHUNK] for first in range(0, len(source), _CHUNK))
        return
    if Path(source).suffix.lower() == ".pose":
        yield from stream_pose_file(source, _CHUNK)
        return
    with open_video(source, max_side=MAX_SIDE) as video:
        total = max(1, round(video.info.duration * FPS)) if video.info.duration else None
        for chunk in stream_landmarks(video, FPS, cache=cache, estimator=lips_estimator()):
            yield chunk
            done += len(chunk)
            progress(done, total)
