"""Work on strangers' files in a process that can be ended: bounded memory, a deadline, no new files.

One process serves many requests, each a line of JSON, so that its start is paid for once. It never outlives a request
for long, and it dies with the process that started it. An answer may come in parts, each a line and perhaps bytes, as
they are made: the pipe between holds few of them. Where there are no such limits (Windows), work is done here.
"""

import atexit
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
from signspot.io.bounded_server import GRACE, find_function

logger = logging.getLogger(__name__)

_START = 120.0  # seconds within which the process must be ready, on the busiest machine
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from signspot.io.bounded_server import serve; serve(*json.loads(sys.argv[2]))"
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
        self._asked = False  # an answer is still to come, which the next request must not get
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
                return find_function(self._target)(request)
            self._send({"request": request, "seconds": seconds})
            reply = self._reply(seconds)
            self._asked = False
            return _value(reply)

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
        if self._process is not None and self._process.poll() is None and not self._asked:
            return self._process
        self.close()
        self._asked = False
        settings = [self._target, self._memory, self._may_write]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), json.dumps(settings)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={
                    **os.environ,
                    "OMP_NUM_THREADS": "1",
                    "OPENBLAS_NUM_THREADS": "1",
                    "CUDA_VISIBLE_DEVICES": "",
                    "MALLOC_ARENA_MAX": "2",
                },
            )
        except OSError as error:
            logger.info("no process for strangers' files can be started: %s", error)
            self._direct = True
            return None
        assert self._process.stdout is not None
        self._answers = _Answers(self._process.stdout.fileno())
        if self._answers.line(_START) is None:
            logger.warning("no process for strangers' files can be started: they are read in this one")
            self.close()
            self._direct = True
        return self._process

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._asked = True
        with suppress(OSError):  # it died: the answer will tell
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def _reply(self, seconds: float) -> dict[str, Any]:
        """The next line that is more than a sign of life."""
        while (line := self._answers.line(seconds)) is not None:
            reply = dict(json.loads(line))
            for name, level, text in reply.get("log", ()):
                logging.getLogger(name).log(level, "%s", text)
            if "alive" not in reply:
                return reply
        return {"ended": self._end_late(seconds)}

    def _end_late(self, seconds: float) -> str:
        """End the process, which ended or sent nothing in time; say which."""
        process = self._process
        assert process is not None
        with suppress(subprocess.TimeoutExpired):
            process.wait(0 if self._answers.open else GRACE)
        code = process.returncode
        self.close()
        if not code:  # it was killed here, or ended itself
            return f"it took more than {seconds:.0f} s"
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"its reader broke down ({how})"

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


class _Answers:
    """The output of a process: lines, and as many bytes as a line announced."""

    def __init__(self, pipe: int):
        self._pipe = pipe
        self._waiting = bytearray()
        self.open = True  # as far as is known
        with suppress(OSError, AttributeError, ImportError):
            import fcntl

            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)  # a picture takes fewer turns then

    def line(self, seconds: float) -> bytes | None:
        """The next line; None where the process ended, or sent none in time."""
        deadline = time.monotonic() + seconds
        while (end := self._waiting.find(b"\n")) < 0:
            chunk = bytearray(1 << 16)
            size = self._read_into(memoryview(chunk), deadline)
            if not size:
                return None
            self._waiting += chunk[:size]
        found = bytes(self._waiting[: end + 1])
        del self._waiting[: end + 1]
        return found

    def _read_into(self, view: memoryview, deadline: float) -> int:
        ready, _, _ = select.select([self._pipe], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return 0
        size = os.readv(self._pipe, [view])
        self.open = size > 0
        return size


def _value(reply: dict[str, Any]) -> Any:
    if "error" in reply:
        kind, text = reply["error"]
        raise getattr(errors, kind)(text)
    if "ended" in reply:
        raise EndedError(reply["ended"])
    return reply["value"]
