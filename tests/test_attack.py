"""Attacks of `make attack`, a few hundred of each: what is broken by mutated files is found here first."""

import os
from pathlib import Path
from types import ModuleType

import pytest

from tools.attack import AttackOptions, media, pickles, servers
from tools.attack.kills import COMMANDS, attack_command
from tools.attack.readers import attack_reader
from tools.attack.targets import targets

SLOW = {"weight card": 10, "store": 60, "dictionary table": 100, "dictionary.json": 100, "dictionary embeddings": 100}


@pytest.mark.parametrize("name", [target.name for target in targets()])
def test_mutated_files_are_told_or_read(name: str, tmp_path: Path) -> None:
    outcome = attack_reader(name, AttackOptions(tmp_path, SLOW.get(name, 200), seed=1))
    assert outcome.failures == []
    assert outcome.worst_seconds < 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(("name", "count"), [("dictionary build", 20), ("export", 8), ("train", 3)])
def test_killed_again_and_again_a_command_ends_where_an_undisturbed_one_does(
    name: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path))  # it is set anew for each command
    command = next(each for each in COMMANDS if each.name == name)
    outcome = attack_command(command, AttackOptions(tmp_path, count))
    assert outcome.failures == []
    assert outcome.tried == count


@pytest.mark.parametrize(
    ("part", "kinds", "count"),
    [
        (media, ("damaged.mp4", "damaged.mkv", "damaged.webm"), 25),
        (pickles, ("cards", "code", "mutated"), 40),
        (servers, ("changing files", "killed downloads"), 4),
    ],
    ids=["media", "pickles", "servers"],
)
def test_hostile_files_and_servers_end_nothing(
    part: ModuleType, kinds: tuple[str, ...], count: int, tmp_path: Path
) -> None:
    outcomes = list(part.attack(AttackOptions(tmp_path, count, seed=1, only=kinds)))
    assert [outcome.name for outcome in outcomes] == list(kinds)
    assert [failure for outcome in outcomes for failure in outcome.failures] == []
