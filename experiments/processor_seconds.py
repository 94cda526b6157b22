"""Processor seconds of a process with everything that it started, and of the whole machine; on Linux."""

import ctypes
import os
from pathlib import Path

_PROCESSES = Path("/proc")
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>
_PARENT, _USED = 1, slice(11, 15)  # fields of /proc/<id>/stat after the name: the parent; own time, ended children's
_IDLE = (3, 4)  # fields of /proc/stat: idle, and waiting for a disk
_COUNTED = 8  # fields of /proc/stat that are parts of all time, stolen time the last


def adopt_orphans() -> None:
    """Become the parent of what is left over when a process that this one started ends before its own children.

    Raises:
        OSError: the system refuses.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def family_seconds() -> float:
    """Processor seconds so far of this process and of all that descend from it, ended ones included.

    A process that ended and was not adopted is counted once its parent has taken note of its end.
    """
    used: dict[int, int] = {}
    parents: dict[int, int] = {}
    for path in _PROCESSES.glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        process = int(path.parent.name)
        parents[process], used[process] = int(fields[_PARENT]), sum(map(int, fields[_USED]))
    family, found = 0, [os.getpid()]
    while found:
        process = found.pop()
        family += used.get(process, 0)
        found += [child for child, parent in parents.items() if parent == process]
    return family / os.sysconf("SC_CLK_TCK")


def machine_seconds() -> float:
    """Processor seconds so far of everything on this machine, and of what its host took away from it."""
    fields = (_PROCESSES / "stat").read_text().split("\n", 1)[0].split()[1 : 1 + _COUNTED]
    busy = sum(int(each) for number, each in enumerate(fields) if number not in _IDLE)
    return busy / os.sysconf("SC_CLK_TCK")
