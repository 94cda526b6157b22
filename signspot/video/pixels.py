"""Decoded frames become upright RGB pictures of one size; only frames that are used pay for it."""

from typing import Any

import av
import numpy as np
from av.video.reformatter import VideoReformatter

from signspot.errors import OptionsError, VideoError
from signspot.video.orientation import Image
from signspot.video.probing import Source


class RgbConverter:
    """Converts the frames of one video; keeps the scaler between frames, which is half of the cost.

    Frames whose size changes on the way (as in browsers' recordings) are scaled to the size of the first.
    """

    def __init__(self, source: Source, max_side: int | None = None):
        self._source = source
        self._reformatter = VideoReformatter()
        width, height = fitted(source.info.width, source.info.height, max_side)
        self._width, self._height = source.orientation.displayed(width, height)
        self._last: tuple[Any, Image] | None = None

    def __call__(self, picture: Any) -> Image:
        """Convert a decoded frame to (H, W, 3) RGB, upright; the same frame twice gives the same array."""
        if self._last is None or self._last[0] is not picture:
            self._last = (picture, self._convert(picture))
        return self._last[1]

    def _convert(self, picture: Any) -> Image:
        # Averaging areas keeps fine structure from flickering when a picture shrinks.
        shrinks = self._width < picture.width or self._height < picture.height
        try:
            rgb = self._reformatter.reformat(
                picture, self._width, self._height, "rgb24", interpolation="AREA" if shrinks else "BILINEAR"
            )
        except (av.error.FFmpegError, ValueError) as error:
            raise VideoError(
                f"cannot convert a frame of {self._source.info.path} ({picture.format.name}) to RGB: {error}"
            ) from error
        return self._source.orientation.upright(np.asarray(rgb.to_ndarray(), dtype=np.uint8))


def fitted(width: int, height: int, max_side: int | None) -> tuple[int, int]:
    """The size, aspect kept, whose longer side is at most `max_side` pixels; never larger than it was."""
    if max_side is None or max(width, height) <= max_side:
        return width, height
    if max_side < 1:
        raise OptionsError(f"max_side must be at least 1 pixel; got {max_side}")
    scale = max_side / max(width, height)
    return max(1, round(width * scale)), max(1, round(height * scale))
