"""Contents of a plot: the score of each exemplar over time, the spottings, and the video they belong to."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.embedding.tracks import SUFFIX
from signspot.errors import OptionsError, SignspotError
from signspot.io.control_characters import escape_control_characters
from signspot.spotting.track_search import SearchResult
from signspot.types import Exemplar, Segment, Spotting, Subtitle
from signspot.video.clips import thumbnail

logger = logging.getLogger(__name__)

MOST_CURVES = 40  # a plot with more lines cannot be read
# Okabe and Ito's colours, which people with any colour vision tell apart; yellow is left out, being faint on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555")
COMPETING = "Of words that are found at one time, only the best is marked."
_LONGEST_LABEL = 40


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The score of one exemplar over time, or of a word by all its exemplars."""

    word: str
    exemplar: str  # id; "": all exemplars of the word
    times: NDArray[np.floating[Any]]  # (T,) seconds
    scores: NDArray[np.floating[Any]]  # (T,) in [0, 1]
    thumbnail: NDArray[np.uint8] | None = None  # (H, W, 3) RGB

    def __post_init__(self) -> None:
        if self.times.ndim != 1 or self.times.shape != self.scores.shape:
            raise OptionsError(
                f"a curve needs one score a time; '{self.exemplar}' has times {self.times.shape} and scores "
                f"{self.scores.shape}"
            )


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Contents of a plot of one video."""

    video: Path | None  # None where there is nothing to play, as for a .pose file
    title: str
    duration: float  # seconds
    curves: tuple[Curve, ...]
    spottings: tuple[Spotting, ...]
    thresholds: Mapping[str, float]  # of every word that was searched: the score from which on a peak is a spotting
    subtitles: tuple[Subtitle, ...] = ()  # shown below the video in a report
    words: tuple[Curve, ...] = ()  # the scores of words with several exemplars: spottings are peaks of these
    competes: bool = False  # of words that are found at one time, only the best is a spotting


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One word: the curves of its exemplars and its spottings."""

    word: str
    curves: tuple[Curve, ...]
    spottings: tuple[Spotting, ...]
    threshold: float | None  # the score from which on a peak is a spotting; None: not known
    word_curve: Curve | None = None  # the score by all exemplars; None: there is one exemplar

    def colour(self, exemplar: str) -> str:
        """The colour of an exemplar: the same in plot, video and report."""
        ids = [curve.exemplar for curve in self.curves]
        return COLOURS[(ids.index(exemplar) if exemplar in ids else 0) % len(COLOURS)]


def panels(view: View, most: int | None = None, span: Segment | None = None) -> tuple[list[Panel], list[str]]:
    """Group what is drawn by word: words with spottings first.

    Args:
        view: what to draw.
        most: how many panels there may be; all, if None.
        span: only spottings that overlap it count, and are kept.

    Returns:
        The panels, and the searched words that have none.
    """
    spottings = [spotting for spotting in view.spottings if span is None or _touches(spotting, span)]
    spotted_words = {spotting.word for spotting in spottings}
    words = list(dict.fromkeys(curve.word for curve in view.curves))
    words += [word for word in dict.fromkeys(spotting.word for spotting in view.spottings) if word not in words]
    words.sort(key=lambda word: word not in spotted_words)
    chosen_panels = [
        Panel(
            word,
            tuple(curve for curve in view.curves if curve.word == word),
            tuple(spotting for spotting in spottings if spotting.word == word),
            view.thresholds.get(word),
            next((curve for curve in view.words if curve.word == word), None),
        )
        for word in words[:most]
    ]
    drawn = {panel.word for panel in chosen_panels}
    return chosen_panels, [word for word in dict.fromkeys([*words, *view.thresholds]) if word not in drawn]


def _touches(spotting: Spotting, span: Segment) -> bool:
    return spotting.start < span.end and spotting.end > span.start


def lowest_score(view: View) -> float:
    """Start of a score axis: a round value below all scores and the thresholds of the words that are drawn."""
    words = {curve.word for curve in view.curves}
    thresholds = (threshold for word, threshold in view.thresholds.items() if word in words)
    least = min([1.0, *thresholds, *(float(curve.scores.min()) for curve in view.curves if curve.scores.size)])
    return max(0.0, float(np.floor(least * 10 - 0.5) / 10))


def thinned(curve: Curve, most: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times and scores with at most about `most` points, every peak and trough kept: (t,), (t,)."""
    times, scores = curve.times.astype(np.float64), curve.scores.astype(np.float64)
    if len(times) <= most:
        return times, scores
    bins = np.array_split(np.arange(len(times)), max(1, most // 2))
    extremes = {int(indices[pick]) for indices in bins for pick in (scores[indices].argmax(), scores[indices].argmin())}
    chosen = sorted(extremes | {0, len(times) - 1})
    return times[chosen], scores[chosen]


def label(text: str) -> str:
    """A word or an id on one line, cut where it is long."""
    line = escape_control_characters(text)
    return line if len(line) <= _LONGEST_LABEL else line[: _LONGEST_LABEL - 1] + "…"


def telling(names: Sequence[str], longest: int) -> list[str]:
    """Names of exemplars, short enough to stand side by side, with the part that tells them apart.

    Of names that are too long, what all of them share at the beginning and the end goes first, then the middle.
    """
    lines = [escape_control_characters(name) for name in names]
    if all(len(line) <= longest for line in lines):
        return lines
    first = _shared(lines)
    last = _shared([line[first:][::-1] for line in lines])
    return [_without_middle(_without_ends(line, first, last), longest) for line in lines]


def _shared(lines: Sequence[str]) -> int:
    """The number of first letters that several lines share; none, if there is nothing to tell apart."""
    if len(set(lines)) < 2:
        return 0
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*lines, strict=False)))


def _without_ends(line: str, first: int, last: int) -> str:
    """A line without its first and last letters, each replaced by one sign where that is shorter."""
    begin = line[:first] if first <= 1 else "…"
    end = line[len(line) - last :] if last <= 1 else "…"
    return begin + line[first : len(line) - last] + end


def _without_middle(line: str, longest: int) -> str:
    if len(line) <= longest:
        return line
    end = (longest - 1) // 2
    return line[: longest - 1 - end] + "…" + line[len(line) - end :]


def clock(seconds: float, digits: int = 0) -> str:
    """Seconds as people read them on a player: 1:05.28, or 1:02:03."""
    whole = round(max(0.0, seconds) * 10**digits)
    minutes, rest = divmod(whole, 60 * 10**digits)
    hours, minutes = divmod(minutes, 60)
    part = f"{rest / 10**digits:0{3 + digits if digits else 2}.{digits}f}"
    return f"{hours}:{minutes:02d}:{part}" if hours else f"{minutes}:{part}"


def plural(count: int, thing: str) -> str:
    """1 word, 2 words."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def summary(view: View) -> str:
    """A few words on the spottings."""
    if not view.spottings:
        return "nothing spotted"
    words = len({spotting.word for spotting in view.spottings})
    return f"{plural(len(view.spottings), 'spotting')} of {plural(words, 'word')}"


def view_of(result: SearchResult, *, pixels: bool = True) -> View:
    """Gather what plot, video and report draw; nothing is embedded again.

    Words that were found come first, then the others, until there are `MOST_CURVES` exemplars.

    Args:
        result: the result of a search.
        pixels: show people: the video, and a thumbnail of each exemplar; without, curves, words and times alone.
    """
    chosen = _chosen(result.gallery, result.spottings)
    curves = tuple(
        Curve(exemplar.word, exemplar.id, result.times, result.curve(number), _thumbnail(exemplar) if pixels else None)
        for number, exemplar in chosen
    )
    counts = Counter(exemplar.word for exemplar in result.gallery.exemplars)
    several = [word for word in dict.fromkeys(exemplar.word for _, exemplar in chosen) if counts[word] > 1]
    video = result.track.video
    return View(
        playable(video) if pixels else None,
        Path(video).name or video,
        result.duration,
        curves,
        result.spottings,
        result.thresholds,
        words=tuple(Curve(word, "", result.times, result.word_curve(word)) for word in several),
        competes=result.options.competes and len(result.thresholds) > 1,
    )


def _chosen(gallery: Gallery, spottings: Sequence[Spotting]) -> list[tuple[int, Exemplar]]:
    """Exemplars to draw with their columns: those of found words first."""
    spotted_words = {spotting.word for spotting in spottings}
    order = sorted(enumerate(gallery.exemplars), key=lambda pair: pair[1].word not in spotted_words)
    return order[:MOST_CURVES]


def _thumbnail(exemplar: Exemplar) -> NDArray[Any] | None:
    if exemplar.path is None or exemplar.path.suffix == ".pose":
        return None
    try:
        return thumbnail(exemplar.path, exemplar.segment.middle if exemplar.segment else None)
    except SignspotError as error:
        logger.info("no thumbnail of %s: %s", exemplar.path, error)
        return None


def playable(video: str) -> Path | None:
    """The video behind a track, where it can be played."""
    path = Path(video)
    return path if path.is_file() and path.suffix not in {".pose", SUFFIX} else None
