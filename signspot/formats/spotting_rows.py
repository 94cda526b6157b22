"""Spottings as plain rows, which every format writes and reads; links to videos; checksums; edits of people."""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import itemgetter
from pathlib import Path, PurePath
from typing import Any, TypeVar, get_args

from signspot.errors import FormatError, OutputError
from signspot.io.checks import (
    LATEST,
    check_int,
    check_number,
    check_score,
    check_span,
    check_text,
    check_time,
    quoted,
)
from signspot.io.control_characters import escape_control_characters
from signspot.io.files import atomic_write
from signspot.io.text import read_bytes
from signspot.types import Confidence, Decision, LabelSource, Spotting

Row = dict[str, str | float | bool]
Choice = TypeVar("Choice", bound=str)

RIGHTS = ("licence", "consent", "video_licence", "video_consent")
TEXTS = ("word", "video", "exemplar", "variant", *RIGHTS, "note")
NUMBERS = ("time", "start", "end", "score")
COLUMNS = (
    *("word", "video", "time", "start", "end", "score", "exemplar", "variant", "mirrored", "source"),
    *("decision", "confidence", "false_alarms_per_hour", *RIGHTS, "mouthed", "note"),
)
DECISIONS: tuple[Decision, ...] = get_args(Decision)
CONFIDENCES: tuple[Confidence, ...] = get_args(Confidence)
HALF_WINDOW = 0.32  # seconds: half of 16 frames at 25 fps, where a file gives a time but no span

_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "": False}
_SOURCES = {source.name.lower(): source for source in LabelSource} | {s.value.lower(): s for s in LabelSource}
_NOT_UNICODE = re.compile(r"[\ud800-\udfff]|\\(?=u(?:d[89a-f][0-9a-f]{2}|005c))")
_ESCAPE = re.compile(r"\\u(d[89a-f][0-9a-f]{2}|005c)")
_LAST_MS = 2**32 - 2  # ELAN's schema counts milliseconds in an unsigned 32-bit number


def dump_json(value: Any, indent: int | None = None) -> str:
    """Write JSON, non-Latin words as they are."""
    return json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)


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
            row[column] = bool(value) if column == "mirrored" else "" if value is None else str(value)
    return row


def to_rows(spottings: Iterable[Spotting]) -> list[Row]:
    """Turn spottings into rows; the first that no reader would take stops it.

    Raises:
        OutputError: a time lies before 0 or beyond any video, a span ends before it starts, a score is not in [0, 1].
    """
    rows = [to_row(spotting) for spotting in spottings]
    for index, row in enumerate(rows, start=1):
        time, start, end, score = (float(row[column]) for column in NUMBERS)
        fits = {
            "time": 0 <= time <= LATEST,
            "start": 0 <= start <= LATEST,
            "end": 0 <= end <= LATEST and not end < start,
            "score": 0 <= score <= 1,
        }
        for column in (name for name, good in fits.items() if not good):
            raise OutputError(
                f"spotting {index} ({row['word']!r} in {row['video']!r}) has {column} {row[column]}; times are 0 or "
                "more seconds, the start first, and a score lies in [0, 1]. Remove it and write again."
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
    time = _time(row, "time", 0.0, where)
    start = _time(row, "start", max(0.0, time - HALF_WINDOW), where)
    end = _time(row, "end", min(LATEST, time + HALF_WINDOW), where)
    check_span(start, end, where)
    return Spotting(
        word=_text(row, "word", where),
        video=_text(row, "video", where),
        time=time,
        start=start,
        end=end,
        score=1.0 if row.get("score") in (None, "") else check_score(row["score"], f"{where}: score"),
        exemplar=_text(row, "exemplar", where),
        variant=_text(row, "variant", where),
        mirrored=_truth(row, where),
        source=_source(row, where),
        decision=_choice(row, "decision", DECISIONS, where),
        confidence=_choice(row, "confidence", CONFIDENCES, where),
        false_alarms_per_hour=_rate(row, where),
        **{column: _text(row, column, where) for column in RIGHTS},
        mouthed=_mouthed(row, where),
        note=_text(row, "note", where),
    )


def _escape_names(text: str) -> str:
    """Escape what is not Unicode (a file name in another encoding), so that every format holds it."""
    return _NOT_UNICODE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _unescape_names(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)


def _text(row: Mapping[str, Any], column: str, where: str) -> str:
    return _unescape_names(check_text(row.get(column), f"{where}: {column}"))


def _time(row: Mapping[str, Any], column: str, default: float, where: str) -> float:
    value = row.get(column)
    if value is None or value == "":
        if column == "time":
            raise FormatError(f"{where}: time is empty. Give it in seconds, such as 12.48.")
        return default
    return check_time(value, f"{where}: {column}")


def _rate(row: Mapping[str, Any], where: str) -> float | None:
    """False alarms per hour; empty where they are not known."""
    value = row.get("false_alarms_per_hour")
    return None if value is None or value == "" else check_number(value, f"{where}: false_alarms_per_hour", 0.0)


def _mouthed(row: Mapping[str, Any], where: str) -> float | None:
    """The probability of a mouthing that agrees; empty where there is none."""
    value = row.get("mouthed")
    return None if value is None or value == "" else check_score(value, f"{where}: mouthed")


def _truth(row: Mapping[str, Any], where: str) -> bool:
    value = row.get("mirrored")
    if value is None or isinstance(value, bool):
        return bool(value)
    truth = _TRUTHS.get(str(value).strip().lower())
    if truth is None:
        raise FormatError(f"{where}: mirrored must be true or false; got {quoted(value)}.")
    return truth


def _source(row: Mapping[str, Any], where: str) -> LabelSource:
    value = row.get("source")
    if value is None or value == "":
        return LabelSource.VERIFIED
    source = _SOURCES.get(str(value).strip().lower())
    if source is None:
        raise FormatError(f"{where}: source must be M, D or V (mouthing, dictionary, verified); got {quoted(value)}.")
    return source


def _choice(row: Mapping[str, Any], column: str, choices: Sequence[Choice], where: str) -> Choice:
    """One of the texts that a column may hold; the first of them is the empty one."""
    value = row.get(column)
    answer = "" if value is None else str(value).strip().lower()
    chosen = next((choice for choice in choices if choice == answer), None)
    if chosen is None:
        raise FormatError(f"{where}: {column} must be {', '.join(choices[1:])} or empty; got {quoted(value)}.")
    return chosen


@dataclass(frozen=True, slots=True)
class Visible:
    """A spotting as a tool shows it."""

    word: str
    start: int  # milliseconds, 0 or later
    end: int  # milliseconds, after the start


def visible(row: Row) -> Visible:
    """A row as a tool shows it: one line of printable text, and at least one whole millisecond."""
    start = _milliseconds(float(row["start"]))
    end = max(start + 1, _milliseconds(float(row["end"])))
    return Visible(escape_control_characters(str(row["word"])), start, end)


def _milliseconds(seconds: float) -> int:
    return round(min(max(seconds, 0.0) * 1000, float(_LAST_MS)))


def dump_record(row: Row, index: int) -> str:
    """The exact record and its place in the list as one line of JSON, in ASCII and free of '-->'."""
    ordered = {"score": row["score"], "exemplar": row["exemplar"]} | row | {"index": index}
    return json.dumps(ordered, allow_nan=False).replace(">", "\\u003e")


@dataclass(frozen=True, slots=True)
class Record:
    """The exact record that travelled beside what a tool shows."""

    spotting: Spotting
    shown: Visible  # how it looked when it was written
    index: int  # its place in the list


def parse_record(text: str | None) -> Record | None:
    """Read what `dump_record` wrote; None where there is nothing of ours, or a person damaged it."""
    try:
        row: Any = json.loads(text or "")
        return Record(from_row(row, "record"), visible(row), check_int(row["index"], "index"))
    except (FormatError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def join(edited: Visible, record: Record | None, video: str) -> Spotting:
    """Join what is seen in the file with the exact record, if there is one.

    Args:
        edited: what the tool shows now, after any edit.
        record: what was written; None for an annotation that a person added.
        video: the video's name, for an annotation without a record.

    Returns:
        The exact spotting where nothing was edited. A moved boundary replaces start or end; a changed word
        makes the spotting a person's: source V, score 1, no exemplar.
    """
    if record is None:
        return _made_by_person(edited.word, edited.start / 1000, edited.end / 1000, video)
    exact, written = record.spotting, record.shown
    start = exact.start if edited.start == written.start else edited.start / 1000
    end = exact.end if edited.end == written.end else edited.end / 1000
    if edited.word != written.word:
        return _made_by_person(edited.word, start, end, exact.video)
    if (edited.start, edited.end) == (written.start, written.end) or start <= exact.time <= end:
        return replace(exact, start=start, end=end)
    return replace(exact, start=start, end=end, time=(start + end) / 2)


def _made_by_person(word: str, start: float, end: float, video: str) -> Spotting:
    return Spotting(word, video, (start + end) / 2, start, end, score=1.0, source=LabelSource.VERIFIED)


def in_order(pairs: Iterable[tuple[Record | None, Spotting]]) -> list[Spotting]:
    """Spottings in the order in which they were written; those that a person added come last, by time."""
    with_record: list[tuple[int, Spotting]] = []
    added: list[Spotting] = []
    for record, spotting in pairs:
        if record is None:
            added.append(spotting)
        else:
            with_record.append((record.index, spotting))
    ordered = [spotting for _, spotting in sorted(with_record, key=itemgetter(0))]
    return ordered + sorted(added, key=lambda spotting: spotting.start)


def videos_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names of the videos, each once, in the order in which they come."""
    return list(dict.fromkeys(str(row["video"]) for row in rows))


CHECKSUM_NAME = "signspot checksum"
NO_CHECKSUM = "0" * 64  # stands in a text until `write_with_checksum` puts the digest there
_CHECKSUM = re.compile(CHECKSUM_NAME.encode() + rb"[^0-9a-f]{1,20}([0-9a-f]{64})")
_LONGEST_NAME = 80  # bytes of a video's name in the name of an export


def link_to(video: str, file: Path) -> str:
    """A video's name as `file` writes it, so that it is found whatever the working directory.

    Args:
        video: a path as given by a person, or any other name.
        file: the file that will hold the link.

    Returns:
        A path relative to the file's folder where the video was given relative to the working directory, or lies
        below that folder; an absolute path where it was given so. A name behind which there is no file stays.
    """
    if file_at(Path(), video) is None:
        return video
    folder, target = Path(os.path.abspath(file.parent)), Path(os.path.abspath(video))  # noqa: PTH100 (links stay)
    if PurePath(video).is_absolute() and not target.is_relative_to(folder):
        return video
    try:
        link = PurePath(os.path.relpath(target, folder)).as_posix()
    except ValueError:  # on another drive
        return str(target)
    reached = file_at(folder, link)
    is_lost = folder.is_dir() and (reached is None or not reached.samefile(target))
    return str(target) if is_lost else link  # a folder behind a symbolic link lies elsewhere than its name says


def follow(link: str, file: Path) -> str:
    """The path of a video that `file` names; it is named as the file is, relatively or absolutely.

    A name behind which there is no file stays as it is.
    """
    if PurePath(link).is_absolute() or "://" in link:
        return link
    path = file_at(file.parent, link)
    if path is None:
        return link
    plain = Path(os.path.normpath(path) if path.is_absolute() else os.path.relpath(path))
    return str(plain if plain.is_file() and plain.samefile(path) else path)


def file_at(folder: Path, name: str) -> Path | None:
    """The file of a name, relative to a folder or absolute; None where there is none, whatever the name holds."""
    try:
        path = folder / name
        return path if path.is_file() else None
    except (OSError, ValueError):
        return None


def path_per_video(videos: Sequence[str], path: Path, suffix: str) -> dict[str, Path]:
    """Paths for the spottings of each video, for formats that hold one: `x-<video>.eaf`; `x.eaf` for a single video."""
    if len(videos) <= 1:
        return dict.fromkeys(videos, path)
    base, ending = path.name[: -len(suffix)], path.name[-len(suffix) :]
    stems = [_file_name(PurePath(video).stem) for video in videos]
    shared = {stem for stem, count in Counter(map(str.casefold, stems)).items() if count > 1}
    used: set[str] = set()
    turns: Counter[str] = Counter()
    paths = {}
    for video, stem in zip(videos, stems, strict=True):
        parent = _file_name(PurePath(video).parent.name)
        plain = f"{parent}-{stem}" if stem.casefold() in shared and PurePath(video).parent.name else stem
        name = plain
        while name.casefold() in used:
            turns[plain.casefold()] += 1
            name = f"{plain}-{turns[plain.casefold()] + 1}"
        used.add(name.casefold())
        paths[video] = path.with_name(f"{base}-{name}{ending}")
    return paths


def _file_name(text: str) -> str:
    """A part of a file name that every file system takes."""
    plain = "".join("_" if char in '/\\:*?"<>|' or not char.isprintable() else char for char in text).strip(". ")
    return plain.encode("utf-8", "replace")[:_LONGEST_NAME].decode("utf-8", "ignore") or "video"


class Authorship(StrEnum):
    """The last writer of a file, as far as the file itself tells."""

    UNEDITED = "unedited"  # signspot wrote it, and nothing has changed since
    EDITED = "edited"  # signspot wrote it, and something else has saved it since
    UNKNOWN = "unknown"  # no checksum inside: not ours, or of a format that has no place for one


def write_with_checksum(text: str, path: Path) -> None:
    """Write a text that holds `CHECKSUM_NAME` and, behind it, `NO_CHECKSUM`, with its own digest there."""
    content = text.encode("utf-8")
    digest = hashlib.sha256(content).hexdigest()
    with atomic_write(path) as temporary:
        temporary.write_bytes(content.replace(NO_CHECKSUM.encode(), digest.encode(), 1))


def authorship(path: str | os.PathLike[str]) -> Authorship:
    """Tell whether signspot wrote an `.eaf`, `.vtt` or `.via.json` and nobody has saved it since.

    Other formats have no place for a checksum: their answer is UNKNOWN, as is that of a missing file.
    """
    try:
        content = read_bytes(Path(path))
    except FormatError:
        return Authorship.UNKNOWN
    checksum = _CHECKSUM.search(content)
    if checksum is None:
        return Authorship.UNKNOWN
    opened = content[: checksum.start(1)] + NO_CHECKSUM.encode() + content[checksum.end(1) :]
    return Authorship.UNEDITED if hashlib.sha256(opened).hexdigest().encode() == checksum[1] else Authorship.EDITED
