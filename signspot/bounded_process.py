"""Work on strangers' files in a process that can be ended: bounded memory, a deadline, no new files.

One process serves many requests, each a line of JSON, so that its start is paid for once. It never outlives a request
for long, and it dies with the process that started it. Where there are no such limits (Windows), work is done here.
"""

import atexit
import importlib
import json
import logging
import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from signspot import errors
from signspot.errors import SignspotError

logger = logging.getLogger(__name__)

_START = 120.0  # seconds within which the process must be ready, on the busiest machine
_GRACE = 5.0  # seconds after the deadline at which the process ends itself, if nobody did
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from signspot.bounded_process import serve; serve(*json.loads(sys.argv[2]))"
)


class EndedError(Exception):
    """The process took too long, asked for too much memory, or broke down; the text says which."""


class BoundedProcess:
    """A process that answers requests by one function.

    Args:
        target: `module:function`; it takes a JSON value and gives one, or raises a SignspotError.
        memory: bytes that it may take beyond what its imports took.
        may_write: whether it may write files.
    """

    def __init__(self, target: str, *, memory: int, may_write: bool = False):
        self._target, self._memory, self._may_write = target, memory, may_write
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._direct = os.name != "posix" or not sys.executable
        if not self._direct:
            os.register_at_fork(after_in_child=self._forget)
            atexit.register(self.close)

    def ask(self, request: Any, seconds: float) -> Any:
        """Give the function's answer.

        Args:
            request: a JSON value.
            seconds: after which the process is ended.

        Raises:
            EndedError: the process had to be ended, or ended.
            SignspotError: as the function raised it.
        """
        with self._lock:
            process = None if self._direct else self._ready_process()
            if process is None:
                return _function(self._target)(request)
            reply = self._exchange(process, {"request": request, "seconds": seconds}, seconds)
        if "error" in reply:
            kind, text = reply["error"]
            raise getattr(errors, kind)(text)
        if "ended" in reply:
            raise EndedError(reply["ended"])
        return reply["value"]

    def close(self) -> None:
        """End the process; the next request starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()

    def _ready_process(self) -> "subprocess.Popen[bytes] | None":
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        settings = [self._target, self._memory, self._may_write]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), json.dumps(settings)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
            )
        except OSError as error:
            logger.info("no process for strangers' files can be started: %s", error)
            self._direct = True
            return None
        if _next_line(self._process, _START) is None:
            logger.warning("no process for strangers' files can be started: they are read in this one")
            self.close()
            self._direct = True
        return self._process

    def _exchange(self, process: "subprocess.Popen[bytes]", message: dict[str, Any], seconds: float) -> dict[str, Any]:
        assert process.stdin is not None
        with suppress(OSError):  # it died: the answer will tell
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
        line = _next_line(process, seconds)
        if line is not None:
            return dict(json.loads(line))
        late = process.poll() is None
        if not late and process.returncode == 0:
            late = True  # it ended itself
        code = process.returncode
        self.close()
        how = f"killed by {signal.Signals(-code).name}" if code and code < 0 else f"exit code {code}"
        return {"ended": f"it took more than {seconds:.0f} s" if late else f"its reader broke down ({how})"}

    def _forget(self) -> None:
        """In a forked process: the other process, its lines and its lock belong to the parent."""
        self._lock = threading.Lock()
        if self._process is not None:
            self._process.returncode = 0  # nobody waits for it here
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
        self._process = None


def _next_line(process: "subprocess.Popen[bytes]", seconds: float) -> bytes | None:
    """The next line that the process sends; None where it ended, or sent none in time."""
    assert process.stdout is not None
    deadline, received = time.monotonic() + seconds, b""
    while not received.endswith(b"\n"):
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        chunk = os.read(process.stdout.fileno(), 1 << 16)
        if not chunk:
            process.wait()
            return None
        received += chunk
    return received


def serve(target: str, memory: int, may_write: bool) -> None:
    """The life of the process: limits first, then requests until nobody asks any more."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the main process
    function = _function(target)
    _limit(memory, may_write=may_write)
    answers.write(b"{}\n")
    answers.flush()
    for line in sys.stdin.buffer:
        message = json.loads(line)
        signal.alarm(int(message["seconds"] + _GRACE) + 1)  # ends it even where no Python runs
        reply = json.dumps(_reply(function, message["request"]))
        signal.alarm(0)
        answers.write(reply.encode() + b"\n")
        answers.flush()
    os._exit(0)


def _reply(function: Any, request: Any) -> dict[str, Any]:
    try:
        return {"value": function(request)}
    except SignspotError as error:
        return {"error": [type(error).__name__, str(error)]}
    except MemoryError:
        return {"ended": "it asks for more memory than one file is given"}
    except Exception as error:  # a stranger's file may break a reader in any way
        return {"ended": f"its reader broke down ({type(error).__name__})"}


def _function(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def _limit(memory: int, *, may_write: bool) -> None:
    import resource

    def lower(kind: int, wanted: int) -> None:
        _, hard = resource.getrlimit(kind)
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))

    with suppress(OSError):
        with open("/proc/self/statm") as file:  # noqa: PTH123 (Linux only; elsewhere there is no such file)
            used = int(file.read().split()[0]) * resource.getpagesize()
        lower(resource.RLIMIT_AS, used + memory)
    lower(resource.RLIMIT_CORE, 0)
    if not may_write:
        lower(resource.RLIMIT_FSIZE, 0)
