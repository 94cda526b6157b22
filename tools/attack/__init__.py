"""Attacks on signspot (`make attack`): mutated files, hostile media and pickles, lying servers, kills.

Each part is a module with one function, `attack(options) -> Iterator[Outcome]`. It works in `options.folder` alone and
opens no address but loopback. Untrusted files are read in `signspot.io.sandbox`, with a time and a memory limit each.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from signspot.errors import SandboxLimitError, SignspotError
from signspot.io.sandbox import Limits, Sandbox

SECONDS = 60.0  # for one file, on a busy machine
MEMORY = 1 << 30  # bytes for one file, beyond what the process holds


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
    accepted: int = 0  # inputs that were read, or runs that finished


def make_sandbox() -> Sandbox:
    """A child process in which untrusted files are read."""
    return Sandbox(Limits(SECONDS, MEMORY, file_size=MEMORY))


def read_all(outcome: Outcome, sandbox: Sandbox, function: str, inputs: Iterable[tuple[Any, ...]]) -> Outcome:
    """Call a function in the sandbox for each input; only a SignspotError, and no limit, may come out of it.

    Args:
        outcome: of the attack; it is filled.
        sandbox: where the function is called.
        function: `module:name`.
        inputs: arguments of each call.
    """
    for arguments in inputs:
        start = perf_counter()
        try:
            sandbox.call(function, *arguments)
            outcome.accepted += 1
        except SandboxLimitError as error:
            outcome.failures.append(f"{' '.join(map(str, arguments))}: {error}")
        except SignspotError as error:
            if "\n" in str(error):
                outcome.failures.append(f"{' '.join(map(str, arguments))}: a message of several lines")
        outcome.tried += 1
        outcome.worst_seconds = max(outcome.worst_seconds, perf_counter() - start)
    return outcome
