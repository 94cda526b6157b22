"""Work on untrusted input in a child process with limits on time, memory and the size of written files.

A file that hangs, crashes or fills the memory of a decoder ends the child, never the server. The child runs as the same
user: it limits what a file can cost, and is not a defence against code that takes over the decoder. If the child cannot
be started, nothing is decoded: `SandboxStartError`.
"""

import atexit
import importlib
import json
import logging
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

from signspot.errors import SandboxLimitError, SandboxStartError, SignspotError
from signspot.io.progress import Progress

logger = logging.getLogger(__name__)

_START = 120.0  # seconds within which the child must be ready, on the busiest machine
_GRACE = 5  # seconds after the deadline at which the child ends itself, if its parent did not
_END = 60.0  # seconds within which a child ends that was killed or has closed its pipe
_PAUSE = 0.2  # seconds between two progress reports
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from signspot.io.sandbox import _serve; _serve(*json.loads(sys.argv[2]))"
)
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "MALLOC_ARENA_MAX": "2",  # address space is what is limited, and a heap reserves much of it
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one call."""

    seconds: float = 60.0  # without a result or a progress report
    memory: int = 3 << 30  # bytes of address space beyond what the child holds when the call begins
    file_size: int = 0  # bytes of each file that the child writes


class Sandbox:
    """A child process that runs one function at a time. It starts at the first call, and again after a failure.

    Calls of several threads wait for each other. `close` may be called from any thread, and ends a call that goes on.

    Args:
        limits: of each call.
        environment: variables of the child beside those of this process; if not given, one thread and no GPU.
    """

    def __init__(self, limits: Limits | None = None, environment: Mapping[str, str] | None = None):
        self._limits = limits or Limits()
        self._environment = _ENVIRONMENT if environment is None else environment
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection[Any, Any] | None = None
        self._lock = threading.Lock()
        atexit.register(self.close)

    @property
    def pid(self) -> int | None:
        """The id of the child, if there is one."""
        return None if self._process is None else self._process.pid

    def call(
        self, function: str, *args: Any, progress: Progress | None = None, seconds: float | None = None, **options: Any
    ) -> Any:
        """Run a function in the child.

        Args:
            function: `module:name`; the module is imported in the child before limits are set.
            args: what it is given; anything that pickles.
            progress: called with what the function reports; the function then has a keyword `progress` to report with.
                If it raises, the child is ended and the error goes on.
            seconds: in place of the limit's.
            options: more arguments, by keyword.

        Raises:
            SandboxStartError: the child cannot be started; nothing was run.
            SandboxLimitError: it took too long or too much memory, or broke down; the child is ended.
            SignspotError: as the function raised it.
        """
        limit = self._limits.seconds if seconds is None else seconds
        with self._lock:
            pipe = self._ready_pipe()
            answered = False
            try:
                pipe.send((function, args, options, progress is not None, limit))
                while (message := self._receive(pipe, limit))[0] == "progress":
                    if progress is not None:
                        progress(*message[1:])
                answered = True
            except (OSError, EOFError) as error:  # it died, or `close` was called
                raise SandboxLimitError(self._reason(error, limit)) from error
            finally:
                if not answered:
                    self.close()
        kind, content = message
        if kind == "error":
            raise content
        if kind == "limit":
            raise SandboxLimitError(content)
        return content

    def close(self) -> None:
        """End the child; the next call starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            try:
                process.wait(_END)
            except subprocess.TimeoutExpired:  # it waits for a disk that does not answer
                logger.warning("the process %d for untrusted files did not end in %g s", process.pid, _END)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ready_pipe(self) -> "Connection[Any, Any]":
        """The pipe to a child that waits for a call."""
        if self._pipe is not None and self._process is not None and self._process.poll() is None:
            return self._pipe
        self.close()
        if self._pipe is not None:
            self._pipe.close()
        try:
            self._pipe = self._start()
            self._receive(self._pipe, _START)
        except (OSError, EOFError) as error:
            reason = getattr(error, "strerror", None) or self._reason(error, _START)
            self.close()
            raise SandboxStartError(
                f"the process for untrusted files cannot be started: {reason}. Nothing was read; try again later."
            ) from error
        return self._pipe

    def _start(self) -> "Connection[Any, Any]":
        ours, theirs = socket.socketpair()
        with ours, theirs:
            settings = [theirs.fileno(), self._limits.memory, self._limits.file_size]
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), json.dumps(settings)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, **self._environment},
            )
            return Connection(ours.detach())

    def _receive(self, pipe: "Connection[Any, Any]", seconds: float) -> tuple[Any, ...]:
        """The child's next message; its log is passed on.

        Raises:
            OSError, EOFError: none came in time, or the child ended.
        """
        while True:
            if not pipe.poll(seconds):
                raise TimeoutError
            message: tuple[Any, ...] = pipe.recv()
            if message[0] != "log":
                return message
            logging.getLogger(message[1]).log(message[2], "%s", message[3])

    def _reason(self, error: Exception, seconds: float) -> str:
        """Why no answer came."""
        process = self._process
        if process is None:
            return "it was stopped before it gave a result"
        if not isinstance(error, TimeoutError):  # the child is ending
            with suppress(subprocess.TimeoutExpired):
                process.wait(_END)
        code = process.returncode
        if code is None or code == -signal.SIGALRM:
            return f"it took more than {seconds:g} s"
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"the process that read it broke down ({how})"


def _serve(handle: int, memory: int, file_size: int) -> None:
    """Life of the child: run functions until the parent closes its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the parent
    threading.Thread(target=_end_with_parent, args=[handle], daemon=True).start()
    pipe: Connection[Any, Any] = Connection(handle)
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: pipe.send(("log", record.name, record.levelno, record.getMessage()))  # type: ignore[method-assign]
    logging.getLogger("signspot").addHandler(handler)
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_FSIZE, file_size)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails with an OSError instead
    pipe.send(("ready",))
    while True:
        function, args, options, reports, seconds = pipe.recv()
        signal.alarm(int(seconds) + _GRACE)  # ends the child even where no Python runs
        if reports:
            options["progress"] = _reporter(pipe, int(seconds) + _GRACE)
        reply = _run(function, args, options, memory)
        signal.alarm(0)
        try:
            pipe.send(reply)
        except OSError:
            raise
        except Exception as error:  # a result that does not pickle: our own mistake
            pipe.send(("limit", f"its result cannot be sent ({error})"))


def _end_with_parent(handle: int) -> None:
    poller = select.poll()
    poller.register(handle, 0)  # tells of the end of the other side only
    poller.poll()
    os._exit(1)


def _reporter(pipe: "Connection[Any, Any]", seconds: int) -> Progress:
    last = 0.0

    def report(done: int, total: int | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _PAUSE or done == total:
            last = now
            pipe.send(("progress", done, total))
            signal.alarm(seconds)

    return report


def _run(function: str, args: tuple[Any, ...], options: dict[str, Any], memory: int) -> tuple[str, Any]:
    try:
        _set_limit(resource.RLIMIT_AS, None)
        module, _, name = function.partition(":")
        work = getattr(importlib.import_module(module), name)
        _set_limit(resource.RLIMIT_AS, _address_space() + memory)
        return "value", work(*args, **options)
    except SignspotError as error:
        return "error", error
    except MemoryError:
        return "limit", "it needs more memory than is allowed for one file"
    except Exception as error:  # untrusted input may break a reader in any way
        logger.debug("%s", traceback.format_exc())
        return "limit", f"the process that read it broke down ({type(error).__name__}: {error})"


def _set_limit(kind: int, value: int | None) -> None:
    """Set a soft limit, at most the hard one; None: as high as allowed."""
    _, hard = resource.getrlimit(kind)
    if value is None or (hard != resource.RLIM_INFINITY and value > hard):
        value = hard
    resource.setrlimit(kind, (value, hard))


def _address_space() -> int:
    """Bytes of address space that this process takes now; 0 where the system does not say."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return 0
