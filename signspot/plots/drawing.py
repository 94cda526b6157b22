"""One panel of curves on matplotlib axes: lines, threshold, spans and peaks; shared by plot and film."""

import logging
from contextlib import suppress
from functools import lru_cache
from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, findSystemFonts, fontManager, get_font
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator
from numpy.typing import NDArray

from signspot.plots.curves import COLOURS, Panel, View, clock, label, lowest_score, thinned
from signspot.types import Segment

logger = logging.getLogger(__name__)

THRESHOLD_COLOUR = "#777777"
_FAMILY = "DejaVu Sans"  # comes with matplotlib
_DOTS_PER_INCH = 100
_DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)))
_MOST_POINTS = 4000  # per curve
_DENSE = 1500  # points from which on lines are thin
_MOST_TICKS = 10
_TICK_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)  # seconds


@lru_cache(maxsize=1)
def _other_fonts() -> tuple[tuple[str, str], ...]:
    """Family and file of every upright font on this machine, also of those installed since matplotlib last looked."""
    known = {font.fname for font in fontManager.ttflist}
    for file in findSystemFonts():
        if file not in known:
            with suppress(OSError, RuntimeError, ValueError):  # damaged, or of a kind that cannot be drawn
                fontManager.addfont(file)
    ttf = [font for font in fontManager.ttflist if font.style == "normal" and "Last Resort" not in font.name]
    fonts = {font.name: font.fname for font in ttf}
    return tuple(sorted(fonts.items()))


@lru_cache(maxsize=512)
def _letters(file: str) -> frozenset[int]:
    try:
        return frozenset(get_font(file).get_charmap())
    except (OSError, RuntimeError, ValueError):
        return frozenset()


@lru_cache(maxsize=1024)
def lettering(text: str) -> tuple[str, dict[str, Any]]:
    """The text to draw for a word or an id, on one line, and its fonts.

    Letters that no font on this machine has become boxes, and a remark says so.

    Returns:
        The text, and keywords for matplotlib's text functions; '$' is a letter like others.
    """
    line = label(text)
    families = [_FAMILY]
    missing = {ord(char) for char in line} - _letters(findfont(_FAMILY))
    if missing:
        for family, file in _other_fonts():
            if missing & _letters(file):
                families.append(family)
                missing -= _letters(file)
            if not missing:
                break
    if missing:
        _tell_boxes(line)
    drawn = "".join("\N{WHITE SQUARE}" if ord(char) in missing else char for char in line)
    return drawn, {"family": families, "parse_math": False}


_told: list[str] = []  # the first text with a letter that no font has: one remark is enough


def _tell_boxes(text: str) -> None:
    if not _told:
        _told.append(text)
        logger.warning(
            "no installed font has all letters of '%s'; boxes are drawn instead. Install one, on Debian for Chinese, "
            "Japanese and Korean with: sudo apt-get install fonts-noto-cjk",
            text.encode("utf-8", "replace").decode(),
        )


def text_picture(text: str, height: int, colour: str = "white", weight: str = "bold") -> NDArray[np.uint8]:
    """Draw a line of text once, for use on many frames: (height, W, 4) RGBA."""
    drawn, fonts = lettering(text)
    figure = Figure(figsize=(30, height / _DOTS_PER_INCH), dpi=_DOTS_PER_INCH, facecolor="none")
    canvas = FigureCanvasAgg(figure)
    size = height * 0.6 * 72 / _DOTS_PER_INCH
    figure.text(0, 0.5, drawn, size=size, color=colour, weight=weight, va="center_baseline", **fonts)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())
    used = np.flatnonzero(pixels[..., 3].any(axis=0))
    width = int(used[-1]) + 1 if used.size else 1
    return np.ascontiguousarray(pixels[:, :width])


def draw_curves(axes: Axes, panel: Panel, view: View, span: Segment) -> None:
    """Draw the curves of a word over `span`, the spottings' spans shaded, their peaks marked, mouthed ones by a star.

    Colours repeat after seven exemplars; dashes then tell them apart.
    """
    for spotting in panel.spottings:
        axes.axvspan(spotting.start, spotting.end, color=panel.colour(spotting.exemplar), alpha=0.12, lw=0)
    for number, curve in enumerate(panel.curves):
        dashes = _DASHES[number // len(COLOURS) % len(_DASHES)]
        colour = COLOURS[number % len(COLOURS)]
        best = 2 + float(curve.scores.max(initial=0))  # the best exemplar lies on top
        width = 1.6 if len(curve.times) < _DENSE else 0.9
        axes.plot(*thinned(curve, _MOST_POINTS), color=colour, lw=width, ls=dashes, zorder=best)
    axes.axhline(view.threshold, color=THRESHOLD_COLOUR, lw=1, ls=(0, (4, 3)))
    for spotting in panel.spottings:
        axes.plot(
            [spotting.time],
            [spotting.score],
            marker="o" if spotting.mouthed is None else "*",
            ms=8 if spotting.mouthed is None else 15,
            mfc=panel.colour(spotting.exemplar),
            mec="white",
            mew=1.4,
            zorder=5,
        )
    _frame(axes, view, span)


def _frame(axes: Axes, view: View, span: Segment) -> None:
    low = lowest_score(view.curves, view.threshold)
    axes.set_xlim(span.start, span.end if span.end > span.start else span.start + 1)
    axes.set_ylim(low, 1.0 + 0.03 * (1.0 - low))
    step = tick_step(span.duration)
    axes.xaxis.set_major_locator(MultipleLocator(step))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: clock(seconds, 1 if step < 1 else 0)))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.grid(color="#e6e6e6", lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=9, color="#999999")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def tick_step(duration: float) -> float:
    """Seconds between two ticks of a time axis: a step that a clock shows exactly, about ten at most."""
    return next((step for step in _TICK_STEPS if duration / step <= _MOST_TICKS), _whole_hours(duration))


def _whole_hours(duration: float) -> float:
    return 3600.0 * ceil(duration / 3600 / _MOST_TICKS)
