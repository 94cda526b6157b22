"""Cues of subtitle files: their times, their cleaned text, and the problems of those that were left out."""

import html
import re
from dataclasses import dataclass, field

from signspot.io.checks import LATEST

_STAMP = re.compile(r"(-?)\s*(?:(\d{1,4})\s*:\s*)?(\d{1,2})\s*:\s*(\d{1,2})(?:\s*[,.:;]\s*(\d{1,9}))?")
_ARROW = re.compile(r"-{1,3}\s?>|[–—]{1,2}>|→")
_SETTING = re.compile(r"[A-Za-z]\w*:\S+")

# Markup and sounds that `clean` removes.
_STYLE = re.compile(r"\{\\[^{}]*\}|\{[a-zA-Z]:[^{}]*\}")  # {\an8} and {y:i}
_RUBY = re.compile(r"<(rt|rp)\b[^<>]*>[^<>]*</\1\s*>", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>|\\[Nn]", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<\d[\d:.,]*>|</>")  # <c.yellow>, </i>, <00:00:01.000>; not <3
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]\w{1,30});")
_UNSEEN = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\x00-\x08\x0b-\x1f\x7f]")
_SPACES = re.compile(r"[^\S\n]+")
_NOTES = re.compile(r"[♩♪♫♬🎵🎶]+")
_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_ASIDE = re.compile(r"\(([^()]*)\)")
_CHANGE = re.compile(r"^(?:>>+|[-‐‑–—]+(?!\d))[ ]*")  # ">> ", "- ": another speaker; "-5" is a number
_SPEAKER = re.compile(r"^[^\W\d_][^:\n]{0,38}:(?=\s|$)[ ]*")
_SONG = re.compile(r"^#+(?=\s|$)|(?:^|(?<=\s))#+$")


@dataclass(frozen=True, slots=True)
class CueProblem:
    """A fault of one cue."""

    line: int  # in the file, from 1
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class Cue:
    """A cue as it stands in the file, its markup included."""

    line: int
    start: float
    end: float
    text: str
    name: str = ""  # the line before its times, in WebVTT


@dataclass(slots=True)
class CueSheet:
    """The cues of a file as far as they were read."""

    cues: list[Cue] = field(default_factory=list)
    problems: list[CueProblem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # comments in the file, in WebVTT

    def add(self, cue: Cue) -> None:
        """Add a cue, if its times can be true."""
        if not max(cue.start, cue.end) <= LATEST:
            self.report(cue.line, "the cue's times are beyond any video; left out")
        elif min(cue.start, cue.end) < 0:
            self.report(cue.line, f"the cue's times are negative ({cue.start:g} to {cue.end:g} s); left out")
        elif cue.end < cue.start:
            self.report(cue.line, f"the cue ends before it starts ({cue.start:g} to {cue.end:g} s); left out")
        else:
            self.cues.append(cue)

    def report(self, line: int, message: str) -> None:
        """Note a problem."""
        self.problems.append(CueProblem(line, message))


@dataclass(frozen=True, slots=True)
class CueTiming:
    """A line with the times of a cue."""

    index: int  # of the line
    start: float | None  # None where the times cannot be read
    end: float | None
    rest: str = ""  # text that follows the times on the same line


def find_timings(lines: list[str]) -> list[CueTiming]:
    """Every line with an arrow between times, those included whose times are broken."""
    return [timing for index, line in enumerate(lines) if (timing := _timing(index, line)) is not None]


def _timing(index: int, line: str) -> CueTiming | None:
    arrow = _ARROW.search(line) if ">" in line or "→" in line else None
    if arrow is None:
        return None
    before, after = line[: arrow.start()].strip(), line[arrow.end() :].strip()
    end = _STAMP.match(after)
    start_seconds, end_seconds = parse_stamp(before), parse_stamp(end[0]) if end else None
    if start_seconds is None or end_seconds is None:
        broken = "-->" in line and len(before) < 30 and re.search(r"\d", before) is not None
        return CueTiming(index, None, None) if broken else None
    rest = " ".join(part for part in after[end.end() if end else 0 :].split() if not _SETTING.fullmatch(part))
    return CueTiming(index, start_seconds, end_seconds, rest)


def parse_stamp(stamp: str) -> float | None:
    """Seconds of a stamp such as 01:02:03,456, 02:03.4 or 1:02:03; None if it is none."""
    match = _STAMP.fullmatch(stamp.strip())
    if match is None:
        return None
    sign, hours, minutes, seconds, fraction = match.groups()
    if int(minutes) > 59 or int(seconds) > 59:
        return None
    whole = (int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)
    total = float(f"{whole}.{fraction or 0}")
    return -total if sign else total


def add_cue(sheet: CueSheet, timing: CueTiming, lines: list[str], body: list[str], name: str = "") -> None:
    """Add the cue of a timing line, or report that its times cannot be read."""
    line = timing.index + 1
    if timing.start is None or timing.end is None:
        excerpt = lines[timing.index].strip()[:60]
        sheet.report(line, f"the times cannot be read: {excerpt!r}; expected such as 00:00:01,000 --> 00:00:02,000")
        return
    text = "\n".join([timing.rest, *body] if timing.rest else body)
    sheet.add(Cue(line, timing.start, timing.end, text, name))


def without_next_index(body: list[str], index: int | None) -> tuple[list[str], int | None]:
    """Take the number of the next cue, where there is one, off the lines between two timing lines.

    A number is the next cue's if a blank line stands before it, or if it counts on from `index`, the number of this
    cue; so neither a missing blank line nor a subtitle that is a number misleads.

    Returns:
        The lines that remain, and the number or None.
    """
    text = list(body)
    while text and not text[-1].strip():
        text.pop()
    apart = len(text) < len(body)  # a blank line stands between the number and the times
    if not text or not text[-1].strip().isdecimal() or len(text[-1].strip()) > 9:
        return text, None
    number = int(text[-1])
    counts_on = index is not None and number == index + 1
    after_blank = len(text) > 1 and not text[-2].strip()
    if (after_blank and (counts_on or not apart)) or (counts_on and not apart):
        return text[:-1], number
    return text, None


def clean(text: str) -> str:
    r"""Keep the spoken text, line by line.

    Off come styling ({\an8}, <i>, <c.yellow>, timestamps in tags), sounds in brackets ([APPLAUSE], (LAUGHS)), notes
    and # around songs (their words stay), changes of speaker (>>, -) and speakers' names in capitals (JOHN:).
    Entities become characters, and runs of spaces one space.
    """
    plain = _TAG.sub("", _BREAK.sub("\n", _RUBY.sub("", _STYLE.sub("", text.replace("\\h", " ")))))
    plain = _ENTITY.sub(lambda match: html.unescape(match[0]), plain)
    plain = _UNSEEN.sub("", plain)
    plain = _BRACKETS.sub(" ", _NOTES.sub(" ", plain))
    plain = _ASIDE.sub(lambda match: " " if match[1].upper() == match[1] and _has_letter(match[1]) else match[0], plain)
    lines = (_clean_line(line) for line in plain.split("\n"))
    return "\n".join(line for line in lines if line)


def _clean_line(line: str) -> str:
    """Take speakers and song marks off the ends of a line."""
    line = _SPACES.sub(" ", line).strip()
    line = _CHANGE.sub("", line)
    named = _SPEAKER.match(line)
    if named and named[0].upper() == named[0]:
        line = line[named.end() :]
    return _SONG.sub("", _CHANGE.sub("", line)).strip()


def _has_letter(text: str) -> bool:
    return any(character.isalpha() for character in text)
