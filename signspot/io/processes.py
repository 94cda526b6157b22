"""Processes: the worker pool, and the lock that keeps a folder to one process.

Workers take one core each. On Linux they are forked from a process that has loaded torch, if this one has, and has no
threads (MediaPipe's do not survive a fork): all share one loading. Elsewhere, and where the temporary folder's name is
too long for that process's socket, each is started afresh. A worker that dies is replaced and its item tried again;
what goes wrong comes back as a value; leaving the pool, by Ctrl-C too, ends them.
"""

import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import connection, parent_process, util
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess, SpawnContext, SpawnProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, NoReturn, Self, TypeVar

from filelock import FileLock, Timeout

from signspot.errors import EngineError, OptionsError, SignspotError

Item = TypeVar("Item")
Made = TypeVar("Made")

logger = logging.getLogger(__name__)

ATTEMPTS = 3  # how often an item is tried whose worker dies
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
SOCKET_PATH = 107  # bytes of a socket's path, at most
_AHEAD = 4  # items per worker that are begun before the next one in order is ready
_LEAVE = 5.0  # seconds within which a worker must end before it is killed
_PAUSE = 0.2  # seconds between two progress reports of a worker
_READY = ()  # a worker's first message; others are (result,), and (done, total) of its progress
_DIED = object()

_line: "Connection[Any, Any] | None" = None  # in a worker: to the process that started it
_last_report = 0.0  # in a worker: when it last reported progress


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an item could not be worked on."""

    message: str
    error: Exception = field(compare=False)  # as it was raised; an EngineError where it cannot be sent

    def raise_again(self) -> NoReturn:
        """Raise the worker's error here."""
        raise self.error


def attempt(work: Callable[[Item], Made], item: Item) -> Made | Failure:
    """Do the work; an error comes back as a value."""
    try:
        return work(item)
    except SignspotError as error:
        return Failure(str(error), portable(error))
    except MemoryError:
        message = "there is not enough memory for it. Use fewer workers."
        return Failure(message, EngineError(message))
    except Exception as error:  # our own mistake: one item may not end all others
        logger.debug("%s", traceback.format_exc())
        return Failure(f"an unexpected {type(error).__name__}: {error}", portable(error))


def portable(error: Exception) -> Exception:
    """The error itself if it survives being sent to another process; else an EngineError with its text."""
    with suppress(Exception):  # anything may happen in a foreign exception's own methods
        back = ForkingPickler.loads(ForkingPickler.dumps(error))  # as it is sent: our own bytes
        if type(back) is type(error) and str(back) == str(error):
            return error
    return EngineError(f"an unexpected {type(error).__name__}: {error}")


def died(times: int, how: str) -> Failure:
    """The failure of an item on which workers died."""
    message = f"its worker died {times} times ({how}). Is there enough memory?"
    return Failure(message, EngineError(message))


def report_progress(done: int, total: int | None) -> None:
    """Tell the pool how far the present item is; outside of a worker, or shortly after the last time, do nothing."""
    global _last_report
    now = time.monotonic()
    if _line is not None and (now - _last_report >= _PAUSE or done == total):
        _last_report = now
        with suppress(OSError):
            _line.send((done, total))


@dataclass(eq=False)
class _Task:
    """An item and how often its worker has died."""

    item: Any
    number: int  # its place among the items
    deaths: int = 0


@dataclass(eq=False)
class _Worker:
    """A process and the line to it."""

    process: SpawnProcess | ForkServerProcess
    line: "Connection[Any, Any]"
    ready: bool = False  # it has said so
    task: _Task | None = None


@dataclass
class WorkerPool:
    """Processes of this machine that work on items at once; the result is the same for any number of them."""

    workers: int = 1
    progress: Callable[[Any, int, int | None], None] | None = None  # called with an item and its progress
    _workers: list[_Worker] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise OptionsError(f"workers must be at least 1; got {self.workers}")

    @property
    def processes(self) -> tuple[int, ...]:
        """The ids of the workers' processes, for those who measure them."""
        return tuple(worker.process.pid for worker in self._workers if worker.process.pid is not None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self._end(list(self._workers))

    def run(
        self, work: Callable[[Item], Made], items: Iterable[Item], *, ordered: bool = False
    ) -> Iterator[tuple[Item, Made | Failure]]:
        """Do `work` on every item; give each with its result.

        Items are taken one by one as workers become free. Breaking off the iteration ends the workers that are busy.

        Args:
            work: importable by its name, or a `functools.partial` of such.
            items: that can be sent to another process.
            ordered: give results in the order of the items; otherwise, as they become ready.
        """
        waiting: dict[int, tuple[Item, Made | Failure]] = {}
        sent = 0
        for task, result in self._results(work, iter(items), _AHEAD * self.workers if ordered else None):
            if not ordered:
                yield task.item, result
                continue
            waiting[task.number] = (task.item, result)
            while sent in waiting:
                yield waiting.pop(sent)
                sent += 1

    def _results(
        self, work: Callable[[Any], Any], coming: Iterator[Any], most: int | None
    ) -> Iterator[tuple[_Task, Any]]:
        """Tasks with their results as they become ready; none is begun `most` items after one that is not ready."""
        again = deque[_Task]()
        numbered = (_Task(item, number) for number, item in enumerate(coming))
        begun = 0
        try:
            while True:
                while len(busy := [worker.task for worker in self._workers if worker.task]) < self.workers:
                    oldest = min((task.number for task in (*busy, *again)), default=begun)
                    if not again and most is not None and begun - oldest >= most:
                        break
                    task = again.popleft() if again else next(numbered, None)
                    if task is None:
                        break
                    begun = max(begun, task.number + 1)
                    self._hand_out(work, task)
                if not busy:
                    return
                for worker in self._wait():
                    yield from self._receive(worker, again)
        finally:
            self._end([worker for worker in self._workers if worker.task])

    def _hand_out(self, work: Callable[[Any], Any], task: _Task) -> None:
        free = next((worker for worker in self._workers if not worker.task), None) or self._spawn()
        free.task = task
        try:
            free.line.send((work, task.item))
        except OSError:
            pass  # it died while it was idle: noticed in `_receive`
        except Exception as error:
            free.task = None
            raise EngineError(f"{task.item} cannot be sent to a worker: {error}") from error

    def _wait(self) -> list[_Worker]:
        """The busy workers that sent a message, or that died."""
        busy = [worker for worker in self._workers if worker.task]
        by_handle: dict[Any, _Worker] = {worker.line: worker for worker in busy}
        by_handle |= {worker.process.sentinel: worker for worker in busy}
        ready = connection.wait(list(by_handle))
        return list(dict.fromkeys(by_handle[handle] for handle in ready))

    def _receive(self, worker: _Worker, again: "deque[_Task]") -> Iterator[tuple[_Task, Any]]:
        """The result of a worker's task if that is its message; the task of a dead one is tried `again`."""
        task = worker.task
        assert task is not None, "only busy workers are listened to"
        try:
            message: Any = worker.line.recv() if worker.line.poll() else _DIED
        except (EOFError, OSError):
            message = _DIED
        if message == _READY:
            worker.ready = True
        elif message is not _DIED and len(message) > 1:
            if self.progress is not None:
                self.progress(task.item, *message)
        elif message is not _DIED:
            worker.task = None
            yield task, message[0]
        else:
            self._remove(worker)
            task.deaths += 1
            if not worker.ready:
                raise EngineError(
                    f"workers cannot be started ({_how(worker)}). A script needs: if __name__ == '__main__':"
                )
            logger.info("a worker died (%s) on %s", _how(worker), task.item)
            if task.deaths < ATTEMPTS:
                again.append(task)
            else:
                yield task, died(task.deaths, _how(worker))

    def _spawn(self) -> _Worker:
        context = _context()
        ours, theirs = context.Pipe()
        with environment(ONE_THREAD):
            variables = dict(os.environ)  # a process from which workers are forked has those of its own start
            process = context.Process(target=_serve, args=(theirs, variables), daemon=True, name="signspot worker")
            process.start()
        theirs.close()
        self._workers.append(_Worker(process, ours))
        return self._workers[-1]

    def _end(self, workers: list[_Worker]) -> None:
        """End workers: they remove what is half written; those that do not end in time are killed."""
        for worker in workers:
            worker.process.terminate()
        deadline = time.monotonic() + _LEAVE
        for worker in workers:
            worker.process.join(max(0.0, deadline - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
            self._remove(worker)

    def _remove(self, worker: _Worker) -> None:
        worker.process.join(_LEAVE)
        worker.line.close()
        self._workers.remove(worker)


def run_each(
    work: Callable[[Item], Made],
    items: Iterable[Item],
    workers: int,
    *,
    ordered: bool = False,
    progress: Callable[[Item, int, int | None], None] | None = None,
) -> Iterator[tuple[Item, Made | Failure]]:
    """As `WorkerPool.run`: in this process with one worker, in a pool of its own with more, which tells of progress."""
    if workers == 1:
        for item in items:
            yield item, attempt(work, item)
        return
    with WorkerPool(workers, progress=progress) as pool:
        yield from pool.run(work, items, ordered=ordered)


def results(outcomes: Iterable[tuple[Item, Made | Failure]]) -> Iterator[Made]:
    """The results alone, where each item must succeed; the first failure is raised."""
    for _, outcome in outcomes:
        if isinstance(outcome, Failure):
            outcome.raise_again()
        yield outcome


def _context() -> SpawnContext | ForkServerContext:
    """The start method of workers."""
    if sys.platform != "linux" or len(os.fsencode(f"{util.get_temp_dir()}/listener-12345678")) > SOCKET_PATH:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([name for name in ("torch",) if name in sys.modules])  # heeded at its start only
    return context


def _serve(line: "Connection[Any, Any]", variables: dict[str, str]) -> None:
    """A worker's life: take an item, work, send what came of it."""
    global _line
    os.environ.clear()
    os.environ.update(variables)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the main process, which ends its workers
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _line = line
    code = 0
    try:
        with suppress(EOFError, OSError):
            line.send(_READY)
            while True:
                _send(line, _serve_once(line))
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    os._exit(code)  # without waiting for threads of libraries


def _leave(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)  # files that are half written are removed on the way out


def _serve_once(line: "Connection[Any, Any]") -> Any:
    try:
        work, item = line.recv()
    except (EOFError, OSError):
        raise
    except Exception as error:  # a module that cannot be loaded here
        message = f"a worker cannot import what it needs: {error}"
        return Failure(message, ImportError(message))
    return attempt(work, item)


def _send(line: "Connection[Any, Any]", result: Any) -> None:
    try:
        line.send((result,))
    except OSError:
        raise
    except Exception as error:
        message = f"its result cannot be sent ({error})"
        line.send((Failure(message, EngineError(message)),))


def _end_with_parent() -> None:
    """End a worker whose parent was killed: it would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _how(worker: _Worker) -> str:
    code = worker.process.exitcode
    return f"exit code {code}" if code is None or code >= 0 else f"killed by {signal.Signals(-code).name}"


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Environment for a process that is started inside; libraries read it when they are first loaded."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a lock file; give whether it could be had: no other process holds it. It goes with the process that does."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()
