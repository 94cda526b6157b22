"""CSV: one spotting a row, for spreadsheets and scripts."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from signspot.errors import FormatError
from signspot.files import write_beside
from signspot.formats.rows import COLUMNS, Row, from_row, read_text
from signspot.records import Spotting


def write(rows: Sequence[Row], path: Path) -> None:
    """Write a header and one row a spotting; numbers with all their digits."""
    table = io.StringIO(newline="")
    writer = csv.writer(table, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows([_cell(row[column]) for column in COLUMNS] for row in rows)
    with write_beside(path) as beside:
        beside.write_text(table.getvalue(), encoding="utf-8", newline="")


def _cell(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else repr(value)


def read(path: Path) -> list[Spotting]:
    """Read a table with a header, columns in any order; commas, semicolons or tabs between them.

    Raises:
        FormatError: a required column is missing, a row is cut short, or a value does not fit its column.
    """
    text = read_text(path)
    table = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        header = _header(next(table, []), path)
        return [_spotting(header, cells, f"{path}, line {table.line_num}") for cells in table if cells]
    except csv.Error as error:
        raise FormatError(f"{path}, line {table.line_num}: not CSV ({error}).") from error


def _delimiter(text: str) -> str:
    first_line = text.partition("\n")[0]
    return max(",;\t", key=first_line.count)


def _header(cells: list[str], path: Path) -> list[str]:
    header = [cell.strip().lower() for cell in cells]
    missing = [column for column in ("word", "time") if column not in header]
    if missing:
        raise FormatError(
            f"{path}, line 1: no column '{missing[0]}' among {', '.join(header) or 'none'}. "
            "The first line must name the columns; word and time are required."
        )
    twice = {column for column in header if column in COLUMNS and header.count(column) > 1}
    if twice:
        raise FormatError(f"{path}, line 1: column '{min(twice)}' is there twice. Keep one.")
    return header


def _spotting(header: list[str], cells: list[str], where: str) -> Spotting:
    if len(cells) != len(header):
        raise FormatError(f"{where}: {len(cells)} cells under {len(header)} columns. Is a quote or comma missing?")
    return from_row(dict(zip(header, cells, strict=True)), where)
