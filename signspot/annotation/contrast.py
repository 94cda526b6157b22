"""A run beside its decoys, in numbers: what speaks for and against the best place of each query.

A *decoy* is a word asked around a subtitle that does not have it (`decoys.py`): what it scores, chance scores. A
*rival* is another word of the subtitles around that is found at the same place: at most one of the two is signed there.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from signspot.annotation.records import Candidate, Query
from signspot.annotation.store import Store
from signspot.errors import StoreError

Array = NDArray[np.float64]
REACH = 0.32  # seconds: places that are nearer are one place; half a clip of 16 frames
_Row = tuple[str, float, float, float, float]
_Span = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """One row for the best candidate of each query: first those of the run, in its order, then those of the decoys."""

    words: tuple[str, ...]  # (N,)
    decoy: NDArray[np.bool_]  # (N,)
    score: Array  # (N,) in [0, 1]
    rival: Array  # (N,) the highest score of a rival; nan: there is none
    impostor: Array  # (N,) the highest score of an impostor at this place; nan: none was compared
    second: Array  # (N,) the score of the second-best exemplar; nan: the word has one only

    def __len__(self) -> int:
        return len(self.words)

    @property
    def asked(self) -> NDArray[np.bool_]:
        """(N,) no decoy."""
        return ~self.decoy


def contrast(run: Store, decoys: Store) -> Contrast:
    """Read a run and its decoys; memory grows with a few numbers a query.

    Args:
        run: rows come as `run.candidates(rank=1)` gives them.
        decoys: made of the same corpus. Decoys whose word is asked there by a true subtitle, too, are left out.

    Raises:
        StoreError: one of them holds no candidate.
    """
    asked: list[_Row] = []
    by_chance: list[_Row] = []
    for video, group in groupby(run.candidates(), key=lambda candidate: candidate.video):
        own = list(group)
        places = _Places(own)
        asked += [_row(candidate, places) for candidate in own if candidate.rank == 1]
        truly = _spans_of_words(run.queries(video=video))
        spans = {(query.subtitle, query.word): (query.start, query.end) for query in decoys.queries(video=video)}
        by_chance += [
            _row(decoy, places)
            for decoy in decoys.candidates(video=video, rank=1)
            if not _meets(truly, decoy.word, spans[decoy.subtitle, decoy.word])
        ]
    for rows, what in ((asked, "run holds no candidate"), (by_chance, "decoys hold no candidate of the run's videos")):
        if not rows:
            raise StoreError(f"the {what}: there is nothing to compare. Annotate with a lower --threshold first.")
    every = asked + by_chance
    numbers = np.array([row[1:] for row in every], np.float64)
    return Contrast(tuple(row[0] for row in every), np.arange(len(every)) >= len(asked), *numbers.T)


class _Places:
    """All places that one video's run found, to ask for rivals."""

    def __init__(self, candidates: Sequence[Candidate]):
        ordered = sorted(candidates, key=lambda candidate: candidate.time)
        self._times = np.array([candidate.time for candidate in ordered])
        self._found = [(candidate.word, candidate.score) for candidate in ordered]

    def rival(self, candidate: Candidate) -> float:
        """The highest score of another word at a candidate's place; nan: there is none."""
        first, last = np.searchsorted(self._times, [candidate.time - REACH, candidate.time + REACH])
        others = [score for word, score in self._found[first:last] if word != candidate.word]
        return max(others, default=np.nan)


def _row(candidate: Candidate, places: _Places) -> _Row:
    impostor, second = candidate.impostor_best, candidate.exemplar_second
    return (
        candidate.word,
        candidate.score,
        places.rival(candidate),
        np.nan if impostor is None else impostor,
        np.nan if second is None else second,
    )


def _spans_of_words(queries: Iterable[Query]) -> dict[str, list[_Span]]:
    spans: dict[str, list[_Span]] = defaultdict(list)
    for query in queries:
        spans[query.word].append((query.start, query.end))
    return spans


def _meets(spans: Mapping[str, Sequence[_Span]], word: str, place: _Span) -> bool:
    return any(start < place[1] and place[0] < end for start, end in spans.get(word, ()))
