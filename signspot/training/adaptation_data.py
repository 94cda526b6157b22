"""Data of an adaptation: tracks of subtitled videos, exemplars of their words, and scores on the part that is held out.

Without labels the measure is: of two segments, one whose subtitle names a word and one whose does not, how often does
the first one have the better best score of that word? With labels: how high does the labelled word rank there?
"""

import hashlib
import logging
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from signspot.corpus.corpus import Corpus, CorpusVideo
from signspot.corpus.labels import LeastConfidence
from signspot.dictionary.dictionary import Dictionary
from signspot.embedding.exemplars import Gallery
from signspot.errors import OptionsError, SignspotError
from signspot.io.checks import check_numbers
from signspot.io.progress import Progress, Stage, quiet, silent
from signspot.losses.watch_read_lookup import Bags
from signspot.metrics.bootstrap import Interval, bootstrap_mean
from signspot.spotting.decoys import alignment_scale
from signspot.spotting.peaks import curve_blocks
from signspot.spotting.spot_options import MatchBy, SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.spotting.track_search import TrackSearch
from signspot.training.corpus_subset import SubtitlesOfVideos, read_words
from signspot.types import Grid, Label, Segment, Track, Windows

logger = logging.getLogger(__name__)

ByWord = Mapping[str, Sequence[float]]

FEWEST_WORDS = 8  # of which a part is held out
FEWEST_SEGMENTS = 16  # to learn from
FEWEST_HELD = 6  # to measure on
_FEWEST_VIDEOS = 4  # with fewer, the last part of every video is held out
_AROUND = 0.2  # seconds around a labelled sign in which its peak may lie
_SHORTEST = 1.0  # seconds of a segment that are in its video


@dataclass(frozen=True, slots=True)
class AdaptOptions:
    """Settings of an adaptation, besides its footage, dictionary and encoder."""

    steps: int = 150
    segments: int = 16  # of footage, in a batch
    exemplars: int = 2  # of a word, in a batch
    bags: Bags = "released"  # variant of Watch-Read-Lookup; see the page on losses
    temperature: float = 0.125  # of alignment, in units of the encoder's typical cost
    embedding_temperature: float = 0.07  # the paper's
    lr: float = 2e-3  # the highest learning rate of both adapters; it falls as a cosine
    padding: float = 2.0  # seconds around a subtitle in which its signing is looked for
    longest: float = 10.0  # seconds of a segment that are looked at, at most
    held_out: float = 0.25  # share of the footage, and of the words, that is held out in each turn
    embeddings: bool = False  # also learn a map of window embeddings, for match="embedding"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.bags not in get_args(Bags):
            raise OptionsError(f"no bags '{self.bags}'. There are: {', '.join(get_args(Bags))}")
        check_numbers(self, "steps", "exemplars", least=1)
        check_numbers(self, "segments", least=2)
        check_numbers(self, "temperature", "embedding_temperature", "lr", above=0)
        check_numbers(self, "padding", "seed", least=0)
        check_numbers(self, "longest", least=2)
        check_numbers(self, "held_out", least=0.05, most=0.5)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for cards and states."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SubtitledSegment:
    """A subtitle's time and some seconds around it: where its words may be signed."""

    video: str
    span: Segment
    words: tuple[str, ...]  # that the subtitle names and the dictionary shows
    labels: tuple[Label, ...] = ()  # of these words, within the span


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedFootage:
    """Subtitled signing as an encoder sees it."""

    tracks: Mapping[str, Track]
    gallery: Gallery  # of all words that a subtitle names
    learned: tuple[SubtitledSegment, ...]  # segments that are learned from
    held: tuple[SubtitledSegment, ...]  # segments that gains are measured on
    words: frozenset[str]  # that are learned from; the others are held out
    every: tuple[SubtitledSegment, ...] = ()  # all segments

    def turns(self, options: AdaptOptions) -> list["EmbeddedFootage"]:
        """The same footage, each part of its segments and words held out in turn; parts too small are passed over."""
        parts = (_Split(self.every, tuple(self.gallery.words), options, turn) for turn in range(turns_of(options)))
        return [replace(self, learned=p.learned, held=p.held, words=p.words) for p in parts if p.is_enough]

    def whole(self) -> "EmbeddedFootage":
        """The same footage, nothing of it held out."""
        return replace(self, learned=self.every, held=(), words=frozenset(self.gallery.words))

    @property
    def hours(self) -> float:
        """Of all tracks."""
        return sum(track.grid.frames / track.grid.fps for track in self.tracks.values()) / 3600

    @property
    def labels(self) -> int:
        """Labels in the segments that are learned from."""
        return sum(len(segment.labels) for segment in self.learned)

    @property
    def digest(self) -> str:
        """Names all that is learned from and measured on."""
        contents = [f"{name} {track.encoder} {track.source}" for name, track in sorted(self.tracks.items())]
        contents += [repr(segment) for segment in (*self.learned, *self.held)] + sorted(self.words)
        contents.append(hashlib.sha256(np.ascontiguousarray(self.gallery.embeddings).tobytes()).hexdigest())
        return hashlib.sha256("\n".join(contents).encode()).hexdigest()[:16]


def read_footage(
    spotter: Spotter, corpus: Corpus, dictionary: Dictionary, options: AdaptOptions, stage: Stage = quiet
) -> EmbeddedFootage:
    """Embed subtitled videos and the exemplars of the words that their subtitles name, and hold a part out.

    Args:
        spotter: whose encoder sees; what it has seen before comes from its cache.
        corpus: videos with subtitles; labels are used where there are any. Test videos are left alone.
        dictionary: the words.
        options: padding, shares and the seed.
        stage: shows the progress of each stage.

    Raises:
        OptionsError: there are no subtitles, no words that the dictionary shows, or too little footage.
    """
    training = {name: video for name, video in sorted(corpus.videos.items()) if video.split != "test"}
    videos = {name: video for name, video in training.items() if video.subtitles is not None}
    if not videos:
        raise OptionsError(
            f"{corpus.folder} has no subtitles of training videos ({len(training)}). Put ID.vtt beside ID.mp4"
        )
    named = read_words(corpus, list(dictionary), list(videos))
    named_words = Counter(word for lines in named.values() for line in lines for word in line.words)
    if not named_words:
        lines = sum(len(of_video) for of_video in named.values())
        raise OptionsError(f"no word of the dictionary ({len(dictionary):,}) occurs in the {lines:,} subtitles")
    with stage("exemplars") as progress:
        gallery = spotter.gallery(dictionary.select(sorted(named_words)), progress=progress)
    _check_words(gallery)
    segments = find_segments(corpus, named, gallery.words, options)
    _Split(tuple(segments), tuple(gallery.words), options).check()  # before hours of videos
    with stage("videos") as progress:
        tracks = _tracks(spotter, videos, progress)
    split = _Split(tuple(s for s in segments if _is_seen(s, tracks)), tuple(gallery.words), options)
    split.check()
    return EmbeddedFootage(tracks, gallery, split.learned, split.held, split.words, split.segments)


def turns_of(options: AdaptOptions) -> int:
    """The number of parts, each held out in turn."""
    return round(1 / options.held_out)


def frame_range(segment: SubtitledSegment, grid: Grid) -> tuple[int, int]:
    """The first frame of a segment and the one after its last, as far as the video goes."""
    first, last = (round((time - grid.origin) * grid.fps) for time in (segment.span.start, segment.span.end))
    return min(max(0, first), grid.frames), min(max(0, last), grid.frames)


def _is_seen(segment: SubtitledSegment, tracks: Mapping[str, Track]) -> bool:
    """Whether enough of a segment is in its video: subtitles may outlast it."""
    if segment.video not in tracks:
        return False
    grid = tracks[segment.video].grid
    first, last = frame_range(segment, grid)
    return last - first >= _SHORTEST * grid.fps


def _tracks(spotter: Spotter, videos: Mapping[str, CorpusVideo], progress: Progress) -> dict[str, Track]:
    """The tracks of all videos that can be seen; the others are logged."""
    tracks: dict[str, Track] = {}
    for done, (name, video) in enumerate(videos.items()):
        progress(done, len(videos))
        path = video.landmarks or video.video
        try:
            if path is not None:
                tracks[name] = spotter.track(path)
        except SignspotError as error:
            logger.warning("left out the video '%s': %s", name, error)
    progress(len(videos), len(videos))
    if not tracks:
        raise OptionsError(f"none of {len(videos)} videos with subtitles can be seen. See the log")
    return tracks


def find_segments(
    corpus: Corpus, named: SubtitlesOfVideos, listed: Collection[str], options: AdaptOptions
) -> list[SubtitledSegment]:
    """The segments of videos whose subtitle names a word of the dictionary.

    Args:
        corpus: whose labels are read.
        named: the words that subtitles name, by video.
        listed: words that have exemplars.
        options: padding and the longest segment.
    """
    labels: defaultdict[str, list[Label]] = defaultdict(list)
    for label in corpus.labels(list(named), LeastConfidence()):
        labels[label.video].append(label)
    segments = []
    for video, subtitles in named.items():
        for subtitle in subtitles:
            words = tuple(word for word in subtitle.words if word in listed)
            whole = subtitle.segment.padded(options.padding)
            span = Segment(whole.start, min(whole.end, whole.start + options.longest))
            marked = (label for label in labels[video] if label.word in words and label.segment.middle in span)
            if words:
                segments.append(SubtitledSegment(video, span, words, tuple(marked)))
    return segments


def _check_words(gallery: Gallery) -> None:
    if len(gallery.words) < FEWEST_WORDS:
        raise OptionsError(
            f"subtitles and dictionary share {len(gallery.words)} words ({', '.join(sorted(gallery.words))}); adapting "
            f"needs {FEWEST_WORDS}. Add exemplars of words that the subtitles name"
        )


@dataclass(frozen=True)
class _Split:
    """Held-out segments and words; they follow from their names, the seed and the turn."""

    segments: tuple[SubtitledSegment, ...]
    shown: tuple[str, ...]
    options: AdaptOptions
    turn: int = 0  # which part is held out

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that are learned from."""
        return frozenset(self.shown) - set(self._part(sorted(self.shown), 1))

    @cached_property
    def held(self) -> tuple[SubtitledSegment, ...]:
        """The segments of some videos; of few videos, a part of each in time, the last one first."""
        videos = sorted({segment.video for segment in self.segments})
        if len(videos) >= max(_FEWEST_VIDEOS, turns_of(self.options)):
            chosen = set(self._part(videos, 2))
            return tuple(segment for segment in self.segments if segment.video in chosen)
        held: list[SubtitledSegment] = []
        for video in videos:
            of_video = [segment for segment in self.segments if segment.video == video]
            part = np.array_split(np.arange(len(of_video)), turns_of(self.options))[-1 - self.turn]
            held += [of_video[int(number)] for number in part]
        return tuple(held)

    def _part(self, names: Sequence[str], kind: int) -> list[str]:
        """The names that are held out in this turn; every name is in one turn."""
        order = np.random.default_rng([self.options.seed, kind]).permutation(len(names))
        return [names[int(number)] for number in np.array_split(order, turns_of(self.options))[self.turn]]

    @cached_property
    def learned(self) -> tuple[SubtitledSegment, ...]:
        """The other segments that name a word to learn from, apart in time from those that are held out."""
        held = [(segment.video, segment.span) for segment in self.held]
        return tuple(
            segment
            for segment in self.segments
            if any(word in self.words for word in segment.words)
            and not any(video == segment.video and span.overlap(segment.span) > 0 for video, span in held)
        )

    @property
    def is_enough(self) -> bool:
        """Whether there is enough to learn from, and to measure on."""
        return len(self.learned) >= FEWEST_SEGMENTS and len(self.held) >= FEWEST_HELD

    def check(self) -> None:
        """See that there is enough of both.

        Raises:
            OptionsError: there is not.
        """
        if not self.is_enough:
            raise OptionsError(
                f"too little footage: {len(self.learned)} subtitled segments to learn from ({FEWEST_SEGMENTS} are "
                f"needed) and {len(self.held)} to measure on ({FEWEST_HELD} are needed). Add videos with subtitles"
            )


@dataclass(frozen=True, slots=True)
class HeldOutScores:
    """Scores of one encoder on held-out segments, by word."""

    naming: ByWord  # share of pairs of segments of which the one whose subtitle names the word scores higher
    labelled: ByWord  # reciprocal rank of the word among all words, at each of its labels; empty without labels
    others: NDArray[np.float64]  # best scores of words in segments whose subtitles do not name them


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


def score_segments(
    spotter: Spotter,
    tracks: Mapping[str, Track],
    segments: Sequence[SubtitledSegment],
    gallery: Gallery,
    match: MatchBy,
    progress: Progress = silent,
) -> HeldOutScores:
    """Score all words in held-out segments by the very functions that search.

    Args:
        spotter: with the encoder that made tracks and gallery.
        tracks: of the segments' videos.
        segments: held out.
        gallery: of all words.
        match: by alignment, or by embedding.
        progress: called with the number of segments that are done.
    """
    words = list(gallery.words)
    best = np.empty((len(segments), len(words)))
    labelled: defaultdict[str, list[float]] = defaultdict(list)
    for done, segment in enumerate(segments):
        progress(done, len(segments))
        times, scores = _scores(spotter, tracks[segment.video], gallery, segment.span, match)
        best[done] = _highest(times, scores, segment.span)
        for label in segment.labels:
            at = _highest(times, scores, Segment(label.segment.start - _AROUND, label.segment.end + _AROUND))
            labelled[label.word].append(1 / (1 + int((at > at[words.index(label.word)]).sum())))
    progress(len(segments), len(segments))
    is_named = np.array([[word in segment.words for word in words] for segment in segments])
    naming = {word: [rate] for word, rate in naming_rates(words, best, is_named)}
    return HeldOutScores(naming, dict(labelled), best[~is_named])


def _scores(
    spotter: Spotter, track: Track, gallery: Gallery, span: Segment, match: MatchBy
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """(T,) moments around a span and (T, K) the score of every word at each."""
    scale = alignment_scale(spotter.encoder)
    search = TrackSearch(track, Windows.of(track), SpotOptions(match=match), 1.0, None, scale)
    matcher = search.matcher(gallery, span)
    return matcher.times, np.concatenate([block.scores for block in curve_blocks(matcher, gallery)]).T


def _highest(times: NDArray[np.float64], scores: NDArray[np.float32], span: Segment) -> NDArray[np.float32]:
    """(K,) the best score of every word in a span; at the nearest moment, where none lies in it."""
    inside = (times >= span.start) & (times <= span.end)
    if not inside.any():
        inside = np.arange(len(times)) == int(np.abs(times - span.middle).argmin())
    highest: NDArray[np.float32] = scores[inside].max(axis=0)
    return highest


def naming_rates(
    words: Sequence[str], best: NDArray[np.float64], is_named: NDArray[np.bool_]
) -> Iterator[tuple[str, float]]:
    """For each word that some segments name and some do not, the share of pairs that are in the right order."""
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
    measured = []
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
                measured.append(_gain(measure, group, old, new))
    return measured


def _gain(measure: str, group: str, old: ByWord, new: ByWord) -> Gain:
    paired: dict[Hashable, list[float]] = {
        word: [float(np.mean(new[word]) - np.mean(values))] for word, values in sorted(old.items())
    }
    means = [float(np.mean([np.mean(values_by_word[word]) for word in sorted(old)])) for values_by_word in (old, new)]
    return Gain(measure, group, len(old), means[0], means[1], bootstrap_mean(paired))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
