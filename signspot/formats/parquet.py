"""Parquet: a typed table for large lists, with pyarrow (an extra)."""

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from signspot.errors import FormatError, MissingExtraError
from signspot.files import write_beside
from signspot.formats.rows import COLUMNS, NUMBERS, Row, from_row, read_bytes
from signspot.records import Spotting


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "parquet", "a .parquet file") from error
    return pyarrow, pyarrow.parquet


def write(rows: Sequence[Row], path: Path) -> None:
    """Write one column a field: text, doubles, one boolean."""
    arrow, parquet = _pyarrow()
    kinds = {column: arrow.float64() if column in NUMBERS else arrow.string() for column in COLUMNS}
    kinds["mirrored"] = arrow.bool_()
    columns = {column: [row[column] for row in rows] for column in COLUMNS}
    table = arrow.table(columns, schema=arrow.schema(kinds.items()))
    with write_beside(path) as beside:
        parquet.write_table(table, beside)


def read(path: Path) -> list[Spotting]:
    """Read a table with at least the columns word and time.

    Raises:
        FormatError: it is not Parquet, a column is missing, or a value is not what its column holds.
    """
    arrow, parquet = _pyarrow()
    content = read_bytes(path)
    try:
        table = parquet.read_table(arrow.BufferReader(content))
        table = table.select([name for name in table.column_names if name in COLUMNS])
        rows = table.to_pylist()
    except (arrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise FormatError(f"{path} is not a Parquet file that can be read ({reason}).") from error
    for column in ("word", "time"):
        if column not in table.column_names:
            raise FormatError(f"{path}: no column '{column}'. The columns word and time are required.")
    return [from_row(row, f"{path}, row {number}") for number, row in enumerate(rows, start=1)]
