"""Mouthing as evidence: a spotting by hand at whose place the lips say the same word, too."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from signspot.mouthing.candidates import MentionWindow
from signspot.types import Label, Segment, Spotting

LATE = 0.4  # seconds after the end of a sign until which the mouthing of its word may end
_AROUND = 1.0  # seconds before and after that in which lips are read, too: a peak that is higher there is another place


def agrees(spotting: Spotting, mouthing: Label) -> bool:
    """Whether a mouthing speaks for a spotting of the same video: the same word, ending while it is signed or soon."""
    there = spotting.start <= mouthing.time <= spotting.end + LATE
    return there and mouthing.word == spotting.word


def mark_mouthed(spottings: Iterable[Spotting], mouthings: Iterable[Label]) -> list[Spotting]:
    """Spottings of one video, each with the probability of the best mouthing that agrees with it.

    Args:
        spottings: by hand.
        mouthings: of the same video; whatever name of it they carry.
    """
    by_word: dict[str, list[Label]] = {}
    for mouthing in mouthings:
        by_word.setdefault(mouthing.word, []).append(mouthing)
    return [
        replace(each, mouthed=max((m.confidence for m in by_word.get(each.word, ()) if agrees(each, m)), default=None))
        for each in spottings
    ]


def places_to_read(spottings: Sequence[Spotting]) -> list[MentionWindow]:
    """Places where lips are to be read for spottings: the word of each around its place, whatever subtitles say."""
    return [
        MentionWindow(Segment(max(0.0, each.start - _AROUND), each.end + LATE + _AROUND), (each.word,))
        for each in spottings
    ]
