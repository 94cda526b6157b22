"""One panel of curves on matplotlib axes: lines, threshold, spans and peaks; shared by plot and film."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from signspot.pictures.curves import COLOURS, Panel, View, clock, lowest_score, thinned
from signspot.timeline import Segment

THRESHOLD_COLOUR = "#777777"
_DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)))
_MOST_POINTS = 4000
_DENSE = 1500  # points from which on lines are thin


def draw_panel(axes: Axes, panel: Panel, view: View, span: Segment) -> None:
    """Draw the curves of a word over `span`, the spottings' spans shaded and their peaks marked.

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
            marker="o",
            ms=8,
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
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: clock(seconds, _digits(span))))
    axes.xaxis.set_major_locator(MaxNLocator(10))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.grid(color="#e6e6e6", lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=9, color="#999999")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _digits(span: Segment) -> int:
    return 1 if span.duration < 6 else 0
