"""A process with limits: it answers, and it ends in time whatever it is asked to do."""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import pytest

from signspot.errors import VideoError
from signspot.io.bounded_process import BoundedProcess, EndedError


def misbehave(request: str) -> object:
    """Do as strangers' files can make a reader do."""
    if request == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif request == "memory":
        return len(bytearray(3 << 30))
    elif request == "write":
        with tempfile.TemporaryFile() as file:
            file.write(bytes(10))
            file.flush()
    elif request == "hang":
        time.sleep(60)
    elif request == "refuse":
        raise VideoError("it is no video")
    elif request == "print":
        print("not an answer")
    return request


@pytest.fixture
def process(tmp_path, monkeypatch):
    (tmp_path / "misbehaving.py").write_text(Path(__file__).read_text())
    monkeypatch.syspath_prepend(str(tmp_path))
    made = BoundedProcess("misbehaving:misbehave", memory=1 << 29)
    yield made
    made.close()


def test_it_answers_again_and_again(process):
    assert process.ask("a", 30) == "a"
    first = process._process.pid
    assert process.ask("print", 30) == "print"
    assert process._process.pid == first


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ("crash", "killed by SIGSEGV"),
        ("memory", "more memory"),
        ("write", "broke down"),
    ],
)
def test_what_goes_wrong_is_told_and_the_next_request_is_served(process, request_, reason):
    with pytest.raises(EndedError, match=reason):
        process.ask(request_, 30)
    assert process.ask("next", 30) == "next"


def test_a_request_that_hangs_is_ended(process):
    process.ask("warm", 60)
    before = time.monotonic()
    with pytest.raises(EndedError, match="more than 1 s"):
        process.ask("hang", 0.6)
    assert time.monotonic() - before < 5
    assert process.ask("next", 30) == "next"


def test_errors_come_back_as_they_were(process):
    with pytest.raises(VideoError, match="it is no video"):
        process.ask("refuse", 30)


def test_a_fork_has_a_process_of_its_own(process):
    process.ask("a", 30)
    ours = process._process.pid
    child = os.fork()
    if child == 0:
        fine = process._process is None and process.ask("b", 30) == "b" and process._process.pid != ours  # type: ignore[attr-defined]
        process.close()
        os._exit(0 if fine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert process.ask("c", 30) == "c"
    assert process._process.pid == ours


def test_without_limits_the_work_is_done_here(process, monkeypatch):
    monkeypatch.setattr(process, "_direct", True)
    assert process.ask("here", 30) == "here"
    assert process._process is None
    assert "misbehaving" in sys.modules
    monkeypatch.delitem(sys.modules, "misbehaving")


def test_a_request_that_was_interrupted_leaves_no_answer_to_the_next(process, monkeypatch):
    process.ask("warm", 60)
    with monkeypatch.context() as patch:
        patch.setattr(process, "_reply", lambda seconds: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            process.ask("old", 30)
    assert process.ask("new", 30) == "new"
