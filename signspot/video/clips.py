"""Pictures as networks and people want them: cropped and centred on zero, or small."""

import os

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.video.probing import Image
from signspot.video.reader import open_video

Pixels = NDArray[np.float32]
Box = tuple[float, float, float, float]


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
