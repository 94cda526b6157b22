"""The command line as a whole: help, misuse, exit codes, progress in logs."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from signspot.cli import console
from signspot.cli.options import default_workers

Call = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("verb", [(), ("spot",), ("dictionary",), ("dictionary", "build")])
def test_h_is_help(signspot: Call, verb: tuple[str, ...]) -> None:
    code, out, _ = signspot(*verb, "-h")
    assert code == 0
    assert out == signspot(*verb, "--help")[1]
    assert f"Usage: {' '.join(('signspot', *verb))}" in out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("spot", "--no-such-option"), "See: signspot spot --help"),
        (("dictionary", "build"), "See: signspot dictionary build --help"),
        (("synthetic", "make", "w", "--words", "many"), "See: signspot synthetic make --help"),
        (("no-such-verb",), "See: signspot --help"),
    ],
)
def test_misuse_names_the_help_of_its_verb(signspot: Call, arguments: tuple[str, ...], hint: str) -> None:
    code, _, err = signspot(*arguments)
    assert code == 2
    assert err.rstrip().endswith(hint)


def test_bad_values_end_with_2_and_failures_with_1(signspot: Call, corner: Path, tmp_path: Path) -> None:
    assert signspot("synthetic", "make", tmp_path / "w", "--size", "large")[0] == 2
    assert signspot("convert", corner / "footage.pose", tmp_path / "a.docx")[0] == 2
    (tmp_path / "damaged.jsonl").write_text("no json")
    assert signspot("convert", tmp_path / "damaged.jsonl", tmp_path / "a.csv")[0] == 1


@pytest.mark.parametrize("place", ["before", "after"])
def test_debug_may_follow_the_command(corner: Path, place: str) -> None:
    verb = ["convert", str(corner / "nowhere.jsonl"), "a.csv"]
    words = ["--debug", *verb] if place == "before" else [*verb, "--debug"]
    code = f"import sys; sys.argv = {['signspot', *words]!r}; from signspot.cli.main import run; run()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Traceback" in done.stderr


@pytest.mark.parametrize(("cores", "workers"), [(1, 1), (2, 1), (8, 7)])
def test_all_usable_cores_but_one_work_by_default_and_at_least_one(
    monkeypatch: pytest.MonkeyPatch, cores: int, workers: int
) -> None:
    """A container, or `taskset`, leaves a process fewer cores than the computer has."""
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(cores)), raising=False)
    assert default_workers(None) == workers
    assert default_workers(5) == 5


@pytest.mark.parametrize(("cores", "workers"), [(None, 1), (1, 1), (8, 7)])
def test_where_nobody_says_which_cores_are_usable_all_are(
    monkeypatch: pytest.MonkeyPatch, cores: int | None, workers: int
) -> None:
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert default_workers(None) == workers


def test_in_a_log_progress_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr("signspot.cli.console.time.monotonic", lambda: now[0])
    with console.bar("news.mp4", "frames") as progress:
        for second in range(101):
            now[0] = 100.0 + second
            progress(25 * second, 2500)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "news.mp4: 125 of 2,500 frames, 25 per second, 1 min 35 s left"
    assert [line.partition(" of")[0] for line in lines[1:-1]] == [f"news.mp4: {n:,}" for n in (875, 1625, 2375)]
    assert lines[-1] == "news.mp4: done in 1 min 40 s"


def test_short_work_is_silent_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    with console.bar("exemplars") as progress:
        progress(1, 2)
    assert capsys.readouterr().err == ""


def test_the_time_left_follows_from_the_pace_since_work_began(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten minutes of preparation, then a run that goes on at step 300: a step takes two seconds, not two minutes."""
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    pace = console._Pace("steps")
    assert pace.amount(0, None) == "starting, 0 s"
    clock[0] = 600.0
    assert pace.amount(0, 600) == "starting, 10 min 0 s"
    assert pace.amount(300, 600) == "300 of 600 steps"
    clock[0] = 620.0
    assert pace.amount(310, 600) == "310 of 600 steps, 9 min 40 s left"
    assert pace.amount(310, None) == "310 steps, 10 min 20 s so far"
    assert pace.amount(600, 600).endswith("0 s left")


def test_slow_frames_are_told_with_a_decimal(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    pace = console._Pace("frames")
    pace.amount(10, 100)
    clock[0] = 4.0
    assert pace.amount(20, 100) == "20 of 100 frames, 2.5 per second, 32 s left"


def test_a_terminal_sees_frames_and_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import time; from signspot.cli.console import bar\n"
        "with bar('news.mp4', 'frames') as progress:\n"
        "    time.sleep(0.3); progress(20, 200); time.sleep(0.3); progress(50, 200); time.sleep(0.3)"
    )
    done = subprocess.run(
        ["script", "-qec", f'{sys.executable} -c "{code}"', "/dev/null"], capture_output=True, text=True
    )
    assert re.search(r"starting, \d s", done.stdout)
    assert re.search(r"50 of 200 frames, [\d.]+ per second, \d+ s left", done.stdout)
