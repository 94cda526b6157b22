"""The plain way to spottings, which searching many words at once must equal: word by word, moment by moment."""

from dataclasses import dataclass

import numpy as np

from signspot.embedding.exemplars import Gallery
from signspot.spotting.matching import Matcher
from signspot.spotting.peaks import widened


@dataclass(frozen=True)
class Plain:
    """A peak of one word."""

    word: str
    moment: int
    start: float
    end: float
    score: float
    row: int  # of the gallery


def maxima(curve: list[float], threshold: float) -> list[int]:
    """Local maxima that reach the threshold; of a plateau its middle."""
    found, first = [], 0
    while first < len(curve):
        last = first
        while last + 1 < len(curve) and curve[last + 1] == curve[first]:
            last += 1
        before = curve[first - 1] if first else -np.inf
        after = curve[last + 1] if last + 1 < len(curve) else -np.inf
        if curve[first] >= threshold and before < curve[first] > after:
            found.append((first + last) // 2)
        first = last + 1
    return found


def half_height(times: np.ndarray, curve: np.ndarray, moment: int, longest: float) -> tuple[float, float]:
    """The span of one peak, step by step."""
    middle, height = float(times[moment]), curve[moment]
    half, start, end = (height + np.minimum(0.5, height)) / 2, moment, moment
    while start > 0 and times[start] > middle - longest / 2 and curve[start - 1] >= half:
        start -= 1
    while end < len(times) - 1 and times[end] < middle + longest / 2 and curve[end + 1] >= half:
        end += 1
    begins = min(max(float(times[start]), middle - longest / 2), middle - 0.06)
    return max(0.0, begins), max(min(float(times[end]), middle + longest / 2), middle + 0.06)


def kept(spans: list[tuple[float, float]], overlap: float) -> list[int]:
    """Spans that share little enough with every better one that is kept; the best is the first."""
    chosen: list[int] = []
    for place, (start, end) in enumerate(spans):
        shares = (
            (min(end, spans[other][1]) - max(start, spans[other][0]))
            / max(min(end - start, spans[other][1] - spans[other][0]), 1e-9)
            for other in chosen
        )
        if all(share <= overlap for share in shares):
            chosen.append(place)
    return chosen


def peaks_of_word(
    matcher: Matcher, gallery: Gallery, word: str, threshold: float, overlap: float
) -> tuple[np.ndarray, list[Plain]]:
    """The curve of a word, and its peaks in order of time."""
    rows = gallery.words[word]
    scores = matcher.scores(rows.tolist())
    curve = scores.max(axis=0)
    found = []
    for moment in maxima(curve.tolist(), float(np.float32(threshold))):
        row = int(rows[scores[:, moment].argmax()])
        at = np.array([0]), np.array([row]), np.array([moment])
        starts, ends = matcher.spans(curve[None], *at)
        found.append(Plain(word, moment, float(starts[0]), float(ends[0]), float(curve[moment]), row))
    found.sort(key=lambda peak: (-peak.score, peak.moment))
    wide = widened(np.array([peak.start for peak in found]), np.array([peak.end for peak in found]))
    chosen = kept(list(zip(wide[0].tolist(), wide[1].tolist(), strict=True)), overlap)
    return curve, sorted((found[place] for place in chosen), key=lambda peak: peak.moment)
