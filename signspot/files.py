"""Files, safely: written beside and renamed, named by content, cached in one folder."""

import errno
import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from signspot.errors import OutputError

_CHUNK = 1 << 20


@contextmanager
def write_beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path to write to; rename it to `path` if, and only if, all went well.

    The temporary file keeps the suffix of `path`, so that writers which choose a format by suffix work.
    On any error, Ctrl-C included, it is removed and whatever stood at `path` before is untouched.

    Raises:
        OutputError: the folder is not writable, the disk is full, or `path` is a folder.
    """
    target = Path(path)
    beside = target.with_name(f".{target.stem[:80]}.{os.getpid()}-{threading.get_ident()}.part{target.suffix}")
    try:
        if target.is_dir():
            raise OutputError(f"cannot write {target}: it is a folder. Name a file in it.")
        target.parent.mkdir(parents=True, exist_ok=True)
        yield beside
        beside.replace(target)
    except OSError as error:
        raise OutputError(explain_write_failure(target, error)) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def explain_write_failure(path: Path, error: OSError) -> str:
    """Say in one line why `path` cannot be written and what to do."""
    remedy = {
        errno.ENOSPC: "the disk is full. Free some space, or write elsewhere",
        errno.EDQUOT: "your disk quota is used up. Free some space, or write elsewhere",
        errno.EACCES: "permission denied. Choose a folder that you may write to",
        errno.EPERM: "not permitted. Choose a folder that you may write to",
        errno.EROFS: "the file system is read-only. Choose another folder",
        errno.ENOTDIR: "a part of the path is a file, not a folder",
        errno.EEXIST: "a part of the path is a file, not a folder",
        errno.ENAMETOOLONG: "the name is too long",
    }.get(error.errno or 0, error.strerror or str(error))
    return f"cannot write {path}: {remedy}."


def content_digest(path: str | os.PathLike[str]) -> str:
    """Name a file by its content: the first 32 hex digits of its SHA-256, read in bounded memory."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()[:32]


def text_digest(text: str) -> str:
    """Name a text by its content, in eight hex digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def cache_folder() -> Path:
    """The folder for everything that can be made again: $SIGNSPOT_CACHE, else the user's cache folder."""
    chosen = os.environ.get("SIGNSPOT_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "signspot"
