"""From a source to a track: decode once, embed every window, in bounded memory but for the track itself."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signspot.embedding.inputs import READERS, UNKEPT, EstimateOptions, sign_frames
from signspot.errors import EmptyVideoError, OptionsError
from signspot.io.files import content_digest
from signspot.io.progress import Progress, silent
from signspot.landmarks.video_estimation import Source
from signspot.models.backends import Calibration
from signspot.models.batch_norm import Domain
from signspot.models.encoder import Contract, Encoder
from signspot.models.encoder_network import WindowFunction
from signspot.models.frame_coder import stretched
from signspot.types import Grid, Segment, Track, Windows
from signspot.video.reader import open_video

FloatArray = NDArray[np.floating[Any]]
_AHEAD = 2  # chunks that are decoded before they are wanted
Output = Literal["embeddings", "features"]  # of the whole encoder, or of its trunk


def embed(
    encoder: Encoder,
    source: Source,
    stride: int = 1,
    progress: Progress | None = None,
    estimating: EstimateOptions = UNKEPT,
) -> Track:
    """Embed every window of a source, on the encoder's device.

    Args:
        encoder: what embeds.
        source: the path of a video or of a `.pose` file, or landmarks.
        stride: frames between two windows, at the encoder's frame rate.
        progress: called with frames done and, where known, frames in all.
        estimating: how landmarks of a video are come by.

    Returns:
        A track of (T, D) float16 embeddings, and of frame codes where the encoder gives them.
    """
    report, contract = progress or silent, encoder.contract
    embedder = SourceEmbedder(encoder, stride)
    opened = READERS[contract.kind].open(contract, source, estimating, report)
    for chunk in made_ahead(opened.chunks) if contract.kind == "rgb" else opened.chunks:
        embedder.push(chunk)
    embedded = embedder.finish()
    grid = Grid(contract.fps, contract.frames, stride, embedded.frames, opened.origin)
    report(embedded.frames, embedded.frames)
    return Track(embedded.rows, grid, encoder.hash, opened.name, opened.digest, embedded.codes)


def made_ahead(chunks: Iterable[FloatArray]) -> Iterator[FloatArray]:
    """The same chunks, of which another thread makes the next ones: a video is decoded while windows are computed."""
    ready: Queue[FloatArray | BaseException | None] = Queue(_AHEAD)
    is_over = Event()

    def make() -> None:
        try:
            for chunk in chunks:
                ready.put(chunk)
                if is_over.is_set():
                    return
            ready.put(None)
        except BaseException as error:
            ready.put(error)

    thread = Thread(target=make, daemon=True)
    thread.start()
    try:
        while (chunk := ready.get()) is not None:
            if isinstance(chunk, BaseException):
                raise chunk
            yield chunk
    finally:
        is_over.set()
        with suppress(Empty):  # there is room for the chunk that is being made
            while True:
                ready.get_nowait()
        thread.join()


def source_features(encoder: Encoder, chunks: Iterable[FloatArray]) -> FloatArray:
    """Frames at the encoder's rate, (n, ...) at a time → (T, D) float16 trunk features of all windows of stride 1."""
    embedder = SourceEmbedder(encoder, 1, output="features")
    for chunk in chunks:
        embedder.push(chunk)
    return embedder.finish().rows


@dataclass(frozen=True, slots=True)
class Embedded:
    """All of a source."""

    rows: FloatArray  # (T, D) float16, one per window on the grid
    codes: FloatArray | None  # (frames, C) float16, where the encoder gives frame codes
    frames: int  # that there were


class SourceEmbedder:
    """Slides a trunk over frames that arrive in chunks; windows lie as `Grid` says. Memory holds one block of frames.

    It knows nothing of the kind of input: the trunk knows how its windows are computed.
    """

    def __init__(self, encoder: Encoder, stride: int, *, output: Output = "embeddings"):
        if stride < 1:
            raise OptionsError(f"stride must be at least 1 frame; got {stride}")
        self._encoder, self._stride, self._output = encoder, stride, output
        self._window, self._block = encoder.contract.frames, encoder.module.trunk.block
        self._features = window_features(encoder)
        self._frames: list[FloatArray] = []  # chunks of all frames that a window to come may begin with
        self._waiting = 0  # frames in these chunks
        self._first = 0  # which frame of the source they begin with
        self._next = 0  # which frame the next window begins with, unless it is the last one, which ends with the source
        self._done = 0  # windows embedded
        self._rows: list[FloatArray] = []  # embeddings, in pieces
        self._codes: list[FloatArray] = []
        self._coder = CodeStream(encoder) if encoder.contract.codes else None

    @property
    def seen(self) -> int:
        """The number of frames so far."""
        return self._first + self._waiting

    def push(self, chunk: FloatArray) -> None:
        """Take (n, ...) further frames."""
        if not len(chunk):
            return
        if self._coder is not None:
            self._codes.append(self._coder.push(chunk))
        self._frames.append(chunk)
        self._waiting += len(chunk)
        span = (self._block - 1) * self._stride + self._window
        while self.seen >= self._next + span:
            frames = self._joined()
            self._embed(frames, [self._next - self._first + number * self._stride for number in range(self._block)])
            self._next += self._block * self._stride
            passed = self._next - self._stride + 1 - self._first  # the last window may begin right after the one before
            self._first += passed
            self._frames, self._waiting = [frames[passed:]], len(frames) - passed

    def finish(self) -> Embedded:
        """Embed what is left, and give all."""
        frames = self.seen
        if frames == 0:
            raise EmptyVideoError("there is no frame to embed")
        rest = [
            int(start) - self._first for start in Grid(1.0, self._window, self._stride, frames).starts[self._done :]
        ]
        waiting = self._joined()
        if frames < self._window:  # a short video repeats its last frame
            waiting = np.concatenate([waiting, np.repeat(waiting[-1:], self._window - frames, axis=0)])
        for begin in range(0, len(rest), self._block):
            self._embed(waiting, rest[begin : begin + self._block])
        if self._coder is not None:
            self._codes.append(self._coder.finish())
        return Embedded(np.concatenate(self._rows), np.concatenate(self._codes) if self._codes else None, frames)

    def _joined(self) -> FloatArray:
        if len(self._frames) != 1:
            self._frames = [np.concatenate(self._frames)]
        return self._frames[0]

    def _embed(self, frames: FloatArray, starts: Sequence[int]) -> None:
        first, last = starts[0], starts[-1] + self._window
        shifted = [start - first for start in starts]
        self._rows.append(embed_windows(self._encoder, self._features, frames[first:last], shifted, self._output))
        self._done += len(starts)


class CodeStream:
    """Codes of frames that arrive in chunks; beyond the ends, the first and the last frame are repeated."""

    def __init__(self, encoder: Encoder):
        self._encoder = encoder
        self._reach = encoder.module.trunk.code_reach
        self._tail: FloatArray | None = None  # the last frames, which the codes to come need

    def push(self, chunk: FloatArray) -> FloatArray:
        """Take (n, ...) further frames; give (m, C) float16 codes of those frames that have all their neighbours."""
        before = np.repeat(chunk[:1], self._reach, axis=0) if self._tail is None else self._tail
        return self._encode(np.concatenate([before, chunk]))

    def finish(self) -> FloatArray:
        """(m, C) codes of the last frames."""
        assert self._tail is not None, "a video without a frame is refused before"
        return self._encode(np.concatenate([self._tail, np.repeat(self._tail[-1:], self._reach, axis=0)]))

    @torch.inference_mode()
    def _encode(self, frames: FloatArray) -> FloatArray:
        self._tail = frames[max(0, len(frames) - 2 * self._reach) :]
        if len(frames) <= 2 * self._reach:
            return np.empty((0, self._encoder.contract.codes), np.float16)
        codes = self._encoder.module.frame_codes(on_device(self._encoder, frames), "continuous")
        rows: FloatArray = codes.cpu().numpy().astype(np.float16)
        return rows


@torch.inference_mode()
def embed_windows(
    encoder: Encoder,
    features: WindowFunction,
    frames: FloatArray,
    starts: Sequence[int],
    output: Output = "embeddings",
) -> FloatArray:
    """(N, ...) frames and the windows' first frames → (len(starts), D) float16, of continuous signing."""
    trunk_features = features(on_device(encoder, frames), starts)
    embeddings: Tensor = encoder.module.mlp(trunk_features, "continuous") if output == "embeddings" else trunk_features
    rows: FloatArray = embeddings.cpu().numpy().astype(np.float16)
    return rows


@torch.inference_mode()
def clip_features(encoder: Encoder, clips: FloatArray, domain: Domain) -> NDArray[np.float32]:
    """(n, F, ...) clips → (n, 1024) features of the trunk, by its layers of a domain."""
    features: NDArray[np.float32] = _clip_features(encoder, clips, domain).cpu().numpy()
    return features


@torch.inference_mode()
def embed_features(encoder: Encoder, features: FloatArray, domain: Domain) -> NDArray[np.float32]:
    """(..., 1024) features of the trunk → (..., D) embeddings of unit norm."""
    embedded: Tensor = encoder.module.mlp(on_device(encoder, features).float(), domain)
    rows: NDArray[np.float32] = embedded.cpu().numpy()
    return rows


@torch.inference_mode()
def embed_averaged(encoder: Encoder, clips: FloatArray) -> NDArray[np.float32]:
    """(n, F, ...) clips of one exemplar → (D,): averaged before the embedding MLP, as in Sec. 3.3."""
    averaged = _clip_features(encoder, clips, "dictionary").mean(dim=0, keepdim=True)
    row: NDArray[np.float32] = encoder.module.mlp(averaged, "dictionary")[0].cpu().numpy()
    return row


@torch.inference_mode()
def embed_codes(
    encoder: Encoder, views: Sequence[NDArray[np.float32]], first: int, last: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Code and embed an isolated sign, with the frames around it in view.

    Args:
        encoder: one that gives frame codes.
        views: M of (T, J, C) landmark features of all frames.
        first: frame of the sign.
        last: frame of the sign.

    Returns:
        (M, D) embeddings of unit norm and (M, L, C) frame codes.
    """
    module, reach = encoder.module, encoder.module.trunk.code_reach
    padded = [np.pad(view, ((reach, reach), (0, 0), (0, 0)), mode="edge") for view in views]
    coded = [module.frame_codes(on_device(encoder, view), "dictionary") for view in padded]
    joined = torch.stack([stretched(codes, first, last) for codes in coded])
    embeddings: Tensor = module.mlp(module.trunk.pooled(joined), "dictionary")
    return embeddings.cpu().numpy(), joined.cpu().numpy()


def on_device(encoder: Encoder, array: FloatArray) -> Tensor:
    """An array as a tensor where the encoder's weights are; the only way there and back is in this module."""
    return torch.from_numpy(np.ascontiguousarray(array)).to(encoder.device)


def _clip_features(encoder: Encoder, clips: FloatArray, domain: Domain) -> Tensor:
    batch = on_device(encoder, clips).movedim(1, encoder.module.trunk.time_axis)
    return encoder.module.features(batch, domain)


_SEGMENTS = 5  # spread over the video


def window_features(encoder: Encoder) -> WindowFunction:
    """As `SignEncoder.window_features` of continuous signing, on the backend that the encoder was moved to."""
    trunk = encoder.module.trunk
    calibration, length = trunk.backend.calibration, trunk.block + trunk.frames - 1
    examples = None if calibration is None else partial(read_examples, calibration, encoder.contract, length)
    return encoder.module.window_features("continuous", examples)


def read_examples(calibration: Calibration, contract: Contract, length: int) -> Tensor:
    """(5, length, 3, H, W) segments of a video, from its beginning to its end, as an rgb trunk sees them.

    Raises:
        OptionsError: the video is another one than it was.
        VideoError: it cannot be read.
    """
    path = calibration.video
    if content_digest(path) != calibration.digest:
        raise OptionsError(f"{path}, on which int8 is calibrated, was changed meanwhile. Start again")
    lasts = length / contract.fps
    with open_video(path) as video:
        end = max(0.0, (video.info.duration or 0.0) - lasts)
    segments = [_segment_frames(path, contract, float(start), length) for start in np.linspace(0.0, end, _SEGMENTS)]
    return torch.from_numpy(np.stack(segments))


def _segment_frames(path: Path, contract: Contract, start: float, length: int) -> np.ndarray:
    """(length, 3, H, W) frames from a time on; a short video repeats its last one."""
    frames = sign_frames(path, contract, Segment(start, start + length / contract.fps))[:length]
    return np.concatenate([frames, np.repeat(frames[-1:], length - len(frames), axis=0)])


def refine(encoder: Encoder, path: str | PathLike[str], coarse: Track, candidates: Iterable[int]) -> Windows:
    """Coarse to fine: add all stride-1 windows next to candidate windows of a coarse track.

    Args:
        encoder: the one that made `coarse`.
        path: the video.
        coarse: a track with a stride above 1.
        candidates: indices of windows in `coarse` that may be near a peak.
    """
    grid = coarse.grid
    fine_starts = _neighbours(grid, candidates)
    if len(fine_starts) == 0:
        return Windows.of(coarse)
    fine_embeddings = [_embed_run(encoder, path, run) for run in _runs(fine_starts, grid.window)]
    starts = np.concatenate([grid.starts, fine_starts])
    embeddings = np.concatenate([coarse.embeddings, *fine_embeddings])
    order = np.argsort(starts, kind="stable")
    times = grid.origin + (starts[order] + grid.window // 2) / grid.fps
    return Windows(times, embeddings[order])


def _neighbours(grid: Grid, candidates: Iterable[int]) -> NDArray[np.int64]:
    """First frames of all windows within a stride of a candidate that are not in the coarse grid."""
    last = max(0, grid.frames - grid.window)
    starts: set[int] = set()
    for index in candidates:
        start = int(grid.starts[index])
        starts.update(range(max(0, start - grid.stride + 1), min(last, start + grid.stride - 1) + 1))
    return np.array(sorted(starts.difference(grid.starts.tolist())), np.int64)


def _runs(starts: NDArray[np.int64], window: int) -> list[NDArray[np.int64]]:
    """Split sorted first frames where nothing is shared between neighbouring windows."""
    return np.split(starts, np.flatnonzero(np.diff(starts) > window) + 1)


def _embed_run(encoder: Encoder, path: str | PathLike[str], starts: NDArray[np.int64]) -> FloatArray:
    """Decode the frames of one run once and embed its windows."""
    contract = encoder.contract
    first, last = int(starts[0]), int(starts[-1]) + contract.frames
    frames = sign_frames(Path(path), contract, Segment(first / contract.fps, last / contract.fps))
    missing = last - first - len(frames)
    if missing > 0:  # a short video repeats its last frame
        frames = np.concatenate([frames, np.repeat(frames[-1:], missing, axis=0)])
    return embed_windows(encoder, window_features(encoder), frames, (starts - first).tolist())
