"""Content digests of files, remembered by size and time of change, so that a run reads no video twice."""

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from signspot.files import content_digest, write_beside
from signspot.progress import Progress, silent


class Digests:
    """Remembers digests in a file."""

    def __init__(self, file: Path):
        self._file = file
        self._known: dict[str, tuple[int, int, str]] = {}  # path → size, time of change, digest
        try:
            entries = json.loads(file.read_text(encoding="utf-8"))
            self._known = {
                str(path): (int(size), int(when), str(digest)) for path, (size, when, digest) in entries.items()
            }
        except (OSError, ValueError, TypeError, AttributeError):
            self._known = {}  # not there, or damaged: all are read again

    def of(self, paths: Iterable[Path], workers: int = 1, progress: Progress = silent) -> dict[Path, str | OSError]:
        """The digest of every file, or why it cannot be read."""
        wanted = list(paths)
        found: dict[Path, str | OSError] = {}
        with ThreadPoolExecutor(workers) as pool:
            for done, (path, digest) in enumerate(zip(wanted, pool.map(self._digest, wanted), strict=True), 1):
                found[path] = digest
                progress(done, len(wanted))
        self._save()
        return found

    def _digest(self, path: Path) -> str | OSError:
        try:
            before = path.stat()
            size, when, digest = self._known.get(str(path.resolve()), (-1, -1, ""))
            if (size, when) != (before.st_size, before.st_mtime_ns):
                digest = content_digest(path)
                self._known[str(path.resolve())] = (before.st_size, before.st_mtime_ns, digest)
            return digest
        except OSError as error:
            return error

    def _save(self) -> None:
        with write_beside(self._file) as beside:
            beside.write_text(json.dumps(self._known, ensure_ascii=True, indent=0), encoding="utf-8")
