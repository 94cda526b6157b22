"""Attacks of `make attack`, a few hundred of each: what is broken by mutated files is found here first."""

from pathlib import Path

import pytest

from tools.attack import AttackOptions
from tools.attack.readers import attack_reader
from tools.attack.targets import targets

SLOW = {"weight card": 10, "store": 60, "dictionary table": 100, "dictionary.json": 100, "dictionary embeddings": 100}


@pytest.mark.parametrize("name", [target.name for target in targets()])
def test_mutated_files_are_told_or_read(name: str, tmp_path: Path) -> None:
    outcome = attack_reader(name, AttackOptions(tmp_path, SLOW.get(name, 200), seed=1))
    assert outcome.failures == []
    assert outcome.worst_seconds < 5
