"""The same work on many items in several processes, started afresh; one bad item does not stop the rest."""

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.synchronize import Event
from typing import Generic, TypeVar

from signspot.errors import LandmarksError

Item = TypeVar("Item")
Made = TypeVar("Made")

_stop: Event | None = None  # in a worker: set when nobody waits for it any more


def run_each(
    work: Callable[[Item], Made], items: Sequence[Item], workers: int
) -> Iterator[tuple[Item, Made | LandmarksError]]:
    """Do `work` on every item; give each with its result as it becomes ready.

    When a worker dies, the items that were under way are tried again one by one; the one to blame comes back
    with an error. Leaving the iteration early, by Ctrl-C too, ends the workers.
    """
    waiting, suspects = deque(items), deque[Item]()
    while waiting or suspects:
        with _Crew(work, workers) as crew:
            while waiting or suspects or crew.running:
                queue, most = (suspects, 1) if suspects else (waiting, workers)
                while queue and len(crew.running) < most:
                    crew.start(queue.popleft())
                try:
                    yield from crew.finished()
                except BrokenProcessPool:
                    break
        lost = list(crew.running.values())
        if len(lost) == 1:
            yield lost[0], LandmarksError(f"the work on {lost[0]} broke down; is there enough memory?")
        else:
            suspects.extend(lost)


def give_up_if_stopped(done: int, total: int | None) -> None:
    """Stop the work, as a progress report of it, when nobody waits for its result any more."""
    if _stop is not None and _stop.is_set():
        raise LandmarksError(f"stopped after {done} of {total} steps")


class _Crew(Generic[Item, Made]):
    """Worker processes and the items they are working on."""

    def __init__(self, work: Callable[[Item], Made], size: int):
        context = multiprocessing.get_context("spawn")  # MediaPipe's threads do not survive a fork
        self._work = work
        self._stop = context.Event()
        self._pool = ProcessPoolExecutor(size, context, _begin, (self._stop,))
        self.running: dict[Future[Made], Item] = {}

    def __enter__(self) -> "_Crew[Item, Made]":
        return self

    def __exit__(self, *reason: object) -> None:
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)

    def start(self, item: Item) -> None:
        """Hand an item to a worker."""
        self.running[self._pool.submit(self._work, item)] = item

    def finished(self) -> Iterator[tuple[Item, Made]]:
        """Wait for an item, and give all that are ready."""
        for future in wait(self.running, return_when=FIRST_COMPLETED).done:
            result = future.result()
            yield self.running.pop(future), result


def _begin(stop: Event) -> None:
    """Prepare a worker: Ctrl-C goes to the main process, which then sets `stop`."""
    global _stop
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
