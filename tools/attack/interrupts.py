"""Ctrl-C at random moments of a verb's first half second: one line or silence, never a traceback of ours.

The moment is counted in seconds on a processor, so that a busy machine attacks as a quiet one does. Before the first
line of `signspot.cli.entry.run`, Ctrl-C belongs to Python, which is still starting: its own traceback is counted apart.
"""

import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

from tools.attack import AttackOptions, Outcome

_SECONDS = 0.5  # on a processor, within which Ctrl-C comes
_LONGEST = 120.0  # seconds on the wall, for one try
_OURS = re.compile(r'File "[^"]*/signspot/(?!__init__\.py|version\.py|cli/__init__\.py)')
_START = "import re, sys; from signspot.cli.entry import run; sys.exit(run())"  # as the installed script does it


def attack(options: AttackOptions) -> Iterator[Outcome]:
    """Interrupt a verb `options.count` times: half of the tries in the first tenth of a second, where modules load."""
    outcome, chance, ends = Outcome("Ctrl-C"), random.Random(options.seed), Counter[str]()
    for number in range(options.count):
        moment = chance.uniform(0, _SECONDS if number % 2 else _SECONDS / 5)
        before = monotonic()
        end, problem = _interrupt(moment)
        outcome.worst_seconds = max(outcome.worst_seconds, monotonic() - before)
        ends[end] += 1
        outcome.tried += 1
        if problem:
            outcome.failures.append(f"after {1000 * moment:.0f} ms: {problem}")
    outcome.remarks = ", ".join(f"{count} {end}" for end, count in ends.most_common())
    yield outcome


def _interrupt(moment: float) -> tuple[str, str]:
    """Interrupt a verb after so many seconds on a processor: how it ended, and what was wrong with that."""
    command = [sys.executable, "-c", _START, "models"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        deadline = monotonic() + _LONGEST
        while run.poll() is None and _busy(run.pid) < moment and monotonic() < deadline:
            sleep(0.0005)
        run.send_signal(signal.SIGINT)
        try:
            _, said = run.communicate(timeout=_LONGEST)
        except subprocess.TimeoutExpired:
            run.kill()
            return "went on", f"it goes on {_LONGEST:.0f} s later"
    return judged(run.returncode, said)


def judged(code: int, said: str) -> tuple[str, str]:
    """The end of an interrupted verb, by its exit code and its stderr, and the faults in it."""
    if "Traceback" in said or "Fatal Python error" in said:
        if _OURS.search(said):
            return "tracebacks", said.strip().splitlines()[-1]
        return "within Python's own start", ""
    if code == -signal.SIGINT and not said:
        return "before Python heeds signals", ""
    if code == 0:
        return "finished before", ""
    lines = said.strip().splitlines()
    good = code == 130 and lines and lines[-1].startswith("signspot: stopped")
    return ("told in a line", "") if good else ("ended otherwise", f"exit code {code}, said {said[-200:]!r}")


def _busy(process: int) -> float:
    """Seconds that a process was on a processor."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9
    except (OSError, IndexError):
        return float("inf")
