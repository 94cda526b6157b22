"""The words of a passage on one timeline, as in Fig. 7: subtitles above, a row for each word, its curve and peak."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from signspot.applications.densify import Timeline
from signspot.pictures.curves import COLOURS, clock
from signspot.pictures.drawing import lettering, tick_step
from signspot.pictures.pages import drawing, paragraph, table, write_page
from signspot.timeline import Segment

_PAGE = 30.0  # seconds in one picture of a page
_MOST_ROWS = 24
_LONGEST_TEXT = 60
_FLOOR = 0.3  # the score at which a curve begins to rise from its row


def draw_timeline(timeline: Timeline, span: Segment) -> Figure:
    """Draw the words whose subtitles begin in a stretch of time."""
    shown = [each for each in timeline.mentioned if each.mention.start in span][:_MOST_ROWS]
    words = list(dict.fromkeys(each.word for each in shown))
    figure = Figure(figsize=(12, 1.4 + 0.42 * max(1, len(words))), layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    found = timeline.found
    inside = (found.times >= span.start) & (found.times <= span.end)
    for row, word in enumerate(words):
        colour = COLOURS[row % len(COLOURS)]
        own = [each for each in shown if each.word == word]
        rows = found.gallery.words[word].tolist()
        scores = found.matcher.scores(rows).max(axis=0)[inside]
        top = row + 0.4 - 0.8 * np.clip((scores - _FLOOR) / (1 - _FLOOR), 0, 1)
        axes.fill_between(found.times[inside], row + 0.4, top, color=colour, alpha=0.35, lw=0)
        for each in own:
            axes.plot([each.where.start, each.where.end], [row + 0.42] * 2, color="#999999", lw=0.8)
            if each.spotting is not None:
                axes.barh(
                    row, each.spotting.end - each.spotting.start, 0.8, left=each.spotting.start, color=colour, alpha=0.5
                )
                axes.plot([each.spotting.time], [row], marker="o", color=colour, mec="white")
    for subtitle in (each for each in timeline.subtitles if each.start in span):
        text, fonts = lettering(subtitle.text[:_LONGEST_TEXT])
        axes.axvline(subtitle.start, color="#dddddd", lw=0.8, zorder=0)
        axes.text(subtitle.start, -0.8, text, size=7, rotation=12, va="bottom", color="#555555", **fonts)
    names = [lettering(word) for word in words]
    axes.set_yticks(range(len(words)), [name for name, _ in names], size=9)
    for tick, (_, fonts) in zip(axes.get_yticklabels(), names, strict=True):
        tick.set_fontfamily(fonts["family"])
    axes.set(xlim=(span.start, span.end), ylim=(max(1, len(words)) - 0.4, -2.2))
    ticks = np.arange(np.ceil(span.start), span.end, tick_step(span.duration))
    axes.set_xticks(ticks, [clock(float(each)) for each in ticks])
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure


def write_timeline_page(timeline: Timeline, path: str | Path) -> Path:
    """Write all pictures of a video, half a minute each, and a table of what was found and what was not."""

    def blocks() -> Iterator[str]:
        count = sum(each.spotting is not None for each in timeline.mentioned)
        yield paragraph(f"{count} of {len(timeline.mentioned)} subtitle words were found")
        last = max((each.end for each in timeline.subtitles), default=0.0)
        for start in np.arange(0.0, max(last, 1e-6), _PAGE).tolist():
            span = Segment(start, start + _PAGE)
            if any(each.mention.start in span for each in timeline.mentioned):
                yield drawing(draw_timeline(timeline, span), f"words from {clock(start)} to {clock(start + _PAGE)}")
        rows = (
            (each.word, clock(each.mention.start, 1), each.mention.text)
            + (("", "") if each.spotting is None else (f"{each.spotting.time:.2f}", f"{each.spotting.score:.2f}"))
            for each in timeline.mentioned
        )
        yield table(("word", "subtitle at", "subtitle", "signed at, s", "score"), rows)

    return write_page(path, f"Words of {Path(timeline.found.track.video).name}", blocks())
