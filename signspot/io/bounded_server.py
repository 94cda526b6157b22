"""The other side of a process with limits: it takes requests, one at a time, and sends answers, whole or in parts."""

import importlib
import json
import logging
import os
import signal
import sys
import time
from contextlib import suppress
from typing import IO, Any

from signspot.errors import SignspotError

GRACE = 5.0  # seconds after the deadline at which the process ends itself, if nobody did


class _Server:
    """The other side: takes requests, and sends answers."""

    def __init__(self, function: Any, answers: IO[bytes]):
        self._function, self._answers, self._seconds, self._shown = function, answers, 0.0, 0.0
        self._log: list[tuple[str, int, str]] = []
        handler = logging.Handler(logging.WARNING)
        handler.emit = self._keep  # type: ignore[method-assign]
        logging.getLogger("signspot").addHandler(handler)

    def _keep(self, record: logging.LogRecord) -> None:
        self._log.append((record.name, record.levelno, record.getMessage()))

    def send(self, reply: dict[str, Any], data: Any = None) -> None:
        """Write an answer. Whoever asked may take it whenever they like: no alarm goes off."""
        signal.alarm(0)
        log, self._log = self._log, []
        self._answers.write(json.dumps({**reply, "log": log} if log else reply).encode() + b"\n")
        if data is not None:
            self._answers.write(data)
        self._answers.flush()
        self.set_alarm()

    def set_alarm(self) -> None:
        """It ends the process even where no Python runs."""
        signal.alarm(int(self._seconds + GRACE) + 1)
        self._shown = time.monotonic()

    def answer(self, message: dict[str, Any]) -> None:
        """Answer one request, in one piece or in parts."""
        self._seconds = message["seconds"]
        self.set_alarm()
        reply = _reply(self._function, message["request"])
        self.send(reply)
        signal.alarm(0)


def serve(target: str, memory: int, may_write: bool) -> None:
    """The life of the process: limits first, then requests until nobody asks any more."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the main process
    server = _Server(find_function(target), answers)
    _limit(memory, may_write=may_write)
    answers.write(b"{}\n")
    answers.flush()
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "stop" not in message:  # of a stream that had ended already
            server.answer(message)
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


def find_function(target: str) -> Any:
    """The function that a text of the form `module:function` names."""
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
