"""WebVTT: one cue per spotting with its word and score, for any video player; the exact record in a note before it."""

import html
import re
from collections.abc import Sequence
from pathlib import Path

from signspot.errors import FormatError
from signspot.formats.spotting_rows import (
    CHECKSUM_NAME,
    NO_CHECKSUM,
    Record,
    Row,
    Visible,
    dump_record,
    in_order,
    join,
    parse_record,
    visible,
    write_with_checksum,
)
from signspot.io.text import read_text
from signspot.subtitles.cues import Cue
from signspot.subtitles.reading import read_vtt
from signspot.types import Spotting

_NOTE = re.compile(r"signspot (\d+) (.*)", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")  # a tag holds no tag: else a row of < takes its square in time


def write(rows: Sequence[Row], path: Path) -> None:
    """Write a note and a cue per spotting. Cues come in order of time, as players need it."""
    numbered = sorted(enumerate(rows, start=1), key=lambda pair: visible(pair[1]).start)
    blocks = ["WEBVTT", f"NOTE {CHECKSUM_NAME} {NO_CHECKSUM}", *(_cue(row, number) for number, row in numbered)]
    write_with_checksum("\n\n".join(blocks) + "\n", path)


def _cue(row: Row, number: int) -> str:
    annotation = visible(row)
    word = html.escape(annotation.word, quote=False).replace("→", "&rarr;")  # some take it for the arrow between times
    note = f"NOTE signspot {number} {dump_record(row, number)}"
    times = f"{_stamp(annotation.start)} --> {_stamp(annotation.end)}"
    return f"{note}\n\n{number}\n{times}\n{word}{_score_text(float(row['score']))}"


def _score_text(score: float) -> str:
    return f" {score:.2f}"


def _stamp(milliseconds: int) -> str:
    seconds, thousandths = divmod(milliseconds, 1000)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{thousandths:03d}"


def read(path: Path) -> list[Spotting]:
    """Read cues. One of ours joins its note; any other becomes a person's spotting, its text the word.

    Raises:
        FormatError: it does not start with WEBVTT, or a cue cannot be read.
    """
    sheet = read_vtt(_plain(read_text(path, exact=True).text), str(path))
    if sheet.problems:
        raise FormatError(f"{path}, {str(sheet.problems[0]).partition('; ')[0]}.")
    notes = {note[1]: parse_record(note[2]) for text in sheet.notes if (note := _NOTE.match(text))}
    entries = []
    for cue in sheet.cues:
        record = notes.get(cue.name)
        entries.append((record, join(_seen(cue, record), record, path.stem)))
    return in_order(entries)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _seen(cue: Cue, record: Record | None) -> Visible:
    """A cue as it is shown; the score, which we wrote behind the word, is taken off a cue of ours."""
    text = html.unescape(_TAG.sub("", cue.text.replace("\n", " ")))
    if record is not None:
        text = text.removesuffix(_score_text(record.spotting.score))
    return Visible(text, round(1000 * cue.start), round(1000 * cue.end))
