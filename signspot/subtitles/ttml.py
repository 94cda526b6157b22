"""TTML (.ttml, .dfxp, EBU-TT, IMSC): the reader; times nest, and spans may have their own."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from signspot.errors import FormatError
from signspot.io.xml import Element, parse_xml
from signspot.subtitles.cues import Cue, CueSheet

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
        FormatError: one of them is no number above zero.
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
        raise FormatError(f"{where}, line {root.line}: {name}={value!r} is no number above zero.")
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
    """Read cues: one a paragraph, or one for each stretch of it with times of its own.

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
                    element.line, f"{name}={value!r} is no time such as 00:00:01.000, 00:00:01:12 or 10s; left out"
                )
                return None
            times[name] = seconds
    if not times:
        return around
    start = around.start + times.get("begin", 0.0)
    ends = [around.end]
    ends += [around.start + times["end"]] if "end" in times else []
    ends += [start + times["dur"]] if "dur" in times else []
    own = min(ends[1:], default=around.end)
    return _Span(start, own if own < start else min(ends), timed=True)


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
