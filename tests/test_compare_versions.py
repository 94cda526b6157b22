"""The tool that compares two versions runs each one's own code, in turns, and tells what it measured."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.compare_versions import Compared, Turn

ROOT = Path(__file__).parent.parent
TOOL = ROOT / "tools" / "compare_versions.py"
JOBS = '''
from pathlib import Path
import thing

def prepare(folder):
    (folder / "made").write_text(thing.NAME)

def counting(folder):
    """Counting.

    More is not shown."""
    found = (folder / "made").read_text()
    print("noise that is no answer")
    return lambda: f"{thing.count():,} counted on what {found} made"

def holding(folder):
    """Holding memory"""
    return lambda: thing.hold()

def _helper(folder): ...
'''


def make_version(folder: Path, name: str, count: int, megabytes: int) -> Path:
    folder.mkdir()
    (folder / "thing.py").write_text(
        f"NAME = '{name}'\n"
        f"def count():\n    return sum(1 for _ in range({count}))\n"
        f"def hold():\n    sum(range(5_000_000))\n    return len(bytearray({megabytes} * 2**20)) and None\n"
    )
    return folder


def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, str(TOOL), *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture
def versions(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "jobs.py").write_text(JOBS)
    one = make_version(tmp_path / "one", "old", 4_000_000, 150)
    return one, make_version(tmp_path / "two", "new", 400_000, 50)


def test_each_version_works_by_its_own_code(versions: tuple[Path, Path]) -> None:
    done = run(*versions, "--jobs", versions[0].parent / "jobs.py", "--starts", 2, "--turns", 1)
    assert done.returncode == 0, done.stderr
    counting, holding = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in done.stdout.splitlines()
        if not line.startswith("|-")
    ][1:]
    assert counting[0] == "Counting (4,000,000 counted on what new made; 400,000 counted on what new made)"
    assert float(counting[3]) < 0.5  # it counts to a tenth, and other work may double the time
    assert float(counting[1]) > float(counting[2])
    assert holding[0] == "Holding memory"
    assert 80 < float(holding[5]) - float(holding[6]) < 120


def test_ratios_are_of_neighbours_in_time() -> None:
    turns = [Turn(seconds, 10.0, "") for seconds in (1.0, 2.0, 4.0)]
    slower = [Turn(seconds, 20.0, "") for seconds in (1.5, 2.0, 8.0)]
    compared = Compared("A job", turns, slower)
    assert compared.ratios() == [1.0, 1.5, 2.0]
    assert compared.row() == "| A job | 1 | 1.5 | 1.50 | 1.50 (1.00–2.00) | 10 | 20 |"


def test_a_file_with_other_names_serves_the_older_version(versions: tuple[Path, Path]) -> None:
    older = versions[0].parent / "older.py"
    older.write_text("def counting(folder):\n    import thing\n    return lambda: sum(1 for _ in range(400_000))\n")
    jobs = versions[0].parent / "jobs.py"
    done = run(*versions, "--jobs", jobs, "--old-jobs", older, "--starts", 1)
    assert done.returncode == 0, done.stderr
    assert "left out, since only one version has it: holding" in done.stderr
    assert [line.split(" ")[1] for line in done.stdout.splitlines()[2:]] == ["Counting"]
    refused = run(*versions, "--jobs", jobs, "--old-jobs", older, "--only", "holding")
    assert refused.returncode == 1
    assert "no job 'holding' in both versions. There are: counting" in refused.stderr


def test_what_goes_wrong_in_a_version_is_told(versions: tuple[Path, Path]) -> None:
    (versions[1] / "thing.py").write_text("NAME = 'new'\ndef count():\n    raise ValueError('no numbers here')\n")
    done = run(*versions, "--jobs", versions[0].parent / "jobs.py", "--only", "counting")
    assert done.returncode == 1
    assert re.search(r"job:counting of .*two failed:(.|\n)*no numbers here", done.stderr)


@pytest.mark.slow
@pytest.mark.long
def test_the_jobs_of_this_version_run(tmp_path: Path) -> None:
    jobs = "help_text", "loss_as_released", "pose_to_track", "annotation_but_for_the_search"
    places = "--jobs", ROOT / "benchmarks" / "jobs.py", "--folder", tmp_path / "kept"
    done = run(ROOT, ROOT, *places, "--starts", 1, "--turns", 1, "--only", *jobs)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2 + len(jobs)
    assert "3,000 frames" in done.stdout
