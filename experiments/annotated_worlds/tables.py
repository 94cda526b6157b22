"""The numbers of annotated worlds as tables in Markdown and as pictures; means and deviations are over worlds."""

import math
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from experiments.annotated_worlds.abstaining import EVERYTHING, PRECISION, SCORE, YIELDS
from experiments.annotated_worlds.measure import (
    BELIEVED,
    ELSEWHERE,
    FINGERSPELLED,
    OTHERS,
    SELDOM,
    UNSIGNED,
    LabelSet,
    Measured,
)
from signspot.annotation.report import draw_precision, draw_yield
from signspot.annotation.statistics import as_markdown
from signspot.io.files import atomic_write

NAME = "annotation"
PAPER = {  # Table 7: annotations, and top-1 and top-5 over signs and over words, per cent
    "D, score ≥ 0.9": ("D.9: 36K", 28.4, 44.8, 15.8, 28.8),
    "D, score ≥ 0.87": ("D.8: 152K", 60.6, 78.0, 35.6, 52.6),
    "D, score ≥ 0.8": ("D.7: 510K", 60.9, 80.3, 34.7, 53.5),
    "D, score ≥ 0.8, no padding": ("D.7, no padding: 236K", 56.5, 75.9, 28.7, 45.4),
}
_DRAWN = (SCORE, "+ word prior", "+ margin", "+ agreement", EVERYTHING)


def report(worlds: Sequence[Measured]) -> str:
    """The whole report, as Markdown."""
    first = worlds[0]
    parts = [
        f"Encoder: {first.encoder}; worlds: {len(worlds)}; queries in each: {_mean(w.queries for w in worlds)}; "
        f"best place right, %: {_percent(w.right for w in worlds)}",
        "## Yield against the threshold (Fig. 9), first world",
        as_markdown(first.rows),
        f"## What labels are worth (Table 7), first world, {first.sets[0].accuracy.signs:,} test signs, %",
        table7(first.sets),
        "## Which words to ask for: precision (%) where so many queries are answered",
        orders(worlds),
        f"Learned without truth: share of queries that are right {_percent(w.learned for w in worlds)} %; "
        f"correlation with the true share of each word's mentions that are signed "
        f"{_number([w.correlation for w in worlds], 2)}.",
        "## Whose words are answered, where half of all queries are",
        groups(worlds),
        "## Is the confidence honest?",
        promises(worlds),
        f"## What is wrong with what is believed (confidence ≥ {BELIEVED:g}), all worlds",
        mistakes(worlds),
    ]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def table7(sets: Sequence[LabelSet]) -> str:
    """Labels, their precision, and the accuracy of a linear classifier; the paper's I3D in brackets."""
    lines = ["| labels | number | precision | top-1 | top-5 | words' top-1 | words' top-5 | paper |", "|" + "---|" * 8]
    for each in sets:
        paper, found = PAPER.get(each.title), each.accuracy
        shares = (found.top_1, found.top_5, found.word_top_1, found.word_top_5)
        cells = [f"{100 * share:.1f}" + (f" ({paper[1 + i]})" if paper else "") for i, share in enumerate(shares)]
        precision = f"{100 * each.precision:.1f}" if each.precision == each.precision else "–"
        cells = [each.title, f"{found.labels:,}", precision, *cells, paper[0] if paper else ""]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def orders(worlds: Sequence[Measured]) -> str:
    """Precision at each yield, and the yield at one precision, by kind of evidence."""
    titles = [f"{100 * share:.0f} %" for share in YIELDS]
    heads = ["order by", *titles, f"queries answered at {100 * PRECISION:.0f} % precision"]
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for name in worlds[-1].orders:
        known = [world.orders[name] for world in worlds if name in world.orders]  # the first world has none before it
        cells = [_percent(o.precisions[i] for o in known) for i in range(len(YIELDS))]
        lines.append(f"| {' | '.join([name, *cells, _percent(o.yield_at for o in known)])} |")
    return "\n".join(lines) + "\n"


def groups(worlds: Sequence[Measured]) -> str:
    """Queries, answers and precision by kind of word, all worlds together."""
    lines = ["| words | queries | order by | answered | precision |", "|---|---|---|---|---|"]
    for group in (FINGERSPELLED, SELDOM, OTHERS):
        for name in (SCORE, EVERYTHING):
            counts = [world.groups[name][group] for world in worlds if group in world.groups[name]]
            asked, answered, right = (
                sum(getattr(c, what) for c in counts) for what in ("queries", "answered", "right")
            )
            if asked:
                precision = f"{100 * right / answered:.1f} %" if answered else "–"
                lines.append(f"| {group} | {asked:,} | {name} | {100 * answered / asked:.1f} % | {precision} |")
    return "\n".join(lines) + "\n"


def promises(worlds: Sequence[Measured]) -> str:
    """Table of the answers above each confidence: the share that is right, and the one that decoys promise."""
    lines = ["| confidence | queries answered | precision | promised by decoys |", "|---|---|---|---|"]
    for index, each in enumerate(worlds[0].promises):
        made = [world.promises[index] for world in worlds]
        cells = [
            _percent(p.answered for p in made),
            _percent(p.precision for p in made),
            _percent(p.promised for p in made),
        ]
        lines.append(f"| ≥ {each.confidence:g} | {' | '.join(cells)} |")
    bins = [entry for world in worlds for entry in world.bins]
    lines += ["", "| mean confidence | right | candidates |", "|---|---|---|"]
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        chosen = [entry for entry in bins if low <= entry[0] < low + 0.2 + 1e-9]
        count = sum(entry[2] for entry in chosen)
        if count:
            mean, right = (sum(entry[i] * entry[2] for entry in chosen) / count for i in (0, 1))
            lines.append(f"| {mean:.2f} | {right:.2f} | {count:,} |")
    return "\n".join(lines) + "\n"


def mistakes(worlds: Sequence[Measured]) -> str:
    """Candidates that are believed and wrong, by what is wrong."""
    counts = {name: sum(world.mistakes[name] for world in worlds) for name in (ELSEWHERE, UNSIGNED)}
    lines = ["| mistake | candidates | share |", "|---|---|---|"]
    total = max(1, sum(counts.values()))
    lines += [f"| {name} | {count:,} | {100 * count / total:.1f} % |" for name, count in counts.items()]
    return "\n".join(lines) + "\n"


def write_report(worlds: Sequence[Measured], out: Path) -> str:
    """Write the report and its pictures into a folder; give the report."""
    text = report(worlds)
    with atomic_write(out / f"{NAME}.md") as temporary:
        temporary.write_text(text, encoding="utf-8")
    draw_yield(worlds[0].rows, out / f"{NAME}-yield.png")
    curves = {}
    for name in _DRAWN:
        length = min(len(world.orders[name].curve) for world in worlds)
        curve = [statistics.mean(world.orders[name].curve[i] for world in worlds) for i in range(length)]
        curves[name] = ([(i + 1) / 100 for i in range(length)], curve)
    draw_precision(curves, out / f"{NAME}-precision.png")
    return text


def _percent(shares: Iterable[float]) -> str:
    return _number([100 * share for share in shares], 1)


def _mean(counts: Iterable[int]) -> str:
    return f"{statistics.mean(counts):,.0f}"


def _number(values: Sequence[float], digits: int) -> str:
    """Mean and deviation over the worlds in which there is such a number: without answers there is no precision."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return "–"
    mean = f"{statistics.mean(known):.{digits}f}"
    return mean if len(known) == 1 else f"{mean} ± {statistics.stdev(known):.{digits}f}"
