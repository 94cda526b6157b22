"""Decoys: words asked where no subtitle has them, by the same videos and as often, to see what chance scores."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def rotated(subtitles: Sequence[T]) -> list[T]:
    """What each subtitle of a video is to ask for: what the one asks for that is half of them later.

    Words, their number and the signer stay the same, only the place is wrong. Where a word happens to be mentioned
    around its wrong place, too, `contrast` leaves the decoy out; so it does with the only subtitle of a video.
    """
    half = len(subtitles) // 2
    return [*subtitles[half:], *subtitles[:half]]
