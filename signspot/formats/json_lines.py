"""JSON Lines: one spotting a line, as an object."""

from collections.abc import Sequence
from pathlib import Path

from signspot.errors import FormatError
from signspot.files import write_beside
from signspot.formats.rows import Row, dump_json, from_row, parse_json, read_text
from signspot.records import Spotting


def write(rows: Sequence[Row], path: Path) -> None:
    """Write one JSON object a line. No spottings give a file with one empty line."""
    text = "".join(dump_json(row) + "\n" for row in rows) or "\n"
    with write_beside(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")


def read(path: Path) -> list[Spotting]:
    """Read one JSON object a line; blank lines are passed over.

    Raises:
        FormatError: a line is not JSON, not an object, or not a spotting.
    """
    spottings = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        row = parse_json(line, str(path), number)
        if not isinstance(row, dict):
            raise FormatError(f"{path}, line {number}: expected a JSON object; got {type(row).__name__}.")
        spottings.append(from_row(row, f"{path}, line {number}"))
    return spottings
