"""A child process with limits: it gives results, ends in time whatever it is asked to do, and fails closed."""

import logging
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from signspot.errors import SandboxLimitError, SandboxStartError, VideoError
from signspot.io.progress import Progress
from signspot.io.sandbox import Limits, Sandbox
from tests.fixtures.limits import started, wait_until_gone

WAIT = 600  # seconds: longer than any test runs


def echo(value: object) -> object:
    print("what a function prints is not a result")
    return value


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def take_memory() -> int:
    return len(bytearray(3 << 30))


def write_file(size: int) -> int:
    with tempfile.TemporaryFile() as file:
        file.write(bytes(size))
        file.flush()
    return size


def hang() -> None:
    time.sleep(WAIT)


def hang_without_python() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    threading.Event().wait()


def refuse() -> None:
    raise VideoError("v.mp4 is not a video")


def give_function() -> object:
    return lambda: None


def report_and_hang(*, progress: Progress) -> None:
    progress(1, 1)
    hang()


def work_on(steps: int, *, progress: Progress) -> str:
    for step in range(steps):
        progress(step + 1, steps)
        logging.getLogger("signspot.test").warning("step %d", step + 1)
    return "done"


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    """One child for all tests; it imports this file under another name."""
    folder = tmp_path_factory.mktemp("functions")
    (folder / "sandboxed_functions.py").write_text(Path(__file__).read_text())
    sys.path.insert(0, str(folder))
    with Sandbox(Limits(seconds=WAIT, memory=1 << 29, file_size=1000)) as child:
        yield child
    sys.path.remove(str(folder))


def test_a_child_runs_many_calls(sandbox):
    assert sandbox.call("sandboxed_functions:echo", {"a": 1}) == {"a": 1}
    pid = sandbox.pid
    assert sandbox.call("sandboxed_functions:echo", value=b"x") == b"x"
    assert sandbox.pid == pid != os.getpid()


@pytest.mark.parametrize(
    ("function", "args", "value"),
    [
        ("crash", (), "SIGSEGV"),
        ("take_memory", (), "memory"),
        ("write_file", (2000,), "OSError"),
        ("give_function", (), "cannot be sent"),
        ("no_such_function", (), "AttributeError"),
    ],
)
def test_a_failure_is_an_error_and_the_next_call_works(sandbox, function, args, value):
    with pytest.raises(SandboxLimitError) as error:
        sandbox.call(f"sandboxed_functions:{function}", *args)
    assert value in str(error.value)
    assert sandbox.call("sandboxed_functions:write_file", 500) == 500


@pytest.mark.parametrize("function", ["hang", "hang_without_python"])
def test_a_call_that_hangs_is_ended(sandbox, function):
    sandbox.call("sandboxed_functions:echo", 1)
    with pytest.raises(SandboxLimitError):
        sandbox.call(f"sandboxed_functions:{function}", seconds=0.5)
    assert sandbox.pid is None


def test_errors_of_signspot_come_back_as_they_were(sandbox):
    with pytest.raises(VideoError, match=r"^v\.mp4 is not a video$"):
        sandbox.call("sandboxed_functions:refuse")


def test_progress_and_log_records_come_through(sandbox, caplog):
    reports = []
    assert sandbox.call("sandboxed_functions:work_on", 3, progress=lambda *report: reports.append(report)) == "done"
    assert (reports[0], reports[-1]) == ((1, 3), (3, 3))
    assert "step 3" in caplog.text


def test_a_progress_callback_that_raises_ends_the_child(sandbox):
    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sandbox.call("sandboxed_functions:work_on", 3, progress=stop)
    assert sandbox.call("sandboxed_functions:echo", "next") == "next"


def test_close_from_another_thread_ends_a_call(sandbox):
    with pytest.raises(SandboxLimitError):
        sandbox.call(
            "sandboxed_functions:report_and_hang", progress=lambda *_: threading.Thread(target=sandbox.close).start()
        )


def test_a_child_that_cannot_start_is_an_error_and_runs_nothing_here(sandbox, monkeypatch):
    other = Sandbox()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/no/such/python")
        with pytest.raises(SandboxStartError):
            other.call("sandboxed_functions:echo", 1)
        patch.setattr(sys, "executable", "/bin/false")
        with pytest.raises(SandboxStartError):
            other.call("sandboxed_functions:echo", 1)
    assert "sandboxed_functions" not in sys.modules
    with other:
        assert other.call("sandboxed_functions:echo", "again") == "again"  # tried again at the next call


def test_a_lack_of_file_descriptors_is_an_error():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        with pytest.raises(SandboxStartError):
            Sandbox().call("os:getpid")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_child_ends_with_its_parent():
    code = (
        "from signspot.io.sandbox import Sandbox; import os, threading, time; child = Sandbox(); "
        "child.call('os:getpid'); print(child.pid, flush=True); "
        "threading.Thread(target=child.call, args=('time:sleep', 600), daemon=True).start(); time.sleep(600)"
    )
    with started([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    wait_until_gone(pid)
