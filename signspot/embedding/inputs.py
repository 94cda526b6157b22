"""From sources to what a trunk sees, one reader per kind of input: frames of videos, and the sign in an exemplar.

An exemplar becomes several clips: a dictionary shows a sign slowly, continuous signing is fast.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from signspot.corpus.corpus import CorpusVideo
from signspot.errors import EmptyVideoError, OptionsError
from signspot.io.files import content_digest
from signspot.io.progress import Progress, silent
from signspot.landmarks.features import WRISTS, FeatureStream, at_positions, features, frames_at, motion_time
from signspot.landmarks.landmarks import Landmarks, resample_stream
from signspot.landmarks.pose_file import is_pose_file
from signspot.landmarks.signing import SigningCheck, check_signing, dominant_hand, sign_segment
from signspot.landmarks.video_estimation import MAX_SIDE, Source, landmarks_of, stream_source
from signspot.models.encoder import Contract, Kind
from signspot.types import Segment
from signspot.video.clips import squash_and_crop
from signspot.video.reader import open_video

Box = tuple[float, float, float, float]  # y0, x0, y1, x1 in [0, 1]
Floats = NDArray[np.float32]

_FRAMES_PER_CLIP = 4  # n grows with the length of the sign: a clip for every four frames
FEWEST_CLIPS, MOST_CLIPS = 4, 24  # clips of one exemplar
WIDEST, NARROWEST = 1.0, 0.6  # the share of the sign that a clip spans
CLIPS_VERSION = 3  # raised whenever the same sign gives other clips: cached embeddings are then made again
LEAD = 2  # frames of a landmark clip before its sign, and after it: signs in continuous signing are shorter than a clip
_STRETCH = 0.1  # by which the sign in a landmark clip is longer or shorter, at most
_SHIFT = 0.04  # of the sign, by which it is early or late there, at most

_ROUNDING = 1e-6  # seconds
_RAISED = 1.1  # shoulder widths below the shoulders: a wrist above this is raised
_FEWEST_RAISED = 5  # frames with a raised wrist; with fewer the movement alone says where the sign is


@dataclass(frozen=True, slots=True)
class EstimateOptions:
    """Options of estimating the landmarks of a video."""

    cache: Path | None = None  # folder of landmarks: those of a video are read from there, or kept there
    workers: int = 1  # processes that share a long video


UNKEPT = EstimateOptions()  # in this process; nothing is kept


@dataclass(slots=True)
class OpenSource:
    """Continuous signing on its way through an encoder."""

    name: str
    digest: str  # of its file's content; empty for landmarks in memory
    chunks: Iterator[Floats]  # (n, J, C) or (n, 3, H, W) frames at the encoder's rate
    origin: float = 0.0  # seconds at the first frame; right once the first chunk is there


@dataclass(frozen=True, slots=True)
class SignLocation:
    """Location of an isolated sign."""

    source: Source
    segment: Segment | None = None  # seconds; None: where the wrists move
    bbox: Box | None = None  # of the signer, for pixels; None: the whole frame

    @property
    def name(self) -> str:
        """The file's name."""
        return "landmarks" if isinstance(self.source, Landmarks) else Path(self.source).name


class InputReader(Protocol):
    """Reads sources for the trunks of one kind of input. `cache` is a folder of landmarks, or None."""

    def open(
        self, contract: Contract, source: Source, estimating: EstimateOptions, progress: Progress = silent
    ) -> OpenSource:
        """Open continuous signing."""

    def sign(self, contract: Contract, location: SignLocation, cache: Path | None) -> Floats:
        """(T, ...) frames of an isolated sign, without the rest before and after it."""

    def clips(self, sign: Floats, window: int, seed: int = 0, count: int | None = None) -> Floats:
        """(n, window, ...) clips of the (T, ...) frames of an isolated sign."""


class LandmarkReader:
    """Landmark features, (T, J, C), of videos, `.pose` files and landmarks."""

    def open(
        self, contract: Contract, source: Source, estimating: EstimateOptions, progress: Progress = silent
    ) -> OpenSource:
        """Open continuous signing; landmarks of a video that are in the cache are not estimated again.

        The last chunk raises NoPersonError or NoHandsError where no signer was ever in view.
        """
        name, digest = ("landmarks", "") if isinstance(source, Landmarks) else (Path(source).name, digest_of(source))
        check = SigningCheck(name)
        opened = OpenSource(name, digest, iter(()))

        def watched() -> Iterator[Landmarks]:
            cache, workers = estimating.cache, estimating.workers
            for chunk in stream_source(
                source, contract.fps, cache=cache, digest=digest, workers=workers, progress=progress
            ):
                if not check.frames and len(chunk):
                    opened.origin = float(chunk.times[0])
                yield chunk
                check.watch(chunk)

        opened.chunks = _feature_chunks(resample_stream(watched(), contract.fps), check)
        return opened

    def sign(self, contract: Contract, location: SignLocation, cache: Path | None) -> Floats:
        """(T, J, C) features of an isolated sign, without the rest before and after it."""
        landmarks = landmarks_of(location.source, cache)
        check_signing(landmarks, location.name)
        return sign_features(landmarks, contract.fps, location.segment)

    def clips(self, sign: Floats, window: int, seed: int = 0, count: int | None = None) -> Floats:
        """(n, window, J, C)."""
        return landmark_clips(sign, window, seed, count)


class PixelReader:
    """Frames, (T, 3, H, W) in [-0.5, 0.5], of videos."""

    def open(
        self, contract: Contract, source: Source, estimating: EstimateOptions, progress: Progress = silent
    ) -> OpenSource:
        """Open continuous signing."""
        path = _film(source)

        def chunks() -> Iterator[Floats]:
            with open_video(path, max_side=MAX_SIDE) as video:
                total = max(1, round(video.info.duration * contract.fps)) if video.info.duration else None
                for done, frame in enumerate(video.resampled(contract.fps), 1):
                    yield squash_and_crop(frame.image, contract.image_size or 224)[None]
                    progress(done, total)

        return OpenSource(path.name, digest_of(path), chunks())

    def sign(self, contract: Contract, location: SignLocation, cache: Path | None) -> Floats:
        """(T, 3, H, W) frames of an isolated sign, without the rest before and after it."""
        path = _film(location.source)
        segment = location.segment or moving_segment(landmarks_of(path, cache))
        return sign_frames(path, contract, segment, location.bbox)

    def clips(self, sign: Floats, window: int, seed: int = 0, count: int | None = None) -> Floats:
        """(n, window, 3, H, W), each of the nearest frames."""
        clips: Floats = sign[clip_positions(len(sign), window, seed, count).round().astype(int)]
        return clips


READERS: Mapping[Kind, InputReader] = {"landmarks": LandmarkReader(), "rgb": PixelReader()}


def digest_of(path: str | PathLike[str]) -> str:
    """The content digest of a source's file; empty where there is no file, so that opening it says what is wrong."""
    return content_digest(path) if Path(path).is_file() else ""


def footage_landmarks(video: CorpusVideo, cache: Path | None) -> Landmarks:
    """All landmarks of a video of a corpus: from its `.pose` file, else estimated and kept in the cache.

    Raises:
        NoPersonError, NoHandsError: no signer is ever in view.
        FormatError, VideoError: it cannot be read.
    """
    source = video.landmarks or video.video
    assert source is not None, "a video of a corpus has landmarks or a video file"
    landmarks = landmarks_of(source, cache)
    check_signing(landmarks, source.name)
    return landmarks


def sign_features(
    landmarks: Landmarks, fps: float, segment: Segment | None = None, *, right_handed: bool = False
) -> Floats:
    """(T, J, C) features of the sign in an exemplar, normalised with all that is around it in view.

    Args:
        landmarks: of the exemplar.
        fps: the encoder's frame rate.
        segment: of the sign; None: from the first to the last movement of the wrists.
        right_handed: mirror an exemplar in which the left hand leads.
    """
    segment = segment or sign_segment(landmarks)
    landmarks = landmarks.resampled(fps)
    first, last = _frames_in(landmarks, segment)
    return features(landmarks, mirror=right_handed and dominant_hand(landmarks) == "left")[first : last + 1]


def _frames_in(landmarks: Landmarks, segment: Segment) -> tuple[int, int]:
    """The first and the last frame in a segment; of all frames, where there is none."""
    is_inside = (landmarks.times >= segment.start - _ROUNDING) & (landmarks.times <= segment.end + _ROUNDING)
    inside = np.flatnonzero(is_inside) if is_inside.any() else np.arange(len(landmarks))
    return int(inside[0]), int(inside[-1])


def sign_in_context(landmarks: Landmarks, fps: float, segment: Segment | None = None) -> tuple[Floats, int, int]:
    """An isolated sign with the frames around it, for frame codes, which look beyond the sign's ends.

    Args:
        landmarks: of the exemplar.
        fps: the encoder's frame rate.
        segment: of the sign; None: where the wrists move and a hand is raised.

    Returns:
        (T, J, C) features of all frames, the first frame of the sign, and its last one.
    """
    movement = segment or sign_segment(landmarks)
    landmarks = landmarks.resampled(fps)
    frames = features(landmarks)
    first, last = _frames_in(landmarks, movement)
    return frames, *((first, last) if segment else _raised(frames, first, last))


def _raised(frames: Floats, first: int, last: int) -> tuple[int, int]:
    """Frames of a sign without those at either end in which no wrist is raised; all, where hands are hardly raised."""
    wrists = frames[first : last + 1, WRISTS]
    up = np.flatnonzero(((wrists[..., 1] < _RAISED) & (wrists[..., 3] > 0)).any(axis=1))
    return (first, last) if len(up) < _FEWEST_RAISED else (first + int(up[0]), first + int(up[-1]))


def moving_segment(landmarks: Landmarks) -> Segment | None:
    """Span of the sign by wrist motion; None where no body is seen (an RGB trunk may still see enough)."""
    return None if np.isnan(landmarks.body).all() else sign_segment(landmarks)


def sign_frames(path: Path, contract: Contract, segment: Segment | None, bbox: Box | None = None) -> Floats:
    """(T, 3, H, W) frames of a segment of a video, as an RGB trunk sees them; of all of it without a segment."""
    with open_video(path) as video:
        size = contract.image_size or 224
        frames = [squash_and_crop(frame.image, size, bbox=bbox) for frame in video.resampled(contract.fps, segment)]
    if not frames:
        raise EmptyVideoError(f"{path.name} holds no frame")
    return np.stack(frames)


def _film(source: Source) -> Path:
    """The path of a video, or why there are no pixels."""
    if isinstance(source, Landmarks) or is_pose_file(source):
        raise OptionsError("this encoder sees pixels, not landmarks. Give it the video itself.")
    return Path(source)


def _feature_chunks(chunks: Iterator[Landmarks], check: SigningCheck) -> Iterator[Floats]:
    """Features of landmarks at the encoder's rate; at the end it complains if there was no signer."""
    stream = FeatureStream()
    for chunk in chunks:
        yield stream.push(chunk)
    rest = stream.finish()
    if not check.frames:
        raise EmptyVideoError(f"{check.name} holds no frame")
    check.finish()
    yield rest


def clip_count(length: int) -> int:
    """The number of clips that show a sign of so many frames."""
    return int(np.clip(length // _FRAMES_PER_CLIP, FEWEST_CLIPS, MOST_CLIPS))


def clip_positions(length: int, window: int, seed: int = 0, count: int | None = None) -> NDArray[np.float64]:
    """Draw where the frames of each clip lie in a sign.

    Dictionary signs are slow, continuous ones are fast. So a clip spans most of the sign whatever its length: its
    rate is the one at which `window` frames cover a random share of the sign, its shift is random within the rest.

    Args:
        length: frames of the trimmed sign.
        window: frames in a clip.
        seed: the same seed draws the same clips.
        count: n; by the length of the sign if not given.

    Returns:
        (n, window) positions in frames, in [0, length - 1].
    """
    count = clip_count(length) if count is None else count
    random = np.random.default_rng([seed, length, window])
    span = random.uniform(NARROWEST, WIDEST, count) * (length - 1)
    start = random.uniform(0, 1, count) * (length - 1 - span)
    positions: NDArray[np.float64] = start[:, None] + span[:, None] * np.linspace(0, 1, window)
    return positions


def landmark_clips(sign: Floats, window: int, seed: int = 0, count: int | None = None) -> Floats:
    """(n, window, J, C) clips of the landmark features (T, J, C) of an isolated sign, in the sign's own time."""
    random = np.random.default_rng([seed, len(sign), window])
    return draw_clips(sign, window, clip_count(len(sign)) if count is None else count, random)


def draw_clips(sign: Floats, window: int, count: int, random: np.random.Generator) -> Floats:
    """(count, window, J, C) as `landmark_clips`.

    Each clip shows the whole sign in its middle; before and after, its first and last frames are held. The sign goes
    by its own time (`motion_time`), in which holds are short, as they are in continuous signing.
    """
    lead = min(LEAD, (window - 2) // 2)
    even = (np.arange(window) - lead) / (window - 1 - 2 * lead)
    size = random.uniform(1 - _STRETCH, 1 + _STRETCH, count)
    late = random.uniform(-_SHIFT, _SHIFT, count)
    shares = 0.5 + late[:, None] + (even - 0.5) * size[:, None]
    return at_positions(sign, frames_at(motion_time(sign), shares))
