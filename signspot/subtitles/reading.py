"""From a subtitle file to subtitles: the one way in, whatever the format, the encoding and the dirt."""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from signspot.errors import FormatError
from signspot.io.text import read_text
from signspot.subtitles.cues import CueProblem, CueSheet, clean
from signspot.subtitles.srt_vtt import read_srt, read_vtt
from signspot.subtitles.ttml import read_ttml
from signspot.types import Subtitle

SUFFIXES = (".srt", ".vtt", ".ttml", ".dfxp", ".xml")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Subtitles(Sequence[Subtitle]):
    """The subtitles of one file in order of time, and what was wrong with the cues that were left out."""

    path: Path
    subtitles: tuple[Subtitle, ...]
    problems: tuple[CueProblem, ...] = ()
    encoding: str = "utf-8"

    @overload
    def __getitem__(self, index: int) -> Subtitle: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Subtitle, ...]: ...
    def __getitem__(self, index: int | slice) -> Subtitle | tuple[Subtitle, ...]:
        return self.subtitles[index]

    def __len__(self) -> int:
        return len(self.subtitles)


def read_subtitles(path: str | os.PathLike[str], *, encoding: str | None = None) -> Subtitles:
    """Read a .srt, .vtt or .ttml file.

    A cue with impossible or unreadable times, and one that repeats another, is left out and reported in `problems`.
    Overlapping cues stay as they are. A cue in which nothing is said ([APPLAUSE], ♪) is left out without a word. An
    empty file gives no subtitles and one problem; a WebVTT file with a header alone gives none and none.

    Args:
        path: the file. Content goes before name: WebVTT named .srt, and SubRip named .vtt, are read.
        encoding: of the file; None: found out (byte order mark, UTF-8, UTF-16, else Windows-1252).

    Raises:
        FormatError: it cannot be read, its name ends otherwise, or it is malformed as a whole; with the line.
        OptionsError: there is no such encoding.
    """
    file = Path(path)
    if file.suffix.lower() not in SUFFIXES:
        raise FormatError(f"cannot read {file} as subtitles: its name must end in {', '.join(SUFFIXES)}.")
    decoded = read_text(file, encoding)
    sheet = _read_sheet(decoded.text, file)
    if not decoded.text.strip():
        sheet.report(1, "the file is empty")
    if decoded.damaged:
        line = decoded.text[: decoded.text.index("\ufffd")].count("\n") + 1
        sheet.report(line, f"{decoded.damaged:,} characters cannot be read as {decoded.encoding}; kept as U+FFFD")
    return _finish(sheet, file, decoded.encoding)


def _read_sheet(text: str, file: Path) -> CueSheet:
    opening = text.lstrip()[:6]
    if opening == "WEBVTT":
        return read_vtt(text, str(file))
    if file.suffix.lower() in (".ttml", ".dfxp", ".xml") or opening.startswith(("<?xml", "<tt")):
        return read_ttml(text, str(file))
    return read_vtt(text, str(file)) if file.suffix.lower() == ".vtt" else read_srt(text, str(file))


def _finish(sheet: CueSheet, file: Path, encoding: str) -> Subtitles:
    """Clean, drop what says nothing or repeats, and sort by time; cues of one time stay in the file's order."""
    first_line: dict[Subtitle, int] = {}
    for cue in sheet.cues:
        subtitle = Subtitle(cue.start, cue.end, clean(cue.text))
        if not subtitle.text:
            continue
        if subtitle in first_line:
            sheet.report(cue.line, f"the cue repeats that on line {first_line[subtitle]}; left out")
        else:
            first_line[subtitle] = cue.line
    ordered = tuple(sorted(first_line, key=lambda subtitle: (subtitle.start, subtitle.end)))
    problems = tuple(sorted(sheet.problems, key=lambda problem: problem.line))
    _log.debug("%s: %d subtitles, %d problems", file, len(ordered), len(problems))
    return Subtitles(file, ordered, problems, encoding)
