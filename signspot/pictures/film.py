"""A moving picture of a result: the video above its curves, the cursor moving, as in Figs. 6 and 7 of the paper."""

import os
from collections.abc import Iterator
from functools import lru_cache

import cv2
import numpy as np

from signspot.errors import OptionsError
from signspot.pictures.curves import View, clock
from signspot.pictures.lettering import text_picture
from signspot.pictures.pages import WIDTH, Image, draw_page, fit, page_spans
from signspot.pictures.suffixes import check_picture
from signspot.progress import Progress, silent
from signspot.video.reader import open_video
from signspot.video.writer import VideoWriter

FPS = 25.0
_VIDEO_HEIGHT = 540  # pixels, as are all lengths here
_CAPTION_HEIGHT = 48
_TEXT_HEIGHT = 34
_MOST_CAPTIONS = 3
_BACKGROUND = 24


def film(view: View, path: str | os.PathLike[str], progress: Progress | None = None) -> None:
    """Write an .mp4 of the video above its moving curves, with the word and score of each spotting as it comes.

    The video is read and written frame by frame; curves are drawn once a stretch of about twenty seconds.

    Raises:
        OptionsError: the view has no video.
        VideoError: the video cannot be read.
        OutputError: the suffix is not .mp4, or the film cannot be written.
    """
    if view.video is None:
        raise OptionsError(f"cannot film '{view.title}': there is no video behind it. Use --plot or --html.")
    check_picture("film", path)
    report = progress or silent
    with open_video(view.video, max_side=WIDTH) as video, VideoWriter(path, FPS) as writer:
        total = max(1, round(video.info.duration * FPS))
        pages = _pages(view, video.info.duration)
        for done, frame in enumerate(video.resampled(FPS), start=1):
            writer.add(_compose(view, frame.image, frame.time, next(pages)))
            report(done, max(done, total))


def _pages(view: View, duration: float) -> Iterator[Image]:
    """The curves with the cursor at each frame's time, without end: one page at a time is held."""
    spans = page_spans(duration)
    page = draw_page(view, spans[0])
    number = 0
    while True:
        time = number / FPS
        if time >= page.span.end and page.span.end < spans[-1].end:
            page = draw_page(view, next(span for span in spans if span.end > time or span is spans[-1]))
        yield page.at(time)
        number += 1


def _compose(view: View, image: Image, time: float, curves: Image) -> Image:
    height = _VIDEO_HEIGHT + _CAPTION_HEIGHT + curves.shape[0]
    canvas = np.full((height, WIDTH, 3), _BACKGROUND, np.uint8)
    shown = fit(image, WIDTH, _VIDEO_HEIGHT)
    top, left = (_VIDEO_HEIGHT - shown.shape[0]) // 2, (WIDTH - shown.shape[1]) // 2
    canvas[top : top + shown.shape[0], left : left + shown.shape[1]] = shown
    canvas[_VIDEO_HEIGHT + _CAPTION_HEIGHT :] = curves
    _write_caption(canvas, view, time)
    return canvas


def _write_caption(canvas: Image, view: View, time: float) -> None:
    """Write the time at the left and, in the middle, the spottings that `time` lies in."""
    top = _VIDEO_HEIGHT + (_CAPTION_HEIGHT - _TEXT_HEIGHT) // 2
    cv2.putText(canvas, clock(time, 1), (12, top + 23), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (170,) * 3, 1, cv2.LINE_AA)
    now = [spotting for spotting in view.spottings if spotting.start <= time < spotting.end]
    now.sort(key=lambda spotting: -spotting.score)
    texts = [_text(f"{spotting.word}  {spotting.score:.2f}") for spotting in now[:_MOST_CAPTIONS]]
    left = max(110, (WIDTH - sum(text.shape[1] + 36 for text in texts)) // 2)
    for text in texts:
        _blend(canvas, text, top, left)
        left += text.shape[1] + 36


@lru_cache(maxsize=64)
def _text(text: str) -> Image:
    return text_picture(text, _TEXT_HEIGHT)


def _blend(canvas: Image, text: Image, top: int, left: int) -> None:
    width = min(text.shape[1], canvas.shape[1] - left)
    if width <= 0:
        return
    place = canvas[top : top + text.shape[0], left : left + width]
    share = text[:, :width, 3:] / 255
    place[:] = (place * (1 - share) + text[:, :width, :3] * share).astype(np.uint8)
