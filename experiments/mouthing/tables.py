"""The measurements of the mouthing spotter as tables and a plot."""

from collections.abc import Sequence
from pathlib import Path

from experiments.mouthing.evaluation import MAIN, MouthingReport, MouthingScore
from signspot.io.files import atomic_write


def score_table(scores: Sequence[MouthingScore]) -> str:
    """Precision, recall, false alarms and time error in Markdown."""
    titles = (
        *("spotter", "asked", "threshold", "questions", "mouthed", "precision", "recall"),
        *("false alarms/h/word", "median time error s"),
    )
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|", *(_row(score) for score in scores)]
    return "\n".join(lines) + "\n"


def as_text(report: MouthingReport) -> str:
    """All tables in Markdown."""
    lines = [
        score_table(report.scores),
        f"Words that look exactly like another word: {report.homophenes:.0%}.",
        "",
        "| spotter | probability | labels | mean probability | right |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {b.low:.1f} to {b.high:.1f} | {b.labels} | {b.said:.2f} | {b.right:.2f} |"
            for name, bins in report.reliability.items()
            for b in bins
        ),
    ]
    return "\n".join(lines) + "\n"


def _row(score: MouthingScore) -> str:
    numbers = (score.precision, score.recall, score.false_alarms_per_hour, score.late)
    shown = [
        "–" if value != value else f"{value:.{digits}f}" for value, digits in zip(numbers, (2, 2, 1, 2), strict=True)
    ]
    said = (score.spotter, score.trials, f"{score.threshold:g}", str(score.asked), str(score.mouthed), *shown)
    return f"| {' | '.join(said)} |"


def write_report(report: MouthingReport, path: Path) -> None:
    """Write the tables, and beside them a plot with the suffix `.png`: reliability, precision and recall."""
    from matplotlib.figure import Figure

    with atomic_write(path) as temporary:
        temporary.write_text(as_text(report), encoding="utf-8")
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    reliable, traded = figure.subplots(1, 2)
    reliable.set(xlabel="probability of a label", ylabel="share of labels that are right")
    reliable.plot([0, 1], [0, 1], "--", color="grey", label="calibrated")
    for name, bins in report.reliability.items():
        reliable.plot([b.said for b in bins], [b.right for b in bins], "o-", label=name)
        rows = [row for row in report.scores if (row.spotter, row.trials) == (name, MAIN)]
        thresholds = [row.threshold for row in rows]
        traded.plot(thresholds, [row.precision for row in rows], "o-", label=f"precision, {name}")
        traded.plot(thresholds, [row.recall for row in rows], "s--", label=f"recall, {name}")
    traded.set(xlabel="threshold", title=MAIN, ylim=(0, 1.02))
    reliable.set_title(MAIN)
    for axes in (reliable, traded):
        axes.legend(fontsize="small")
    with atomic_write(path.with_suffix(".png")) as temporary:
        figure.savefig(temporary, dpi=100, format="png")
