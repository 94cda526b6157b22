"""Names of half-written files, and the removal of those that killed runs of signspot left behind."""

import hashlib
import os
import platform
import re
import threading
import time
from contextlib import suppress
from pathlib import Path

_LONGEST_STEM = 120  # bytes of the target's name that a temporary name repeats; file systems take 255 in all
_TEMPORARY = re.compile(r"\..*\.(?P<host>[0-9a-f]{8})-(?P<process>\d+)-\d+\.signspot-part(\.[^.]*)?", re.DOTALL)
_ABANDONED_AFTER = 24 * 3600.0  # seconds, for temporary files of other machines
_swept: set[tuple[int, Path]] = set()  # process and folder


def temporary_name(target: Path) -> str:
    """A name for a file that is being written, which only signspot gives: it tells machine, process and thread."""
    stem = target.stem.encode("utf-8", "surrogateescape")[:_LONGEST_STEM].decode("utf-8", "ignore")
    return f".{stem}.{_this_machine()}-{os.getpid()}-{threading.get_ident()}.signspot-part{target.suffix}"


def _this_machine() -> str:
    """This machine, or container: where the numbers of processes mean the same processes."""
    try:
        processes = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        processes = ""
    return hashlib.sha256(f"{platform.node()}{processes}".encode()).hexdigest()[:8]


def remove_leftovers(folder: str | os.PathLike[str]) -> None:
    """Remove temporary files that killed runs of signspot left below a folder, and nothing else.

    Known by the exact form of their names; files of processes that live, or of another machine since yesterday, stay.
    """
    for path in Path(folder).rglob(".*"):
        _remove_if_left(path)


def sweep(folder: Path) -> None:
    """Remove what killed runs left in a folder itself, the first time that this process writes there."""
    if (os.getpid(), folder) in _swept:
        return
    _swept.add((os.getpid(), folder))
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(".")]
    for name in names:
        _remove_if_left(folder / name)


def _remove_if_left(path: Path) -> None:
    found = _TEMPORARY.fullmatch(path.name)
    with suppress(OSError):
        if found and path.is_file() and _is_abandoned(path, found["host"], int(found["process"])):
            path.unlink(missing_ok=True)


def _is_abandoned(path: Path, host: str, process: int) -> bool:
    if host != _this_machine() or os.name != "posix":
        return time.time() - path.stat().st_mtime > _ABANDONED_AFTER
    try:
        os.kill(process, 0)  # asks only
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False
