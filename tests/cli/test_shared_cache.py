"""Four commands that fill one fresh cache at once."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from tests.fixtures.limits import LIMIT, started

COMMAND = (sys.executable, "-m", "signspot", "spot")


def test_four_processes_share_a_fresh_cache(inputs: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "SIGNSPOT_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    arguments = (inputs / "footage.pose", inputs / "signs", "--threshold", "0.5", "--json")
    command = [*COMMAND, *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with ExitStack() as opened:
        runs = [opened.enter_context(started(command, env=environment, **pipes)) for _ in range(4)]
        ends = [(*run.communicate(timeout=LIMIT), run.returncode) for run in runs]
    assert {(errors, code) for _, errors, code in ends} == {(ends[0][1], 0)}
    alone = subprocess.run([*command, "--no-cache"], capture_output=True, text=True, env=environment, check=True)
    assert alone.stdout
    assert {output for output, _, _ in ends} == {alone.stdout}
    files = {path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()}
    assert files
    assert not [name for name in files if "signspot-part" in name]
    again = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert again.stdout == alone.stdout
