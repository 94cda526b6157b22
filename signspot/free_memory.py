"""The number of processes that fit into the memory that is left: more would be killed, or kill others."""

import logging
from contextlib import suppress
from pathlib import Path

logger = logging.getLogger(__name__)


def affordable(workers: int, each: int) -> int:
    """As many workers as asked for, but no more than fit into the memory that is free: at least one.

    Args:
        workers: asked for.
        each: bytes that a worker takes.
    """
    free = free_memory()
    fit = workers if free is None else max(1, min(workers, free // each))
    if fit < workers:
        logger.warning("there is memory for %d of %d processes only", fit, workers)
    return fit


def free_memory(system: Path = Path("/")) -> int | None:
    """Bytes that this computer, or the container that we are in, has left; None: it does not say (only Linux does)."""
    left = []
    with suppress(OSError, ValueError, StopIteration):
        lines = (system / "proc/meminfo").read_text().splitlines()
        left.append(1024 * int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]))
    with suppress(OSError, ValueError):  # the limit of a container; "max": none
        group = system / "sys/fs/cgroup"
        left.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    return max(0, min(left)) if left else None
