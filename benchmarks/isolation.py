"""A measurement in a process of its own, on cores of its own, so that peak memory and speed are its own.

Times are seconds of the processor: what other programs do meanwhile does not count. On an idle machine these are
seconds of the clock on the wall.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

ROOT = Path(__file__).parent.parent
_LONGEST = 3600.0  # seconds of a measurement, on however busy a machine: one that hangs ends


@dataclass(frozen=True, slots=True)
class Call:
    """A function and what it is called with."""

    task: str  # module:function, within this package; it gives numbers by name
    options: Mapping[str, Any] = field(default_factory=dict)  # as JSON can hold them


@dataclass(frozen=True, slots=True)
class Measurement:
    """The numbers that a job measured, and its memory."""

    values: Mapping[str, float]
    peak: float  # MB of memory at most


def run(job: Call, *, apart: bool) -> Measurement:
    """Measure on one core; with `apart`, in a process of its own."""
    return _start(job, _cores()[:1]) if apart else _here(job)


def run_on(job: Call, cores: int, *, apart: bool) -> Measurement:
    """Measure a job that has processes of its own on so many cores, or all there are."""
    return _start(job, _cores()[:cores]) if apart else _here(job)


def peak_memory() -> float:
    """MB that this process has held at most; other than `ru_maxrss`, not of the process that started it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise OSError("this system does not tell the peak memory of a process")


def idle() -> dict[str, float]:
    """Do nothing: what a process holds by itself."""
    return {}


def fastest(rounds: int, functions: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds of each function at its fastest, timed in turn `rounds` times."""
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            start = process_time()
            function()
            best[name] = min(best[name], process_time() - start)
    return best


def rate(counts: Iterable[int]) -> tuple[int, float]:
    """The number in all, and per second once the first chunk is through (models load before it)."""
    start, first, total, end = process_time(), 0, 0, 0.0
    for count in counts:
        total += count
        end = process_time()
        if not first:
            first, begun = count, end
    if total > first:
        return total, (total - first) / (end - begun)
    return total, total / (end - start)


def _cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def _start(job: Call, cores: Sequence[int]) -> Measurement:
    order = json.dumps({"task": job.task, "options": dict(job.options), "cores": list(cores)})
    environment = os.environ | {"OMP_NUM_THREADS": str(len(cores)), "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "benchmarks.isolation", order]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=_LONGEST)
    if done.returncode:
        raise RuntimeError(f"{job.task} failed:\n{done.stderr}")
    answer = json.loads(done.stdout.splitlines()[-1])
    return Measurement(answer["values"], answer["peak"])


def _here(job: Call) -> Measurement:
    module, function = job.task.split(":")
    values = getattr(import_module(f"benchmarks.{module}"), function)(**job.options)
    return Measurement(values, peak_memory())


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    os.sched_setaffinity(0, given["cores"])  # before any library counts the cores
    result = _here(Call(given["task"], given["options"]))
    print(json.dumps({"values": result.values, "peak": result.peak}))
