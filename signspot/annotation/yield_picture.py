"""Fig. 9 as a picture: vocabulary and yield against the threshold; and precision against yield."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from signspot.annotation.statistics import Count, YieldRow
from signspot.files import write_beside

_NEW, _KNOWN = "#0072b2", "#e69f00"
_COLOURS = ("#777777", "#0072b2", "#d55e00", "#009e73", "#cc79a7")


def draw_yield(rows: Sequence[YieldRow], path: str | Path) -> Path:
    """Draw the vocabulary (left) and the localised signs of both vocabularies (middle, right), new or duplicates."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.8), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    labels = [f"{row.threshold:g}" for row in rows]
    left.plot(labels, [row.full.words for row in rows], "o-", color=_NEW, label="all words")
    left.plot(labels, [row.mouthed.words for row in rows], "s--", color=_KNOWN, label="words with mouthings")
    left.set(title="Vocabulary", ylabel="words", ylim=(0, None))
    _bars(middle, labels, [row.mouthed for row in rows], "Yield, words with mouthings")
    _bars(right, labels, [row.full for row in rows], "Yield, all words")
    for axes in (left, middle, right):
        axes.set_xlabel("least score")
        axes.tick_params(axis="x", labelrotation=60)
        axes.legend()
    return _save(figure, path)


def _bars(axes: Any, labels: Sequence[str], counts: Sequence[Count], title: str) -> None:
    known = [count.in_window for count in counts]
    axes.bar(labels, known, color=_KNOWN, label="also mouthed in the window")
    axes.bar(labels, [count.new for count in counts], bottom=known, color=_NEW, label="new")
    highest = max((count.places for count in counts), default=0)
    axes.set(title=title, ylabel="localised signs", ylim=(0, 1.3 * max(1, highest)))  # the legend needs room, too


def draw_precision(curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], path: str | Path) -> Path:
    """Draw precision against yield.

    Args:
        curves: name → yields (shares of the queries) and precisions, both in [0, 1].
        path: of the picture.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    for index, (name, (yields, precisions)) in enumerate(curves.items()):
        shown: dict[str, Any] = {"color": _COLOURS[index % len(_COLOURS)], "linestyle": "--" if index == 0 else "-"}
        axes.plot([100 * share for share in yields], [100 * value for value in precisions], label=name, **shown)
    axes.set(xlabel="queries that are answered, %", ylabel="precision, %", xlim=(0, 100))
    axes.grid(alpha=0.3)
    axes.legend()
    return _save(figure, path)


def _save(figure: Any, path: str | Path) -> Path:
    place = Path(path)
    with write_beside(place) as beside:
        figure.savefig(beside, dpi=110)
    return place
