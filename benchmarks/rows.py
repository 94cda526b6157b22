"""A result: what was compared, the numbers, their ratio and its limit; and the page that shows all of them."""

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from itertools import groupby

LIBRARIES = ("torch", "numpy", "av", "mediapipe", "opencv-contrib-python")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison."""

    group: str  # under which heading it stands
    compared: str  # what with what
    numbers: str  # both, with their units
    ratio: float  # of the first to the second
    limit: str = ""  # what is asked for, where something is
    kept: bool | None = None  # whether the limit is kept


def rounded(value: float) -> str:
    """A number as people read it: three digits that count, no exponent."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def against(first: float, second: float, unit: str) -> str:
    """Two numbers of one unit."""
    return f"{rounded(first)} against {rounded(second)} {unit}"


def at_least(ratio: float, least: float) -> tuple[str, bool]:
    """A limit from below and whether it is kept."""
    return f"at least {rounded(least)}", ratio >= least


def page(rows: Sequence[Comparison], command: str, encoder: str, took: str) -> str:
    """The whole page, in Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in _versions())
    lines = [
        "# Benchmarks",
        "",
        f"Written by `{command}`; do not edit. Every ratio is of two numbers measured in the same run, since machines",
        "differ; a number alone says little. Every measurement has a process and a core of its own. Seconds are the",
        "processor's, so that other programs do not count; on an idle machine they are seconds on the clock.",
        "",
        f"* Cores: {os.cpu_count()} ({platform.machine()}, {platform.system()})",
        f"* Versions: Python {platform.python_version()}, {versions}",
        f"* Landmark encoder: {encoder}",
        f"* Took: {took}",
    ]
    for group, members in groupby(rows, key=lambda row: row.group):
        lines += ["", f"## {group}", "", *table(members)]
    return "\n".join(lines) + "\n"


def table(rows: Iterable[Comparison]) -> list[str]:
    """Rows as lines of Markdown."""
    lines = ["| compared | numbers | ratio | limit | kept |", "|---|---|---:|---|---|"]
    for row in rows:
        kept = {None: "", True: "yes", False: "**no**"}[row.kept]
        lines.append(f"| {row.compared} | {row.numbers} | {rounded(row.ratio)} | {row.limit} | {kept} |")
    return lines


def _versions() -> Iterable[tuple[str, str]]:
    for name in LIBRARIES:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
