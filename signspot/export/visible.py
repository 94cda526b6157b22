"""What a person sees of a spotting in another tool, and how their edits and the exact record are joined.

ELAN, WebVTT and VIA show whole milliseconds and one line of text. Each file therefore carries the exact
record beside what it shows, and on reading, what is shown wins: the record only adds what the tool cannot
show, and the digits below a millisecond where both agree.
"""

import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from signspot.errors import FormatError
from signspot.export.rows import Row, from_row
from signspot.records import LabelSource, Spotting

_LAST_MS = 2**32 - 2  # ELAN's schema counts milliseconds in an unsigned 32-bit number


@dataclass(frozen=True, slots=True)
class Visible:
    """A spotting as a tool shows it."""

    word: str
    start: int  # milliseconds, 0 or later
    end: int  # milliseconds, after the start


def visible(row: Row) -> Visible:
    """What a tool shows of a row: one line of legible text, and at least one whole millisecond."""
    start = _milliseconds(float(row["start"]))
    end = max(start + 1, _milliseconds(float(row["end"])))
    return Visible(one_line(str(row["word"])), start, end)


def _milliseconds(seconds: float) -> int:
    return round(min(max(seconds, 0.0) * 1000, float(_LAST_MS)))


def one_line(text: str) -> str:
    """Show characters that break a line, or that XML cannot hold, by their code; the rest as they are."""
    return "".join(f"\\u{ord(char):04x}" if _breaks_a_line(char) else char for char in text)


def _breaks_a_line(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or char in "\ufffe\uffff"


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
        return Record(from_row(row, "record"), visible(row), int(row["index"]))
    except (FormatError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def join(seen: Visible, record: Record | None, video: str) -> Spotting:
    """Join what is seen in the file with the exact record, if there is one.

    Args:
        seen: what the tool shows now, after any edit.
        record: what was written; None for an annotation that a person added.
        video: the video's name, for an annotation without a record.

    Returns:
        The exact spotting where nothing was edited. A moved boundary replaces start or end; a changed word
        makes the spotting a person's: source V, score 1, no exemplar.
    """
    if record is None:
        return _made_by_person(seen.word, seen.start / 1000, seen.end / 1000, video)
    exact, shown = record.spotting, record.shown
    start = exact.start if seen.start == shown.start else seen.start / 1000
    end = exact.end if seen.end == shown.end else seen.end / 1000
    if seen.word != shown.word:
        return _made_by_person(seen.word, start, end, exact.video)
    if (seen.start, seen.end) == (shown.start, shown.end) or start <= exact.time <= end:
        return replace(exact, start=start, end=end)
    return replace(exact, start=start, end=end, time=(start + end) / 2)


def _made_by_person(word: str, start: float, end: float, video: str) -> Spotting:
    return Spotting(word, video, (start + end) / 2, start, end, score=1.0, source=LabelSource.VERIFIED)


def in_order(found: Iterable[tuple[Record | None, Spotting]]) -> list[Spotting]:
    """Spottings in the order in which they were written; those that a person added come last, by time."""
    with_record: list[tuple[int, Spotting]] = []
    added: list[Spotting] = []
    for record, spotting in found:
        if record is None:
            added.append(spotting)
        else:
            with_record.append((record.index, spotting))
    kept = [spotting for _, spotting in sorted(with_record, key=itemgetter(0))]
    return kept + sorted(added, key=lambda spotting: spotting.start)


def videos_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names of the videos, each once, in the order in which they come."""
    return list(dict.fromkeys(str(row["video"]) for row in rows))
