"""Known signs that are near to a wake sign, and the false alarms that signing of unknown words would give."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.spotting.alignment import warping_costs

SIGNS_PER_HOUR = 6700.0  # of signing without any pause, as people of the signing world do
_UNKNOWN = (0.2, 1.65, 0.07)  # height, middle and width of the chance of an alarm over the distance
_KNOWN = (0.1, 1.5, 0.07)  # the same, of signs that serve as impostors; all by the world of seed 57
_SAME = 1.35  # distance below which an exemplar shows the sign itself, or one that cannot be told from it
_IMPOSTORS = 60  # exemplars of a dictionary, the nearest ones, that the verifier compares with
_SHOWN = 3  # neighbours that people are told of
_TAIL = 20  # nearest words whose distances say how fast words become rarer towards the sign
_CROWDED = 0.9  # words of one language are so much nearer to each other than decoys are to them
_GRID = np.linspace(1.0, 3.0, 201)  # distances over which the chance of an alarm is summed
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A known sign, and its distance."""

    word: str
    distance: float  # cost of aligning it with the recordings, over what these cost among each other


@dataclass(frozen=True, slots=True)
class Distinctiveness:
    """The false alarms that are expected where the background did not show what is signed."""

    per_hour: float  # of signing without pause
    nearest: tuple[Neighbour, ...]  # nearest first
    same: tuple[str, ...]  # words of the dictionary that show the sign itself, or cannot be told from it
    words: int  # that it was compared with
    by_dictionary: bool  # else by the encoder's decoys, whose words nobody knows
    guess: float | None = None  # beside a dictionary: per hour, by decoys; None: there are none


def alarm_chance(distance: Floats, *, impostor: bool) -> Floats:
    """The chance that a sign at a distance from the wake sign gives an alarm, each time that it is made.

    Args:
        distance: as of `Neighbour`.
        impostor: whether the verifier compares with exemplars of that very sign.
    """
    height, middle, width = _KNOWN if impostor else _UNKNOWN
    return np.asarray(height / (1 + np.exp((distance - middle) / width)))


def distances_of(recordings: Floats, usual: float, exemplars: Floats) -> Floats:
    """(V, L, C) codes of recordings and (N, L, C) of exemplars to the (N,) distances of these."""
    return np.asarray(warping_costs(recordings, exemplars).mean(axis=0) / usual)


def by_dictionary(recordings: Floats, usual: float, gallery: Gallery) -> tuple[Distinctiveness, NDArray[np.float32]]:
    """The distinctiveness of a sign among the words of a dictionary, and exemplars that serve as impostors, (N, L, C).

    Args:
        recordings: (V, L, C) codes of the sign.
        usual: what it costs to align two of them.
        gallery: of the dictionary, with frame codes.
    """
    assert gallery.codes is not None, "checked by whoever enrols"
    far = distances_of(recordings, usual, gallery.codes)
    words = {word: float(far[rows].min()) for word, rows in gallery.words.items()}
    same = tuple(sorted((word for word, least in words.items() if least < _SAME), key=words.__getitem__))
    others = {word: least for word, least in words.items() if word not in same}
    rows = [row for row in np.argsort(far).tolist() if gallery.exemplar(row)[0].word in others][:_IMPOSTORS]
    chances = alarm_chance(np.array(list(others.values())), impostor=True)
    rate = SIGNS_PER_HOUR * float(chances.mean()) if len(chances) else 0.0
    found = Distinctiveness(rate, _nearest(others), same, len(words), by_dictionary=True)
    return found, np.asarray(gallery.codes[rows], np.float32)


def by_decoys(recordings: Floats, usual: float, decoys: Floats, words: Sequence[int]) -> Distinctiveness:
    """The distinctiveness of a sign among decoys, (N, L, C) codes of so many words.

    Decoys are of another vocabulary, so what counts is not how near each is but how their number falls towards the
    sign: as a power of the distance, which the nearest ones tell.
    """
    far, numbers = distances_of(recordings, usual, decoys), np.asarray(words)
    least = _CROWDED * np.sort([far[numbers == number].min() for number in np.unique(numbers)])
    kept = min(_TAIL, len(least) - 1)
    edge, power = least[kept], 1 / max(1e-3, float(np.log(least[kept] / least[:kept]).mean()))
    below = kept / len(least) * np.minimum(1.0, (_GRID / edge) ** power)  # share of words up to each distance
    chance = float((np.diff(below) * alarm_chance((_GRID[1:] + _GRID[:-1]) / 2, impostor=False)).sum())
    return Distinctiveness(SIGNS_PER_HOUR * chance, (), (), len(least), by_dictionary=False)


def _nearest(words: dict[str, float]) -> tuple[Neighbour, ...]:
    found = sorted((Neighbour(word, round(far, 3)) for word, far in words.items()), key=lambda each: each.distance)
    return tuple(found[:_SHOWN])
