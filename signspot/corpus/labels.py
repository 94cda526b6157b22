"""The labels of a corpus: JSON Lines of labels, spottings in any format that signspot reads, or glosses in `.srt`."""

import logging
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from signspot.corpus.truth import records_of
from signspot.dictionary.dictionary import normalise_word
from signspot.formats.formats import format_names, read_spottings
from signspot.formats.spotting_rows import RIGHTS
from signspot.io.checks import check_numbers
from signspot.io.text import json_rows
from signspot.subtitles.reading import read_subtitles
from signspot.types import Label, LabelSource, Segment, Spotting
from signspot.video import MEDIA_SUFFIXES

logger = logging.getLogger(__name__)

SAME_PLACE = 0.6  # seconds between the middles of two labels of one word that are of one sign, at most
OTHER_PLACE = 0.35  # the same of two words that cannot both be right
LABEL_FPS = 25.0  # frames in which options tell how far a sign lies from its label
_GLOSSES = ".srt"  # a gloss per cue, written by a person; the file is named as its video


@dataclass(frozen=True, slots=True)
class SignWindow:
    """Frames, at 25 per second, between which the sign of a label lies."""

    before: int = 20  # clips begin at most so many frames (25 per second) before the end of a sign
    after: int = 5  # and end at most so many frames after a label of its end
    around: int = 11  # frames on either side of the middle, where a label marks that or the span

    def __post_init__(self) -> None:
        check_numbers(self, "before", "around", least=1)
        check_numbers(self, "after", least=0)

    def of(self, label: Label) -> Segment:
        """The segment that is looked at."""
        return label.stretch(self.before / LABEL_FPS, self.after / LABEL_FPS, self.around / LABEL_FPS)


@dataclass(frozen=True, slots=True)
class LeastConfidence:
    """From which confidence on a label counts, by its source: three scales, three thresholds."""

    mouthing: float = 0.5  # probability of a mouthing; the paper's training takes 0.5, its test 0.9
    dictionary: float = 0.0  # score of a spotting; 0: all that were written, since encoders' scales differ
    verified: float = 0.5  # decision of a person: 1 is a yes, 0 a no

    def __post_init__(self) -> None:
        check_numbers(self, "mouthing", "dictionary", "verified", least=0, most=1)

    def admits(self, label: Label) -> bool:
        """Whether a label counts."""
        least = {
            LabelSource.MOUTHING: self.mouthing,
            LabelSource.DICTIONARY: self.dictionary,
            LabelSource.VERIFIED: self.verified,
        }
        return label.confidence >= least[label.source]

    def __str__(self) -> str:
        return f"M {self.mouthing:g}, D {self.dictionary:g}, V {self.verified:g}"


EVERY_LABEL = LeastConfidence(0.0, 0.0, 0.0)
TEST_MOUTHING = 0.9  # least confidence of a mouthing that is test truth, as in the paper (Sec. 4.1)


def is_test_truth(label: Label) -> bool:
    """Whether a label may be tested on: sure mouthings and what a person verified, never what an encoder found (D)."""
    least = LeastConfidence(mouthing=TEST_MOUTHING)
    return label.source is not LabelSource.DICTIONARY and least.admits(label)


def read_labels(folder: Path, videos: Collection[str]) -> Iterator[Label]:
    """Read all label files of a folder; labels of videos that the corpus does not have are left out, and counted.

    Args:
        folder: of label files, also in folders below; one that is not there holds none.
        videos: the ids of the corpus's videos; labels may name their files instead.

    Raises:
        FormatError: a file is not what its suffix says.
    """
    missing: Counter[str] = Counter()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and _is_readable(path)):
        for label in _read(path):
            video = video_id(label.video, videos)
            if video is None:
                missing[label.video] += 1
            else:
                yield replace(label, video=video)
    if missing:
        count = missing.total()
        logger.warning(
            "left out labels (%d) of videos (%d) that are not in the corpus, such as '%s'",
            count,
            len(missing),
            min(missing),
        )


def video_id(name: str, videos: Collection[str]) -> str | None:
    """The id of the video that a label names: by its id, or by the path of its file, whatever folder that begins in."""
    plain = name.replace("\\", "/")
    suffix = next((ending for ending in sorted(MEDIA_SUFFIXES) if plain.lower().endswith(ending)), "")
    stem = plain[: len(plain) - len(suffix)] if suffix else plain
    parts = stem.split("/")
    tries = [name, plain, *("/".join(parts[first:]) for first in range(len(parts)))]
    return next((candidate for candidate in tries if candidate in videos), None)


def label_of(spotting: Spotting) -> Label:
    """A spotting as a label: a mouthing marks the end of a sign, others know its span.

    The confidence is the score; where a person has decided, it is 1 for a yes and 0 for a no.
    """
    decided = {"yes": 1.0, "no": 0.0}.get(spotting.decision, spotting.score)
    values = (spotting.word, spotting.video, spotting.time, decided, spotting.source)
    rights = {name: getattr(spotting, name) for name in RIGHTS}
    if spotting.source is LabelSource.MOUTHING or spotting.start > spotting.end:
        return Label(*values, **rights)
    return Label(*values, spotting.start, spotting.end, **rights)


def _is_readable(path: Path) -> bool:
    suffixes = (*format_names(), ".json", ".pkl", _GLOSSES)
    return not path.name.startswith(".") and path.name.lower().endswith(suffixes)


def _read(path: Path) -> Iterator[Label]:
    if path.suffix.lower() == ".jsonl":
        rows = json_rows(path)
        first = list(islice(rows, 1))
        if not first or not _is_spotting(first[0][1]):
            yield from records_of(Label, chain(first, rows))
            return
    if path.suffix.lower() == _GLOSSES:
        for cue in read_subtitles(path):
            segment = Segment(cue.start, cue.end)
            times = segment.middle, 1.0, LabelSource.VERIFIED, segment.start, segment.end
            yield Label(normalise_word(cue.text), path.stem, *times)
    else:
        yield from map(label_of, read_spottings(path))


def _is_spotting(row: Mapping[str, Any]) -> bool:
    """Whether a row of JSON Lines has a score, as spottings do, and no number as its confidence."""
    return "score" in row and not isinstance(row.get("confidence"), int | float)


def are_beside(
    labels: Sequence[Label], others: Sequence[Label], within: float, alike: Callable[[str, str], bool]
) -> list[bool]:
    """For each label, whether the middle of another one of the video is so near, and the two words are alike.

    Args:
        labels: any.
        others: likewise.
        within: seconds, at most.
        alike: tells by both words whether it counts.
    """
    by_video: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
    for other in others:
        by_video[other.video].append((other.segment.middle, other.word))
    for times in by_video.values():
        times.sort()
    beside = []
    for label in labels:
        times, middle = by_video.get(label.video, []), label.segment.middle
        first = bisect_left(times, middle - within, key=itemgetter(0))
        last = bisect_right(times, middle + within, key=itemgetter(0))
        beside.append(any(alike(word, label.word) for _, word in times[first:last]))
    return beside


def contradicted(mouthed: Sequence[Label], signed: Sequence[Label]) -> list[bool]:
    """For each label M, whether signs say otherwise: a label D of another word is at its place, and none of its own.

    Only labels of mouthings can be contradicted, never what a person verified.

    Args:
        mouthed: labels M, or V.
        signed: labels D.
    """
    same = are_beside(mouthed, signed, SAME_PLACE, str.__eq__)
    other = are_beside(mouthed, signed, OTHER_PLACE, str.__ne__)
    return [
        label.source is LabelSource.MOUTHING and is_other and not is_same
        for label, is_same, is_other in zip(mouthed, same, other, strict=True)
    ]
