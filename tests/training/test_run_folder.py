"""The folder of a training is a stranger's, too, where it was copied from somewhere; full disks."""

import os
import pickle
import resource
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from signspot.errors import CheckpointError, FormatError, OptionsError, OutputError
from signspot.training.run_folder import Run, RunFolder, claim, open_array
from tests.fixtures.pickles import Touch, bombs, torch_zip


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    layer = torch.nn.Linear(2, 2)
    RunFolder(tmp_path).save({"a": 1}, {"layer": layer}, [[0.5], [0.25]])
    other = torch.nn.Linear(2, 2)
    assert RunFolder(tmp_path).load({"a": 1}, {"layer": other}) == [[0.5], [0.25]]
    assert torch.equal(layer.weight, other.weight)


@pytest.mark.parametrize("name", ["memo index", "nested tuples", "shared lists"])
def test_a_state_that_explodes_is_reported(name: str, tmp_path: Path) -> None:
    (tmp_path / "state.pt").write_bytes(torch_zip(bombs()[name], 0))
    with pytest.raises(CheckpointError, match=r"state\.pt"):
        RunFolder(tmp_path).load({}, {})


def test_a_state_that_would_run_something_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "state.pt").write_bytes(pickle.dumps({"settings": {}, "x": Touch(tmp_path / "canary")}))
    with pytest.raises(CheckpointError, match=f"asks to run {os.system.__module__}.system"):
        RunFolder(tmp_path).load({}, {})
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe\xff", b"[" * 100_000, b"9" * 10_000])
def test_a_damaged_record_of_what_a_run_follows_from_is_reported(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(FormatError, match=r"run\.json"):
        claim(Run(tmp_path), {"corpus": "x"})


def test_a_record_of_another_run_is_reported(tmp_path: Path) -> None:
    claim(Run(tmp_path), {"corpus": "x"})
    claim(Run(tmp_path), {"corpus": "x"})
    with pytest.raises(OptionsError, match="another corpus"):
        claim(Run(tmp_path), {"corpus": "y"})


def test_kept_arrays_are_those_that_were_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.ones((3, 4), np.float16))
    assert open_array(path, np.float16, 2, 3).sum() == 12
    with pytest.raises(FormatError, match="3 rows instead of 4"):
        open_array(path, np.float16, 2, 4)
    content = path.read_bytes()
    for broken in (
        b"",
        content[:-1],
        content[:40],
        content.replace(b"(3, 4)", b"(3, 4,"),
        b"PK\3\4" + content,
        pickle.dumps(3),
    ):
        path.write_bytes(broken)
        with pytest.raises(FormatError, match=path.name):
            open_array(path, np.float16, 2)
    for other in (np.ones((3, 4), np.float32), np.ones(3, np.float16), np.ones((0, 4), np.float16)):
        np.save(path, other)
        with pytest.raises(FormatError, match=path.name):
            open_array(path, np.float16, 2)


def test_a_full_disk_while_training_is_reported(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.save({}, {"module": nn.Linear(2, 2)}, [])
    before = folder.state.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(OutputError, match=r"state\.pt"):
            folder.save({}, {"module": nn.Linear(200, 200)}, [])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert folder.state.read_bytes() == before
    assert list(tmp_path.iterdir()) == [folder.state]
