"""Two processes under a real torchrun give the losses and the weights that one process with the whole batch gives."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from signspot.training.distributed import Group, join_group

SCRIPT = Path(__file__).parent / "two_processes.py"


def torchrun(*arguments: object) -> None:
    """Start two processes that talk over the loopback interface."""
    command = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    with subprocess.Popen(
        [*command, *map(str, arguments)], stderr=subprocess.PIPE, text=True, env=environment
    ) as started:
        try:
            _, said = started.communicate(timeout=600)
        except subprocess.TimeoutExpired:
            started.terminate()  # torchrun ends its processes
            raise
    assert started.returncode == 0, said[-3000:]


def test_losses_and_weights_are_those_of_one_process(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("two_processes", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.steps(tmp_path / "one")
    torchrun(SCRIPT, tmp_path / "two")
    for name in script.KINDS:
        one, two = (json.loads((tmp_path / part / f"{name}.json").read_text()) for part in ("one", "two"))
        assert (one["processes"], two["processes"]) == (1, 2)
        assert two["losses"] == pytest.approx(one["losses"], rel=1e-5), name
        assert len(set(one["losses"])) == script.STEPS
        first, second = (torch.load(tmp_path / part / f"{name}.pt", weights_only=True) for part in ("one", "two"))
        for key, weights in first.items():
            assert torch.allclose(weights, second[key], atol=1e-5, rtol=1e-4), f"{name}: {key}"
    for rank in range(2):  # a thread that outlives its group may abort the process at its very end
        remaining = json.loads((tmp_path / "two" / f"threads-{rank}.json").read_text())
        assert not [name for name in remaining if "gloo" in name]


@given(count=st.integers(0, 50), size=st.integers(1, 9))
def test_shares_are_all_rows_once_in_order_and_as_equal_as_can_be(count: int, size: int) -> None:
    shares = [list(range(count))[Group(rank, size).share(count)] for rank in range(size)]
    assert [row for share in shares for row in share] == list(range(count))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_without_torchrun_a_process_is_alone() -> None:
    with join_group() as group:
        assert group == Group(0, 1)
        rows = torch.ones(3, 2)
        assert group.gather(rows, 3) is rows
        assert group.agrees(7)
        assert group.any(is_so=True)
        assert not group.any(is_so=False)
