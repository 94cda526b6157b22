"""Attacks on signspot (`make attack`): mutated files, hostile media, killed commands, and requests to the server.

Each part is a module with one function, `attack(options) -> Iterator[Outcome]`. It works in `options.folder` alone and
opens no address but loopback. Untrusted files are read in `signspot.io.sandbox`, with a time and a memory limit each.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from signspot.errors import SandboxLimitError, SignspotError
from signspot.io.sandbox import Limits, Sandbox
from signspot.landmarks.landmarks import FACE_POINTS, Landmarks

SECONDS = 300.0  # for one file: generous, for the busiest machine
MEMORY = 1 << 30  # bytes for one file, beyond what the process holds
PROGRAM = "from signspot.cli.app import run\nif __name__ == '__main__':\n    run()"  # the command line


@dataclass(frozen=True, slots=True)
class AttackOptions:
    """Options of an attack: its size, and its folder."""

    folder: Path  # an empty folder for everything that the part writes; removed afterwards
    count: int  # inputs per reader, kills per command, requests per route: the unit is the part's own
    seed: int = 0  # the same seed gives the same attacks, but for the moments of kills
    only: tuple[str, ...] = ()  # kinds of attack of the part; empty: all


@dataclass(slots=True)
class Outcome:
    """Outcome of one kind of attack."""

    name: str  # of the reader, command, …
    tried: int = 0
    failures: list[str] = field(default_factory=list)  # a line each
    worst_seconds: float = 0.0  # the slowest single one
    accepted: int = 0  # inputs that were read, runs that finished, requests that were answered with 200

    @contextmanager
    def timed(self, attack: str) -> Iterator[None]:
        """One attack: an error in the block is a failure."""
        start = perf_counter()
        self.tried += 1
        try:
            yield
        except Exception as error:
            self.failures.append(f"{attack}: {type(error).__name__}: {error}")
        self.worst_seconds = max(self.worst_seconds, perf_counter() - start)


def make_sandbox(address_space: int = MEMORY) -> Sandbox:
    """A child process in which untrusted files are read."""
    return Sandbox(Limits(SECONDS, address_space, file_size=MEMORY))


def read_all(outcome: Outcome, sandbox: Sandbox, function: str, inputs: Iterable[tuple[Any, ...]]) -> Outcome:
    """Call `module:name` in the sandbox for each input: only a SignspotError of one line may come out."""
    for arguments in inputs:
        with outcome.timed(" ".join(map(str, arguments))):
            try:
                sandbox.call(function, *arguments)
                outcome.accepted += 1
            except SandboxLimitError:
                raise
            except SignspotError as error:
                if "\n" in str(error):
                    raise ValueError("a message of several lines") from error
    return outcome


def make_landmarks(frames: int) -> Landmarks:
    """Landmarks of nobody."""
    shapes = ((33, 4), (21, 3), (21, 3), (len(FACE_POINTS), 3))
    body, left, right, face = (np.random.default_rng(0).random((frames, *shape), np.float32) for shape in shapes)
    return Landmarks(body, left, right, face, np.arange(frames) / 25, (64, 48))
