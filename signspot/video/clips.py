"""Frames become clips: pixels to floats, once per frame, and windows over them without copying."""

import os
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from signspot.errors import EmptyVideoError, OptionsError
from signspot.video.probing import Image
from signspot.video.reader import open_video

Pixels = NDArray[np.float32]
Box = tuple[float, float, float, float]

_BLOCK_WINDOWS = 4  # a block of memory holds this many windows' frames: a quarter of them is copied to the next


def squash_and_crop(image: Image, size: int = 224, squash: int | None = None, bbox: Box | None = None) -> Pixels:
    """Prepare a picture for the RGB trunk: signer's box, squashed to a square, centre crop, centred on zero.

    The resize is OpenCV's bilinear one, without smoothing: the public weights were trained on frames that were
    scaled so, and have never seen smoother ones.

    Args:
        image: (H, W, 3) RGB.
        size: side of the crop, in pixels.
        squash: side of the square to which the picture is scaled, whatever its aspect; None: as 256 to 224, so that a
            crop of any size sees the same part of the picture.
        bbox: location of the signer: y0, x0, y1, x1 in [0, 1]; parts outside of the picture are left out.

    Returns:
        (3, size, size) in [-0.5, 0.5].
    """
    import cv2

    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise OptionsError(f"a picture must be uint8 of shape (H, W, 3); got {image.dtype} {image.shape}")
    side = squashed_side(size) if squash is None else squash
    if not 1 <= size <= side:
        raise OptionsError(f"the crop must be between 1 and {side} pixels; got {size}")
    part = image if bbox is None else _cut(image, bbox)
    square = cv2.resize(part, (side, side), interpolation=cv2.INTER_LINEAR)
    edge = (side - size) // 2
    crop = square[edge : edge + size, edge : edge + size].transpose(2, 0, 1)
    pixels: Pixels = np.ascontiguousarray(crop, dtype=np.float32)
    pixels /= 255.0
    pixels -= 0.5
    return pixels


def squashed_side(size: int) -> int:
    """The side of the square of which a centre crop of `size` pixels is cut: 256 for 224."""
    return round(size * 256 / 224)


def _cut(image: Image, bbox: Box) -> Image:
    y0, x0, y1, x1 = bbox
    if not (y0 < y1 and x0 < x1 and y0 < 1 and x0 < 1 and y1 > 0 and x1 > 0):  # false for NaN, too
        raise OptionsError(f"a signer's box is y0, x0, y1, x1 with 0 <= y0 < y1 <= 1 and 0 <= x0 < x1 <= 1; got {bbox}")
    height, width = image.shape[:2]
    top, left = int(max(0.0, y0) * height), int(max(0.0, x0) * width)
    bottom, right = round(min(1.0, y1) * height), round(min(1.0, x1) * width)
    return image[top : max(bottom, top + 1), left : max(right, left + 1)]


def clips(frames: Iterable[Pixels], window: int = 16, stride: int = 1) -> Iterator[tuple[int, Pixels]]:
    """Slide a window over a stream of frames; the windows are those of `Grid`.

    Starts are 0, stride, 2 stride, ...; the last one snaps to the end, so that no frame is left out; a video
    shorter than a window repeats its last frame.

    Args:
        frames: (C, H, W) each.
        window: frames in a clip.
        stride: frames between the starts of two clips.

    Yields:
        The first frame's index, and the clip, (C, F, H, W): a read-only view. Views share memory with their
        neighbours and stay valid for as long as they are held.

    Raises:
        EmptyVideoError: there is no frame.
    """
    if window < 1 or stride < 1:
        raise OptionsError(f"window and stride must be at least 1 frame; got {window} and {stride}")
    tail = _Tail(window)
    last = -1  # start of the latest clip
    for index, frame in enumerate(frames):
        tail.push(frame)
        start = index + 1 - window
        if start >= 0 and start % stride == 0:
            last = start
            yield start, tail.clip()
    if tail.count == 0:
        raise EmptyVideoError("there is no frame to cut clips from. Give a video of at least one frame.")
    end = max(0, tail.count - window)
    if last != end:
        tail.fill()
        yield end, tail.clip()


class _Tail:
    """The latest frames, each stored once in a block of memory that is never written twice.

    A ring buffer proper would have to copy every window out of it; here only the frames of one window move
    when a block is full, and a clip is a view.
    """

    def __init__(self, window: int):
        self.count = 0  # frames seen
        self._window = window
        self._used = 0  # frames in the block
        self._block: Pixels | None = None  # (C, frames, H, W)

    def push(self, frame: Pixels) -> None:
        """Append a frame (C, H, W)."""
        if self._block is None:
            self._block = self._new_block(frame.shape)
        elif self._used == self._block.shape[1]:
            self._move(self._block)
        if frame.shape != self._block[:, 0].shape:
            raise OptionsError(f"frame {self.count} has shape {frame.shape}; those before {self._block[:, 0].shape}")
        self._block[:, self._used] = frame
        self._used += 1
        self.count += 1

    def fill(self) -> None:
        """Repeat the last frame until there is one window."""
        assert self._block is not None
        while self._used < self._window:
            self._block[:, self._used] = self._block[:, self._used - 1]
            self._used += 1

    def clip(self) -> Pixels:
        """The latest window, (C, F, H, W)."""
        assert self._block is not None
        view = self._block[:, self._used - self._window : self._used]
        view.flags.writeable = False
        return view

    def _new_block(self, shape: tuple[int, ...]) -> Pixels:
        channels, height, width = shape
        return np.empty((channels, _BLOCK_WINDOWS * self._window, height, width), dtype=np.float32)

    def _move(self, full: Pixels) -> None:
        keep = self._window - 1
        self._block = self._new_block((full.shape[0], *full.shape[2:]))
        self._block[:, :keep] = full[:, full.shape[1] - keep :]
        self._used = keep


def thumbnail(path: str | os.PathLike[str], time: float | None = None, height: int = 96) -> Image:
    """Give the frame shown at `time` seconds, made `height` pixels high.

    Args:
        path: a video.
        time: seconds; the middle of the video, where a sign is at its clearest, if None.
        height: pixels.

    Returns:
        (height, W, 3) RGB.
    """
    if height < 1:
        raise OptionsError(f"a thumbnail must be at least 1 pixel high; got {height}")
    import cv2

    with open_video(path) as video:
        image = video.frame_at(video.info.duration / 2 if time is None else time).image
    width = max(1, round(image.shape[1] * height / image.shape[0]))
    small: Image = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    return small
