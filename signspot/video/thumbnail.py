"""A small picture of a video, for plots and reports."""

import os

from signspot.errors import OptionsError
from signspot.video.orientation import Image
from signspot.video.reader import open_video


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
