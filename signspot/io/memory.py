"""Memory: the number of processes that fit into the part that is left, and the return of freed blocks to the system."""

import ctypes
import logging
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

_ARENA_MAX = -8  # glibc's number of the setting: how many heaps there are at most


def affordable(workers: int, worker_bytes: int) -> int:
    """As many workers as asked for, but no more than fit into the memory that is free: at least one.

    Args:
        workers: asked for.
        worker_bytes: bytes that a worker takes.
    """
    free = free_memory()
    fit = workers if free is None else max(1, min(workers, free // worker_bytes))
    if fit < workers:
        logger.warning("there is memory for only %d of %d processes", fit, workers)
    return fit


def free_memory(system: Path = Path("/")) -> int | None:
    """Bytes that this computer, or its container, has left; None where the system does not say (only Linux does)."""
    limits = []
    with suppress(OSError, ValueError, StopIteration):
        lines = (system / "proc/meminfo").read_text().splitlines()
        limits.append(1024 * int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]))
    with suppress(OSError, ValueError):  # the limit of a container; "max": none
        group = system / "sys/fs/cgroup"
        limits.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    return max(0, min(limits)) if limits else None


def give_back() -> None:
    """Give memory that is freed, but still held by glibc, back to the system.

    The models of a tracker that is closed leave holes in the heap into which those of the next one do not fit.
    """
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)


def share_one_heap() -> None:
    """Let all threads that begin from now on allocate from one heap, where the C library is glibc.

    By default nearly every thread has a heap of its own. The threads of a tracker end with it, and what they leave
    unused, in holes of their heaps, the threads of the next tracker do not find: memory grows from tracker to tracker.
    """
    library = _glibc()
    if library is not None:
        library.mallopt(_ARENA_MAX, 1)


@cache
def _glibc() -> Any:
    """The C library, where it is glibc; else None: others do without."""
    if sys.platform != "linux":
        return None
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        _ = library.malloc_trim, library.mallopt
        return library
    return None
