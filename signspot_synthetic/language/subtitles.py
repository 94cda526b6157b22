"""From sentences to subtitles: cut into cues, shifted in time against the signing, written as WebVTT."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from signspot.io.files import atomic_write
from signspot.types import Segment, Subtitle
from signspot_synthetic.language.sentences import Sentence

LINE_WIDTH = 37  # characters a line, as broadcasters set them
_SHORT = 24  # two sentences below this many characters may share a cue
_READING_SPEED = 14.0  # characters per second
_SHORTEST = 0.8  # seconds that a cue is shown, at least
_LAG = (1.0, 3.5)  # seconds by which the signing follows the speech, one value a video
_WANDER, _STEADINESS = 0.8, 0.7  # how far the lag wanders from cue to cue, and how slowly
_SOUND_SHARE = 0.03  # of pauses that hold a sound caption
_SOUNDS = ("[APPLAUSE]", "[MUSIC]", "♪ ♪", "[LAUGHTER]", "[DOORBELL RINGS]")


@dataclass(frozen=True, slots=True)
class CueMention:
    """A mention of a sentence, at its place in a cue's text."""

    start: int
    end: int
    sentence: int
    mention: int


@dataclass(frozen=True, slots=True)
class CueText:
    """The text of one cue, its mentions, and which part of which sentences it covers."""

    text: str
    mentions: tuple[CueMention, ...]
    first: float  # where the cue begins, in sentences: 2.5 is the middle of the third
    last: float  # where it ends


def cut_into_cues(sentences: Sequence[Sentence], rng: np.random.Generator) -> list[CueText]:
    """Give most sentences a cue each, long ones two, and let some short neighbours share one."""
    cues: list[CueText] = []
    for index, sentence in enumerate(sentences):
        mentions = tuple(CueMention(m.start, m.end, index, i) for i, m in enumerate(sentence.mentions))
        whole = CueText(sentence.text, mentions, index, index + 1)
        if len(whole.text) > 2 * LINE_WIDTH:
            cues += _halves(whole)
        elif cues and len(cues[-1].text) < _SHORT and len(whole.text) < _SHORT and rng.random() < 0.5:
            cues[-1] = _joined(cues[-1], whole)
        else:
            cues.append(whole)
    return [CueText(wrapped(cue.text), cue.mentions, cue.first, cue.last) for cue in cues]


def _halves(cue: CueText) -> list[CueText]:
    """Cut at the space nearest to the middle that is in no mention."""
    inside = {i for m in cue.mentions for i in range(m.start, m.end)}
    spaces = [match.start() for match in re.finditer(" ", cue.text) if match.start() not in inside]
    cut = min(spaces, key=lambda place: abs(place - len(cue.text) / 2))
    middle = cue.first + (cue.last - cue.first) * cut / len(cue.text)
    before = tuple(m for m in cue.mentions if m.end <= cut)
    after = tuple(
        CueMention(m.start - cut - 1, m.end - cut - 1, m.sentence, m.mention) for m in cue.mentions if m.start > cut
    )
    return [
        CueText(cue.text[:cut], before, cue.first, middle),
        CueText(cue.text[cut + 1 :], after, middle, cue.last),
    ]


def _joined(first: CueText, second: CueText) -> CueText:
    by = len(first.text) + 1
    moved = tuple(CueMention(m.start + by, m.end + by, m.sentence, m.mention) for m in second.mentions)
    return CueText(f"{first.text} {second.text}", first.mentions + moved, first.first, second.last)


def wrapped(text: str) -> str:
    """Break a text into lines at spaces; a break takes the place of a space, so character spans stay."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and len(lines[-1]) + 1 + len(word) <= LINE_WIDTH:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return "\n".join(lines)


def time_cues(
    cues: Sequence[CueText], signing: Sequence[Segment], rng: np.random.Generator, misalignment: float
) -> list[Subtitle]:
    """Say when each cue is shown: while its signs are made, if `misalignment` is 0; else seconds apart.

    Args:
        cues: in order.
        signing: where each sentence is signed, in order.
        rng: drawn from alike for every `misalignment`.
        misalignment: 1 is as in broadcasts.
    """
    lag = rng.uniform(*_LAG)
    wander = 0.0
    segments: list[Segment] = []
    for cue in cues:
        wander = _STEADINESS * wander + float(rng.normal(0, _WANDER * (1 - _STEADINESS**2) ** 0.5))
        signed = Segment(_time(signing, cue.first), _time(signing, cue.last, end=True))
        reading, share = len(cue.text) / _READING_SPEED, min(misalignment, 1.0)
        start = max(0.0, signed.start - misalignment * (lag + wander))
        segments.append(Segment(start, start + (1 - share) * signed.duration + share * max(_SHORTEST, reading)))
    return _without_overlap(cues, segments, signing[-1].end if signing else 0.0)


def _time(signing: Sequence[Segment], position: float, *, end: bool = False) -> float:
    index = int(position)
    if end and position == index:
        return signing[index - 1].end
    return signing[index].start + (position - index) * signing[index].duration


def _without_overlap(cues: Sequence[CueText], segments: Sequence[Segment], last: float) -> list[Subtitle]:
    """Show cues one after another, each for a moment at least, none after the video's last sign."""
    subtitles: list[Subtitle] = []
    free = 0.0
    for index, (cue, segment) in enumerate(zip(cues, segments, strict=True)):
        start = max(segment.start, free)
        following = segments[index + 1].start if index + 1 < len(segments) else last
        end = min(segment.end + (start - segment.start), max(following, start + min(_SHORTEST, segment.duration)))
        free = max(end, start)
        subtitles.append(Subtitle(_milliseconds(start), _milliseconds(free), cue.text))
    return subtitles


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000) / 1000


def sound_captions(subtitles: Sequence[Subtitle], rng: np.random.Generator) -> list[Subtitle]:
    """Captions of sounds in some of the gaps between subtitles; nothing is signed for them."""
    gaps = [(a.end, b.start) for a, b in pairwise(subtitles) if b.start - a.end > _SHORTEST]
    return [
        Subtitle(start, end, _SOUNDS[int(rng.integers(len(_SOUNDS)))])
        for start, end in gaps
        if rng.random() < 10 * _SOUND_SHARE
    ]


def write_vtt(subtitles: Sequence[Subtitle], path: Path) -> Path:
    """Write subtitles as WebVTT, in order of time."""
    blocks = ["WEBVTT\n"]
    for number, subtitle in enumerate(sorted(subtitles, key=lambda s: (s.start, s.end)), start=1):
        text = html.escape(subtitle.text, quote=False)
        blocks.append(f"{number}\n{_stamp(subtitle.start)} --> {_stamp(subtitle.end)}\n{text}\n")
    with atomic_write(path) as temporary:
        temporary.write_text("\n".join(blocks), encoding="utf-8")
    return path


def _stamp(seconds: float) -> str:
    whole = round(seconds * 1000)
    hours, minutes, rest = whole // 3_600_000, whole // 60_000 % 60, whole % 60_000
    return f"{hours:02d}:{minutes:02d}:{rest // 1000:02d}.{rest % 1000:03d}"
