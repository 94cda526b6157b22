"""WebVTT: each spotting a cue with its word and score, for any video player; the exact record in a note."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from signspot.errors import FormatError
from signspot.files import write_beside
from signspot.formats.rows import Record, Row, Visible, dump_record, in_order, join, parse_record, read_text, visible
from signspot.records import Spotting

_STAMP = r"(?:(\d{2,}):)?([0-5]\d):([0-5]\d)\.(\d{3})"
_TIMING = re.compile(rf"\s*{_STAMP}[ \t]+-->[ \t]+{_STAMP}(?:[ \t].*)?$")
_NOTE = re.compile(r"NOTE signspot (\d+) (.*)", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def write(rows: Sequence[Row], path: Path) -> None:
    """Write a note and a cue a spotting. Cues come in order of time, as players need it."""
    numbered = sorted(enumerate(rows, start=1), key=lambda pair: visible(pair[1]).start)
    blocks = ["WEBVTT", *(_cue(row, number) for number, row in numbered)]
    with write_beside(path) as beside:
        beside.write_text("\n\n".join(blocks) + "\n", encoding="utf-8", newline="\n")


def _cue(row: Row, number: int) -> str:
    shown = visible(row)
    text = html.escape(shown.word, quote=False) + _score_text(float(row["score"]))
    note = f"NOTE signspot {number} {dump_record(row, number)}"
    return f"{note}\n\n{number}\n{_stamp(shown.start)} --> {_stamp(shown.end)}\n{text}"


def _score_text(score: float) -> str:
    return f" {score:.2f}"


def _stamp(milliseconds: int) -> str:
    seconds, thousandths = divmod(milliseconds, 1000)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{thousandths:03d}"


def read(path: Path) -> list[Spotting]:
    """Read cues. One of ours joins its note; any other becomes a person's spotting, its text the word.

    Raises:
        FormatError: it does not start with WEBVTT, or a cue's times cannot be read.
    """
    text = read_text(path).replace("\r\n", "\n").replace("\r", "\n")
    if not re.match(r"WEBVTT(?:[ \t\n]|$)", text):
        raise FormatError(f"{path}, line 1: a WebVTT file starts with WEBVTT; this one with {text[:20]!r}.")
    notes: dict[str, Record | None] = {}
    found = []
    for block in _blocks(text):
        if block.lines[0].startswith("NOTE"):
            if note := _NOTE.match("\n".join(block.lines)):
                notes[note[1]] = parse_record(note[2])
        elif not re.match(r"(STYLE|REGION)\s*$", block.lines[0]):
            name, seen = _read_cue(block, path)
            record = notes.get(name)
            found.append((record, join(_without_score(seen, record), record, path.stem)))
    return in_order(found)


@dataclass(frozen=True, slots=True)
class _Block:
    line: int  # number of its first line in the file
    lines: list[str]


def _blocks(text: str) -> Iterator[_Block]:
    """The blocks between blank lines, the header left out."""
    block = _Block(1, [])
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        if line:
            block = block if block.lines else _Block(number, [])
            block.lines.append(line)
        elif block.lines:
            if block.line > 1:
                yield block
            block = _Block(number, [])


def _read_cue(block: _Block, path: Path) -> tuple[str, Visible]:
    """The cue's name, or none, and what it shows."""
    place = 0 if "-->" in block.lines[0] else 1
    timing = _TIMING.match(block.lines[place]) if place < len(block.lines) else None
    where = f"{path}, line {block.line + min(place, len(block.lines) - 1)}"
    if timing is None:
        raise FormatError(f"{where}: expected a time such as 00:01.000 --> 00:02.000.")
    start, end = _milliseconds(*timing.groups()[:4]), _milliseconds(*timing.groups()[4:])
    if end < start:
        raise FormatError(f"{where}: the cue ends before it starts.")
    text = _TAG.sub("", " ".join(block.lines[place + 1 :]))
    return block.lines[0] if place else "", Visible(html.unescape(text), start, end)


def _milliseconds(hours: str | None, minutes: str, seconds: str, thousandths: str) -> int:
    return ((int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(thousandths)


def _without_score(seen: Visible, record: Record | None) -> Visible:
    """Take the score, which we wrote behind the word, off the text of a cue of ours."""
    if record is None:
        return seen
    return Visible(seen.word.removesuffix(_score_text(record.spotting.score)), seen.start, seen.end)
