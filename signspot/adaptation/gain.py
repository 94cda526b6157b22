"""Is it a gain? Held-out stretches, by the scores that the spotter gives, before and after, word by word.

Without labels: of two stretches, one whose subtitle names a word and one whose does not, how often has the first the
better best score of that word? With labels: at a labelled place, how high does the labelled word rank among all words?
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from signspot.adaptation.footage import SubtitledStretch
from signspot.embedding.exemplars import Gallery
from signspot.embedding.refine import Windows
from signspot.io.progress import Progress, silent
from signspot.metrics.bootstrap import Interval, bootstrap_mean
from signspot.spotting.decoys import alignment_scale
from signspot.spotting.options import MatchBy, SpotOptions
from signspot.spotting.peaks import curve_blocks
from signspot.spotting.search import Search
from signspot.spotting.spotter import Spotter
from signspot.types import Segment, Track

ByWord = Mapping[str, Sequence[float]]

_AROUND = 0.2  # seconds around a labelled sign in which its peak may lie


@dataclass(frozen=True, slots=True)
class HeldOutScores:
    """Scores of one encoder on held-out stretches, by word."""

    naming: ByWord  # share of pairs of stretches of which the one whose subtitle names the word scores higher
    labelled: ByWord  # reciprocal rank of the word among all words, at each of its labels; empty without labels
    others: NDArray[np.float64]  # best scores of words in stretches whose subtitles do not name them


@dataclass(frozen=True, slots=True)
class Gain:
    """Before and after, on some words of the held-out footage; means over words with 95 % intervals."""

    measure: str  # "naming" or "labelled"
    group: str  # "learned words", "held-out words" or "all words"
    words: int
    before: float
    after: float
    difference: Interval  # after minus before, paired by word

    @property
    def is_shown(self) -> bool:
        """Whether the whole interval of the difference is above 0."""
        return self.difference.low > 0

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for cards and JSON: what is not known is null."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def score_stretches(
    spotter: Spotter,
    tracks: Mapping[str, Track],
    stretches: Sequence[SubtitledStretch],
    gallery: Gallery,
    match: MatchBy,
    progress: Progress = silent,
) -> HeldOutScores:
    """Score all words in held-out stretches by the very functions that search.

    Args:
        spotter: with the encoder that made tracks and gallery.
        tracks: of the stretches' videos.
        stretches: held out.
        gallery: of all words.
        match: by alignment, or by embedding.
        progress: told the stretches that are done.
    """
    words = list(gallery.words)
    best = np.empty((len(stretches), len(words)))
    labelled: defaultdict[str, list[float]] = defaultdict(list)
    for done, stretch in enumerate(stretches):
        progress(done, len(stretches))
        times, scores = _scores(spotter, tracks[stretch.video], gallery, stretch.span, match)
        best[done] = _highest(times, scores, stretch.span)
        for label in stretch.labels:
            at = _highest(times, scores, Segment(label.segment.start - _AROUND, label.segment.end + _AROUND))
            labelled[label.word].append(1 / (1 + int((at > at[words.index(label.word)]).sum())))
    progress(len(stretches), len(stretches))
    is_named = np.array([[word in stretch.words for word in words] for stretch in stretches])
    naming = {word: [rate] for word, rate in _naming(words, best, is_named)}
    return HeldOutScores(naming, dict(labelled), best[~is_named])


def _scores(
    spotter: Spotter, track: Track, gallery: Gallery, span: Segment, match: MatchBy
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """(T,) moments around a span and (T, K) the score of every word at each."""
    scale = alignment_scale(spotter.encoder)
    search = Search(track, Windows.of(track), SpotOptions(match=match), 1.0, None, scale)
    matcher = search.matcher(gallery, span)
    return matcher.times, np.concatenate([block.scores for block in curve_blocks(matcher, gallery)]).T


def _highest(times: NDArray[np.float64], scores: NDArray[np.float32], span: Segment) -> NDArray[np.float32]:
    """(K,) the best score of every word in a span; at the nearest moment, where none lies in it."""
    inside = (times >= span.start) & (times <= span.end)
    if not inside.any():
        inside = np.arange(len(times)) == int(np.abs(times - span.middle).argmin())
    highest: NDArray[np.float32] = scores[inside].max(axis=0)
    return highest


def _naming(
    words: Sequence[str], best: NDArray[np.float64], is_named: NDArray[np.bool_]
) -> Iterator[tuple[str, float]]:
    """For each word that some stretches name and some do not, the share of pairs that are in the right order."""
    for column, word in enumerate(words):
        named, others = best[is_named[:, column], column], best[~is_named[:, column], column]
        if len(named) and len(others):
            above = (named[:, None] > others).mean() + (named[:, None] == others).mean() / 2
            yield word, float(above)


class Turn(NamedTuple):
    """Measurements of one turn, with one part held out."""

    before: HeldOutScores
    after: HeldOutScores
    learned: frozenset[str]  # words that were learned from in this turn


def gains(turns: Sequence[Turn]) -> list[Gain]:
    """All gains over all turns: on all words, on words while they were learned from, on words while held out."""
    found = []
    for measure in ("naming", "labelled"):
        for group in ("all words", "learned words", "held-out words"):
            old: defaultdict[str, list[float]] = defaultdict(list)
            new: defaultdict[str, list[float]] = defaultdict(list)
            for turn in turns:
                before, after = getattr(turn.before, measure), getattr(turn.after, measure)
                for word in before:
                    if group == "all words" or (word in turn.learned) == (group == "learned words"):
                        old[word] += before[word]
                        new[word] += after[word]
            if old:
                found.append(_gain(measure, group, old, new))
    return found


def _gain(measure: str, group: str, old: ByWord, new: ByWord) -> Gain:
    paired: dict[Hashable, list[float]] = {
        word: [float(np.mean(new[word]) - np.mean(values))] for word, values in sorted(old.items())
    }
    means = [float(np.mean([np.mean(each[word]) for word in sorted(old)])) for each in (old, new)]
    return Gain(measure, group, len(old), means[0], means[1], bootstrap_mean(paired))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
