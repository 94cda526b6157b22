"""A plot of score over time, and the parts of it that the video shares: lines, threshold, spans and peaks."""

import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from math import ceil
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, findSystemFonts, fontManager, get_font
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from signspot.errors import RefusedOutputError
from signspot.io.files import atomic_write
from signspot.plots.curves import (
    COLOURS,
    COMPETING,
    Curve,
    Panel,
    View,
    clock,
    label,
    lowest_score,
    panels,
    plural,
    summary,
    telling,
    thinned,
)
from signspot.types import Segment

logger = logging.getLogger(__name__)

THRESHOLD_COLOUR, WORD_COLOUR = "#777777", "#1b1b1b"
_FAMILY = "DejaVu Sans"  # comes with matplotlib
DOTS_PER_INCH = 100
_DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)))
_MOST_POINTS = 4000  # per curve
_DENSE = 1500  # points from which on lines are thin
_MOST_TICKS = 10
_TICK_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)  # seconds


@lru_cache(maxsize=1)
def _other_fonts() -> tuple[tuple[str, str], ...]:
    """Family and file of every upright font on this machine, also of those installed since matplotlib last looked."""
    installed = {font.fname for font in fontManager.ttflist}
    for file in findSystemFonts():
        if file not in installed:
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
        _report_boxes(line)
    drawn = "".join("\N{WHITE SQUARE}" if ord(char) in missing else char for char in line)
    return drawn, {"family": families, "parse_math": False}


_reported: list[str] = []  # the first text with a letter that no font has: one remark is enough


def _report_boxes(text: str) -> None:
    if not _reported:
        _reported.append(text)
        logger.warning(
            "no installed font has all letters of '%s'; boxes are drawn instead. Install one, on Debian for Chinese, "
            "Japanese and Korean with: sudo apt-get install fonts-noto-cjk",
            text.encode("utf-8", "replace").decode(),
        )


def text_image(text: str, height: int, colour: str = "white") -> NDArray[np.uint8]:
    """Draw a line of text once, for use on many frames: (height, W, 4) RGBA."""
    drawn, fonts = lettering(text)
    figure = Figure(figsize=(30, height / DOTS_PER_INCH), dpi=DOTS_PER_INCH, facecolor="none")
    canvas = FigureCanvasAgg(figure)
    size = height * 0.6 * 72 / DOTS_PER_INCH
    figure.text(0, 0.5, drawn, size=size, color=colour, weight="bold", va="center_baseline", **fonts)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())
    used = np.flatnonzero(pixels[..., 3].any(axis=0))
    width = int(used[-1]) + 1 if used.size else 1
    return np.ascontiguousarray(pixels[:, :width])


def draw_curves(axes: Axes, panel: Panel, view: View, span: Segment) -> None:
    """Draw the curves of a word over `span`, the spottings' spans shaded, their peaks marked, mouthed ones by a star.

    Colours repeat after seven exemplars; dashes then tell them apart. The score of all exemplars together is thick.
    """
    for spotting in panel.spottings:
        axes.axvspan(spotting.start, spotting.end, color=panel.colour(spotting.exemplar), alpha=0.12, lw=0)
    for number, curve in enumerate(panel.curves):
        dashes = _DASHES[number // len(COLOURS) % len(_DASHES)]
        colour = COLOURS[number % len(COLOURS)]
        best = 2 + float(curve.scores.max(initial=0))  # the best exemplar lies on top
        width = 1.6 if len(curve.times) < _DENSE else 0.9
        faint = 1.0 if panel.word_curve is None else 0.6
        axes.plot(*thinned(curve, _MOST_POINTS), color=colour, lw=width, ls=dashes, alpha=faint, zorder=best)
    if panel.word_curve is not None:
        axes.plot(*thinned(panel.word_curve, _MOST_POINTS), color=WORD_COLOUR, lw=2, zorder=4)
    if panel.threshold is not None:
        axes.axhline(panel.threshold, color=THRESHOLD_COLOUR, lw=1, ls=(0, (4, 3)))
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
    low = lowest_score(view)
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


PlotKind = Literal["plot", "video", "report"]

SUFFIXES: dict[PlotKind, tuple[str, ...]] = {
    "plot": (".png", ".svg", ".pdf"),
    "video": (".mp4",),
    "report": (".html", ".htm"),
}


MOST_PANELS = 8
THICK_LINE = "thick line: the score of the word, by all its exemplars"

_WIDTH = 1200  # pixels, as are all lengths here
_LEFT, _SIDE, _HEAD, _FOOT = 64, 250, 52, 46
_PANEL, _PANEL_TITLE, _GAP = 150, 26, 20
_MOST_THUMBNAILS = 4
_NEAREST_LABELS = 62


def check_plot_path(kind: PlotKind, path: str | PathLike[str]) -> Path:
    """Give the path, if its suffix fits the kind of plot.

    Raises:
        RefusedOutputError: it does not.
    """
    target = Path(path)
    suffixes = SUFFIXES[kind]
    if target.suffix.lower() not in suffixes:
        raise RefusedOutputError(
            f"cannot write the {kind} {target}: unknown file type '{target.suffix}'. Known: {', '.join(suffixes)}."
        )
    return target


def plot(view: View, path: str | os.PathLike[str]) -> None:
    """Draw score over time as .png, .svg or .pdf.

    Raises:
        OutputError: the suffix is another, or the file cannot be written.
    """
    target = check_plot_path("plot", path)
    save_figure(draw(view), target)


def save_figure(figure: Figure, path: str | PathLike[str]) -> Path:
    """Write a figure as .png, .svg or .pdf: without dates and random ids, so that equal figures are equal bytes.

    Raises:
        RefusedOutputError: the suffix is another.
        OutputError: it cannot be written.
    """
    target = check_plot_path("plot", path)
    kind = target.suffix.lower().removeprefix(".")
    dates = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    with atomic_write(target) as temporary, rc_context({"svg.hashsalt": "signspot"}):
        figure.savefig(temporary, format=kind, dpi=DOTS_PER_INCH, metadata=dates.get(kind))
    return target


def draw(view: View) -> Figure:
    """Draw the whole plot; no state of matplotlib's own is read or changed."""
    drawn_panels, left_out = panels(view, MOST_PANELS)
    row = _PANEL_TITLE + _PANEL + _GAP
    height = _HEAD + max(1, len(drawn_panels)) * row + _FOOT
    figure = Figure(figsize=(_WIDTH / DOTS_PER_INCH, height / DOTS_PER_INCH), dpi=DOTS_PER_INCH, facecolor="white")
    _write_head(figure, view, height)
    span = Segment(0.0, max(view.duration, 0.0))
    for number, panel in enumerate(drawn_panels):
        top = _HEAD + number * row + _PANEL_TITLE
        box = (_LEFT, height - top - _PANEL, _WIDTH - _LEFT - _SIDE, _PANEL)
        axes = _add_axes(figure, box)
        draw_curves(axes, panel, view, span)
        _write_labels(axes, panel)
        _write_word(axes, panel)
        axes.tick_params(labelbottom=number == len(drawn_panels) - 1)
        _add_exemplars(figure, panel, (_WIDTH - _SIDE + 16, box[1], _SIDE - 28, _PANEL))
        _name_threshold(axes, panel.threshold)
    _write_foot(figure, len(left_out), height, empty=not drawn_panels)
    mouthed = any(spotting.mouthed is not None for panel in drawn_panels for spotting in panel.spottings)
    remarks = [COMPETING] * view.competes + ["★ also mouthed"] * mouthed
    figure.text(_LEFT / _WIDTH, 16 / height, "  ".join(remarks), size=9, color="#555555", va="center")
    return figure


def _add_axes(figure: Figure, box: tuple[float, float, float, float]) -> Axes:
    """Axes at x, y, width, height in pixels from the lower left."""
    size = figure.bbox.size
    x, y, width, height = box
    return figure.add_axes((x / size[0], y / size[1], width / size[0], height / size[1]))


def _write_head(figure: Figure, view: View, height: int) -> None:
    title, fonts = lettering(view.title or "signspot")
    figure.text(_LEFT / _WIDTH, 1 - 22 / height, title, size=15, weight="bold", va="center", **fonts)
    figure.text(1 - 12 / _WIDTH, 1 - 22 / height, summary(view), size=11, color="#555555", va="center", ha="right")


def _write_foot(figure: Figure, left_out: int, height: int, *, empty: bool) -> None:
    across = (_LEFT + (_WIDTH - _LEFT - _SIDE) / 2) / _WIDTH
    figure.text(across, 16 / height, "time (min:s)", size=11, ha="center", va="center")
    if empty:
        figure.text(across, 0.5, "no exemplar to draw", size=13, color="#777777", ha="center", va="center")
    if left_out:
        more = f"{plural(left_out, 'more word')} not drawn"
        figure.text(1 - 12 / _WIDTH, 16 / height, more, size=11, color="#555555", ha="right", va="center")


def _write_word(axes: Axes, panel: Panel) -> None:
    word, fonts = lettering(panel.word)
    axes.text(0, 1 + 8 / _PANEL, word, transform=axes.transAxes, size=12, weight="bold", va="bottom", **fonts)
    axes.set_ylabel("score", size=10)
    if panel.word_curve is not None:
        style: dict[str, Any] = {"size": 9, "color": "#555555", "ha": "right", "va": "bottom"}
        axes.text(1, 1 + 8 / _PANEL, THICK_LINE, transform=axes.transAxes, **style)


def _name_threshold(axes: Axes, threshold: float | None) -> None:
    if threshold is None:
        return
    style: dict[str, Any] = {"size": 9, "color": THRESHOLD_COLOUR, "ha": "right", "va": "bottom"}
    axes.annotate(
        f"threshold {threshold:.2f}",
        (1, threshold),
        (-2, 1),
        ("axes fraction", "data"),
        textcoords="offset points",
        **style,
    )


def _write_labels(axes: Axes, panel: Panel) -> None:
    """Write the score over each peak, best first, where there is room."""
    labelled: list[float] = []
    for spotting in sorted(panel.spottings, key=lambda spotting: -spotting.score):
        x = float(axes.transData.transform((spotting.time, 0))[0])
        if all(abs(x - other) >= _NEAREST_LABELS for other in labelled):
            labelled.append(x)
            point = (spotting.time, spotting.score)
            style: dict[str, Any] = {"size": 9, "ha": "center", "va": "bottom", "annotation_clip": False}
            axes.annotate(f"{spotting.score:.2f}", point, (0, 6), textcoords="offset points", **style)


def _add_exemplars(figure: Figure, panel: Panel, box: tuple[float, float, float, float]) -> None:
    """Show at the side which line is which exemplar, by thumbnail where there is one."""
    curves = panel.curves[:_MOST_THUMBNAILS]
    x, y, width, height = box
    across = 1 if len(curves) == 1 else 2
    down = -(-len(curves) // across)
    names = telling([curve.exemplar for curve in curves], max(4, int((width / across - 8) / 7.2) - 2))
    for number, curve in enumerate(curves):
        column, row = number % across, number // across
        cell = Bbox.from_bounds(
            x + column * width / across, y + height - (row + 1) * height / down, width / across - 8, height / down - 6
        )
        _add_exemplar(figure, curve, (names[number], panel.colour(curve.exemplar)), cell)
    _count_the_rest(figure, panel.curves, (x, y - 2))


def _add_exemplar(figure: Figure, curve: Curve, legend: tuple[str, str], cell: Bbox) -> None:
    """Draw a thumbnail, and the legend below it: a name and a colour."""
    name_height = 18
    short, colour = legend
    if curve.thumbnail is not None:
        axes = _add_axes(figure, (cell.x0, cell.y0 + name_height, cell.width, cell.height - name_height))
        axes.imshow(curve.thumbnail, aspect="equal", interpolation="antialiased")
        axes.set_anchor("W")
        axes.set(xticks=[], yticks=[])
        for spine in axes.spines.values():
            spine.set(color=colour, linewidth=2.5)
    size = figure.bbox.size
    up = (cell.y0 + name_height / 2 - 2 if curve.thumbnail is not None else cell.y1 - name_height) / size[1]
    name, fonts = lettering(short)
    figure.text(cell.x0 / size[0], up, "\N{BLACK SQUARE}", size=11, color=colour, va="center")
    figure.text((cell.x0 + 15) / size[0], up, name, size=9, va="center", **fonts)


def _count_the_rest(figure: Figure, curves: Sequence[Curve], corner: tuple[float, float]) -> None:
    rest = len(curves) - _MOST_THUMBNAILS
    if rest > 0:
        size = figure.bbox.size
        more = f"and {plural(rest, 'more exemplar')}"
        figure.text(corner[0] / size[0], corner[1] / size[1], more, size=9, color="#555555", va="top")
