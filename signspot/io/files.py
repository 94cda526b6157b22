"""Files: atomic writes, stale temporary files, digests, the cache folder, and the check of every output path."""

import errno
import hashlib
import json
import logging
import os
import platform
import re
import shutil
import stat
import tempfile
import threading
import time
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from signspot.errors import OutputError, RefusedOutputError, UnreadableFileError

logger = logging.getLogger(__name__)

StrPath = str | os.PathLike[str]

_CHUNK = 1 << 20
_LEDGER = "written.txt"
MOST_LEDGER_BYTES = 2_000_000  # about 20,000 files; then the older half is forgotten
_awaited: set[str] = set()  # outputs that were claimed and are being written, by `_name_key`
_TICK = 100_000_000  # nanoseconds: two changes within a tick of a file system have one time


@contextmanager
def atomic_write(path: StrPath) -> Iterator[Path]:
    """Give a temporary path to write to; rename it to `path` if, and only if, all went well.

    The temporary file keeps the suffix of `path`, so that writers which choose a format by suffix work.
    On any error, Ctrl-C included, it is removed and whatever stood at `path` before is untouched. The content is on
    the disk before the name is, and both are when this returns: after a power cut there is the old file or the new one,
    never an empty one. Where a file is replaced, the permissions stay; a new file gets those that the user's umask
    gives, whatever the writer chose.

    Args:
        path: the file to write.

    Raises:
        OutputError: the folder is not writable, the disk is full, or `path` is a folder, a device, a pipe or a link.
    """
    target = Path(path)
    temporary = target.with_name(temporary_name(target))
    try:
        before = _status(target)
        if target.is_symlink():
            raise OutputError(f"cannot write {target}: it is a link to {target.readlink()}. Name that file.")
        if before is not None and not stat.S_ISREG(before.st_mode):
            raise OutputError(f"cannot write {target}: it is {_kind(before.st_mode)}. Name a file.")
        target.parent.mkdir(parents=True, exist_ok=True)
        _clean_up_once(target.parent)
        mode = before.st_mode if before is not None else _mode_of_new_files(temporary)
        yield temporary
        if stat.S_IMODE(temporary.stat().st_mode) != stat.S_IMODE(mode):
            temporary.chmod(stat.S_IMODE(mode))
        sync(temporary)
        if _name_key(target) in _awaited:
            note_written(temporary, target)  # before it has its name: killed at any moment, the next run knows it
        temporary.replace(target)
        sync(target.parent)
    except OSError as error:
        raise OutputError(explain_write_failure(target, error)) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _status(path: Path) -> os.stat_result | None:
    """The status of what a path leads to; None where there is nothing."""
    with suppress(FileNotFoundError):
        return path.stat()
    return None


def _kind(mode: int) -> str:
    return "a folder" if stat.S_ISDIR(mode) else "a device or a pipe, not a file"


def _mode_of_new_files(path: Path) -> int:
    """The permissions of a file that is made at `path` now; nothing is left there."""
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        return os.fstat(handle).st_mode
    finally:
        os.close(handle)
        path.unlink()


def sync(path: Path) -> None:
    """Force a file, or the names in a folder, to the disk; where folders cannot be opened, names are left to it.

    $SIGNSPOT_SYNC=0 leaves all of it to the disk, for scratch space.
    """
    if os.environ.get("SIGNSPOT_SYNC") == "0":
        return
    try:
        handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def explain_write_failure(path: Path, error: OSError) -> str:
    """Say in one line why `path` cannot be written and what to do."""
    remedy = {
        errno.ENOSPC: "the disk is full. Free some space, or write elsewhere",
        errno.EFBIG: "the file is larger than your limit of file sizes (ulimit -f) allows. Raise it",
        errno.EDQUOT: "your disk quota is used up. Free some space, or write elsewhere",
        errno.EACCES: "permission denied. Choose a folder that you may write to",
        errno.EPERM: "not permitted. Choose a folder that you may write to",
        errno.EROFS: "the file system is read-only. Choose another folder",
        errno.ENOTDIR: "a part of the path is a file, not a folder",
        errno.EEXIST: "a part of the path is a file, not a folder",
        errno.ENAMETOOLONG: "the name is too long",
    }.get(error.errno or 0, error.strerror or str(error))
    return f"cannot write {path}: {remedy}."


_LONGEST_STEM = 120  # bytes of the target's name that a temporary name repeats; file systems take 255 in all
_TEMPORARY = re.compile(r"\..*\.(?P<host>[0-9a-f]{8})-(?P<process>\d+)-\d+\.signspot-part(\.[^.]*)?", re.DOTALL)
_STALE_AFTER = 24 * 3600.0  # seconds, for temporary files of other machines
_cleaned: set[tuple[int, Path]] = set()  # process and folder


def temporary_name(target: Path) -> str:
    """A name, used by signspot only, for a file that is being written; it holds machine, process and thread."""
    stem = target.stem.encode("utf-8", "surrogateescape")[:_LONGEST_STEM].decode("utf-8", "ignore")
    return f".{stem}.{_this_machine()}-{os.getpid()}-{threading.get_ident()}.signspot-part{target.suffix}"


def _this_machine() -> str:
    """This machine or container: process ids of one of them mean nothing in another."""
    try:
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        namespace = ""
    return hashlib.sha256(f"{platform.node()}{namespace}".encode()).hexdigest()[:8]


def clean_up(folder: StrPath) -> None:
    """Remove stale temporary files of killed runs of signspot below a folder, and nothing else.

    They are recognised by the exact form of their names; files of living processes, and files of another machine that
    are younger than a day, stay.
    """
    for path in Path(folder).rglob(".*"):
        _remove_if_stale(path)


def _clean_up_once(folder: Path) -> None:
    """Remove stale temporary files in a folder itself, the first time that this process writes there."""
    if (os.getpid(), folder) in _cleaned:
        return
    _cleaned.add((os.getpid(), folder))
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(".")]
    for name in names:
        _remove_if_stale(folder / name)


def _remove_if_stale(path: Path) -> None:
    match = _TEMPORARY.fullmatch(path.name)
    with suppress(OSError):
        if match and path.is_file() and _is_stale(path, match["host"], int(match["process"])):
            path.unlink(missing_ok=True)


def _is_stale(path: Path, host: str, process: int) -> bool:
    if host != _this_machine():
        return time.time() - path.stat().st_mtime > _STALE_AFTER
    try:
        os.kill(process, 0)  # asks only
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


_Stamp = tuple[int, int, int, int]  # inode, size, times of change of content and of the file
_Digests = dict[str, tuple[_Stamp, str]]  # absolute path → stamp and digest of what was read there last
_digests: _Digests = {}
_digests_read: dict[Path, int] = {}  # file of digests → bytes of it that this process has read
DIGESTS = "digests.jsonl"  # in the cache folder: digests that any process of this user has computed
_WORTH_KEEPING = 1 << 14  # bytes of a file whose digest is kept: smaller ones are read as fast
_MOST_DIGESTS_BYTES = 32_000_000  # about 150,000 files; then all are computed again


def content_digest(path: str | os.PathLike[str]) -> str:
    """Name a file by its content: the first 32 hex digits of its SHA-256, read in bounded memory.

    A file that has not changed since it was read last (by inode, size and times), by this process or another one
    with the same cache folder, is not read again.
    """
    store = cache_folder() / DIGESTS
    name, stamp = os.path.abspath(path), _stamp(path)  # noqa: PTH100 (it must not follow links: they may change)
    if name not in _digests or _digests[name][0] != stamp:
        _read_new_digests(store)
    entry = _digests.get(name)
    if entry is None or entry[0] != stamp:
        entry = stamp, _read_digest(path)
        if _stamp(path) == stamp and abs(time.time_ns() - stamp[2]) > _TICK:  # nor may it change unseen
            _digests[name] = entry
            _keep_digest(store, name, *entry)
    return entry[1]


def _read_new_digests(file: Path) -> None:
    """Take in what processes have added to a file of digests since it was read last, but for damaged lines."""
    start, size = _digests_read.get(file, 0), file.stat().st_size if file.is_file() else 0
    _digests_read[file] = size
    if size == start:
        return
    with suppress(OSError), file.open("rb") as lines:
        lines.seek(start if start < size else 0)
        for line in lines:
            try:
                entry = json.loads(line)
                inode, length, changed, status = map(int, entry["stamp"])
                _digests[str(entry["path"])] = (inode, length, changed, status), str(entry["digest"])
            except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
                continue


def _keep_digest(file: Path, path: str, stamp: _Stamp, digest: str) -> None:
    """Add a digest to those of the cache; where it cannot be written, the file is read again another time."""
    if stamp[1] < _WORTH_KEEPING:
        return
    line = json.dumps({"path": path, "stamp": stamp, "digest": digest}).encode() + b"\n"
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists() and file.stat().st_size > _MOST_DIGESTS_BYTES:
            file.unlink(missing_ok=True)
        with file.open("ab") as end:  # one short line at the end: safe beside other processes
            if end.tell() == _digests_read.get(file):
                _digests_read[file] += len(line)
            end.write(line)


def _stamp(path: str | os.PathLike[str]) -> _Stamp:
    try:
        status = Path(path).stat()
    except OSError as error:
        raise UnreadableFileError(f"cannot read {path}: {error.strerror or error}.") from error
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _read_digest(path: str | os.PathLike[str]) -> str:
    digest = hashlib.sha256()
    try:
        with Path(path).open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise UnreadableFileError(f"cannot read {path}: {error.strerror or error}. Is its disk in order?") from error
    return digest.hexdigest()[:32]


def text_digest(text: str) -> str:
    """Name a text by its content, in eight hex digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def cache_folder() -> Path:
    """The folder for everything that can be made again: $SIGNSPOT_CACHE, else the user's cache folder."""
    return _own_folder("XDG_CACHE_HOME", ".cache")


def state_folder() -> Path:
    """The folder of the ledger of what signspot wrote: $SIGNSPOT_CACHE, else the user's folder for state."""
    return _own_folder("XDG_STATE_HOME", ".local/state")


def _own_folder(variable: str, usual: str) -> Path:
    chosen, base = os.environ.get("SIGNSPOT_CACHE"), os.environ.get(variable)
    return Path(chosen).expanduser() if chosen else (Path(base) if base else _home() / usual) / "signspot"


def _home() -> Path:
    """The user's folder; of a user whom the system does not know, as in containers, one of its own for now."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"signspot-user-{os.getuid()}"


class Outputs:
    """The check of every output path of a command, before any long work.

    An output is never one of the inputs, whatever the name or link that leads there, and never a file that signspot
    did not write last: one that it wrote and a person has edited since is a person's. `force` lets such files be
    replaced; a copy then stays beside them as `name.bak`, `name.bak2`, ….

    Claim first; then enter it as a context around the writing. On entering, backups are made; what is written is noted
    in the user's ledger, by content. Claims may also be made inside.
    """

    def __init__(self, inputs: Iterable[StrPath | None] = (), *, force: bool = False):
        """Take the files and folders that are read; None stands for an input that was not given."""
        self._inputs = [Path(path) for path in inputs if path is not None]
        self._force = force
        self._claims: dict[str, _Claim] = {}
        self._writing = False

    def __enter__(self) -> "Outputs":
        self._writing = True
        self._claims = {key: _backed_up(claim) for key, claim in self._claims.items()}
        _awaited.update(self._claims)
        return self

    def __exit__(self, *_: object) -> None:
        """Note what was written, also where the work broke off; drop backups of what was not replaced after all."""
        _awaited.difference_update(self._claims)
        for claim in self._claims.values():
            if _identity(claim.path) == claim.before:
                if claim.backup is not None:
                    claim.backup.unlink(missing_ok=True)
            elif claim.path.is_file() and not is_ours(claim.path):
                note_written(claim.path)

    def claim(self, path: StrPath, suffixes: Sequence[str] = ()) -> Path:
        """Give the path, if it may be written.

        Args:
            path: the file that will be written with `atomic_write`.
            suffixes: how its name may end; any, if empty.

        Raises:
            RefusedOutputError: it may not.
        """
        target = Path(path)
        if os.fspath(path) == "-":
            raise RefusedOutputError("cannot write '-': name a file. For pipes, --json prints the results.")
        if suffixes and not target.name.lower().endswith(tuple(suffixes)):
            choices = ", ".join(suffixes)
            raise RefusedOutputError(f"cannot write {target}: unknown file type '{target.suffix}'. Known: {choices}.")
        if target.is_symlink():
            raise RefusedOutputError(f"cannot write {target}: it is a link to {target.readlink()}. Name that file.")
        status = _status(target)
        if status is not None and not stat.S_ISREG(status.st_mode):
            raise RefusedOutputError(f"cannot write {target}: it is {_kind(status.st_mode)}. Name a file.")
        if _name_key(target) in self._claims:
            raise RefusedOutputError(f"cannot write {target} twice in one run. Name two files.")
        for input_path in self._inputs:
            if _name_key(input_path) == _name_key(target) or _is_same_file(input_path, target):
                raise RefusedOutputError(
                    f"cannot write {target}: it is the input {input_path} itself. Name another file."
                )
        if status is not None and status.st_size and not is_ours(target):
            self._refuse_peoples_files(target)
        claim = _Claim(target, _identity(target))
        self._claims[_name_key(target)] = _backed_up(claim) if self._writing else claim
        if self._writing:
            _awaited.add(_name_key(target))
        return target

    def _refuse_peoples_files(self, target: Path) -> None:
        folder = next((path for path in self._inputs if path.is_dir() and _holds(path, target)), None)
        if folder is not None:
            raise RefusedOutputError(f"cannot write {target}: it is a file of the input {folder}. Name another file.")
        if not self._force:
            raise RefusedOutputError(
                f"cannot write {target}: it exists, and was not written by signspot or was changed since. "
                "Name another file, or use --force, which keeps a backup beside it."
            )


@dataclass(frozen=True, slots=True)
class _Claim:
    """An output that may be written."""

    path: Path
    before: tuple[int, ...] | None  # the identity of what stands there
    backup: Path | None = None


def _backed_up(claim: _Claim) -> _Claim:
    """Keep a copy of what stands at the path, if a person wrote it, perhaps since it was claimed."""
    status = _status(claim.path)
    if status is None or not status.st_size or is_ours(claim.path):
        return replace(claim, before=_identity(claim.path))
    backup = _free_backup_name(claim.path)
    try:
        os.link(claim.path, backup)
    except OSError:  # a file system without links
        try:
            shutil.copy2(claim.path, backup)
        except OSError as error:
            raise OutputError(explain_write_failure(backup, error)) from error
    return replace(claim, before=_identity(claim.path), backup=backup)


def _identity(path: Path) -> tuple[int, ...] | None:
    status = _status(path)
    return None if status is None else (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _name_key(path: Path) -> str:
    return _folded(str(path.resolve()))


def _folded(name: str) -> str:
    """One text for all spellings of a name on file systems that ignore case and the composition of letters."""
    return unicodedata.normalize("NFC", name).casefold()


def _is_same_file(one: Path, other: Path) -> bool:
    first, second = _status(one), _status(other)
    return first is not None and second is not None and os.path.samestat(first, second)


def _holds(folder: Path, target: Path) -> bool:
    """Whether a file is one of a folder's, by name or link."""
    paths = (Path(parent) / name for parent, _, names in os.walk(folder) for name in names)
    return any(_is_same_file(path, target) for path in paths)


def _free_backup_name(target: Path) -> Path:
    turn = 1
    while (backup := target.with_name(f"{target.name}.bak{turn if turn > 1 else ''}")).exists():
        turn += 1
    return backup


def names_apart(paths: Sequence[StrPath], suffix: str) -> list[Path]:
    """Relative paths for what is made of each file, with another suffix and no two alike on any file system.

    `mon/a.mp4` and `b.mp4` give `a.pose` and `b.pose`; where names are alike, folders tell them apart (`mon/a.pose`,
    `tue/a.pose`), and in one folder the old suffix does (`a.mp4.pose`, `a.mov.pose`).
    """
    files = [Path(path).resolve() for path in paths]
    home = Path(os.path.commonpath([path.parent for path in files])) if files else Path()
    names: list[Path] = [Path(path.stem + suffix) for path in files]
    for longer in (
        [path.relative_to(home).with_suffix(suffix) for path in files],
        [path.relative_to(home).with_name(path.name + suffix) for path in files],
    ):
        keys = [_folded(str(name)) for name in names]
        times = Counter(keys)
        names = [long if times[key] > 1 else name for name, long, key in zip(names, longer, keys, strict=True)]
    return names


def is_ours(path: StrPath) -> bool:
    """Whether a file is just as signspot wrote it: its content is in the ledger."""
    with suppress(OSError), _ledger().open("rb") as ledger:
        digest = content_digest(path).encode()
        return any(line.startswith(digest) for line in ledger)
    return False


def note_written(path: StrPath, name: StrPath | None = None) -> None:
    """Note in the ledger that signspot wrote a file, by its content and, for people, its path, or its later `name`."""
    ledger = _ledger()
    try:
        line = f"{content_digest(path)} {Path(name or path).resolve()}".replace("\n", " ") + "\n"
        ledger.parent.mkdir(parents=True, exist_ok=True)
        with ledger.open("ab") as file:  # one short line at the end: safe beside other processes
            file.write(line.encode("utf-8", "surrogateescape"))
        if ledger.stat().st_size > MOST_LEDGER_BYTES:
            lines = ledger.read_bytes().splitlines(keepends=True)
            with atomic_write(ledger) as temporary:
                temporary.write_bytes(b"".join(lines[len(lines) // 2 :]))
    except (OSError, OutputError) as error:
        logger.warning("replacing %s will need --force: the ledger %s cannot be written (%s)", path, ledger, error)


def _ledger() -> Path:
    return state_folder() / _LEDGER
