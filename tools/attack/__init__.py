"""Attacks on signspot by its own maintainers: what a part of `make attack` takes and gives.

Each part is a module of this folder with one function, `attack(options) -> Iterator[Outcome]`. It works in
`options.folder` alone, opens no address but loopback, gives an outcome per kind of attack, and raises nothing:
what goes wrong is a line in `Outcome.failures`, with all that is needed to see it again.
"""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class AttackOptions:
    """Options of an attack: its size, and its folder."""

    folder: Path  # an empty folder for everything that the part writes; removed afterwards
    count: int  # inputs per reader, kills per command, files per kind: the unit is the part's own
    seed: int = 0  # the same seed gives the same attacks, but for the moments of kills
    only: tuple[str, ...] = ()  # kinds of attack of the part; empty: all


@dataclass(slots=True)
class Outcome:
    """Outcome of one kind of attack."""

    name: str  # of the reader, command, server, …
    tried: int = 0
    failures: list[str] = field(default_factory=list)  # a line each
    worst_seconds: float = 0.0  # the slowest single one
    remarks: str = ""  # other figures, such as how many inputs were accepted
