"""Attacks of `make attack`, a few hundred of each: what is broken by mutated files is found here first."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tools.attack import AttackOptions, media, pickles, servers
from tools.attack.commands import COMMANDS
from tools.attack.kills import attack_command
from tools.attack.readers import attack_reader
from tools.attack.targets import targets
from tools.attack.trials import BYTES, SECONDS, over, read_in_child

REPOSITORY = Path(__file__).parent.parent
SLOW = {"weight card": 10, "store": 60, "dictionary table": 100, "dictionary.json": 100, "dictionary embeddings": 100}
SLOW |= {"encoder weights": 20, "recogniser weights": 30, "mouthing weights": 60, "training state": 30, "workbench": 20}
SLOW |= {"dictionary to forget in": 60, "table to forget in": 60, "splits to forget in": 60}


@pytest.mark.parametrize("name", [target.name for target in targets()])
def test_mutated_files_are_told_or_read(name: str, tmp_path: Path) -> None:
    outcome = attack_reader(name, AttackOptions(tmp_path, SLOW.get(name, 200), seed=1))
    assert outcome.failures == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    ("name", "count"), [("dictionary build", 20), ("dictionary fetch", 4), ("export", 8), ("train", 3)]
)
def test_killed_again_and_again_a_command_ends_where_an_undisturbed_one_does(
    name: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path))  # it is set anew for each command
    command = next(each for each in COMMANDS if each.name == name)
    killed, together = attack_command(command, AttackOptions(tmp_path, count))
    assert killed.failures == together.failures == []
    assert killed.tried == count


@pytest.mark.parametrize(
    ("part", "kinds", "count"),
    [
        (media, ("damaged.mp4", "damaged.mkv", "damaged.webm"), 25),
        (pickles, ("cards", "code", "mutated"), 40),
        (servers, ("changing files",), 4),
    ],
    ids=["media", "pickles", "servers"],
)
def test_hostile_files_and_servers_end_nothing(
    part: ModuleType, kinds: tuple[str, ...], count: int, tmp_path: Path
) -> None:
    outcomes = list(part.attack(AttackOptions(tmp_path, count, seed=1, only=kinds)))
    assert [outcome.name for outcome in outcomes] == list(kinds)
    assert [failure for outcome in outcomes for failure in outcome.failures] == []


def test_an_attack_tells_what_ends_the_process_or_breaks_the_reader_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = "import os\ndef read(path): return os.kill(os.getpid(), 9) if path.name == 'death' else int(path.name)"
    (tmp_path / "frail.py").write_text(reader)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    outcome = read_in_child("frail", "frail:read", [Path(name) for name in ("1", "death", "zero", "2")])
    first, second = outcome.failures
    assert first == "death: the process ended with -9"
    assert second.startswith("zero: ValueError")
    assert outcome.remarks.startswith("2 were read")


def test_seconds_and_bytes_are_those_of_the_processes_below_too() -> None:
    """In a process without children of its own: those of other tests may have been larger."""
    below = "import time; b'x' * 200_000_000; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    program = (
        "import subprocess, sys; from tools.attack.trials import Meter; meter = Meter(); meter.start(); "
        f"subprocess.run([sys.executable, '-c', {below!r}], check=True); print(*meter.read())"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=REPOSITORY)
    seconds, taken = map(float, done.stdout.split())
    assert seconds > 0.3
    assert taken > 200_000_000
    assert over(SECONDS + 0.1, 0) == "5.1 s"
    assert over(SECONDS, BYTES) == ""
    assert over(0.0, 2 * BYTES) == "2,147 MB"
