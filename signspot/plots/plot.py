"""A still picture of a result: score over time, a panel per word, a line per exemplar, peaks and threshold marked."""

import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from signspot.errors import RefusedOutputError
from signspot.io.files import atomic_write
from signspot.plots.curves import Curve, Panel, View, panels, plural, summary, telling
from signspot.plots.drawing import THRESHOLD_COLOUR, draw_curves, lettering
from signspot.types import Segment

Picture = Literal["plot", "film", "report"]

SUFFIXES: dict[Picture, tuple[str, ...]] = {
    "plot": (".png", ".svg", ".pdf"),
    "film": (".mp4",),
    "report": (".html", ".htm"),
}


MOST_PANELS = 8
_DOTS_PER_INCH = 100
_WIDTH = 1200  # pixels, as are all lengths here
_LEFT, _SIDE, _HEAD, _FOOT = 64, 250, 52, 46
_PANEL, _PANEL_TITLE, _GAP = 150, 26, 20
_MOST_THUMBNAILS = 4
_NEAREST_LABELS = 62


def check_picture(picture: Picture, path: str | PathLike[str]) -> Path:
    """Give the path, if its suffix fits the picture.

    Raises:
        RefusedOutputError: it does not.
    """
    target = Path(path)
    known = SUFFIXES[picture]
    if target.suffix.lower() not in known:
        raise RefusedOutputError(
            f"cannot write the {picture} {target}: unknown kind '{target.suffix}'. Known: {', '.join(known)}."
        )
    return target


def plot(view: View, path: str | os.PathLike[str]) -> None:
    """Draw score over time as .png, .svg or .pdf.

    Raises:
        OutputError: the suffix is another, or the file cannot be written.
    """
    target = check_picture("plot", path)
    save_figure(draw(view), target, _DOTS_PER_INCH)


def save_figure(figure: Figure, path: Path, dots_per_inch: float) -> None:
    """Write a figure by the suffix of its file: without dates and random ids, so that equal figures are equal bytes."""
    kind = path.suffix.lower().removeprefix(".")
    dates = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    with atomic_write(path) as temporary, rc_context({"svg.hashsalt": "signspot"}):
        figure.savefig(temporary, format=kind, dpi=dots_per_inch, metadata=dates.get(kind))


def draw(view: View) -> Figure:
    """Draw the whole picture; no state of matplotlib's own is read or changed."""
    shown, left_out = panels(view, MOST_PANELS)
    row = _PANEL_TITLE + _PANEL + _GAP
    height = _HEAD + max(1, len(shown)) * row + _FOOT
    figure = Figure(figsize=(_WIDTH / _DOTS_PER_INCH, height / _DOTS_PER_INCH), dpi=_DOTS_PER_INCH, facecolor="white")
    _write_head(figure, view, height)
    span = Segment(0.0, max(view.duration, 0.0))
    for number, panel in enumerate(shown):
        top = _HEAD + number * row + _PANEL_TITLE
        place = (_LEFT, height - top - _PANEL, _WIDTH - _LEFT - _SIDE, _PANEL)
        axes = _add_axes(figure, place)
        draw_curves(axes, panel, view, span)
        _write_labels(axes, panel)
        _write_word(axes, panel)
        axes.tick_params(labelbottom=number == len(shown) - 1)
        _add_exemplars(figure, panel, (_WIDTH - _SIDE + 16, place[1], _SIDE - 28, _PANEL))
        if number == 0:
            _name_threshold(axes, view)
    _write_foot(figure, left_out, height, empty=not shown)
    if any(spotting.mouthed is not None for panel in shown for spotting in panel.spottings):
        figure.text(_LEFT / _WIDTH, 16 / height, "★ also mouthed", size=11, color="#555555", va="center")
    return figure


def _add_axes(figure: Figure, place: tuple[float, float, float, float]) -> Axes:
    """Axes at x, y, width, height in pixels from the lower left."""
    size = figure.bbox.size
    x, y, width, height = place
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


def _name_threshold(axes: Axes, view: View) -> None:
    name = f"threshold {view.threshold:.2f}"
    across, up = (1, view.threshold)
    style: dict[str, Any] = {"size": 9, "color": THRESHOLD_COLOUR, "ha": "right", "va": "bottom"}
    axes.annotate(name, (across, up), (-2, 1), ("axes fraction", "data"), textcoords="offset points", **style)


def _write_labels(axes: Axes, panel: Panel) -> None:
    """Write the score over each peak, best first, where there is room."""
    taken: list[float] = []
    for spotting in sorted(panel.spottings, key=lambda spotting: -spotting.score):
        x = float(axes.transData.transform((spotting.time, 0))[0])
        if all(abs(x - other) >= _NEAREST_LABELS for other in taken):
            taken.append(x)
            place = (spotting.time, spotting.score)
            style: dict[str, Any] = {"size": 9, "ha": "center", "va": "bottom", "annotation_clip": False}
            axes.annotate(f"{spotting.score:.2f}", place, (0, 6), textcoords="offset points", **style)


def _add_exemplars(figure: Figure, panel: Panel, place: tuple[float, float, float, float]) -> None:
    """Show at the side which line is which exemplar, by thumbnail where there is one."""
    curves = panel.curves[:_MOST_THUMBNAILS]
    x, y, width, height = place
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


def _count_the_rest(figure: Figure, curves: Sequence[Curve], place: tuple[float, float]) -> None:
    rest = len(curves) - _MOST_THUMBNAILS
    if rest > 0:
        size = figure.bbox.size
        more = f"and {plural(rest, 'more exemplar')}"
        figure.text(place[0] / size[0], place[1] / size[1], more, size=9, color="#555555", va="top")
