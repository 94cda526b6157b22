"""BOBSL spottings: JSON by split and word, as the BOBSL and BSL-1K corpora publish theirs.

Beside the lists of that format (names, global_times, probs) lie further ones that keep what it lacks. Files
without them are read too, and so are columns as in BOBSL v2: episode_name, annot_word, annot_time,
annot_prob, annot_type.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from signspot.errors import DictionaryError, FormatError, UnsafeFileError
from signspot.formats.spotting_rows import Row, dump_json, from_row
from signspot.io.checks import LATEST, check_int, check_time, parse_json, quoted
from signspot.io.files import atomic_write
from signspot.io.restricted_unpickler import load_pickle, plain
from signspot.io.text import read_text
from signspot.types import LabelSource, Spotting

_SPLIT = "all"
_INDEX = "indices"
_LISTS = {  # name of the list in the file: our column; the first three are the format's own
    "names": "video",
    "global_times": "recorded time",
    "probs": "score",
    "times": "time",
    "starts": "start",
    "ends": "end",
    "exemplars": "exemplar",
    "variants": "variant",
    "mirrored": "mirrored",
    "sources": "source",
    "decisions": "decision",
    "confidences": "confidence",
    "false_alarms": "false_alarms_per_hour",
    "licences": "licence",
    "consents": "consent",
    "mouthed": "mouthed",
    "notes": "note",
    "video_licences": "video_licence",
    "video_consents": "video_consent",
}
_COLUMNS = {
    "episode_name": "video",
    "annot_word": "word",
    "annot_time": "recorded time",
    "annot_prob": "score",
    "annot_type": "source",
}
# Where the sign lies around the recorded time: frames at 25 fps, as users of these corpora cut their clips.
_SPANS = {LabelSource.MOUTHING: (-15 / 25, 4 / 25), LabelSource.DICTIONARY: (-3 / 25, 22 / 25)}
_MIDDLE = 9.5 / 25  # seconds from the recorded time of a D to the middle of its sign


def write(rows: Sequence[Row], path: Path) -> None:
    """Write all rows under one split, 'all', by word."""
    words: dict[str, dict[str, list[Any]]] = {}
    for index, row in enumerate(rows):
        lists = words.setdefault(str(row["word"]), {name: [] for name in (*_LISTS, _INDEX)})
        values = row | {"recorded time": _recorded(row)}
        for name, column in _LISTS.items():
            lists[name].append(values[column])
        lists[_INDEX].append(index)
    with atomic_write(path) as temporary:
        temporary.write_text(dump_json({_SPLIT: words}, indent=1), encoding="utf-8", newline="\n")


def read(path: Path) -> list[Spotting]:
    """Read all splits.

    Raises:
        FormatError: it is not of this shape, lists differ in length, or a value is not what its list holds.
    """
    return _spottings(parse_json(read_text(path, exact=True).text, str(path)), path)


def read_pickle(path: Path) -> list[Spotting]:
    """Read a pickle, as BOBSL v2 and BSL-1K publish theirs; nothing that it names is run.

    Raises:
        UnsafeFileError: the pickle asks to run code.
        FormatError: as `read`.
    """
    try:
        content = load_pickle(path)
    except UnsafeFileError:
        raise
    except DictionaryError as error:
        raise FormatError(str(error)) from error
    return _spottings(_listed(content), path)


def _listed(content: Any) -> Any:
    """Arrays as lists, at any depth."""
    value = plain(content)
    if isinstance(value, dict):
        return {key: _listed(part) for key, part in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def _spottings(content: Any, path: Path) -> list[Spotting]:
    if not isinstance(content, dict):
        raise FormatError(f"{path} is not BOBSL spottings: expected splits of words; got {_kind(content)}.")
    rows = list(_columnar(content, path) if _is_columnar(content) else _by_word(content, path))
    count = len(rows)  # a list that is being sorted has none
    rows.sort(key=lambda row: row.get(_INDEX, count))
    return [from_row(row, str(row.pop("where"))) for row in rows]


def _is_columnar(content: dict[str, Any]) -> bool:
    parts = [content, *(part for part in content.values() if isinstance(part, dict))]
    return any("annot_word" in part for part in parts)


def _columnar(content: dict[str, Any], path: Path) -> Iterator[dict[str, Any]]:
    splits = {"": content} if "annot_word" in content else content
    for split, columns in splits.items():
        where = f"{path}, split '{split}'" if split else str(path)
        if not isinstance(columns, dict):
            raise FormatError(f"{where}: expected columns such as annot_word; got {quoted(columns)}.")
        columns_of_row = {ours: columns[theirs] for theirs, ours in _COLUMNS.items() if theirs in columns}
        for row in _zipped(columns_of_row, ("video", "word", "recorded time"), where):
            yield _with_span(row | {"source": _source(row.get("source"), path)})


def _by_word(content: dict[str, Any], path: Path) -> Iterator[dict[str, Any]]:
    for split, words in content.items():
        if not isinstance(words, dict):
            raise FormatError(f"{path}: split '{split}' must hold words; got {_kind(words)}.")
        for word, lists in words.items():
            where = f"{path}, split '{split}', word {word!r}"
            if not isinstance(lists, dict):
                raise FormatError(f"{where}: expected names, global_times and probs; got {_kind(lists)}.")
            lists_of_word = {ours: lists[theirs] for theirs, ours in _LISTS.items() if theirs in lists}
            if _INDEX in lists:
                lists_of_word[_INDEX] = lists[_INDEX]
            for row in _zipped(lists_of_word, ("video", "recorded time"), where):
                source = row.get("source") or _source(None, path)
                yield _with_span(row | {"word": word, "source": source})


def _zipped(columns: dict[str, Any], required: Sequence[str], where: str) -> Iterator[dict[str, Any]]:
    """Rows of parallel lists."""
    theirs = {ours: name for name, ours in (_LISTS | _COLUMNS).items()}
    for column in required:
        if column not in columns:
            raise FormatError(f"{where}: no list for {column} ('{theirs[column]}' or similar).")
    lengths = {name: len(values) if isinstance(values, list) else -1 for name, values in columns.items()}
    if len(set(lengths.values())) > 1 or -1 in lengths.values():
        counts = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise FormatError(f"{where}: the lists must be equally long; got {counts}.")
    for number, values in enumerate(zip(*columns.values(), strict=True), start=1):
        row = dict(zip(columns, values, strict=True))
        if _INDEX in row:
            check_int(row[_INDEX], f"{where}, item {number}: its index")
        yield row | {"where": f"{where}, item {number}"}


def _source(kind: object, path: Path) -> LabelSource:
    """The source: M in BOBSL is mouthing; its other types come from automatic search, as D does."""
    text = str(kind or ("M" if "mouthing" in path.name.lower() else "D")).upper()
    return next((source for source in LabelSource if text.startswith(source)), LabelSource.DICTIONARY)


def _with_span(row: dict[str, Any]) -> dict[str, Any]:
    source = row["source"] if isinstance(row["source"], str) else ""  # anything else is refused later
    before, after = next((span for kind, span in _SPANS.items() if kind == source), (0.0, 0.0))
    row = {"time": row["recorded time"]} | row  # files of earlier versions have no list of our times
    if "start" in row or before == after:
        return row
    recorded = check_time(row["recorded time"], f"{row['where']}: time")
    time = recorded if source == LabelSource.MOUTHING else min(LATEST, recorded + _MIDDLE)
    return row | {"time": time, "start": max(0.0, recorded + before), "end": min(LATEST, recorded + after)}


def _recorded(row: Row) -> float:
    """The time as these corpora record it: of a mouthing its own, of other spottings 9.5 frames before the middle."""
    time = float(row["time"])
    return time if row["source"] == LabelSource.MOUTHING else round(max(0.0, time - _MIDDLE), 4)


def _kind(value: object) -> str:
    return type(value).__name__
