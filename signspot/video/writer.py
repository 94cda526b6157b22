"""Writing of videos: pictures become an H.264 file that browsers play, whole or not at all."""

import math
import os
from collections.abc import Iterable
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import av
import numpy as np
from av.video.reformatter import ColorRange, Colorspace, VideoReformatter

from signspot.errors import OptionsError, OutputError
from signspot.io.files import atomic_write
from signspot.video.containers import create_container
from signspot.video.probing import Image

_SUFFIXES = (".mp4", ".m4v", ".mov", ".mkv")
_BT709 = 1  # the number of BT.709 in H.264's tables of matrices, primaries and transfer curves
_LIMITED = 1  # the number of the limited range (16 to 235), the only one that all players honour


class VideoWriter:
    """Writes a video in a `with` block; the file appears under its name when the block ends well.

    Args:
        path: .mp4, .m4v, .mov or .mkv.
        fps: frames per second.
        size: width and height in pixels to which pictures are scaled; without it, all pictures have the size
            of the first. An odd side gets one more row or column, a copy of the last: browsers' H.264 needs
            even ones.
    """

    def __init__(self, path: str | os.PathLike[str], fps: float, size: tuple[int, int] | None = None):
        self.path = Path(path)
        if self.path.suffix.lower() not in _SUFFIXES:
            raise OptionsError(f"cannot write a video to {self.path}: name it {', '.join(_SUFFIXES[:-1])} or .mkv")
        if not (math.isfinite(fps) and 0 < fps <= 1000):
            raise OptionsError(f"frames per second must be above 0 and at most 1000; got {fps}")
        if size is not None and min(size) < 1:
            raise OptionsError(f"a video must be at least 1 x 1 pixel; got {size[0]} x {size[1]}")
        self._rate = Fraction(fps).limit_denominator(1001)
        self._size = size
        self._shape: tuple[int, ...] | None = None  # of the first picture
        self._frames = 0
        self._reformatter = VideoReformatter()
        self._container: Any = None
        self._stream: Any = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            beside = stack.enter_context(atomic_write(self.path))
            self._container = _open_output(beside, self.path)
            stack.callback(self._abandon)
            self._cleanup = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            # The error makes `atomic_write` remove the unfinished file.
            self._cleanup.__exit__(kind, error, trace)
            return
        with self._cleanup:
            self._finish()

    def add(self, image: Image) -> None:
        """Append one picture, (H, W, 3) RGB."""
        if self._container is None:
            raise OutputError(f"{self.path} is not being written: add pictures inside the 'with' block")
        self._check(image)
        try:
            if self._stream is None:
                self._stream = self._add_stream()
            frame = self._encodable(image)
            frame.pts = self._frames
            frame.time_base = 1 / self._rate
            self._container.mux(self._stream.encode(frame))
        except av.error.FFmpegError as error:
            raise _as_output_error(self.path, error) from error
        self._frames += 1

    def _check(self, image: Image) -> None:
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
            raise OptionsError(f"a picture must be uint8 of shape (H, W, 3); got {image.dtype} {image.shape}")
        if self._shape is None:
            self._shape = image.shape
        elif self._size is None and image.shape != self._shape:
            raise OptionsError(
                f"all pictures of {self.path} must have the shape of the first, {self._shape}; picture "
                f"{self._frames} has {image.shape}. Give a size to scale them."
            )

    def _add_stream(self) -> Any:
        assert self._shape is not None
        width, height = self._size or (self._shape[1], self._shape[0])
        # Without macroblock-tree rate control the same frames give the same bytes, run after run.
        options = {"preset": "veryfast", "crf": "20", "x264-params": "mbtree=0"}
        stream = self._container.add_stream("libx264", rate=self._rate, options=options)
        stream.width, stream.height, stream.pix_fmt = _even(width), _even(height), "yuv420p"
        context = stream.codec_context
        context.colorspace = context.color_primaries = context.color_trc = _BT709
        context.color_range = _LIMITED
        context.thread_count = 1  # with more, the bytes would depend on the machine's cores
        return stream

    def _encodable(self, image: Image) -> Any:
        if self._size is None:
            height, width = image.shape[:2]
            image = np.pad(image, ((0, _even(height) - height), (0, _even(width) - width), (0, 0)), mode="edge")
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")
        return self._reformatter.reformat(
            frame,
            self._stream.width,
            self._stream.height,
            "yuv420p",
            dst_colorspace=Colorspace.ITU709,
            dst_color_range=ColorRange.MPEG,
        )

    def _finish(self) -> None:
        if self._stream is None:
            raise OutputError(f"cannot write {self.path}: there are no frames to write.")
        try:
            self._container.mux(self._stream.encode(None))
            self._container.close()
        except av.error.FFmpegError as error:
            raise _as_output_error(self.path, error) from error

    def _abandon(self) -> None:
        """Let go of the file; errors of closing it are ignored, for the reason for giving up is known."""
        container, self._container, self._stream = self._container, None, None
        try:
            container.close()
        except (av.error.FFmpegError, OSError, ValueError):
            return


def write_video(path: str | os.PathLike[str], frames: Iterable[Image], fps: float) -> Path:
    """Write pictures, each (H, W, 3) RGB, as a video and give its path."""
    with VideoWriter(path, fps) as writer:
        for image in frames:
            writer.add(image)
    return writer.path


def _open_output(path: Path, target: Path) -> Any:
    try:
        return create_container(path, _container_options(path))
    except av.error.FFmpegError as error:
        raise _as_output_error(target, error) from error


def _container_options(path: Path) -> dict[str, str]:
    """The index goes first, so that browsers play while they load."""
    return {} if path.suffix.lower() == ".mkv" else {"movflags": "+faststart"}


def _as_output_error(path: Path, error: Exception) -> Exception:
    """An OSError goes on as it is, for `atomic_write` explains it; anything else is explained here."""
    return error if isinstance(error, OSError) else OutputError(f"cannot write {path}: {error}")


def _even(side: int) -> int:
    return side + side % 2
