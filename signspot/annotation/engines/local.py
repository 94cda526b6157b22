"""Workers on this machine: processes that are started afresh, each replaced when it dies."""

import logging
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import connection, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from types import TracebackType
from typing import Any, Self

from signspot.annotation.engines.engine import ATTEMPTS, ONE_THREAD, Failure, Item, Made, attempt, died, environment
from signspot.errors import EngineError, OptionsError

logger = logging.getLogger(__name__)

_READY = "ready"  # what a worker says first


@dataclass(eq=False)
class _Worker:
    """A process and the line to it."""

    process: SpawnProcess
    line: "Connection[Any, Any]"
    ready: bool = False  # it has said so
    task: "_Task | None" = None  # what it works on


@dataclass(eq=False)
class _Task:
    """An item and how often its worker has died."""

    item: Any
    deaths: int = 0


@dataclass
class LocalEngine:
    """So many processes on this machine."""

    workers: int = 1
    _crew: list[_Worker] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise OptionsError(f"workers must be at least 1; got {self.workers}")

    @property
    def processes(self) -> tuple[int, ...]:
        """The ids of the workers' processes, for those who measure them."""
        return tuple(worker.process.pid for worker in self._crew if worker.process.pid is not None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for worker in self._crew:
            worker.line.close()
            worker.process.terminate()
        for worker in self._crew:
            worker.process.join(10)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._crew.clear()

    def run(self, work: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[tuple[Item, Made | Failure]]:
        """Do `work` on every item, each with its result as it becomes ready."""
        for worker in [worker for worker in self._crew if worker.task]:  # an earlier run was broken off
            worker.process.terminate()
            self._dismiss(worker)
        coming, again = iter(items), deque[_Task]()
        while True:
            self._hand_out(work, coming, again)
            busy = [worker for worker in self._crew if worker.task]
            if not busy:
                return
            for worker in self._wait(busy):
                outcome = self._hear(worker)
                if outcome is None:
                    continue
                task, result = outcome
                if result is not _DIED:
                    yield task.item, result
                elif task.deaths < ATTEMPTS:
                    again.append(task)
                else:
                    yield task.item, died(task.deaths, _how(worker))

    def _hand_out(self, work: Callable[[Any], Any], coming: Iterator[Any], again: "deque[_Task]") -> None:
        """Give an item to every worker that has none; hire up to the wanted number while there is work."""
        while True:
            free = next((worker for worker in self._crew if not worker.task), None)
            if free is None and len(self._crew) >= self.workers:
                return
            task = again.popleft() if again else next((_Task(item) for item in coming), None)
            if task is None:
                return
            if free is None:
                free = _hire()
                self._crew.append(free)
            free.task = task
            with suppress(OSError):  # it died while it was idle: heard of below
                free.line.send((work, task.item))

    def _wait(self, busy: list[_Worker]) -> list[_Worker]:
        """The workers that have something to say, or that died."""
        by_handle: dict[Any, _Worker] = {worker.line: worker for worker in busy}
        by_handle |= {worker.process.sentinel: worker for worker in busy}
        ready = connection.wait(list(by_handle))
        return list(dict.fromkeys(by_handle[handle] for handle in ready))

    def _hear(self, worker: _Worker) -> "tuple[_Task, Any] | None":
        """What a worker says of its task; None if it only says that it is ready."""
        task = worker.task
        assert task is not None, "only busy workers are listened to"
        try:
            said = worker.line.recv() if worker.line.poll() else _DIED
        except (EOFError, OSError):
            said = _DIED
        if isinstance(said, str) and said == _READY:
            worker.ready = True
            return None
        if said is _DIED:
            self._dismiss(worker)
            task.deaths += 1
            if not worker.ready:
                raise EngineError(
                    f"workers cannot be started ({_how(worker)}). A script needs: if __name__ == '__main__':"
                )
            logger.info("a worker died (%s) on %s", _how(worker), task.item)
        worker.task = None
        return task, said

    def _dismiss(self, worker: _Worker) -> None:
        worker.process.join(10)
        worker.line.close()
        self._crew.remove(worker)


_DIED = object()


def _how(worker: _Worker) -> str:
    code = worker.process.exitcode
    if code is None or code >= 0:
        return f"exit code {code}"
    return f"killed by {signal.Signals(-code).name}"


def _hire() -> _Worker:
    context = multiprocessing.get_context("spawn")  # MediaPipe's threads do not survive a fork
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True, name="signspot worker")
    with environment(ONE_THREAD):
        process.start()
    theirs.close()
    return _Worker(process, ours)


def _serve(line: "Connection[Any, Any]") -> None:
    """A worker's life: take an item, work, say what came of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the main process, which ends its workers
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        line.send(_READY)
        while True:
            line.send(_serve_once(line))


def _serve_once(line: "Connection[Any, Any]") -> Any:
    try:
        work, item = line.recv()
    except (EOFError, OSError):
        raise
    except Exception as error:  # a module that cannot be loaded here
        return Failure(f"a worker cannot load its tools: {error}", fatal=True)
    return attempt(work, item)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
