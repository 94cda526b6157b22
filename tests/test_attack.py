"""`make attack`, a few of each kind: mutated and endless files, hostile videos, killed commands, the server."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from signspot.io.sandbox import Sandbox
from tools.attack import AttackOptions, Outcome, commands, make_sandbox, media, read_all, server
from tools.attack.readers import TARGETS, attack_reader, read_endless

# Tried in every run of the tests; scripts, full disks and two servers are in tests/web.
QUICK = ("dictionary build", "requests", "kills")


def quick_first(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=[pytest.mark.long][name in QUICK :]) for name in names]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with make_sandbox() as child:
        yield child


@pytest.mark.parametrize("name", list(TARGETS))
def test_mutated_files_are_refused_or_read(name: str, sandbox: Sandbox, tmp_path: Path) -> None:
    outcome = attack_reader(name, AttackOptions(tmp_path, 40, seed=1), sandbox)
    assert (outcome.tried, outcome.failures) == (40, [])


def test_endless_files_take_neither_memory_nor_time(tmp_path: Path) -> None:
    outcome = read_endless(TARGETS, tmp_path)
    assert (outcome.tried, outcome.failures) == (len(TARGETS), [])


@pytest.mark.parametrize("name", quick_first(commands.COMMANDS))
def test_a_killed_command_ends_where_an_undisturbed_one_does(name: str, tmp_path: Path) -> None:
    outcome = commands.attack_command(name, AttackOptions(tmp_path, 3))
    assert outcome.failures == []
    assert outcome.tried > 3


def test_damaged_videos_break_nothing(tmp_path: Path) -> None:
    kinds = tuple(f"damaged{suffix}" for suffix in media.CODECS)
    *damaged, slow = media.attack(AttackOptions(tmp_path, 6, 1, kinds))
    assert [(outcome.tried, outcome.failures) for outcome in damaged] == [(6, [])] * len(kinds)
    assert (slow.tried, slow.failures) == (1, [])


@pytest.mark.parametrize("kind", quick_first(server.KINDS))
def test_the_server_holds(kind: str, tmp_path: Path) -> None:
    (outcome,) = server.attack(AttackOptions(tmp_path, 1, only=(kind,)))
    assert outcome.failures == []


def test_an_attack_reports_crashes_and_errors_and_goes_on(sandbox: Sandbox) -> None:
    inputs = [("1",), ("zero",), ("2",)]
    outcome = read_all(Outcome("frail"), sandbox, "builtins:int", inputs)
    (failure,) = outcome.failures
    assert failure.startswith("zero: ")
    assert "ValueError" in failure
    (failure,) = read_all(Outcome("crash"), sandbox, "os:_exit", [(9,)]).failures
    assert "exit code 9" in failure
    assert read_all(Outcome("next"), sandbox, "builtins:int", inputs).accepted == 2
