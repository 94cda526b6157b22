"""Two processes under a real torchrun give the losses and the weights that one process with the whole batch gives."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.training.distributed import Group, communication, join_group, local_device
from tests.fixtures.limits import LIMIT, started
from tests.training import two_processes as script

SCRIPT = Path(script.__file__)


def torchrun(*arguments: object) -> tuple[int, str]:
    """Start two processes that talk over the loopback interface; give the exit code and what they reported."""
    command = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    with started([*command, *arguments], stderr=subprocess.PIPE, env=environment) as run:
        _, report = run.communicate(timeout=2 * LIMIT)
    return run.returncode, report[-3000:]


def test_every_task_gives_the_losses_and_weights_of_one_process(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    data = {name: request.getfixturevalue(name) for name in script.DATA}
    (tmp_path / "data.pickle").write_bytes(pickle.dumps(data))
    script.steps(tmp_path / "one")
    code, report = torchrun(SCRIPT, "steps", tmp_path / "two")
    assert code == 0, report
    for name in script.tasks(data):
        one, two = (json.loads((tmp_path / part / f"{name}.json").read_text()) for part in ("one", "two"))
        assert (one["processes"], two["processes"]) == (1, 2)
        assert two["losses"] == pytest.approx(one["losses"], rel=1e-5), name
        first, second = (torch.load(tmp_path / part / f"{name}.pt", weights_only=True) for part in ("one", "two"))
        for key, weights in first.items():
            assert torch.allclose(weights, second[key], atol=1e-5, rtol=1e-4), f"{name}: {key}"
    for rank in range(2):  # a thread that outlives its group may abort the process at its very end
        remaining = json.loads((tmp_path / "two" / f"threads-{rank}.json").read_text())
        assert not [name for name in remaining if "gloo" in name]


@pytest.mark.long
def test_a_terminated_job_saves_its_state_and_resumes_to_the_same_bits(tmp_path: Path) -> None:
    """SIGTERM reaches torchrun, which sends it to both processes and to all that they started; both end at one step."""
    code, report = torchrun(SCRIPT, "terminated", tmp_path / "whole")
    assert code == 0, report
    code, report = torchrun(SCRIPT, "terminated", tmp_path / "parts")
    assert code != 0
    assert not (tmp_path / "parts" / "weights.pt").exists()
    events = (tmp_path / "parts" / "run" / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in events] == ["started", "interrupted"], report
    assert json.loads(events[-1])["step"] in {2, 3}  # a process that has begun the next step ends it
    code, report = torchrun(SCRIPT, "terminated", tmp_path / "parts")
    assert code == 0, report
    at_once, parts = (torch.load(tmp_path / name / "weights.pt", weights_only=True) for name in ("whole", "parts"))
    assert all(torch.equal(weights, parts[name]) for name, weights in at_once.items())


@given(count=st.integers(0, 50), size=st.integers(1, 9))
def test_shares_are_all_rows_once_and_as_equal_as_can_be(count: int, size: int) -> None:
    shares = [list(range(count))[Group(rank, size).share(count)] for rank in range(size)]
    assert sorted(row for share in shares for row in share) == list(range(count))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_without_torchrun_a_process_is_alone() -> None:
    with join_group() as group:
        assert group == Group(0, 1)
        rows = torch.ones(3, 2)
        assert group.gather(rows, 3) is rows
        assert group.agrees(7)
        assert group.any(is_so=True)
        assert not group.any(is_so=False)


def test_each_process_has_the_gpu_of_its_number() -> None:
    cuda, cpu = torch.device("cuda"), torch.device("cpu")
    assert local_device(cuda, 3, 4) == torch.device("cuda", 3)
    assert local_device(cpu, 3, 0) == cpu
    assert communication(cuda) == "cpu:gloo,cuda:nccl"
    assert communication(cpu) == "gloo"


@pytest.mark.parametrize(("device", "rank", "count"), [("cuda:1", 0, 2), ("cuda", 2, 2), ("mps", 0, 0)])
def test_a_device_that_processes_cannot_have_each_is_refused(device: str, rank: int, count: int) -> None:
    with pytest.raises(OptionsError):
        local_device(torch.device(device), rank, count)
