"""Subtitle files (SubRip, WebVTT, TTML) to subtitles, forgiving where people and tools err."""

import logging
import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from pathlib import Path
from typing import overload

from signspot.errors import FormatError
from signspot.io.text import read_text
from signspot.io.xml import Element, parse_xml
from signspot.subtitles.cues import (
    Cue,
    CueProblem,
    CueSheet,
    CueTiming,
    add_cue,
    clean,
    find_timings,
    without_next_index,
)
from signspot.types import Subtitle

_HEADER = re.compile(r"WEBVTT(?:[ \t]|$)")
_ASIDE = re.compile(r"NOTE(?:[ \t]|$)|(?:STYLE|REGION)[ \t]*$")


def read_srt(text: str, where: str) -> CueSheet:
    """Read cues: everything between two timing lines is text, less the next cue's number.

    Numbers and blank lines may be missing, and blank lines may stand inside a text.

    Args:
        text: of the file, with plain line ends.
        where: the file's name, for messages.

    Raises:
        FormatError: there is text, but no line with times.
    """
    lines = text.split("\n")
    timings = find_timings(lines)
    sheet = CueSheet()
    first = timings[0].index if timings else len(lines)
    stray, index = without_next_index(["", *lines[:first]], 0)
    opening = next((number for number, line in enumerate(stray) if line.strip()), None)
    if not timings and any(line.strip() for line in lines):
        at = next(number for number, line in enumerate(lines, start=1) if line.strip())
        raise FormatError(f"{where}, line {at}: no times such as 00:00:01,000 --> 00:00:02,000 in the whole file.")
    if opening is not None:
        sheet.report(opening, "text before the first times; left out")
    for timing, following in zip_longest(timings, timings[1:]):
        body = lines[timing.index + 1 : following.index if following else len(lines)]
        body, index = without_next_index(body, index) if following else (body, None)
        add_cue(sheet, timing, lines, [line for line in body if line.strip()])
    return sheet


def read_vtt(text: str, where: str) -> CueSheet:
    """Read cues and notes: a text ends at a blank line or at the next times; styles and regions are passed over.

    Args:
        text: of the file, with plain line ends.
        where: the file's name, for messages.

    Raises:
        FormatError: there is neither a header nor a line with times.
    """
    lines = text.split("\n")
    sheet = CueSheet()
    opening = next((index for index, line in enumerate(lines) if line.strip()), None)
    headed = opening is not None and _HEADER.match(lines[opening].lstrip()) is not None
    _blank_out_asides(sheet, lines, opening if headed else None)
    timings = find_timings(lines)
    if opening is not None and not headed:
        if not timings:
            raise FormatError(
                f"{where}, line {opening + 1}: neither WEBVTT nor any times such as 00:01.000 --> 00:02.000."
            )
        sheet.report(opening + 1, "no WEBVTT in the first line; read anyway")
    _report_stray(sheet, lines, 0, timings[0].index if timings else len(lines))
    name = _name(lines, timings[0].index) if timings else ""
    for timing, following in zip_longest(timings, timings[1:]):
        name = _read_cue(sheet, lines, timing, following, name)
    return sheet


def _blank_out_asides(sheet: CueSheet, lines: list[str], header: int | None) -> None:
    """Empty the header and every note, style and region, so that line numbers stay; keep the notes."""
    after_blank, inside = True, ""
    notes: list[list[str]] = []  # lines of each
    for index, line in enumerate(lines):
        if not line.strip():
            after_blank, inside = True, ""
            continue
        if index == header:
            inside = "header"
        elif after_blank and _ASIDE.match(line):
            inside = "note" if line.startswith("NOTE") else "style"
            notes += [[line[4:].strip()]] if inside == "note" else []
        elif inside == "note":
            notes[-1].append(line)
        elif inside == "header" and any("-->" in near for near in lines[index : index + 2]):
            inside = ""  # no blank line between the header and the first cue or its name
        if inside:
            lines[index] = ""
        after_blank = False
    sheet.notes += ["\n".join(note) for note in notes]


def _read_cue(sheet: CueSheet, lines: list[str], timing: CueTiming, following: CueTiming | None, name: str) -> str:
    """Add one cue; report text that belongs to none; give the name of the next cue."""
    until = following.index if following else len(lines)
    blank = next((index for index in range(timing.index + 1, until) if not lines[index].strip()), until)
    body = lines[timing.index + 1 : blank]
    next_name = ""
    if blank < until:
        _report_stray(sheet, lines, blank, until)
        next_name = _name(lines, until) if following else ""
    elif following:
        body, number = without_next_index(body, int(name) if name.isdecimal() and len(name) < 10 else None)
        next_name = "" if number is None else str(number)
    add_cue(sheet, timing, lines, body, name)
    return next_name


def _name(lines: list[str], index: int) -> str:
    """The name of the cue whose times are at `index`: the line before."""
    return lines[index - 1].strip() if index else ""


def _report_stray(sheet: CueSheet, lines: list[str], start: int, until: int) -> None:
    """Report each block between `start` and `until` that has no times; the line before times is a cue's name."""
    last = until - 1 if until < len(lines) else until
    before = True
    for index in range(start, last):
        filled = bool(lines[index].strip())
        if filled and before:
            sheet.report(index + 1, f"text without times: {lines[index].strip()[:40]!r}; left out")
        before = not filled


_CLOCK = re.compile(r"(-?)(\d{1,4}):(\d{1,2}):(\d{1,2})(?:[.,](\d{1,9})|:(\d{1,4})(?:\.(\d{1,4}))?)?")
_OFFSET = re.compile(r"(-?\d{1,15}(?:\.\d{1,9})?)(h|ms|m|s|f|t)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_SPACE = re.compile(r"\s+")
_UNSPOKEN = {"head", "metadata", "set", "animate", "image"}


@dataclass(frozen=True, slots=True)
class Rates:
    """Units of time in a document."""

    frame: float = 30.0  # frames per second
    sub_frame: float = 1.0  # sub-frames per frame
    tick: float = 1.0  # ticks per second

    def seconds(self, expression: str) -> float | None:
        """Seconds of a time expression; None if it is none."""
        value = expression.strip()
        if clock := _CLOCK.fullmatch(value):
            return self._clock_seconds(clock)
        offset = _OFFSET.fullmatch(value)
        if offset is None:
            return None
        amount, unit = float(offset[1]), offset[2]
        if unit in ("f", "t"):
            return amount / (self.frame if unit == "f" else self.tick)
        return amount * _SECONDS[unit]

    def _clock_seconds(self, clock: re.Match[str]) -> float | None:
        sign, hours, minutes, seconds, fraction, frames, sub_frames = clock.groups()
        if int(minutes) > 59 or int(seconds) > 59 or int(frames or 0) >= max(self.frame, 1):
            return None
        whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
        total = float(f"{whole}.{fraction or 0}")
        total += (int(frames or 0) + int(sub_frames or 0) / self.sub_frame) / self.frame
        return -total if sign else total


def read_rates(root: Element, where: str) -> Rates:
    """The rates that a document's root declares.

    Raises:
        FormatError: one of them is not a number above zero.
    """
    frame = _number(root, "frameRate", where)
    sub_frame = _number(root, "subFrameRate", where) or 1.0
    times, over = _multiplier(root, where)
    effective = (frame or 30.0) * times / over
    tick = _number(root, "tickRate", where) or (effective * sub_frame if frame else 1.0)
    return Rates(effective, sub_frame, tick)


def _number(root: Element, name: str, where: str) -> float | None:
    value = root.attributes.get(name)
    if value is None:
        return None
    if not re.fullmatch(r"\s*\d{1,12}(\.\d{1,9})?\s*", value) or float(value) <= 0:
        raise FormatError(f"{where}, line {root.line}: {name}={value!r} must be a number above zero.")
    return float(value)


def _multiplier(root: Element, where: str) -> tuple[float, float]:
    value = root.attributes.get("frameRateMultiplier", "1 1")
    parts = re.fullmatch(r"\s*([1-9]\d{0,8})(?:[\s:]+([1-9]\d{0,8}))?\s*", value)
    if parts is None:
        raise FormatError(f"{where}, line {root.line}: frameRateMultiplier={value!r} is not like '1000 1001'.")
    return float(parts[1]), float(parts[2] or 1)


@dataclass(frozen=True, slots=True)
class _Span:
    """Time in which an element is shown."""

    start: float
    end: float  # infinite where nothing ends it
    timed: bool = False  # it, or an element around it, gives times


@dataclass(frozen=True, slots=True)
class _Run:
    """A piece of text that is shown at one time."""

    line: int
    span: _Span
    text: str


def read_ttml(text: str, where: str) -> CueSheet:
    """Read cues: one a paragraph, or one for each part of it with times of its own.

    Args:
        text: of the file.
        where: the file's name, for messages.

    Raises:
        FormatError: it is not well-formed, declares a document type, is not TTML, or declares impossible rates.
    """
    if not text.strip():
        return CueSheet()
    root = parse_xml(re.sub(r"^\s+", "", text), where)
    if root.name != "tt":
        raise FormatError(f"{where}, line {root.line}: a TTML document starts with <tt>; this one with <{root.name}>.")
    sheet = CueSheet()
    _read_block(sheet, root, _Span(0.0, math.inf), read_rates(root, where))
    return sheet


def _read_block(sheet: CueSheet, element: Element, around: _Span, rates: Rates) -> None:
    if element.name in _UNSPOKEN:
        return
    if element.name == "p":
        _read_paragraph(sheet, element, around, rates)
        return
    if (span := _span_of(sheet, element, around, rates)) is None:
        return
    if element.attributes.get("timeContainer") == "seq":
        sheet.report(element.line, f"<{element.name}> shows its parts in sequence, which is not supported; left out")
        return
    for child in element.children:
        _read_block(sheet, child, span, rates)


def _span_of(sheet: CueSheet, element: Element, around: _Span, rates: Rates) -> _Span | None:
    """Time of an element, given that of the one around it; None, and a problem, if it cannot be read."""
    times: dict[str, float] = {}
    for name in ("begin", "end", "dur"):
        if name in element.attributes:
            seconds = rates.seconds(element.attributes[name])
            if seconds is None:
                value = element.attributes[name][:40]
                sheet.report(
                    element.line, f"{name}={value!r} is not a time such as 00:00:01.000, 00:00:01:12 or 10s; left out"
                )
                return None
            times[name] = seconds
    if not times:
        return around
    start = around.start + times.get("begin", 0.0)
    ends = [around.end]
    ends += [around.start + times["end"]] if "end" in times else []
    ends += [start + times["dur"]] if "dur" in times else []
    end = min(ends[1:], default=around.end)
    return _Span(start, end if end < start else min(ends), timed=True)


def _read_paragraph(sheet: CueSheet, paragraph: Element, around: _Span, rates: Rates) -> None:
    for span, runs in groupby(_runs(sheet, paragraph, around, rates), key=lambda run: run.span):
        group = list(runs)
        lines = "".join(run.text for run in group).split("\n")
        text = "\n".join(line for line in (_SPACE.sub(" ", line).strip() for line in lines) if line)
        if not text:
            continue
        if not span.timed or math.isinf(span.end):
            missing = "end" if span.timed else "times"
            sheet.report(group[0].line, f"a paragraph without {missing}: {text[:40]!r}; left out")
        else:
            sheet.add(Cue(group[0].line, _to_microseconds(span.start), _to_microseconds(span.end), text))


def _runs(sheet: CueSheet, element: Element, around: _Span, rates: Rates) -> Iterator[_Run]:
    """The text of a paragraph or span in order; a line break of the document is a space, <br/> a line break."""
    if element.name in _UNSPOKEN or element.attributes.get("ruby") in ("text", "textContainer", "delimiter"):
        return
    if (span := _span_of(sheet, element, around, rates)) is None:
        return
    for part in element.content:
        if isinstance(part, str):
            yield _Run(element.line, span, part.replace("\n", " "))
        elif part.name == "br":
            yield _Run(element.line, span, "\n")
        else:
            yield from _runs(sheet, part, span, rates)


def _to_microseconds(seconds: float) -> float:
    """Frames and ticks do not divide seconds evenly; nobody needs more than this."""
    return round(seconds, 6)


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
