"""The measurements of the mouthing spotter as tables and a plot."""

from collections.abc import Sequence
from pathlib import Path

from signspot.files import write_beside
from signspot_lab.mouthing.evaluation import MouthingReport, MouthingScore


def score_table(scores: Sequence[MouthingScore]) -> str:
    """Precision, recall, false alarms and time error in Markdown."""
    lines = [
        "| asked | threshold | questions | mouthed | precision | recall | false alarms/h/word | median time error s |",
        "|---|---|---|---|---|---|---|---|",
        *(_row(score) for score in scores),
    ]
    return "\n".join(lines) + "\n"


def as_text(report: MouthingReport) -> str:
    """All tables in Markdown."""
    lines = [
        score_table(report.scores),
        f"Words that look exactly like another word: {report.homophenes:.0%}.",
        "",
        "| probability | peaks | mean probability | right |",
        "|---|---|---|---|",
        *(f"| {b.low:.1f} to {b.high:.1f} | {b.peaks} | {b.said:.2f} | {b.right:.2f} |" for b in report.reliability),
    ]
    return "\n".join(lines) + "\n"


def _row(score: MouthingScore) -> str:
    numbers = (score.precision, score.recall, score.false_alarms_per_hour, score.late)
    shown = [
        "–" if value != value else f"{value:.{digits}f}" for value, digits in zip(numbers, (2, 2, 1, 2), strict=True)
    ]
    return f"| {score.trials} | {score.threshold:g} | {score.asked} | {score.mouthed} | {' | '.join(shown)} |"


def write_report(report: MouthingReport, path: Path) -> None:
    """Write the tables, and beside them the reliability plot with the suffix `.png`."""
    from matplotlib.figure import Figure

    with write_beside(path) as beside:
        beside.write_text(as_text(report), encoding="utf-8")
    figure = Figure(figsize=(4.5, 4.2), layout="constrained")
    axes = figure.add_subplot(
        xlabel="probability of a peak", ylabel="share of peaks that are right", title=report.model
    )
    axes.plot([0, 1], [0, 1], "--", color="grey", label="calibrated")
    said, right = [b.said for b in report.reliability], [b.right for b in report.reliability]
    axes.plot(said, right, "o-", label="unseen words, unseen signers")
    axes.legend()
    with write_beside(path.with_suffix(".png")) as beside:
        figure.savefig(beside, dpi=100, format="png")
