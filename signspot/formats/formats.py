"""Spottings to and from files: the format is chosen by the file's name. The end of the road."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import signspot.formats.bobsl as bobsl
import signspot.formats.csv_table as csv_table
import signspot.formats.elan as elan
import signspot.formats.elan as elan_reader
import signspot.formats.json_lines as json_lines
import signspot.formats.parquet as parquet
import signspot.formats.via3 as via3
import signspot.formats.webvtt as webvtt
from signspot.errors import FormatError, RefusedOutputError
from signspot.formats.rows import Row, from_row, parse_json, read_text, to_rows
from signspot.records import Spotting


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file."""

    name: str  # what people call it
    suffix: str  # how its files end
    write: Callable[[Sequence[Row], Path], None]
    read: Callable[[Path], list[Spotting]]


FORMATS = (
    Format("JSON Lines", ".jsonl", json_lines.write, json_lines.read),
    Format("CSV", ".csv", csv_table.write, csv_table.read),
    Format("Parquet", ".parquet", parquet.write, parquet.read),
    Format("WebVTT", ".vtt", webvtt.write, webvtt.read),
    Format("ELAN", ".eaf", elan.write, elan_reader.read),
    Format("VIA 3 project", ".via.json", via3.write, via3.read),
    Format("BOBSL spottings", ".bobsl.json", bobsl.write, bobsl.read),
)


def format_names() -> dict[str, str]:
    """Every format that can be written and read: its name by the suffix of its files."""
    return {kind.suffix: kind.name for kind in FORMATS}


def write(spottings: Iterable[Spotting], path: str | os.PathLike[str]) -> None:
    """Write spottings to a file; its suffix says in which format.

    Raises:
        OutputError: the suffix is unknown, a number is not finite, or the file cannot be written.
        MissingExtraError: the format needs a package that is not installed.
    """
    target = Path(path)
    check_suffix(target).write(to_rows(spottings), target)


def check_suffix(path: str | os.PathLike[str]) -> Format:
    """Give the format in which `path` will be written; ask before long work, so that none is lost.

    Raises:
        RefusedOutputError: the suffix is unknown.
    """
    kind = _format_of(Path(path))
    if kind is None:
        raise RefusedOutputError(f"cannot write {path}: {_unknown_suffix(Path(path))}")
    return kind


def read_spottings(path: str | os.PathLike[str]) -> list[Spotting]:
    """Read spottings from a file of ours, edited or not, or of another tool.

    A plain `.json` is read by what it holds, a `.pkl` as BOBSL spottings; no code in it is ever run.

    Raises:
        UnsafeFileError: a pickle asks to run code.
        FormatError: the suffix is unknown, or the file is not what its suffix says.
        MissingExtraError: the format needs a package that is not installed.
    """
    source = Path(path)
    kind = _format_of(source)
    if kind is not None:
        return kind.read(source)
    if source.suffix.lower() == ".json":
        return _read_any_json(source)
    if source.suffix.lower() == ".pkl":
        return bobsl.read_pickle(source)
    raise FormatError(f"cannot read {source}: {_unknown_suffix(source)}")


def _format_of(path: Path) -> Format | None:
    return next((kind for kind in FORMATS if path.name.lower().endswith(kind.suffix)), None)


def _unknown_suffix(path: Path) -> str:
    known = ", ".join(kind.suffix for kind in FORMATS)
    if path.suffix.lower() == ".json":
        return f"'.json' alone does not say which format. Known: {known}."
    return f"unknown format '{path.suffix}'. Known: {known}."


def _read_any_json(path: Path) -> list[Spotting]:
    """Read a .json file by what it holds: a VIA project, BOBSL spottings, or a list of rows."""
    content = parse_json(read_text(path), str(path))
    if isinstance(content, list):
        rows = [row if isinstance(row, dict) else {} for row in content]
        return [from_row(row, f"{path}, item {number}") for number, row in enumerate(rows, start=1)]
    if isinstance(content, dict) and "project" in content and "metadata" in content:
        return via3.read(path)
    return bobsl.read(path)
