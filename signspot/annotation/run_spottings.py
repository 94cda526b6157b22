"""Spottings of a run: each peak once, and which of them mouthings confirm."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np

from signspot.annotation.store import Store
from signspot.annotation.store_records import SOURCE, Candidate, SubtitleQuery
from signspot.errors import OptionsError
from signspot.mouthing.mouthing_spotter import apart, mark_mouthed
from signspot.spotting.peaks import suppress, widened
from signspot.spotting.spot_options import OVERLAP
from signspot.types import Label, LabelSource, Spotting, TimeMeaning, VideoRights


def spottings(store: Store, threshold: float, *, rank: int | None = 1, overlap: float = OVERLAP) -> Iterator[Candidate]:
    """The spottings of a store, by video, time and word.

    Args:
        store: where candidates are.
        threshold: least score.
        rank: at most so many peaks of each query, the best; 1 is the paper's choice, None: all that are stored.
        overlap: largest part of the shorter of two spans of a word that they may share; of others the higher stays.
    """
    evidence = store.evidence(threshold=threshold, rank=rank)
    for _, of_video in groupby(evidence, key=lambda pair: pair[1].video):
        by_word: dict[str, list[tuple[SubtitleQuery, Candidate]]] = {}
        for query, candidate in of_video:
            by_word.setdefault(candidate.word, []).append((query, candidate))
        merged = (candidate for pairs in by_word.values() for candidate in merge(pairs, overlap))
        yield from sorted(merged, key=lambda candidate: (candidate.time, candidate.word))


def merge(pairs: Iterable[tuple[SubtitleQuery, Candidate]], overlap: float) -> list[Candidate]:
    """Of the candidates of one word in one video those that stay: a peak once, suppressed as `spot` suppresses.

    Mouthings, of which the end is known alone, are a sign apart. Where several subtitles give the same peak, the query
    whose subtitle is shown nearest to it stays.
    """
    at: dict[float, tuple[SubtitleQuery, Candidate]] = {}
    for pair in pairs:
        other = at.get(pair[1].time)
        if other is None or _priority(*pair) < _priority(*other):
            at[pair[1].time] = pair
    best_first = sorted(
        (candidate for _, candidate in at.values()), key=lambda candidate: (-candidate.score, candidate.time)
    )
    if best_first[0].at is TimeMeaning.END:
        return [best_first[index] for index in apart([candidate.time for candidate in best_first])]
    starts, ends = (np.array([getattr(candidate, name) for candidate in best_first]) for name in ("start", "end"))
    return [best_first[index] for index in suppress(*widened(starts, ends), overlap)]


def _priority(query: SubtitleQuery, candidate: Candidate) -> tuple[float, float, int]:
    """By score, where windows see a peak differently; then by seconds to when the subtitle is shown; the earlier one.

    Scores of signs are the same in every window, those of mouthings follow from the lips around, too.
    """
    early, late = query.subtitle_start - candidate.time, candidate.time - query.subtitle_end
    height = -candidate.score if candidate.at is TimeMeaning.END else 0.0
    return height, max(0.0, early, late), query.subtitle


def mouthing_labels(store: Store, least: float) -> list[Label]:
    """The mouthings of a run, each once.

    Args:
        store: of a run with the source mouthing.
        least: probability.

    Raises:
        OptionsError: the run looked for signs, not for mouthings.
    """
    if store.settings().get(SOURCE) != LabelSource.MOUTHING:
        raise OptionsError(f"{store.name} is not a run by mouthing. Make one with: signspot annotate --source mouthing")
    return [candidate.as_label() for candidate in spottings(store, least)]


def marked(
    candidates: Iterable[Candidate],
    labels: Sequence[Label],
    media: Mapping[str, str],
    rights: Mapping[str, VideoRights] | None = None,
) -> Iterator[Spotting]:
    """Candidates as spottings, each with the mouthing that agrees with it.

    Args:
        candidates: by hand, those of a video side by side.
        labels: mouthings of all videos.
        media: video of the store → its path.
        rights: video of the store → what may be done with it.
    """
    by_video = labels_by_video(labels)
    for video, of_video in groupby(candidates, key=lambda candidate: candidate.video):
        rights_of_video = (rights or {}).get(video)
        spotted = (candidate.as_spotting(media.get(video), rights_of_video) for candidate in of_video)
        yield from mark_mouthed(spotted, by_video.get(video, ()))


def labels_by_video(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """Video → its labels, in their order."""
    by_video: dict[str, list[Label]] = {}
    for label in labels:
        by_video.setdefault(label.video, []).append(label)
    return by_video
