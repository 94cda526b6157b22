"""From a cue's text to the words that are said: marks, sounds, music and speakers' names come off."""

import html
import re

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


def clean(text: str) -> str:
    r"""Keep what is said, one line a line.

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
