"""`make attack`, a few of each kind: mutated files, hostile videos and pickles, lying servers, kills."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from signspot.io.sandbox import Sandbox
from tools.attack import AttackOptions, Outcome, make_sandbox, media, pickles, read_all, servers
from tools.attack.kills import COMMANDS, attack_command
from tools.attack.readers import TARGETS, attack_reader

QUICK = ("dictionary build", "export")  # commands that are killed in every run of the tests


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with make_sandbox() as child:
        yield child


@pytest.mark.parametrize("name", list(TARGETS))
def test_mutated_files_are_refused_or_read(name: str, sandbox: Sandbox, tmp_path: Path) -> None:
    outcome = attack_reader(name, AttackOptions(tmp_path, 40, seed=1), sandbox)
    assert (outcome.tried, outcome.failures) == (40, [])


@pytest.mark.parametrize("name", [pytest.param(each, marks=[pytest.mark.long][each in QUICK :]) for each in COMMANDS])
def test_a_killed_command_ends_where_an_undisturbed_one_does(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path))  # the attack sets it for each command
    outcome = attack_command(name, AttackOptions(tmp_path, 5))
    assert (outcome.tried, outcome.failures) == (5, [])


@pytest.mark.parametrize(
    ("part", "kinds", "count"),
    [
        (media, ("damaged.mp4", "damaged.mkv", "damaged.ts", "damaged.avi", "damaged.webm"), 6),
        (pickles, ("code", "mutated"), 20),
        (servers, ("changing files",), 4),
    ],
    ids=["media", "pickles", "servers"],
)
def test_hostile_files_and_servers_break_nothing(
    part: ModuleType, kinds: tuple[str, ...], count: int, tmp_path: Path
) -> None:
    outcomes = list(part.attack(AttackOptions(tmp_path, count, seed=1, only=kinds)))
    assert [outcome.name for outcome in outcomes] == list(kinds)
    assert [failure for outcome in outcomes for failure in outcome.failures] == []


def test_an_attack_reports_crashes_and_errors_and_goes_on(sandbox: Sandbox) -> None:
    inputs = [("1",), ("zero",), ("2",)]
    outcome = read_all(Outcome("frail"), sandbox, "builtins:int", inputs)
    (failure,) = outcome.failures
    assert failure.startswith("zero: ")
    assert "ValueError" in failure
    (failure,) = read_all(Outcome("crash"), sandbox, "os:_exit", [(9,)]).failures
    assert "exit code 9" in failure
    assert read_all(Outcome("next"), sandbox, "builtins:int", inputs).accepted == 2
