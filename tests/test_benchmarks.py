"""Every benchmark runs, on tiny sizes, and gives rows that make sense; how fast anything is, no test says."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow
# All benchmarks once, most in processes of their own which load torch; `make bench` runs them in full.
LONG = pytest.mark.long

GROUPS = [
    *("Synthetic signing", "Training", "Windows", "Search", "Adapting", "Mouthing", "The pipeline, speed"),
    *("The pipeline, peak memory", "Annotation"),
]


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("benchmarks") / "page.md"


@pytest.fixture(scope="module")
def rows(target: Path) -> list[dict[str, Any]]:
    done = run("-m", "benchmarks", "--quick", "--json", "--out", str(target))
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


@LONG
def test_every_benchmark_gives_rows(rows: list[dict[str, Any]]) -> None:
    assert list(dict.fromkeys(row["group"] for row in rows)) == GROUPS
    stages = [row for row in rows if row["group"].startswith("The pipeline")]
    assert len(stages) == 2 * 5 + 1


@LONG
def test_every_row_names_what_was_compared(rows: list[dict[str, Any]]) -> None:
    assert len({(row["group"], row["compared"]) for row in rows}) == len(rows)
    for row in rows:
        assert "against" in row["compared"]
        assert math.isfinite(row["ratio"])
        assert row["ratio"] > 0
        assert any(character.isdigit() for character in row["numbers"])


@LONG
def test_the_page_shows_every_row_and_no_place_of_this_machine(rows: list[dict[str, Any]], target: Path) -> None:
    page = target.read_text(encoding="utf-8")
    assert all(f"| {row['compared']} | {row['numbers']} |" in page for row in rows)
    assert f"Cores: {os.cpu_count()} " in page
    assert "torch" in page
    assert str(ROOT) not in page
    assert os.uname().nodename not in page


def test_a_process_of_its_own_tells_its_own_memory() -> None:
    """A measurement apart does not count what its parent holds."""
    code = (
        "from benchmarks.isolation import Call, peak_memory, run\n"
        "ballast = bytearray(b'x' * 2**29)\n"
        "done = run(Call('isolation:idle'), apart=True)\n"
        "print(peak_memory(), done.peak)\n"
    )
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    parent, child = map(float, done.stdout.split())
    assert parent > 512
    assert 1 < child < 256


def test_a_measurement_that_fails_says_why() -> None:
    code = "from benchmarks.isolation import Call, run; run(Call('isolation:idle', {'speed': 1}), apart=True)"
    done = run("-c", code)
    assert done.returncode != 0
    assert "isolation:idle failed" in done.stderr
    assert "unexpected keyword argument 'speed'" in done.stderr
