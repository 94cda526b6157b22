"""Processor seconds of a process and of all that it started."""

import subprocess
import sys
import time
from pathlib import Path

from experiments.split_estimation import family_seconds, machine_seconds

SPIN = """
import sys, time
while time.process_time() < 0.4:
    pass
sys.stdin.read()
"""
LEAVE = """
import subprocess, sys
subprocess.Popen([sys.executable, sys.argv[1]])
"""
ADOPT = """
import subprocess, sys, time
from experiments.split_estimation import adopt_orphans, family_seconds
adopt_orphans()
before, deadline = family_seconds(), time.perf_counter() + 600
subprocess.run([sys.executable, *sys.argv[1:]], check=True, stdin=subprocess.DEVNULL)
while family_seconds() - before < 0.38 and time.perf_counter() < deadline:
    time.sleep(0.02)
print(family_seconds() - before)
"""


def test_children_count_while_they_run_and_after_they_ended() -> None:
    before, machine = family_seconds(), machine_seconds()
    with subprocess.Popen([sys.executable, "-c", SPIN], stdin=subprocess.PIPE):
        deadline = time.perf_counter() + 600
        while family_seconds() - before < 0.38 and time.perf_counter() < deadline:
            time.sleep(0.02)
        running = family_seconds() - before
    assert running >= 0.38
    assert family_seconds() - before >= running
    assert machine_seconds() - machine >= 0.38


def test_what_outlives_its_parent_counts_for_who_adopts_it(tmp_path: Path) -> None:
    """A child starts another and ends: the other's work would be counted by nobody."""
    for name, script in (("spin.py", SPIN), ("leave.py", LEAVE)):
        (tmp_path / name).write_text(script)
    command = [sys.executable, "-c", ADOPT, str(tmp_path / "leave.py"), str(tmp_path / "spin.py")]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    assert float(ran.stdout) >= 0.38
