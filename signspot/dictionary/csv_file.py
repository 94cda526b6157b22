"""Tables as dictionaries: a CSV with one line per exemplar, as a spreadsheet or `signspot convert` saves it.

Columns, in any order and case: `file` and `word` are needed; `signer`, `source`, `licence`, `consent`, `variant`, and
`start` and `end` (seconds of the sign in the file) may be there. Separated by commas, semicolons or tabs. A
file is named relative to the table's folder, or absolutely. A table of spottings is such a table: each spotting is an
exemplar of its word, cut out of its video; those that a person has denied (`decision` no) are left out.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from signspot.dictionary.dictionary import Contents, LeftOut, unique_ids
from signspot.errors import DictionaryError, FormatError, OptionsError
from signspot.io.checks import check_time
from signspot.io.text import read_text
from signspot.types import Exemplar, Segment

TABLE_SUFFIXES = frozenset({".csv", ".tsv"})
_NEEDED = ("file", "word")
_NAMES = {
    "file": ("file", "path", "video", "filename", "file_name"),
    "word": ("word", "gloss", "sign"),
    "signer": ("signer", "signer_id"),
    "source": ("source",),
    "licence": ("licence", "license"),
    "consent": ("consent",),
    "variant": ("variant",),
    "start": ("start",),
    "end": ("end",),
}
TableRow = Mapping[str, str]  # cells by column


def table_in(folder: Path) -> Path | None:
    """The table that describes a folder: `dictionary.csv`, the only one with the needed columns, or the only file.

    Raises:
        DictionaryError: several tables could be meant.
    """
    tables = sorted(file for file in folder.iterdir() if file.suffix.lower() in TABLE_SUFFIXES and file.is_file())
    named = [file for file in tables if file.stem.lower() == "dictionary"]
    fitting = named or [file for file in tables if not _missing_columns(_header(_text(file)))]
    if len(fitting) > 1:
        names = ", ".join(file.name for file in fitting)
        raise DictionaryError(
            f"{folder} holds several tables ({names}). Give the one you mean, or name it dictionary.csv"
        )
    if not fitting and tables and all(file in tables for file in folder.iterdir()):
        return tables[0]  # nothing else is there: reading it will tell what it lacks
    return fitting[0] if fitting else None


def read_table(path: Path) -> Contents:
    """Read a table. Lines that cannot be used become problems, named by their line number.

    Raises:
        DictionaryError: a needed column is missing, or the file is not a table.
    """
    text = _text(path)
    header = _header(text)
    missing = _missing_columns(header)
    if missing:
        columns = ", ".join(header) or "none"
        raise DictionaryError(
            f"{path}, line 1: no column {' and no column '.join(missing)}; found: {columns}. "
            f"The first line must name the columns: file, word, and optionally signer, source, licence"
        )
    rows: list[tuple[int, TableRow]] = []
    problems: list[LeftOut] = []
    for line, row, message in _rows(path, text):
        if message:
            problems.append(LeftOut(path, f"line {line}: {message}"))
        else:
            rows.append((line, row))
    if not rows:
        first = f": {problems[0].message}" if problems else ""
        raise DictionaryError(f"{path} has no line with a file and a word{first}")
    ids = unique_ids((_name(row["file"]) for _, row in rows), (_segment(row) for _, row in rows))
    exemplars = tuple(_exemplar(path.parent, row, name) for (_, row), name in zip(rows, ids, strict=True))
    return Contents(exemplars, tuple(problems))


def row_files(path: Path) -> list[tuple[int, Path]]:
    """The lines of a table that can be used: the number of each, and the file that it names."""
    return [(line, _file(path.parent, row["file"])) for line, row, message in _rows(path, _text(path)) if not message]


def _text(path: Path) -> str:
    try:
        return read_text(path).text
    except FormatError as error:
        raise DictionaryError(str(error).rstrip(".")) from error


def _delimiter(text: str) -> str:
    first = text.lstrip("\r\n").partition("\n")[0]
    return max(",;\t", key=first.count)


def _header(text: str) -> list[str]:
    lines = csv.reader(io.StringIO(text.lstrip("\r\n"), newline=""), delimiter=_delimiter(text))
    try:
        return [_column(name) for name in next(lines, [])]
    except csv.Error:  # a cell beyond all measure: no table
        return []


def _column(name: str) -> str:
    """Our name of a column, or the name as it is where we do not know it."""
    plain = name.strip().lower().replace(" ", "_")
    return next((ours for ours, names in _NAMES.items() if plain in names), plain)


def _missing_columns(header: list[str]) -> list[str]:
    return [f"'{name}'" for name in _NEEDED if name not in header]


def _rows(path: Path, text: str) -> Iterator[tuple[int, TableRow, str]]:
    """Of every line: its number, its cells by column, and what is wrong with them ("" if nothing is)."""
    skipped = len(text) - len(text.lstrip("\r\n"))
    offset = text[:skipped].count("\n")
    header = _header(text)
    reader = csv.reader(io.StringIO(text[skipped:], newline=""), delimiter=_delimiter(text))
    line = 1
    try:
        for number, cells in enumerate(reader):
            first, line = line, reader.line_num + 1
            if number and any(cell.strip() for cell in cells):
                row = {name: cell.strip() for name, cell in zip(header, cells, strict=False)}
                yield first + offset, row, _row_problem(row, cells, header)
    except csv.Error as error:
        raise DictionaryError(f"{path}, line {reader.line_num + offset}: {error}") from error


def _row_problem(row: TableRow, cells: list[str], header: list[str]) -> str:
    if any(cell.strip() for cell in cells[len(header) :]):
        return f"{len(cells)} cells for {len(header)} columns. Quote cells that hold a separator"
    empty = [name for name in _NEEDED if not row.get(name)]
    if empty:
        return f"no {' and no '.join(empty)}"
    if row.get("decision", "").lower() == "no":
        return "a person rejected it (decision no)"
    try:
        _segment(row)
    except (FormatError, OptionsError):
        got = f"'{row.get('start', '')}' and '{row.get('end', '')}'"
        return f"start and end must be seconds, start first; got {got}"
    return ""


def _segment(row: TableRow) -> Segment | None:
    if not (row.get("start") or row.get("end")):
        return None
    start, end = (check_time(row.get(name, "").replace(",", "."), name) for name in ("start", "end"))
    if start == end:
        raise OptionsError("the end must be after the start")
    return Segment(start, end)


def _file(folder: Path, name: str) -> Path:
    """The file that a cell names; a table made on Windows may write it with backslashes."""
    try:
        is_there = (folder / name).exists()
    except (OSError, ValueError):  # no file can have this name: reported as missing
        is_there = True
    return folder / (name if is_there else name.replace("\\", "/"))


def _name(file: str) -> str:
    """The name of a file in the table's folder, with its folders; of one elsewhere, without them."""
    path = Path(file)
    return path.name if path.is_absolute() or ".." in path.parts else path.as_posix()


def _exemplar(folder: Path, row: TableRow, name: str) -> Exemplar:
    return Exemplar(
        word=" ".join(row["word"].split()),
        id=name,
        path=_file(folder, row["file"]),
        signer=row.get("signer", ""),
        source="" if "score" in row else row.get("source", ""),  # a spotting's is its origin, no publisher
        licence=row.get("licence", ""),
        consent=row.get("consent", ""),
        variant=row.get("variant", ""),
        segment=_segment(row),
    )
