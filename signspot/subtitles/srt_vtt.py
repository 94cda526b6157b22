"""Readers of SubRip (.srt) and WebVTT (.vtt), forgiving where people and tools err."""

import re
from itertools import zip_longest

from signspot.errors import FormatError
from signspot.subtitles.cues import CueSheet, CueTiming, add_cue, find_timings, without_next_index

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
    first = timings[0].place if timings else len(lines)
    stray, index = without_next_index(["", *lines[:first]], 0)
    opening = next((place for place, line in enumerate(stray) if line.strip()), None)
    if not timings and any(line.strip() for line in lines):
        at = next(place for place, line in enumerate(lines, start=1) if line.strip())
        raise FormatError(f"{where}, line {at}: no times such as 00:00:01,000 --> 00:00:02,000 in the whole file.")
    if opening is not None:
        sheet.report(opening, "text before the first times; left out")
    for timing, following in zip_longest(timings, timings[1:]):
        body = lines[timing.place + 1 : following.place if following else len(lines)]
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
    opening = next((place for place, line in enumerate(lines) if line.strip()), None)
    headed = opening is not None and _HEADER.match(lines[opening].lstrip()) is not None
    _blank_out_asides(sheet, lines, opening if headed else None)
    timings = find_timings(lines)
    if opening is not None and not headed:
        if not timings:
            raise FormatError(
                f"{where}, line {opening + 1}: neither WEBVTT nor any times such as 00:01.000 --> 00:02.000."
            )
        sheet.report(opening + 1, "no WEBVTT at the head; read all the same")
    _report_stray(sheet, lines, 0, timings[0].place if timings else len(lines))
    name = _name(lines, timings[0].place) if timings else ""
    for timing, following in zip_longest(timings, timings[1:]):
        name = _read_cue(sheet, lines, timing, following, name)
    return sheet


def _blank_out_asides(sheet: CueSheet, lines: list[str], header: int | None) -> None:
    """Empty the header and every note, style and region, so that line numbers stay; keep the notes."""
    after_blank, inside = True, ""
    notes: list[list[str]] = []  # lines of each
    for place, line in enumerate(lines):
        if not line.strip():
            after_blank, inside = True, ""
            continue
        if place == header:
            inside = "header"
        elif after_blank and _ASIDE.match(line):
            inside = "note" if line.startswith("NOTE") else "style"
            notes += [[line[4:].strip()]] if inside == "note" else []
        elif inside == "note":
            notes[-1].append(line)
        elif inside == "header" and any("-->" in near for near in lines[place : place + 2]):
            inside = ""  # no blank line between the header and the first cue or its name
        if inside:
            lines[place] = ""
        after_blank = False
    sheet.notes += ["\n".join(note) for note in notes]


def _read_cue(sheet: CueSheet, lines: list[str], timing: CueTiming, following: CueTiming | None, name: str) -> str:
    """Add one cue; report text that belongs to none; give the name of the next cue."""
    until = following.place if following else len(lines)
    blank = next((place for place in range(timing.place + 1, until) if not lines[place].strip()), until)
    body = lines[timing.place + 1 : blank]
    next_name = ""
    if blank < until:
        _report_stray(sheet, lines, blank, until)
        next_name = _name(lines, until) if following else ""
    elif following:
        body, number = without_next_index(body, int(name) if name.isdecimal() and len(name) < 10 else None)
        next_name = "" if number is None else str(number)
    add_cue(sheet, timing, lines, body, name)
    return next_name


def _name(lines: list[str], place: int) -> str:
    """The name of the cue whose times are at `place`: the line before."""
    return lines[place - 1].strip() if place else ""


def _report_stray(sheet: CueSheet, lines: list[str], start: int, until: int) -> None:
    """Report each block between `start` and `until` that has no times; the line before times is a cue's name."""
    last = until - 1 if until < len(lines) else until
    before = True
    for place in range(start, last):
        filled = bool(lines[place].strip())
        if filled and before:
            sheet.report(place + 1, f"text without times: {lines[place].strip()[:40]!r}; left out")
        before = not filled
