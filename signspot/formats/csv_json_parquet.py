"""Tables of spottings, one per line or row: CSV, JSON Lines, and Parquet with pyarrow (an extra)."""

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from signspot.errors import FormatError, MissingExtraError
from signspot.formats.spotting_rows import COLUMNS, NUMBERS, Row, dump_json, from_row
from signspot.io.files import atomic_write
from signspot.io.text import json_rows, read_bytes, read_text
from signspot.types import Spotting

_REQUIRED = ("word", "time")
_DELIMITERS = ",;\t"
_MOST_COLUMNS = 1000  # a line of them is looked through many times
_FORMULA = re.compile(r"'*[=+\-@\t\r]")  # spreadsheets run what begins so; an apostrophe before it makes it text


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Write a header and one row per spotting; numbers with all their digits, and no cell that a spreadsheet runs."""
    table = io.StringIO(newline="")
    writer = csv.writer(table, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows([csv_cell(row[column]) for column in COLUMNS] for row in rows)
    with atomic_write(path) as temporary:
        temporary.write_text(table.getvalue(), encoding="utf-8", newline="")


def read_csv(path: Path) -> list[Spotting]:
    """Read a table with a header, columns in any order, separated by commas, semicolons or tabs.

    Raises:
        FormatError: a required column is missing, a row is cut short, or a value does not fit its column.
    """
    text = read_text(path, exact=True).text
    delimiter = max(_DELIMITERS, key=text.partition("\n")[0].count)
    table = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = _csv_header(next(table, []), path)
        return [_csv_spotting(header, cells, f"{path}, line {table.line_num}") for cells in table if cells]
    except csv.Error as error:
        raise FormatError(f"{path}, line {table.line_num}: not CSV ({error}).") from error


def csv_cell(value: str | float | bool) -> str:
    """A value as the text of a cell that no spreadsheet runs."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return repr(value)
    return f"'{value}" if _FORMULA.match(value) else value


def _csv_header(cells: list[str], path: Path) -> list[str]:
    header = [cell.strip().lower() for cell in cells]
    if len(header) > _MOST_COLUMNS:
        raise FormatError(f"{path}, line 1: {len(header):,} columns; at most {_MOST_COLUMNS:,} are read.")
    missing = [column for column in _REQUIRED if column not in header]
    if missing:
        raise FormatError(
            f"{path}, line 1: no column '{missing[0]}' among {', '.join(header) or 'none'}. "
            "The first line must name the columns; word and time are required."
        )
    twice = [column for column in COLUMNS if header.count(column) > 1]
    if twice:
        raise FormatError(f"{path}, line 1: column '{twice[0]}' appears twice. Keep one.")
    return header


def _csv_spotting(header: list[str], cells: list[str], where: str) -> Spotting:
    if len(cells) != len(header):
        raise FormatError(f"{where}: {len(cells)} cells under {len(header)} columns. Is a quote or comma missing?")
    plain = (cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell for cell in cells)
    return from_row(dict(zip(header, plain, strict=True)), where)


def write_json_lines(rows: Sequence[Row], path: Path) -> None:
    """Write one JSON object per line. No spottings give a file with one empty line."""
    text = "".join(dump_json(row) + "\n" for row in rows) or "\n"
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def read_json_lines(path: Path) -> list[Spotting]:
    """Read one JSON object per line; blank lines are passed over.

    Raises:
        FormatError: a line is not JSON, not an object, or not a spotting.
    """
    return [from_row(row, where) for where, row in json_rows(path, can_be_empty=False)]


def write_parquet(rows: Sequence[Row], path: Path) -> None:
    """Write one column per field: text, doubles, one boolean.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    arrow, parquet = _pyarrow()
    kinds = {column: arrow.float64() if column in NUMBERS else arrow.string() for column in COLUMNS}
    kinds["mirrored"] = arrow.bool_()
    columns = {column: [row[column] for row in rows] for column in COLUMNS}
    table = arrow.table(columns, schema=arrow.schema(kinds.items()))
    with atomic_write(path) as temporary:
        parquet.write_table(table, temporary)


def read_parquet(path: Path) -> list[Spotting]:
    """Read a table with at least the columns word and time.

    Raises:
        FormatError: it is not Parquet, a column is missing, or a value does not fit its column.
        MissingExtraError: pyarrow is not installed.
    """
    arrow, parquet = _pyarrow()
    content = read_bytes(path)
    if not content:
        raise FormatError(f"{path} is empty (0 bytes). Was it written to the end?")
    try:
        table = parquet.read_table(arrow.BufferReader(content))
        table = table.select([name for name in table.column_names if name in COLUMNS])
        rows = table.to_pylist()
    except (arrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise FormatError(f"{path} is not a Parquet file that can be read ({reason}).") from error
    for column in _REQUIRED:
        if column not in table.column_names:
            raise FormatError(f"{path}: no column '{column}'. The columns word and time are required.")
    return [from_row(row, f"{path}, row {number}") for number, row in enumerate(rows, start=1)]


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise MissingExtraError("pyarrow", "parquet", "a .parquet file") from error
    except ImportError as error:  # a new pyarrow refuses numpy 1, which mediapipe 0.10.21 asks for
        raise FormatError(
            f"a .parquet file needs pyarrow, and the one that is installed does not load ({error}). "
            "Install one that fits the numpy here, for numpy 1: pip install 'pyarrow==20.0.0'"
        ) from error
    return pyarrow, pyarrow.parquet
