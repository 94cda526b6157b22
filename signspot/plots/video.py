"""A video of a result: the input beside the moving curve."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import cv2
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.io.progress import Progress, silent
from signspot.plots.curves import Panel, View, clock, panels
from signspot.plots.plot import DOTS_PER_INCH, check_plot_path, draw_curves, lettering, text_image
from signspot.types import Segment
from signspot.video.reader import open_video
from signspot.video.writer import VideoWriter

Image = NDArray[np.uint8]

FPS = 25.0
WIDTH = 960  # pixels, as are all lengths here
MOST_ROWS = 4  # words in one page of curves
_VIDEO_HEIGHT, _CAPTION_HEIGHT, _TEXT_HEIGHT = 540, 48, 34
_MOST_CAPTIONS = 3
_BACKGROUND = 24  # grey level
_ROW, _FOOT = 104, 34
_LEFT, _RIGHT = 210, 20  # margins of the curves; thumbnails lie in the left one
_PAGE = 20.0  # seconds
_CURSOR = (196, 30, 58)


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """The curves over one segment, as an image."""

    span: Segment
    image: Image  # (H, WIDTH, 3) RGB

    def at(self, time: float) -> Image:
        """The image with the cursor at `time`: (H, WIDTH, 3) RGB."""
        image = self.image.copy()
        share = (time - self.span.start) / max(self.span.duration, 1e-9)
        x = round(_LEFT + min(max(share, 0.0), 1.0) * (WIDTH - _LEFT - _RIGHT))
        cv2.line(image, (x, 6), (x, image.shape[0] - _FOOT), _CURSOR, 2, cv2.LINE_AA)
        return image


def page_spans(duration: float) -> list[Segment]:
    """Cut a video into segments of about twenty seconds, as equal as can be."""
    count = max(1, round(duration / _PAGE))
    edges = np.linspace(0.0, max(duration, 0.04), count + 1)
    return [Segment(float(start), float(end)) for start, end in pairwise(edges)]


def _height(view: View) -> int:
    """The height of every page of a view; even, as video wants it."""
    return _ROW * _rows(view) + _FOOT


def _rows(view: View) -> int:
    return max(1, min(MOST_ROWS, len(panels(view)[0])))


def draw_page(view: View, span: Segment) -> Page:
    """Draw the curves over `span`: the words spotted in it first, at most four."""
    drawn_panels, left_out = panels(view, MOST_ROWS, span)
    height = _height(view)
    figure = Figure(figsize=(WIDTH / DOTS_PER_INCH, height / DOTS_PER_INCH), dpi=DOTS_PER_INCH, facecolor="white")
    canvas = FigureCanvasAgg(figure)
    for row, panel in enumerate(drawn_panels):
        bottom = height - _ROW * (row + 1) + 10
        box = (_LEFT / WIDTH, bottom / height, (WIDTH - _LEFT - _RIGHT) / WIDTH, (_ROW - 18) / height)
        axes = figure.add_axes(box)
        draw_curves(axes, panel, view, span)
        axes.tick_params(labelsize=8, labelbottom=row == len(drawn_panels) - 1)
        _write_word(figure, panel, (bottom + _ROW - 34) / height)
    if left_out:
        figure.text(12 / WIDTH, 12 / height, f"{len(left_out)} more not shown", size=8, color="#555555", va="center")
    canvas.draw()
    image = np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])
    for row, panel in enumerate(drawn_panels):
        _paste_thumbnail(image, panel, _ROW * row + 34)
    return Page(span, image)


def _write_word(figure: Figure, panel: Panel, up: float) -> None:
    word, fonts = lettering(panel.word)
    short = word if len(word) <= 16 else word[:15] + "…"
    figure.text(12 / WIDTH, up, short, size=11, weight="bold", va="center", **fonts)


def _paste_thumbnail(image: Image, panel: Panel, top: int) -> None:
    """Put the thumbnail of the word's best exemplar beside its curves, framed in its colour."""
    drawn = [curve for curve in panel.curves if curve.thumbnail is not None]
    if not drawn:
        return
    spotted = [s.exemplar for s in sorted(panel.spottings, key=lambda s: -s.score)]
    curve = next((c for name in spotted for c in drawn if c.exemplar == name), drawn[0])
    small = fit(np.asarray(curve.thumbnail), _LEFT - 70, _ROW - 42)
    height, width = small.shape[:2]
    image[top : top + height, 12 : 12 + width] = small
    colour = panel.colour(curve.exemplar)
    rgb = tuple(int(colour[offset : offset + 2], 16) for offset in (1, 3, 5))
    cv2.rectangle(image, (12, top), (12 + width - 1, top + height - 1), rgb, 2)


def fit(image: Image, width: int, height: int) -> Image:
    """Scale an image to fit into width × height, its aspect kept: (h, w, 3)."""
    scale = min(width / image.shape[1], height / image.shape[0])
    size = (max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale)))
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, size, interpolation=how), dtype=np.uint8)


def write_result_video(view: View, path: str | os.PathLike[str], progress: Progress | None = None) -> None:
    """Write an .mp4 of the video above its moving curves, with the word and score of each spotting as it comes.

    The video is read and written frame by frame; curves are drawn once per segment of about twenty seconds.

    Raises:
        OptionsError: the view has no video.
        VideoError: the video cannot be read.
        OutputError: the suffix is not .mp4, or the video cannot be written.
    """
    if view.video is None:
        raise OptionsError(f"no video can be made of '{view.title}': it has no frames. Use --plot or --html.")
    check_plot_path("video", path)
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
    fitted = fit(image, WIDTH, _VIDEO_HEIGHT)
    top, left = (_VIDEO_HEIGHT - fitted.shape[0]) // 2, (WIDTH - fitted.shape[1]) // 2
    canvas[top : top + fitted.shape[0], left : left + fitted.shape[1]] = fitted
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
        blend(canvas, text, top, left)
        left += text.shape[1] + 36


@lru_cache(maxsize=64)
def _text(text: str) -> Image:
    return text_image(text, _TEXT_HEIGHT)


def blend(canvas: Image, text: Image, top: int, left: int) -> None:
    """Lay an image of text over a canvas; what does not fit is cut off at the right."""
    width = min(text.shape[1], canvas.shape[1] - left)
    if width <= 0:
        return
    region = canvas[top : top + text.shape[0], left : left + width]
    share = text[:, :width, 3:] / 255
    region[:] = (region * (1 - share) + text[:, :width, :3] * share).astype(np.uint8)
