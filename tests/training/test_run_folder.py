"""The folder of a training is a stranger's, too, where it was copied from somewhere."""

import os
import pickle
from pathlib import Path

import pytest
import torch

from signspot.errors import CheckpointError
from signspot.training.run_folder import RunFolder
from tools.attack.pickles import _torch_zip, _Touch, bombs


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    layer = torch.nn.Linear(2, 2)
    RunFolder(tmp_path).save({"a": 1}, {"layer": layer}, {"step": 3, "losses": [0.5, 0.25]})
    other = torch.nn.Linear(2, 2)
    saved = RunFolder(tmp_path).load({"a": 1}, {"layer": other}, ("step", "losses"))
    assert saved is not None
    assert (saved["step"], saved["losses"]) == (3, [0.5, 0.25])
    assert torch.equal(layer.weight, other.weight)


@pytest.mark.parametrize("name", ["memo index", "nested tuples", "shared lists"])
def test_a_state_that_explodes_is_told(name: str, tmp_path: Path) -> None:
    (tmp_path / "state.pt").write_bytes(_torch_zip(bombs()[name], 0))
    with pytest.raises(CheckpointError, match=r"cannot go on from .*state\.pt: .* Remove it to start anew"):
        RunFolder(tmp_path).load({}, {})


def test_a_state_that_would_run_something_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "state.pt").write_bytes(pickle.dumps({"config": {}, "x": _Touch(tmp_path / "canary")}))
    with pytest.raises(CheckpointError, match=f"asks to run {os.system.__module__}.system"):
        RunFolder(tmp_path).load({}, {})
    assert not (tmp_path / "canary").exists()
