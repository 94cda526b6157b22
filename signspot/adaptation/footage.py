"""Data of an adaptation: tracks of subtitled videos, their words' exemplars, and the part that is held out."""

import hashlib
import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from signspot.adaptation.options import AdaptOptions
from signspot.corpus.corpus import Corpus, CorpusVideo
from signspot.corpus.labels import LeastConfidence
from signspot.dictionary.dictionary import Dictionary
from signspot.embedding.exemplars import Gallery
from signspot.errors import OptionsError, SignspotError
from signspot.io.progress import Progress, Stage, quiet
from signspot.spotting.spotter import Spotter
from signspot.training.items import SubtitlesOfVideos, read_words
from signspot.types import Grid, Label, Segment, Track

logger = logging.getLogger(__name__)

FEWEST_WORDS = 8  # of which a part is held out
FEWEST_STRETCHES = 16  # to learn from
FEWEST_HELD = 6  # to measure on
_FEWEST_VIDEOS = 4  # with fewer, the last part of every video is held out
_SHORTEST = 1.0  # seconds of a stretch that are in its video


@dataclass(frozen=True, slots=True)
class SubtitledStretch:
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
    learned: tuple[SubtitledStretch, ...]  # stretches that are learned from
    held: tuple[SubtitledStretch, ...]  # stretches that gains are measured on
    words: frozenset[str]  # that are learned from; the others are held out
    every: tuple[SubtitledStretch, ...] = ()  # all stretches

    def turns(self, options: AdaptOptions) -> list["EmbeddedFootage"]:
        """The same footage, each part of its stretches and words held out in turn; parts too small are passed over."""
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
        """Labels in the stretches that are learned from."""
        return sum(len(stretch.labels) for stretch in self.learned)

    @property
    def digest(self) -> str:
        """Names all that is learned from and measured on."""
        said = [f"{name} {track.encoder} {track.source}" for name, track in sorted(self.tracks.items())]
        said += [repr(stretch) for stretch in (*self.learned, *self.held)] + sorted(self.words)
        said.append(hashlib.sha256(np.ascontiguousarray(self.gallery.embeddings).tobytes()).hexdigest())
        return hashlib.sha256("\n".join(said).encode()).hexdigest()[:16]


def read_footage(
    spotter: Spotter, corpus: Corpus, dictionary: Dictionary, options: AdaptOptions, stage: Stage = quiet
) -> EmbeddedFootage:
    """Embed subtitled videos and the exemplars of the words that their subtitles name, and hold a part out.

    Args:
        spotter: whose encoder sees; what it has seen before comes from its cache.
        corpus: videos with subtitles; labels are used where there are any.
        dictionary: the words.
        options: padding, shares and the seed.
        stage: shows the progress of each stage.

    Raises:
        OptionsError: there are no subtitles, no words that the dictionary shows, or too little footage.
    """
    videos = {name: video for name, video in sorted(corpus.videos.items()) if video.subtitles is not None}
    if not videos:
        raise OptionsError(f"{corpus.folder} has no subtitles ({len(corpus.videos)} videos). Put ID.vtt beside ID.mp4")
    named = read_words(corpus, list(dictionary), list(videos))
    found = Counter(word for lines in named.values() for line in lines for word in line.words)
    if not found:
        lines = sum(len(each) for each in named.values())
        raise OptionsError(f"no word of the dictionary ({len(dictionary):,}) stands in the {lines:,} subtitles")
    with stage("exemplars") as progress:
        gallery = spotter.gallery(dictionary.select(sorted(found)), progress=progress)
    _check_words(gallery)
    stretches = _stretches(corpus, named, gallery.words, options)
    _Split(tuple(stretches), tuple(gallery.words), options).check()  # before hours of videos
    with stage("videos") as progress:
        tracks = _tracks(spotter, videos, progress)
    split = _Split(tuple(s for s in stretches if _is_seen(s, tracks)), tuple(gallery.words), options)
    split.check()
    return EmbeddedFootage(tracks, gallery, split.learned, split.held, split.words, split.stretches)


def turns_of(options: AdaptOptions) -> int:
    """The number of parts, each held out in turn."""
    return round(1 / options.held_out)


def frame_range(stretch: SubtitledStretch, grid: Grid) -> tuple[int, int]:
    """The first frame of a stretch and the one after its last, as far as the video goes."""
    first, last = (round((time - grid.origin) * grid.fps) for time in (stretch.span.start, stretch.span.end))
    return min(max(0, first), grid.frames), min(max(0, last), grid.frames)


def _is_seen(stretch: SubtitledStretch, tracks: Mapping[str, Track]) -> bool:
    """Whether enough of a stretch is in its video: subtitles may outlast it."""
    if stretch.video not in tracks:
        return False
    grid = tracks[stretch.video].grid
    first, last = frame_range(stretch, grid)
    return last - first >= _SHORTEST * grid.fps


def _tracks(spotter: Spotter, videos: Mapping[str, CorpusVideo], progress: Progress) -> dict[str, Track]:
    """The tracks of all videos that can be seen; the others are told."""
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


def find_stretches(
    corpus: Corpus, videos: Collection[str], shown: Collection[str], options: AdaptOptions
) -> list[SubtitledStretch]:
    """The stretches of videos whose subtitle names a word that is shown."""
    return _stretches(corpus, read_words(corpus, shown, videos), shown, options)


def _stretches(
    corpus: Corpus, named: SubtitlesOfVideos, shown: Collection[str], options: AdaptOptions
) -> list[SubtitledStretch]:
    labels: defaultdict[str, list[Label]] = defaultdict(list)
    for label in corpus.labels(list(named), LeastConfidence()):
        labels[label.video].append(label)
    made = []
    for video, subtitles in named.items():
        for subtitle in subtitles:
            words = tuple(word for word in subtitle.words if word in shown)
            whole = subtitle.segment.padded(options.padding)
            span = Segment(whole.start, min(whole.end, whole.start + options.longest))
            marked = (label for label in labels[video] if label.word in words and label.segment.middle in span)
            if words:
                made.append(SubtitledStretch(video, span, words, tuple(marked)))
    return made


def _check_words(gallery: Gallery) -> None:
    if len(gallery.words) < FEWEST_WORDS:
        raise OptionsError(
            f"subtitles and dictionary share {len(gallery.words)} words ({', '.join(sorted(gallery.words))}); adapting "
            f"needs {FEWEST_WORDS}. Add exemplars of words that the subtitles name"
        )


@dataclass(frozen=True)
class _Split:
    """Held-out stretches and words; they follow from their names, the seed and the turn."""

    stretches: tuple[SubtitledStretch, ...]
    shown: tuple[str, ...]
    options: AdaptOptions
    turn: int = 0  # which part is held out

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that are learned from."""
        return frozenset(self.shown) - set(self._part(sorted(self.shown), 1))

    @cached_property
    def held(self) -> tuple[SubtitledStretch, ...]:
        """The stretches of some videos; of few videos, a part of each in time, the last one first."""
        videos = sorted({stretch.video for stretch in self.stretches})
        if len(videos) >= max(_FEWEST_VIDEOS, turns_of(self.options)):
            chosen = set(self._part(videos, 2))
            return tuple(stretch for stretch in self.stretches if stretch.video in chosen)
        kept: list[SubtitledStretch] = []
        for video in videos:
            own = [stretch for stretch in self.stretches if stretch.video == video]
            places = np.array_split(np.arange(len(own)), turns_of(self.options))[-1 - self.turn]
            kept += [own[int(place)] for place in places]
        return tuple(kept)

    def _part(self, names: Sequence[str], kind: int) -> list[str]:
        """The names that are held out in this turn; every name is in one turn."""
        order = np.random.default_rng([self.options.seed, kind]).permutation(len(names))
        return [names[int(place)] for place in np.array_split(order, turns_of(self.options))[self.turn]]

    @cached_property
    def learned(self) -> tuple[SubtitledStretch, ...]:
        """The other stretches that name a word to learn from, apart in time from those that are held out."""
        held = [(stretch.video, stretch.span) for stretch in self.held]
        return tuple(
            stretch
            for stretch in self.stretches
            if any(word in self.words for word in stretch.words)
            and not any(video == stretch.video and span.overlap(stretch.span) > 0 for video, span in held)
        )

    @property
    def is_enough(self) -> bool:
        """Whether there is enough to learn from, and to measure on."""
        return len(self.learned) >= FEWEST_STRETCHES and len(self.held) >= FEWEST_HELD

    def check(self) -> None:
        """See that there is enough of both.

        Raises:
            OptionsError: there is not.
        """
        if not self.is_enough:
            raise OptionsError(
                f"too little footage: {len(self.learned)} subtitled stretches to learn from ({FEWEST_STRETCHES} are "
                f"needed) and {len(self.held)} to measure on ({FEWEST_HELD} are needed). Add videos with subtitles"
            )
