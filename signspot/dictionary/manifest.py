"""What was fetched, when, and with which checksum: one JSON line a file, beside the files."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from signspot.errors import OutputError
from signspot.files import explain_write_failure

FILE_NAME = "fetched.jsonl"


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that was fetched whole."""

    name: str  # relative to the folder
    url: str
    bytes: int
    sha256: str
    when: str  # ISO 8601, UTC


def read_manifest(folder: Path) -> dict[str, Fetched]:
    """What was fetched into a folder, by name; lines that a crash has left unfinished are passed over."""
    path = folder / FILE_NAME
    found: dict[str, Fetched] = {}
    if not path.is_file():
        return found
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = Fetched(**json.loads(line))
        except (ValueError, TypeError):
            continue
        found[entry.name] = entry
    return found


def add_to_manifest(folder: Path, entry: Fetched) -> None:
    """Note a file. A line is added at the end: rewriting thousands of lines for each file would be slow.

    Raises:
        OutputError: it cannot be written.
    """
    path = folder / FILE_NAME
    try:
        with path.open("a+b") as file:
            end = file.seek(0, 2)
            torn = end > 0 and (file.seek(end - 1), file.read(1))[1] != b"\n"
            file.write((b"\n" if torn else b"") + json.dumps(asdict(entry)).encode() + b"\n")
    except OSError as error:
        raise OutputError(explain_write_failure(path, error)) from error
