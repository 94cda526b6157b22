"""The limit of a test also ends what hangs after a failure."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
HANGS = """
import threading, pytest

@pytest.fixture
def hanging():
    yield
    threading.Event().wait()

def test_it(hanging):
    assert False
"""


def test_a_fixture_that_hangs_after_a_failure_is_ended_and_named(tmp_path: Path) -> None:
    path = tmp_path / "test_hanging.py"
    path.write_text(HANGS)
    settings = (
        "-o",
        "faulthandler_timeout=1",
        "-o",
        "faulthandler_exit_on_timeout=true",
        "-p",
        "tests.fixtures.limits",
    )
    command = [sys.executable, "-m", "pytest", "--rootdir", tmp_path, "-c", "/dev/null", *settings, path]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1
    assert 'test_hanging.py", line 7 in hanging' in done.stderr
