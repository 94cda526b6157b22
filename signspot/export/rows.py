"""Spottings as plain rows of text and numbers: what every format writes and reads at the end of the road."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from signspot.errors import FormatError, OutputError
from signspot.records import LabelSource, Spotting

Row = dict[str, str | float | bool]

TEXTS = ("word", "video", "exemplar", "variant")
NUMBERS = ("time", "start", "end", "score")
COLUMNS = ("word", "video", "time", "start", "end", "score", "exemplar", "variant", "mirrored", "source")
HALF_WINDOW = 0.32  # seconds: half of 16 frames at 25 fps, where a file gives a time but no span

_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "": False}
_SOURCES = {source.name.lower(): source for source in LabelSource} | {s.value.lower(): s for s in LabelSource}
_NOT_UNICODE = re.compile(r"[\ud800-\udfff]|\\(?=u(?:d[89a-f][0-9a-f]{2}|005c))")
_ESCAPE = re.compile(r"\\u(d[89a-f][0-9a-f]{2}|005c)")


def to_row(spotting: Spotting) -> Row:
    """Turn a spotting into plain values, in the order of COLUMNS."""
    row: Row = {}
    for column in COLUMNS:
        value = getattr(spotting, column)
        if column in TEXTS:
            row[column] = _escape_names(str(value))
        elif column in NUMBERS:
            row[column] = float(value)
        else:
            row[column] = bool(value) if column == "mirrored" else str(value)
    return row


def to_rows(spottings: Iterable[Spotting]) -> list[Row]:
    """Turn spottings into rows; the first number that is NaN or infinite stops it.

    Raises:
        OutputError: a number is not finite.
    """
    rows = [to_row(spotting) for spotting in spottings]
    for index, row in enumerate(rows, start=1):
        for column in NUMBERS:
            if not math.isfinite(float(row[column])):
                raise OutputError(
                    f"spotting {index} ({row['word']!r} in {row['video']!r}) has {column} {row[column]}; "
                    "only finite numbers can be written. Remove it and write again."
                )
    return rows


def from_row(row: Mapping[str, Any], where: str) -> Spotting:
    """Make a spotting of plain values; only `word` and `time` must be there.

    Args:
        row: values by column, as text or as numbers; columns that are not ours are passed over.
        where: the place in the file, for the message of an error.

    Raises:
        FormatError: a required column is missing, or a value is not what its column holds.
    """
    for column in ("word", "time"):
        if row.get(column) is None:
            raise FormatError(f"{where}: no '{column}'. Each spotting needs at least word and time.")
    time = _number(row, "time", 0.0, where)
    return Spotting(
        word=_text(row, "word", where),
        video=_text(row, "video", where),
        time=time,
        start=_number(row, "start", max(0.0, time - HALF_WINDOW), where),
        end=_number(row, "end", time + HALF_WINDOW, where),
        score=_number(row, "score", 1.0, where),
        exemplar=_text(row, "exemplar", where),
        variant=_text(row, "variant", where),
        mirrored=_truth(row, where),
        source=_source(row, where),
    )


def _escape_names(text: str) -> str:
    """Escape what is no Unicode (a file name in another encoding), so that every format holds it."""
    return _NOT_UNICODE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _unescape_names(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)


def _text(row: Mapping[str, Any], column: str, where: str) -> str:
    value = row.get(column)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise FormatError(f"{where}: {column} must be text; got {value!r}.")
    return _unescape_names(value)


def _number(row: Mapping[str, Any], column: str, default: float, where: str) -> float:
    value = row.get(column)
    if value is None or value == "":
        if column == "time":
            raise FormatError(f"{where}: time is empty. Give it in seconds, such as 12.48.")
        return default
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise FormatError(f"{where}: {column} must be a finite number; got {value!r}.")
    return number


def _truth(row: Mapping[str, Any], where: str) -> bool:
    value = row.get("mirrored")
    if value is None or isinstance(value, bool):
        return bool(value)
    truth = _TRUTHS.get(str(value).strip().lower())
    if truth is None:
        raise FormatError(f"{where}: mirrored must be true or false; got {value!r}.")
    return truth


def _source(row: Mapping[str, Any], where: str) -> LabelSource:
    value = row.get("source")
    if value is None or value == "":
        return LabelSource.VERIFIED
    source = _SOURCES.get(str(value).strip().lower())
    if source is None:
        raise FormatError(f"{where}: source must be M, D or V (mouthing, dictionary, verified); got {value!r}.")
    return source
