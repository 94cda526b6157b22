"""Runs by hand and by mouthing side by side: which spottings agree, and what agreement is worth."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from signspot.annotation.records import SOURCE, Candidate
from signspot.annotation.statistics import Truth, spottings
from signspot.annotation.store import Store, open_store
from signspot.errors import OptionsError
from signspot.mouthing.agreement import agrees, mark_mouthed
from signspot.types import Label, LabelSource, Spotting, VideoRights

_STEPS = (0.0, 0.25, 0.5, 0.75)  # quantiles of the scores at which agreement is told


def mouthing_labels(run: str | Path, least: float) -> list[Label]:
    """The mouthings of a run, each once.

    Args:
        run: folder, SQLite file or URL of a store that was made with the source mouthing.
        least: probability.

    Raises:
        OptionsError: the run looked for signs, not for mouthings.
    """
    with open_store(run) as store:
        if store.settings().get(SOURCE) != LabelSource.MOUTHING:
            raise OptionsError(f"{run} is no run by mouthing. Make one with: signspot annotate --source mouthing")
        return [candidate.as_label() for candidate in spottings(store, least)]


def marked(
    found: Iterable[Candidate],
    labels: Sequence[Label],
    media: Mapping[str, str],
    rights: Mapping[str, VideoRights] | None = None,
) -> Iterator[Spotting]:
    """Candidates as spottings, each with the mouthing that agrees with it.

    Args:
        found: candidates by hand, those of a video side by side.
        labels: mouthings of all videos.
        media: video of the store → its path.
        rights: video of the store → what may be done with it.
    """
    by_video, known = labels_by_video(labels), rights or {}
    for video, each in groupby(found, key=lambda candidate: candidate.video):
        path = media.get(video)
        spotted = (candidate.as_spotting(path, known.get(video)) for candidate in each)
        yield from mark_mouthed(spotted, by_video.get(video, ()))


def is_mouthed(candidate: Candidate, by_video: Mapping[str, Sequence[Label]]) -> bool:
    """Whether some mouthing of its video agrees with a candidate."""
    spotting = candidate.as_spotting()
    return any(agrees(spotting, label) for label in by_video.get(candidate.video, ()))


def describe_agreement(store: Store, labels: Sequence[Label], truth: Truth | None) -> str:
    """Count the spottings that are mouthed, too, at some thresholds, and how many of either kind are right."""
    found = list(spottings(store, 0.0))
    by_video = labels_by_video(labels)
    kinds = [is_mouthed(candidate, by_video) for candidate in found]
    ordered = sorted(candidate.score for candidate in found)
    titles = [
        "least score",
        "mouthed, too",
        *(["right"] if truth else []),
        "not mouthed",
        *(["right"] if truth else []),
    ]
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for step in _STEPS if ordered else ():
        threshold = ordered[int(step * (len(ordered) - 1))]
        cells = [f"{threshold:.3f}"]
        for wanted in (True, False):
            part = [one for one, kind in zip(found, kinds, strict=True) if kind is wanted and one.score >= threshold]
            right = sum(truth.is_right(one) for one in part) if truth else 0
            cells += [f"{len(part):,}", *([f"{100 * right / len(part):.1f} %" if part else "–"] if truth else [])]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def labels_by_video(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """Video → its labels, in their order."""
    found: dict[str, list[Label]] = {}
    for label in labels:
        found.setdefault(label.video, []).append(label)
    return found
