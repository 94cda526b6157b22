"""From candidates to spottings: those above a threshold, each sign once however many subtitles found it."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from signspot.annotation.records import Candidate, Query
from signspot.annotation.store import Store


def spottings(store: Store, threshold: float, *, rank: int | None = 1, gap: float = 0.4) -> Iterator[Candidate]:
    """The spottings of a store, by video, time and word.

    Args:
        store: where candidates are.
        threshold: least score.
        rank: at most so many peaks of each query, the best; 1 is the paper's choice, None: all that are stored.
        gap: seconds between two spottings of a word in a video, at least; of nearer ones the higher stays.
    """
    found = store.evidence(threshold=threshold, rank=rank)
    for _, of_video in groupby(found, key=lambda pair: pair[1].video):
        by_word: dict[str, list[tuple[Query, Candidate]]] = {}
        for query, candidate in of_video:
            by_word.setdefault(candidate.word, []).append((query, candidate))
        kept = (candidate for pairs in by_word.values() for candidate in merge(pairs, gap))
        yield from sorted(kept, key=lambda candidate: (candidate.time, candidate.word))


def merge(pairs: Iterable[tuple[Query, Candidate]], gap: float) -> list[Candidate]:
    """Of the candidates of one word in one video those that stay: a peak once, and none too near to a higher one.

    Where several subtitles found the same peak, the one that is shown nearest to it is told.
    """
    at: dict[float, tuple[Query, Candidate]] = {}
    for pair in pairs:
        other = at.get(pair[1].time)
        if other is None or _distance(*pair) < _distance(*other):
            at[pair[1].time] = pair
    kept: list[Candidate] = []
    for candidate in sorted((candidate for _, candidate in at.values()), key=lambda one: (-one.score, one.time)):
        if all(round(abs(candidate.time - other.time), 3) >= gap for other in kept):
            kept.append(candidate)
    return kept


def _distance(query: Query, candidate: Candidate) -> tuple[float, int]:
    """Seconds between a peak and when the subtitle is shown; of equal ones the earlier subtitle."""
    early, late = query.subtitle_start - candidate.time, candidate.time - query.subtitle_end
    return max(0.0, early, late), query.subtitle
