"""Pictures of isolated signs: a look-up with its nearest words, and a learner's sign beside the example."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from signspot.applications.feedback import Feedback
from signspot.applications.lookup import Lookup
from signspot.applications.verdict import NOTABLE
from signspot.plots.curves import COLOURS, label
from signspot.plots.drawing import lettering
from signspot.plots.plot import check_picture, save_figure
from signspot.plots.skeletons import MOMENTS, box_of, draw_skeleton, draw_strip

_DOTS_PER_INCH = 100
_MOST_ROWS = 6


def draw_lookup(found: Lookup) -> Figure:
    """The clip at some moments in the first row, then the nearest words with their best exemplars and scores."""
    rows = [match for match in found.matches if match.exemplar in found.signs][:_MOST_ROWS]
    size = (2.4 + 1.25 * MOMENTS, 1.35 * (1 + len(rows)))
    figure = Figure(figsize=size, dpi=_DOTS_PER_INCH, layout="constrained", facecolor="white")
    grid: Any = figure.subplots(1 + len(rows), 1 + MOMENTS, squeeze=False)
    _name(grid[0, 0], found.clip, "what is it?")
    draw_strip(grid[0, 1:], found.sign, "#1b1b1b")
    for number, match in enumerate(rows, 1):
        _name(grid[number, 0], match.word, f"score {match.score:.2f}" + (", mirrored" if match.mirrored else ""))
        draw_strip(grid[number, 1:], found.signs[match.exemplar], COLOURS[(number - 1) % len(COLOURS)])
    return figure


def draw_feedback(found: Feedback) -> Figure:
    """Both skeletons at the moment of the largest difference, and how large each difference is."""
    figure = Figure(figsize=(10, 4.6), dpi=_DOTS_PER_INCH, layout="constrained", facecolor="white")
    mine, theirs, bars = figure.subplots(1, 3, width_ratios=(1, 1, 1.2))
    first = found.differences[0]
    own, example = found.clip_sign[first.moment[0]], found.exemplar_sign[first.moment[1]]
    box = box_of(own[None], example[None])
    draw_skeleton(mine, own, COLOURS[1], width=2.2, box=box)
    draw_skeleton(theirs, example, COLOURS[0], width=2.2, box=box)
    mine.set_title("you", size=12)
    theirs.set_title("the example" + (", mirrored" if found.mirrored else ""), size=12)
    strengths = [each.strength for each in found.differences]
    names = [each.parameter for each in found.differences]
    bars.barh(names[::-1], strengths[::-1], color=COLOURS[0])
    bars.axvline(NOTABLE, color="#777777", ls="--", lw=1)  # what is left of it is as between two right signs
    bars.set_xlim(0, 1)
    bars.set_xlabel("how likely it differs; right of the line it is told", size=9)
    for side in ("top", "right"):
        bars.spines[side].set_visible(False)
    verdict = "right" if found.right else f"rank {found.rank} of {found.of}"
    title, fonts = lettering(f"{found.word}: {verdict}")
    figure.suptitle(title, size=14, weight="bold", **fonts)
    if found.notable:
        figure.supxlabel(found.notable[0].words, size=11)
    return figure


def _name(axes: Any, word: str, remark: str) -> None:
    axes.axis("off")
    text, fonts = lettering(label(word))
    axes.text(0, 0.6, text, size=12, weight="bold", va="center", **fonts)
    axes.text(0, 0.35, remark, size=9, color="#555555", va="center")


def save_picture(figure: Figure, path: str | Path) -> Path:
    """Write a picture as .png, .svg or .pdf.

    Raises:
        RefusedOutputError: the suffix is another.
        OutputError: it cannot be written.
    """
    target = check_picture("plot", path)
    save_figure(figure, target, _DOTS_PER_INCH)
    return target
