"""From a source to a track: decode once, embed every window, in bounded memory but for the track itself."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.embedding.tracks import MemoryShelf, Shelf
from signspot.errors import EmptyVideoError, OptionsError
from signspot.files import content_digest
from signspot.landmarks.estimate import MAX_SIDE, known_landmarks, stream_landmarks
from signspot.landmarks.features import FeatureStream, features, mirror_features
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import stream_pose_file
from signspot.landmarks.resampling import resample_stream
from signspot.landmarks.signing import SigningCheck
from signspot.models.encoder import Contract, Encoder
from signspot.models.i3d_dense import WindowEmbedder
from signspot.models.inception import InceptionTrunk
from signspot.progress import Progress, silent
from signspot.timeline import Grid, Segment, Track
from signspot.video.clips import squash_and_crop
from signspot.video.reader import Video, open_video

FloatArray = NDArray[np.floating[Any]]

BLOCK = 16  # windows that pass through the trunk at once


class PixelWindows:
    """Slides an RGB trunk over frames; windows lie as `Grid` says. Memory holds one block of frames."""

    def __init__(self, encoder: Encoder, stride: int, shelf: Shelf | None = None):
        self._encoder, self._stride, self._window = encoder, stride, encoder.contract.frames
        self._features = window_features(encoder)
        self._frames: list[NDArray[np.float32]] = []  # all that a window to come may begin with
        self._first = 0  # which frame of the video `_frames` begins with
        self._next = 0  # which frame the next window begins with, unless it is the last one, which ends with the video
        self._kept = MemoryShelf() if shelf is None else shelf
        self._done = 0  # windows embedded

    @property
    def seen(self) -> int:
        """How many frames there were so far."""
        return self._first + len(self._frames)

    def push(self, frame: NDArray[np.float32]) -> None:
        """Take one (3, H, W) frame in [-0.5, 0.5]."""
        self._frames.append(frame)
        if self.seen == self._next + (BLOCK - 1) * self._stride + self._window:
            self._embed([self._next - self._first + number * self._stride for number in range(BLOCK)])
            self._next += BLOCK * self._stride
            passed = self._next - self._stride + 1 - self._first  # the last window may begin right after the one before
            self._first += passed
            self._frames = self._frames[passed:]

    def finish(self) -> tuple[FloatArray, int]:
        """All embeddings on the grid, (T, D) float16, and how many frames there were."""
        if self.seen == 0:
            raise EmptyVideoError("there is no frame to embed")
        frames = self.seen
        starts = Grid(1.0, self._window, self._stride, frames).starts
        rest = [int(start) - self._first for start in starts[self._done :]]
        while len(self._frames) < self._window and frames < self._window:  # a short video repeats its last frame
            self._frames.append(self._frames[-1])
        if rest:
            self._embed(rest)
        return self._kept.joined(), frames

    def _embed(self, starts: Sequence[int]) -> None:
        stacked = torch.from_numpy(np.stack(self._frames))
        self._kept.add(embed_windows(self._encoder, self._features, stacked, starts))
        self._done += len(starts)


def window_features(encoder: Encoder) -> Callable[[Tensor, Sequence[int]], Tensor]:
    """What gives the trunk's features of windows: (N, 3, H, W) frames and their starts → (len(starts), 1024)."""
    trunk = encoder.module.trunk
    if isinstance(trunk, InceptionTrunk):
        return WindowEmbedder(trunk, batch=BLOCK)
    window = encoder.contract.frames

    def one_by_one(frames: Tensor, starts: Sequence[int]) -> Tensor:
        features: Tensor = trunk(torch.stack([frames[start : start + window] for start in starts]).transpose(1, 2))
        return features

    return one_by_one


@torch.inference_mode()
def embed_windows(
    encoder: Encoder, features: Callable[[Tensor, Sequence[int]], Tensor], frames: Tensor, starts: Sequence[int]
) -> FloatArray:
    """(N, 3, H, W) frames and the windows' first frames → (len(starts), D) float16 embeddings."""
    embedded: FloatArray = encoder.module.mlp(features(frames, starts), "continuous").numpy().astype(np.float16)
    return embedded


Source = str | PathLike[str] | Landmarks

_CHUNK = 512  # feature frames that pass through the landmark trunk at once


def is_pose_file(source: object) -> bool:
    """Whether a source names a landmarks file."""
    return isinstance(source, str | PathLike) and Path(source).suffix == ".pose"


def embed(
    encoder: Encoder,
    source: Source,
    stride: int = 1,
    progress: Progress | None = None,
    cache: Path | None = None,
    shelf: Shelf | None = None,
) -> Track:
    """Embed every window of a source.

    Args:
        encoder: what embeds.
        source: the path of a video or of a `.pose` file, or landmarks.
        stride: frames between two windows, at the encoder's frame rate.
        progress: called with frames done and, where known, frames in all.
        cache: a folder of landmarks estimated before; those of this video are used if they are there.
        shelf: where embeddings wait until all are there; in memory if not given.

    Returns:
        A track of (T, D) float16 embeddings.
    """
    if stride < 1:
        raise OptionsError(f"stride must be at least 1 frame; got {stride}")
    report = progress or silent
    kept = MemoryShelf() if shelf is None else shelf
    if isinstance(source, Landmarks) or is_pose_file(source):
        return _embed_landmarks(encoder, source, stride, report, kept)
    path = Path(source)
    known = known_landmarks(path, cache, encoder.contract.fps) if encoder.contract.kind == "landmarks" else None
    if known is not None:
        made = _embed_landmarks(encoder, known, stride, report, kept)
        return replace(made, video=path.name, source=content_digest(path))
    with open_video(path, max_side=MAX_SIDE) as video:
        if encoder.contract.kind == "rgb":
            embeddings, frames = _embed_pixels(PixelWindows(encoder, stride, kept), video, encoder.contract, report)
        else:
            embeddings, frames = _embed_filmed(DenseWindows(encoder, stride, kept), video, encoder.contract, report)
    grid = Grid(encoder.contract.fps, encoder.contract.frames, stride, frames)
    return Track(embeddings, grid, encoder.hash, path.name, content_digest(path))


def _embed_landmarks(encoder: Encoder, source: Source, stride: int, report: Progress, shelf: Shelf) -> Track:
    """Embed landmarks that exist already."""
    contract = encoder.contract
    if contract.kind != "landmarks":
        raise OptionsError(f"the encoder '{encoder.name}' sees pixels, not landmarks. Give it the video itself.")
    chunks: Iterator[Landmarks]
    if isinstance(source, Landmarks):
        name, digest, chunks = "landmarks", "", (source[i : i + _CHUNK] for i in range(0, len(source), _CHUNK))
    else:
        name, digest, chunks = Path(source).name, content_digest(source), stream_pose_file(source, _CHUNK)
    check, origin = SigningCheck(name), float("nan")

    def watched() -> Iterator[Landmarks]:
        nonlocal origin
        for chunk in chunks:
            origin = origin if check.frames else float(chunk.times[0])
            yield chunk
            check.watch(chunk)
            report(check.frames, None)

    dense = DenseWindows(encoder, stride, shelf)
    embeddings, frames = _embed_chunks(dense, resample_stream(watched(), contract.fps), check)
    grid = Grid(contract.fps, contract.frames, stride, frames, origin)
    report(frames, frames)
    return Track(embeddings, grid, encoder.hash, name, digest)


def _embed_chunks(dense: "DenseWindows", chunks: Iterable[Landmarks], check: SigningCheck) -> tuple[FloatArray, int]:
    """Landmarks at the encoder's rate → features → embeddings, a chunk at a time."""
    stream = FeatureStream()
    for chunk in chunks:
        dense.push(stream.push(chunk))
    dense.push(stream.finish())
    if not dense.frames:
        raise EmptyVideoError(f"{check.name} holds no frame")
    check.finish()
    return dense.finish()


def _embed_filmed(dense: "DenseWindows", video: Video, contract: Contract, report: Progress) -> tuple[FloatArray, int]:
    """Pixels → landmarks → features → embeddings, a chunk at a time."""
    fps = contract.fps
    total = max(1, round(video.info.duration * fps)) if video.info.duration else None
    check = SigningCheck(video.info.path.name)

    def watched() -> Iterator[Landmarks]:
        for chunk in stream_landmarks(video, fps):
            yield chunk
            check.watch(chunk)
            report(check.frames, total)

    return _embed_chunks(dense, watched(), check)


def _embed_pixels(windows: PixelWindows, video: Video, contract: Contract, report: Progress) -> tuple[FloatArray, int]:
    """Pixels → windows → embeddings, a block at a time."""
    total = max(1, round(video.info.duration * contract.fps)) if video.info.duration else None
    for frame in video.resampled(contract.fps):
        windows.push(squash_and_crop(frame.image, contract.image_size or 224))
        report(windows.seen, total)
    return windows.finish()


def embed_frames(encoder: Encoder, images: Sequence[NDArray[np.uint8]], starts: Sequence[int]) -> FloatArray:
    """Embed the windows that begin at `starts` of upright RGB images → (len(starts), D) float16."""
    size, window = encoder.contract.image_size or 224, encoder.contract.frames
    frames = [squash_and_crop(image, size) for image in images]
    frames += [frames[-1]] * max(0, max(starts) + window - len(frames))
    return embed_windows(encoder, window_features(encoder), torch.from_numpy(np.stack(frames)), starts)


def embed_averaged(encoder: Encoder, batch: FloatArray) -> NDArray[np.float32]:
    """(N, …) clips of one exemplar → (D,): averaged before the embedding MLP, as in Sec. 3.3."""
    with torch.inference_mode():
        trunk = encoder.module.trunk(torch.from_numpy(np.ascontiguousarray(batch)))
        result: NDArray[np.float32] = encoder.module.mlp(trunk.mean(dim=0, keepdim=True), "dictionary")[0].numpy()
    return result


def segment_features(
    encoder: Encoder, landmarks: Landmarks, segment: Segment | None, *, mirror: bool = False
) -> NDArray[np.float32]:
    """(T, J, C) features of a stretch of landmarks, normalised with what is around it in view."""
    landmarks = landmarks.resampled(encoder.contract.fps)
    seen = features(landmarks)
    if mirror:
        seen = mirror_features(seen)
    if segment is None:
        return seen
    inside = np.flatnonzero((landmarks.times >= segment.start) & (landmarks.times <= segment.end))
    return seen[inside[0] : inside[-1] + 1] if len(inside) else seen


class DenseWindows:
    """Slides the landmark trunk over features that arrive in chunks; windows lie as `Grid` says."""

    def __init__(self, encoder: Encoder, stride: int, shelf: Shelf | None = None):
        self._encoder, self._stride = encoder, stride
        self._window = encoder.contract.frames
        self._pending: list[FloatArray] = []  # feature frames not passed through the trunk yet
        self._tail: FloatArray | None = None  # the last window - 1 frames that have passed
        self._kept = MemoryShelf() if shelf is None else shelf
        self._last: FloatArray | None = None  # the newest stride-1 embedding, in case the grid snaps to it
        self.frames = 0  # seen
        self._windows = 0  # stride-1 windows embedded

    def push(self, chunk: FloatArray) -> None:
        """Take (n, J, C) further feature frames."""
        if len(chunk):
            self.frames += len(chunk)
            self._pending.append(chunk)
            if sum(map(len, self._pending)) >= _CHUNK:
                self._pass()

    def finish(self) -> tuple[FloatArray, int]:
        """All embeddings on the grid, (T, D) float16, and how many frames there were."""
        if self.frames == 0:
            raise EmptyVideoError("there is no frame to embed")
        if self.frames < self._window:  # a short video repeats its last frame
            short = np.concatenate(self._pending)
            self._pending.append(np.repeat(short[-1:], self._window - self.frames, axis=0))
        self._pass()
        last_start = max(0, self.frames - self._window)
        if last_start % self._stride and self._last is not None:
            self._kept.add(self._last)
        return self._kept.joined(), self.frames

    def _pass(self) -> None:
        waiting = ([self._tail] if self._tail is not None else []) + self._pending
        if not waiting:
            return
        block = np.concatenate(waiting)
        self._pending = []
        self._tail = block[max(0, len(block) - self._window + 1) :]
        for start in range(0, len(block) - self._window + 1, _CHUNK):
            self._embed(block[start : start + _CHUNK + self._window - 1])

    def _embed(self, block: FloatArray) -> None:
        with torch.inference_mode():
            dense = self._encoder.module.dense(torch.from_numpy(np.ascontiguousarray(block))[None])[0].numpy()
        first = -self._windows % self._stride
        if len(dense):
            self._kept.add(dense[first :: self._stride].astype(np.float16))
            self._last = dense[-1:].astype(np.float16)
        self._windows += len(dense)
