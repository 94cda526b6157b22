"""A training whose disk is full tells it in a line; the state that was there stays."""

import resource
from pathlib import Path

import pytest
from torch import nn

from signspot.errors import OutputError
from signspot.training.run_folder import RunFolder


def test_a_full_disk_while_training_is_told(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.save({}, {"module": nn.Linear(2, 2)}, {})
    before = folder.state.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(OutputError, match=r"cannot write .*state.pt"):
            folder.save({}, {"module": nn.Linear(200, 200)}, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert folder.state.read_bytes() == before
    assert list(tmp_path.iterdir()) == [folder.state]
