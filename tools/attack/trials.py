"""Hostile files read one after the other in a child, under the limits of every attack: 5 s and 1 GB per file.

Seconds and bytes are those of the child and of all processes that it starts. The time that they wait for a processor,
because the machine has other work, is not theirs and does not count.
"""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from signspot.errors import SignspotError
from tools.attack import Outcome

SECONDS = 5.0  # for one file
BYTES = 1 << 30  # of memory for one file, beyond what was in use before
LONGEST_WAIT = 60  # seconds on the wall, however busy the machine is, after which the child is ended
_PROGRAM = "import sys; from tools.attack.trials import serve; serve(sys.argv[1], sys.argv[2:])"
_TICKS = os.sysconf("SC_CLK_TCK")
_MEMORY = re.compile(rb"Vm(RSS|HWM):\s*(\d+)")
_AT_ONCE = 500  # files per child: a command line has an end


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """Processor time and memory of this process and those below it at one moment."""

    wall: float
    busy: float  # seconds on a processor
    delayed: float  # seconds that they were ready and no processor was free
    levels: dict[int, int]  # process -> bytes that it holds
    peaks: dict[int, int]  # process -> the most that it held since the peak was last forgotten
    dead_peak: int  # bytes of the largest process that has ended


class Meter:
    """Seconds and bytes that this process and those below it take from one moment to another."""

    def __init__(self) -> None:
        self._before = _snapshot()

    def start(self) -> None:
        """Begin anew."""
        self._before = _snapshot()
        for process in self._before.levels:
            with suppress(OSError), Path(f"/proc/{process}/clear_refs").open("wb", buffering=0) as file:
                file.write(b"5")  # forgets the peak

    def read(self) -> tuple[float, int]:
        """Seconds that were used, or waited for anything but a processor; bytes at the peak of the largest process."""
        before, now = self._before, _snapshot()
        wall = now.wall - before.wall
        seconds = min(wall, max(now.busy - before.busy, wall - (now.delayed - before.delayed)))
        grown = [peak - before.levels.get(process, 0) for process, peak in now.peaks.items()]
        return seconds, max(*grown, now.dead_peak if now.dead_peak > before.dead_peak else 0)


def _snapshot() -> _Snapshot:
    """Taken around every input, of which some take a tenth of a millisecond: it asks for no more than it needs."""
    own, below = os.getpid(), _below()
    dead = resource.getrusage(resource.RUSAGE_CHILDREN)
    memory = {process: _memory(process) for process in (own, *below)}
    return _Snapshot(
        perf_counter(),
        process_time() + dead.ru_utime + dead.ru_stime + sum(map(_busy, below)),
        sum(map(_delay, memory)),
        {process: level for process, (level, _) in memory.items()},
        {process: peak for process, (_, peak) in memory.items()},
        dead.ru_maxrss * 1024,
    )


def _below() -> list[int]:
    """All processes below this one."""
    family = [os.getpid()]
    for parent in family:
        with suppress(OSError):
            for thread in Path(f"/proc/{parent}/task").iterdir():
                family += map(int, _content(f"{thread}/children").split())
    return family[1:]


def _content(name: str) -> bytes:
    """What a file of `/proc` says; nothing where its process is gone."""
    try:
        with open(name, "rb", buffering=0) as file:  # noqa: PTH123 (a path takes twice as long to open)
            return file.read()
    except OSError:
        return b""


def _busy(process: int) -> float:
    """Seconds that a process and its ended children spent on a processor."""
    return sum(map(int, _content(f"/proc/{process}/stat").rpartition(b")")[2].split()[11:15])) / _TICKS


def _delay(process: int) -> float:
    """Seconds that the main thread of a process was ready and no processor was free."""
    numbers = _content(f"/proc/{process}/schedstat").split()
    return int(numbers[1]) / 1e9 if len(numbers) > 1 else 0.0


def _memory(process: int) -> tuple[int, int]:
    """Bytes that a process holds, and those at its peak."""
    found = dict(_MEMORY.findall(_content(f"/proc/{process}/status")))
    return int(found.get(b"RSS", 0)) * 1024, int(found.get(b"HWM", 0)) * 1024


def limit_memory() -> None:
    """Give this process no more than a gigabyte beyond what it has; those that it starts set their own limits."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + BYTES, most))


def over(seconds: float, taken: int) -> str:
    """The limits of an input that were passed; empty where none was."""
    if seconds > SECONDS:
        return f"{seconds:.1f} s"
    return f"{taken / 1e6:,.0f} MB" if taken > BYTES else ""


def read_in_child(name: str, target: str, paths: Sequence[Path]) -> Outcome:
    """Read files in one process; where it dies or hangs, go on behind the file that did it.

    Args:
        name: of the attack.
        target: `module:function`; it reads a path and gives how much it found.
        paths: the files.
    """
    outcome, left, read, most = Outcome(name, len(paths)), list(paths), 0, 0
    while left:
        program = [sys.executable, "-c", _PROGRAM, target, *map(str, left[:_AT_ONCE])]
        before = len(left)
        with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                found = json.loads(line)
                path = left.pop(0)
                read += found["found"] > 0
                most = max(most, found["bytes"])
                outcome.worst_seconds = max(outcome.worst_seconds, found["seconds"])
                problem = found["failure"] or over(found["seconds"], found["bytes"])
                if problem:
                    outcome.failures.append(f"{path.name}: {problem}")
        if before - len(left) < min(before, _AT_ONCE):
            outcome.failures.append(f"{left.pop(0).name}: the process ended with {process.returncode}")
    outcome.remarks = f"{read:,} were read; at most {most / 1e6:,.0f} MB"
    return outcome


def serve(target: str, names: Sequence[str]) -> None:
    """In the child: read each file, and print a line of JSON about it."""
    module, _, function = target.partition(":")
    read: Callable[[Path], Any] = getattr(import_module(module), function)
    limit_memory()
    meter = Meter()
    for name in names:
        found, failure = 0, ""
        signal.alarm(LONGEST_WAIT)
        meter.start()
        try:
            found = int(read(Path(name)))
        except SignspotError:
            pass
        except BaseException as error:
            failure = f"{type(error).__name__}: {str(error)[:200]}"
        signal.alarm(0)
        seconds, taken = meter.read()
        print(json.dumps({"seconds": seconds, "bytes": taken, "found": found, "failure": failure}), flush=True)
